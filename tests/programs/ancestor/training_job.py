# A training job of the cluster, and what is done with its name and its object.
import couler.argo as couler
from couler.argo_submitter import ArgoSubmitter

MANIFEST = """
apiVersion: batch/v1
kind: Job
metadata:
  generateName: train-
spec:
  backoffLimit: 2
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: train
        image: example.org/train:1
        command: ["python", "-m", "train"]
"""


def train():
    return couler.run_job(
        manifest=MANIFEST,
        success_condition="status.succeeded > 0",
        failure_condition="status.failed > 2",
        set_owner_reference=False,
        timeout=7200,
        retry=1,
        step_name="train",
    )


def tell(job):
    return couler.run_container(image="alpine:3.20", command=["echo"], args=[job], step_name="tell")


couler.set_dependencies(train, dependencies=None)
couler.set_dependencies(lambda: tell("trained"), dependencies=["train"])

couler.run(submitter=ArgoSubmitter())
