import couler

with couler.Workflow("stats"):
    couler.add_volume(couler.Volume("data", claim_name="datasets"))
    couler.run_container(
        "registry.example.org/stats:1",
        ["stats", "/data"],
        volume_mounts=[couler.VolumeMount("data", "/data")],
        step_name="stats",
    )
