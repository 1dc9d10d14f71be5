import couler

with couler.Workflow("maps"):
    couler.run_container(
        "registry.example.org/maps:12",
        ["render"],
        env={"TZ": "UTC", "MAP_STYLE": "dark"},
        step_name="render",
    )
