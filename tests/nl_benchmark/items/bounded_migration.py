import couler

with couler.Workflow("migration"):
    couler.run_container(
        "registry.example.org/db-tools:2.4", ["migrate", "up"], timeout="15m", step_name="migrate"
    )
