"""Create a resource of Kubernetes, such as a training job, and wait for its end.

Job, manifest, success and failure condition, distributed training.
"""

import couler

with couler.Workflow("cluster-training", workers=2) as wf:
    couler.run_job(
        manifest={
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"generateName": "fit-"},
            "spec": {
                "completions": wf.params.workers,
                "template": {
                    "spec": {
                        "restartPolicy": "Never",
                        "containers": [{"name": "fit", "image": "example.org/fit:3"}],
                    }
                },
            },
        },
        success_condition="status.succeeded > 1",
        failure_condition="status.failed > 2",
        name="fit",
    )
