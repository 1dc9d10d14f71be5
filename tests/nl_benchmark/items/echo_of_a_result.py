import couler

with couler.Workflow("host"):
    host = couler.run_container("busybox:1.37", ["hostname"], step_name="host")
    couler.run_container("busybox:1.37", ["echo", "host:"], args=[host.result], step_name="tell")
