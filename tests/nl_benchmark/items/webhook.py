import couler

with couler.Workflow("publish"):
    publish = couler.run_container("registry.example.org/site:2", ["publish"], step_name="publish")
    tell = couler.http(
        "https://hooks.example.org/done", "POST", body="site published", step_name="tell"
    )
    publish >> tell
