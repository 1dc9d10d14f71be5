# Volumes of a run with and without stated sizes, and one that exists; sub-paths and scratch space.
import couler.argo as couler
from couler.argo_submitter import ArgoSubmitter
from couler.core.syntax.volume import add_volume, create_workflow_volume
from couler.core.templates.volume import Volume, VolumeMount
from couler.core.templates.volume_claim import VolumeClaimTemplate

create_workflow_volume(VolumeClaimTemplate("workdir"))
create_workflow_volume(VolumeClaimTemplate("models", ["ReadWriteMany"], "20Gi"))
create_workflow_volume(VolumeClaimTemplate("logs", access_modes="ReadWriteMany", size="100Mi"))
add_volume(Volume("datasets", "team-datasets"))  # name, claim_name: a claim that exists


def generate():
    return couler.run_container(
        image="alpine:3.20",
        command=["sh", "-c", "ls /datasets > /mnt/vol/list.txt"],
        volume_mounts=[VolumeMount("workdir", "/mnt/vol"), VolumeMount("datasets", "/datasets")],
        step_name="generate",
    )


def train():
    return couler.run_container(
        image="alpine:3.20",
        command=["sh", "-c", "cp /mnt/vol/list.txt /models/model.bin; date > /logs/end.txt"],
        volume_mounts=[
            VolumeMount("workdir", "/mnt/vol"),
            VolumeMount("models", "/models"),
            VolumeMount("logs", "/logs"),
            VolumeMount("scratch", "/scratch"),  # nothing says more of it: space of the pod
        ],
        step_name="train",
    )


generate()
train()

couler.run(submitter=ArgoSubmitter())
