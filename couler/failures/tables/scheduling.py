"""Pods that no node takes, and volumes that they wait for."""

from __future__ import annotations

from couler.failures.pattern import Failure, Pattern, sign
from couler.failures.tables.waits import BUSY, SLOW

_ASSIGN = "https://kubernetes.io/docs/concepts/scheduling-eviction"
_VOLUMES = "https://kubernetes.io/docs/concepts/storage"

PATTERNS = (
    Pattern(
        name="ClaimNotFoundErr",
        system="kubernetes",
        signs=(sign(r"\bpersistentvolumeclaim \"[a-z0-9.-]{1,253}\" not found\b"),),
        example=Failure(
            '0/3 nodes are available: persistentvolumeclaim "data" not found. preemption: 0/3 '
            "nodes are available: 3 Preemption is not helpful for scheduling.",
            reason="Unschedulable",
        ),
        means="a volume that the step mounts does not exist in the namespace",
        retry="never",
        backoff=None,
        advice="Create the persistent volume claim, or correct its name.",
        source=f"{_VOLUMES}/persistent-volumes/",
    ),
    Pattern(
        name="StorageClassErr",
        system="kubernetes",
        signs=(sign(r"\bstorageclass\.storage\.k8s\.io \"[a-z0-9.-]{1,253}\" not found\b"),),
        example=Failure(
            'storageclass.storage.k8s.io "fast-ssd" not found', reason="ProvisioningFailed"
        ),
        means="the cluster has no storage class of that name, so a volume cannot be made",
        retry="never",
        backoff=None,
        advice="Correct the storage class of the volume; kubectl get storageclass lists them.",
        source=f"{_VOLUMES}/storage-classes/",
    ),
    Pattern(
        name="NodeSelectorErr",
        system="kubernetes",
        signs=(
            sign(
                r"\b0/(\d{1,6}) nodes are available: \1 node\(s\) didn't match "
                r"(?:Pod's node affinity/selector|node selector)"
            ),
        ),
        example=Failure(
            "0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector. "
            "preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling.",
            reason="Unschedulable",
        ),
        means="no node of the cluster is of the kind that the step asks for",
        retry="never",
        backoff=None,
        advice="Correct node_selector or the affinity, or have such nodes added; a cluster that "
        "grows by itself may need minutes for the first one.",
        source=f"{_ASSIGN}/assign-pod-node/",
    ),
    Pattern(
        name="UntoleratedTaintErr",
        system="kubernetes",
        signs=(
            # Taints of node.kubernetes.io are conditions of nodes, which pass.
            sign(
                r"\b0/(\d{1,6}) nodes are available: \1 node\(s\) had untolerated taint"
                r"(?:\(s\)| \{(?!node\.kubernetes\.io/))"
            ),
        ),
        example=Failure(
            "0/2 nodes are available: 2 node(s) had untolerated taint {nvidia.com/gpu: present}.",
            reason="Unschedulable",
        ),
        means="all nodes are kept for other work by a taint",
        retry="never",
        backoff=None,
        advice="Give the step a toleration of the taint that the message names.",
        source=f"{_ASSIGN}/taint-and-toleration/",
    ),
    Pattern(
        name="VolumeZoneErr",
        system="kubernetes",
        signs=(
            sign(
                r"\b0/(\d{1,6}) nodes are available: \1 node\(s\) had volume node affinity conflict"
            ),
        ),
        example=Failure(
            "0/5 nodes are available: 5 node(s) had volume node affinity conflict.",
            reason="Unschedulable",
        ),
        means="the volume lies in a zone, or on a node, where the step may not run",
        retry="never",
        backoff=None,
        advice="Let the step run where its volume is, or use a storage class that waits for the "
        "first consumer.",
        source=f"{_VOLUMES}/storage-classes/#volume-binding-mode",
    ),
    Pattern(
        name="UnboundVolumeErr",
        system="kubernetes",
        signs=(sign(r"\bpod has unbound immediate PersistentVolumeClaims\b"),),
        example=Failure(
            "0/6 nodes are available: pod has unbound immediate PersistentVolumeClaims.",
            reason="Unschedulable",
        ),
        means="a volume that the step mounts is not there yet",
        retry="after a wait",
        backoff=SLOW,
        advice="Look at the events of the claim: no volume fits it, or nobody makes one.",
        source=f"{_VOLUMES}/persistent-volumes/#binding",
    ),
    Pattern(
        name="UnschedulableErr",
        system="kubernetes",
        signs=(
            sign(r"\b0/\d{1,6} nodes are available: "),
            sign(reason=("Unschedulable", "FailedScheduling")),
        ),
        example=Failure(
            "0/4 nodes are available: 1 Insufficient memory, 3 Insufficient nvidia.com/gpu. "
            "preemption: 0/4 nodes are available: 4 No preemption victims found for incoming pod.",
            reason="Unschedulable",
        ),
        means="no node has room for what the step asks for at this moment",
        retry="after a wait",
        backoff=SLOW,
        advice="Wait until other work has ended, ask for less (resources), or have nodes added. "
        "What no node has even when it is empty never comes.",
        source=f"{_ASSIGN}/kube-scheduler/",
    ),
    Pattern(
        name="MultiAttachErr",
        system="kubernetes",
        signs=(sign(r"\bMulti-Attach error for volume \"\S{1,253}\""),),
        example=Failure(
            'Multi-Attach error for volume "pvc-9dbdb7f1-850d-4553-97cf-90f88ead73ca" Volume is '
            "already exclusively attached to one node and can't be attached to another",
            reason="FailedAttachVolume",
        ),
        means="the volume is still attached to another node",
        retry="after a wait",
        backoff=BUSY,
        advice="Use a volume that several nodes may mount (ReadWriteMany), or run its steps one "
        "after the other.",
        source=f"{_VOLUMES}/persistent-volumes/#access-modes",
    ),
    Pattern(
        name="VolumeMountErr",
        system="kubernetes",
        signs=(
            sign(reason=("FailedMount", "FailedAttachVolume")),
            sign(r"\bUnable to attach or mount volumes: unmounted volumes=\["),
            sign(r"\b(?:MountVolume|AttachVolume)\.\w{1,30} failed for volume \""),
        ),
        example=Failure(
            "Unable to attach or mount volumes: unmounted volumes=[nfs], unattached volumes=[nfs "
            "default-token-dn4gs]: timed out waiting for the condition",
            reason="FailedMount",
        ),
        means="a volume of the step could not be mounted",
        retry="after a wait",
        backoff=BUSY,
        advice="Look at the pod's events: the server of the volume cannot be reached, or the claim "
        "is wrong.",
        source=f"{_VOLUMES}/volumes/",
    ),
)
