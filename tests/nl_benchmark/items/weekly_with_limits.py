import couler

with couler.Workflow(
    "vacuum",
    schedule=couler.Schedule("15 2 * * 0", concurrency="replace", keep_succeeded=3, keep_failed=1),
):
    couler.run_container(
        "registry.example.org/db-tools:2.4", ["vacuum", "--full"], timeout="2h", step_name="vacuum"
    )
