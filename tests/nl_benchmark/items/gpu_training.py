import couler

with couler.Workflow("vision"):
    couler.run_container(
        "registry.example.org/vision:3",
        ["python", "train.py", "--epochs", "30"],
        cpu=8,
        memory="32Gi",
        gpu=couler.Gpu(2, "a100"),
        step_name="train",
    )
