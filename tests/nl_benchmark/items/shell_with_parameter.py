import couler

with couler.Workflow("items", items=12) as wf:
    couler.run_container(
        "busybox:1.37", ["sh", "-c", "echo $0 items"], args=[wf.params.items], step_name="tell"
    )
