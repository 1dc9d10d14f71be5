import couler

with couler.Workflow("orders") as wf:
    couler.run_container("registry.example.org/shop:9", ["import-orders"], step_name="import")
    wf.on_exit(
        lambda: couler.run_container(
            "registry.example.org/pager:1", ["page", "oncall"], step_name="page"
        ),
        status="failure",
        name="alert",
    )
