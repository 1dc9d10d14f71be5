import couler

with couler.Workflow(
    "backup",
    schedule=couler.Schedule("0 3 * * *", timezone="Europe/Berlin", concurrency="forbid"),
):
    couler.run_container("registry.example.org/backup:1", ["backup.sh"], step_name="backup")
