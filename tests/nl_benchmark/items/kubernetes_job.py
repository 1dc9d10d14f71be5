import couler

MESH = {"name": "mesh", "image": "registry.example.org/mesh:1"}
POD = {"restartPolicy": "Never", "containers": [MESH]}
JOB = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"generateName": "mesh-"},
    "spec": {"completions": 3, "template": {"spec": POD}},
}

with couler.Workflow("mesh"):
    couler.run_job(
        manifest=JOB,
        success_condition="status.succeeded > 2",
        failure_condition="status.failed > 0",
        step_name="mesh",
    )
