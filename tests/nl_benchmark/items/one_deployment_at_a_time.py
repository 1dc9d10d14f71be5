import couler

with couler.Workflow("deployment"):
    couler.run_container(
        "registry.example.org/cd:4", ["deploy", "--prod"], mutex="production", step_name="deploy"
    )
