import couler

with couler.Workflow("index"):
    couler.run_container(
        "registry.example.org/search:6",
        ["index", "all"],
        cpu=4,
        node_selector={"disk": "ssd"},
        step_name="index",
    )
