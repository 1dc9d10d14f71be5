import couler

with couler.Workflow("mesh"):
    couler.run_job(
        manifest={
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"generateName": "mesh-"},
            "spec": {
                "completions": 3,
                "template": {
                    "spec": {
                        "restartPolicy": "Never",
                        "containers": [{"name": "mesh", "image": "registry.example.org/mesh:1"}],
                    }
                },
            },
        },
        success_condition="status.succeeded > 2",
        failure_condition="status.failed > 0",
        step_name="mesh",
    )
