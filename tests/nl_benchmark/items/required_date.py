import couler

with couler.Workflow("daily", day=str) as wf:
    couler.run_container(
        "registry.example.org/daily:1", ["process"], args=[wf.params.day], step_name="process"
    )
