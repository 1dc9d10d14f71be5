import couler

with couler.Workflow("hello"):
    couler.run_container("busybox:1.37", ["echo", "hello"], step_name="hello")
