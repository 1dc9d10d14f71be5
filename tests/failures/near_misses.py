"""Failures that read like those of a row, but are others: what users' own programs may say."""

from __future__ import annotations

from couler.failures import Failure


def said(*messages: str) -> tuple[Failure, ...]:
    """Return failures of these messages, with nothing else known."""
    return tuple(Failure(message) for message in messages)


NEAR_MISSES: dict[str, tuple[Failure, ...]] = {
    "EtcdLeaderChangedErr": said("leader changed", "myetcdserver: leader changedness"),
    "EtcdNoLeaderErr": said("etcd: no leader", "there is no leader"),
    "EtcdTimeoutErr": said("request timed out", "etcd request timed out"),
    "EtcdTooManyRequestsErr": said("too many requests", "etcd has too many requests"),
    "EtcdExceededQuotaErr": said("database space exceeded", "mvcc: database space exceeded"),
    "EtcdRequestTooLargeErr": said("request is too large"),
    "PodDeletedErr": said("the pod deleted", "pod deleted by the user", "old\npod deleted"),
    "PodIncompleteErr": said("pod failed: main (exit code 1)", "wait container did not complete"),
    "ArgoRateLimitErr": said("rate-limit reached", "resource creation rate-limit reached?"),
    "StepDeadlineErr": said("the work exceeded its deadline today", "exceeded its deadline"),
    "RecursionDepthErr": said(
        "RecursionError: maximum recursion depth exceeded", "Maximum recursion depth exceeded."
    ),
    "WorkflowTooLargeErr": said("the workflow is longer than it should be"),
    "MissingOutputErr": said("open /tmp/answer: no such file or directory"),
    "JobResourceDeletedErr": said("The resource has been deleted"),
    "AirflowHeartbeatErr": said("Task did not emit heartbeat", "the task lost its heartbeat"),
    "AirflowQueuedErr": said("Task was requeued", "Task was requeued more than once"),
    "AirflowExecutorErr": said("Executor finished with state failed"),
    "PodLaunchTimeoutErr": said("Pod took too long to start", "it took too long to start."),
    "XcomSidecarErr": said("the sidecar container did not start", "Failed to extract xcom"),
    "PodCredentialsExpiredErr": said("Kubernetes credentials expired"),
    "AirflowTaskTimeoutErr": said("Timeout, PID: unknown", "the AirflowTaskTimeouts"),
    "AirflowTokenErr": said("Invalid auth token", "my log says: Not authenticated"),
    "OOMKilledErr": said("OOMKilled", "it was OOMKilled (exit code unknown)", "exit code 137"),
    "EphemeralStorageErr": said("storage usage exceeds the limit", "disk quota exceeded"),
    "EvictedErr": (
        *said("the node was low on resource: memory", "Evicted", "user evicted"),
        Failure("x", reason="Eviction"),
    ),
    "PreemptedErr": said("Preempted", "the task was preempted by pod racing"),
    "NodeShutdownErr": (
        *said("node shutdown", "the server is shutting down"),
        Failure("", reason="Terminated"),
    ),
    "NodeLostErr": said("Node 7 is unresponsive", "the tree lost a node"),
    "NodeRefusedErr": said("not enough resource", "Allocate failed", "NodeAffinity"),
    "PodDeadlineErr": said("the deadline was exceeded", "context deadline exceeded"),
    "ExceededQuotaErr": (
        *said("exceeded quota", "Disk quota exceeded", "you exceeded quota: ask later"),
        Failure("exceeded quota", http_status=403),
    ),
    "QuotaConflictErr": said('Operation cannot be fulfilled on pods "a": modified'),
    "QuotaTimeoutErr": said("resource quota evaluation", "evaluation timed out"),
    "ResourceExpiredErr": said("too old resource version", "too old version: 1 (2)"),
    "AdmissionWebhookErr": said("failed calling webhook", "failed calling webhook x: y"),
    "AdmissionDeniedErr": said("denied the request", 'webhook "x" denied the request of a user'),
    "NamespaceTerminatingErr": said("it is being terminated", "unable to create new content"),
    "ServiceAccountErr": said('serviceaccount "couler" not found'),
    "ForbiddenErr": (
        *said("forbidden", "access is forbidden: User cannot read", "403 Forbidden"),
        Failure("", reason="forbidden"),
    ),
    "UnauthorizedErr": said("Unauthorized use of the model", "the user is not authorized"),
    "AlreadyExistsErr": said('the table "a" already exists', 'file "a" already exists, skipped'),
    "ConflictErr": said("merge conflict", "Operation cannot be fulfilled"),
    "RequestTooLargeErr": said("Request entity too large", "413"),
    "MissingKindErr": said("no matches for kind", 'no matches for "a" in version "b"'),
    "InvalidObjectErr": said('the model "a" is invalid: no weights', "Invalid"),
    "TooManyRequestsErr": (
        *said("too many requests", "HTTP 429", "error: Too many requests: 7"),
        Failure("", http_status=428),
    ),
    "ServerTimeoutErr": said("Timeout: no answer", "could not be completed at this time"),
    "ServiceUnavailableErr": said("service unavailable", "unable to handle the request"),
    "InternalServerErr": said("an Internal error occurred: x", "internal server error"),
}
