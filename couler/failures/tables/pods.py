"""Pods: how the kubelet ends them, and how their processes end."""

from __future__ import annotations

from couler.failures.pattern import Failure, Pattern, sign
from couler.failures.tables.waits import BUSY, FEW, QUICK

_KUBELET = "https://github.com/kubernetes/kubernetes/blob/v1.33.1/pkg/kubelet"

PATTERNS = (
    Pattern(
        name="OOMKilledErr",
        system="kubernetes",
        signs=(
            sign(reason="OOMKilled"),
            sign(r"\bOOMKilled \(exit code \d{1,3}\)"),
        ),
        example=Failure("main: OOMKilled (exit code 137)", exit_code=137),
        means="the process used more memory than the step may have, and was killed",
        retry="never",
        backoff=None,
        advice="Give the step more memory (resources), or let it keep less in memory.",
        source="https://kubernetes.io/docs/tasks/configure-pod-container/assign-memory-resource/",
    ),
    Pattern(
        name="EphemeralStorageErr",
        system="kubernetes",
        signs=(
            sign(r"\bPod ephemeral local storage usage exceeds the total limit of containers "),
            sign(r"\bContainer \S{1,63} exceeded its local ephemeral storage limit \""),
            sign(r"\bUsage of EmptyDir volume \"\S{1,63}\" exceeds the limit \""),
        ),
        example=Failure(
            "Pod ephemeral local storage usage exceeds the total limit of containers 1Gi. ",
            reason="Evicted",
        ),
        means="the step wrote more to the node's disk than it may",
        retry="never",
        backoff=None,
        advice="Give the step more disk (resources), or write to a volume or to files outside.",
        source=f"{_KUBELET}/eviction/helpers.go",
    ),
    Pattern(
        name="EvictedErr",
        system="kubernetes",
        signs=(
            sign(reason="Evicted"),
            sign(r"\AThe node was low on resource: \S{1,100}\. "),
            sign(r"\AThe node had condition: \[[A-Za-z, ]{1,200}\]\. "),
        ),
        example=Failure(
            "The node was low on resource: memory. Threshold quantity: 100Mi, available: 80Mi. "
            "Container main was using 3Gi, request is 1Gi, has larger consumption of memory. ",
            reason="Evicted",
        ),
        means="its node ran out of memory, disk or processes, and ended the pod",
        retry="always",
        backoff=QUICK,
        advice="If the message says that the step used more than its request, raise the request "
        "(resources) to what it uses.",
        source="https://kubernetes.io/docs/concepts/scheduling-eviction/node-pressure-eviction/",
    ),
    Pattern(
        name="PreemptedErr",
        system="kubernetes",
        signs=(
            sign(reason=("Preempting", "PreemptionByScheduler")),
            sign(r"\APreempted in order to admit critical pod\Z"),
            sign(r"\APreempted by (?:a )?pod \S{1,253}"),
            sign(r"\b\S{1,100}: preempting to accommodate a higher priority pod\b"),
        ),
        example=Failure("Preempted in order to admit critical pod", reason="Preempting"),
        means="the pod had to make room for one of a higher priority",
        retry="after a wait",
        backoff=BUSY,
        advice="Give the step a higher priority (priority_class), or run it when there is room.",
        source="https://kubernetes.io/docs/concepts/scheduling-eviction/pod-priority-preemption/",
    ),
    Pattern(
        name="NodeShutdownErr",
        system="kubernetes",
        signs=(
            sign(reason=("NodeShutdown", "Terminated", "TerminationByKubelet")),
            sign(r"\APod was terminated in response to imminent node shutdown\."),
            sign(r"\APod was rejected as the node is shutting down\."),
        ),
        example=Failure(
            "Pod was terminated in response to imminent node shutdown.", reason="Terminated"
        ),
        means="its node was shut down, as spot instances are when they are taken back",
        retry="always",
        backoff=QUICK,
        advice="Keep long steps off nodes that can be taken away (node_selector), or let them "
        "write checkpoints.",
        source="https://kubernetes.io/docs/concepts/cluster-administration/node-shutdown/",
    ),
    Pattern(
        name="NodeLostErr",
        system="kubernetes",
        signs=(
            sign(
                reason=(
                    "NodeLost",
                    "DeletionByTaintManager",
                    "DeletionByPodGC",
                    "EvictionByEvictionAPI",
                )
            ),
            sign(r"\ANode \S{1,253} which was running pod \S{1,253} is unresponsive\Z"),
            sign(r"\bTaint manager: deleting due to NoExecute taint\b"),
            sign(r"\bPodGC: node no longer exists\b"),
        ),
        example=Failure(
            "Node ip-10-0-1-7 which was running pod train-1234 is unresponsive", reason="NodeLost"
        ),
        means="its node was lost or drained, and the pod with it",
        retry="always",
        backoff=QUICK,
        advice="If it comes again and again, look at the node: mostly it has too little memory, or "
        "no network.",
        source="https://kubernetes.io/docs/concepts/workloads/pods/disruptions/"
        "#pod-disruption-conditions",
    ),
    Pattern(
        name="NodeRefusedErr",
        system="kubernetes",
        signs=(
            sign(reason=("NodeAffinity", "UnexpectedAdmissionError", "Topology Affinity Error")),
            sign(reason=("OutOfcpu", "OutOfmemory", "OutOfpods", "OutOfephemeral-storage")),
            sign(r"\bNode didn't have enough resource: \S{1,253}, requested: \d{1,20}, used: "),
            sign(r"\bPredicate NodeAffinity failed\b"),
            sign(r"\bAllocate failed due to .{1,500}, which is unexpected\b"),
        ),
        example=Failure(
            "Pod was rejected: Node didn't have enough resource: memory, requested: 1053818880, "
            "used: 5740953600, capacity: 6198358016",
            reason="OutOfmemory",
        ),
        means="the node to which the pod was given had no room for it after all",
        retry="always",
        backoff=QUICK,
        advice="Nothing, if another try succeeds; else look at the node, and at its device plugin "
        "if the step asks for GPUs.",
        source=f"{_KUBELET}/lifecycle/predicate.go",
    ),
    Pattern(
        name="PodDeadlineErr",
        system="kubernetes",
        signs=(
            sign(reason="DeadlineExceeded"),
            sign(r"\bPod was active on the node longer than (?:the )?specified deadline"),
            sign(r"\bJob was active longer than specified deadline"),
        ),
        example=Failure(
            "Pod was active on the node longer than the specified deadline",
            reason="DeadlineExceeded",
        ),
        means="the step took longer than it may",
        retry="never",
        backoff=None,
        advice="Give the step more time (timeout), or less to do.",
        source="https://kubernetes.io/docs/concepts/workloads/pods/init-containers/"
        "#detailed-behavior",
    ),
)

BY_EXIT_CODE = (
    Pattern(
        name="KilledErr",
        system="kubernetes",
        signs=(sign(exit_code=(137, -9)),),
        example=Failure("main: Error (exit code 137)", exit_code=137),
        means="the process was killed (SIGKILL), and nothing says by whom",
        retry="after a wait",
        backoff=FEW,
        advice="Mostly it is memory, of the step or of its node: give the step more (resources). "
        "The events of the pod and of its node may say more.",
        source="https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-termination",
    ),
    Pattern(
        name="TerminatedErr",
        system="kubernetes",
        signs=(sign(exit_code=(143, -15)),),
        example=Failure("main: Error (exit code 143)", exit_code=143),
        means="the process was asked to end (SIGTERM) before it was done",
        retry="after a wait",
        backoff=FEW,
        advice="Mostly its pod was deleted or its node drained: the events of both may say more.",
        source="https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-termination",
    ),
)
