import couler

with couler.Workflow("journal") as wf:
    couler.run_container(
        "registry.example.org/journal:1",
        ["journal", "add"],
        args=[wf.run_facts.id],
        step_name="journal",
    )
