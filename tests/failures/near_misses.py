"""Failures that read like those of a row, but are others: what users' own programs may say."""

from __future__ import annotations

from couler.failures import Failure


def said(*messages: str) -> tuple[Failure, ...]:
    """Return failures of these messages, with nothing else known."""
    return tuple(Failure(message) for message in messages)


def wrote(log: str) -> Failure:
    """Return a failure of a process that wrote this at its end."""
    return Failure("main: Error (exit code 1)", exit_code=1, log=log)


NEAR_MISSES: dict[str, tuple[Failure, ...]] = {
    "EtcdLeaderChangedErr": said("leader changed", "myetcdserver: leader changedness"),
    "EtcdNoLeaderErr": said("etcd: no leader", "there is no leader"),
    "EtcdTimeoutErr": said("request timed out", "etcd request timed out"),
    "EtcdTooManyRequestsErr": said("too many requests", "etcd has too many requests"),
    "EtcdExceededQuotaErr": said("database space exceeded", "mvcc: database space exceeded"),
    "EtcdRequestTooLargeErr": said("request is too large"),
    "PodDeletedErr": said("the pod deleted", "pod deleted by the user", "old\npod deleted"),
    "PodIncompleteErr": said("pod failed: main (exit code 1)", "wait container did not complete"),
    "ArgoWaitErr": said("main: Error (exit code 137)", "it may wait: Error (exit code 1)"),
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
    "AirflowApiServerErr": said(
        "API_SERVER_ERROR: {'status_code': 404, 'message': 'Not found'}", "API_SERVER_ERROR"
    ),
    "AirflowStateErr": said(
        "API_SERVER_ERROR: {'status_code': 409, 'message': 'Conflict'}",
        "the server indicated the task shouldn't be running",
    ),
    "PodLaunchTimeoutErr": said("Pod took too long to start", "it took too long to start."),
    "XcomSidecarErr": said("the sidecar container did not start", "Failed to extract xcom"),
    "PodCredentialsExpiredErr": said("Kubernetes credentials expired"),
    "AirflowTaskTimeoutErr": said("Timeout, PID: unknown", "the AirflowTaskTimeouts"),
    "AirflowTokenErr": said("Invalid auth token", "my log says: Not authenticated"),
    "AirflowExistsErr": (
        *said("Unique constraint violation"),
        Failure("Unique constraint violation", http_status=500),
    ),
    "OOMKilledErr": said("OOMKilled", "it was OOMKilled (exit code unknown)", "exit code 137"),
    "EphemeralStorageErr": said("storage usage exceeds the limit", "disk quota exceeded"),
    "EvictedErr": (
        *said("the node was low on resource: memory", "Evicted", "user evicted"),
        Failure("x", reason="Eviction"),
    ),
    "PreemptedErr": said("Preempted", "the task was preempted by pod racing"),
    "NodeShutdownErr": (
        *said("node shutdown", "the server is shutting down"),
        Failure("", reason="Completed"),
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
    "JobBackoffErr": said("the job has reached its limit", "specified backoff limit"),
    "JobConditionErr": said("failure condition 'status.failed>3' evaluated false"),
    "CertificateErr": (*said("a certificate is missing", "x509 is a format"), wrote("SSL: off")),
    "ImageRateLimitErr": said("toomanyrequests", "You have reached your pull rate limit"),
    "ImageAuthErr": said("access denied", "authentication is required", "401 Unauthorized"),
    "ImagePlatformErr": (*said("no match for platform"), wrote("the exec format error of today")),
    "ImageNotFoundErr": said(
        "image not found", "failed to resolve reference", "manifest is unknown"
    ),
    "InvalidImageNameErr": said("invalid reference format", "InvalidImageName"),
    "ImageNeverPullErr": said("ErrImageNeverPull", "pull policy of Never"),
    "ImagePullErr": said("ErrImagePull", "failed to pull the image", "Pulled image"),
    "RunAsRootErr": said("runAsNonRoot", "it runs as root"),
    "MissingConfigErr": said("the secret was not found", "couldn't find key 7 in the tree"),
    "CommandNotFoundErr": said("trian: command not found", "exec: executable file not found"),
    "PodSandboxErr": said("failed to create a sandbox", "rpc error: code = Unknown"),
    "ContainerStartErr": said("the task could not start", "OCI runtime"),
    "ClaimNotFoundErr": said("persistentvolumeclaim not found", 'claim "data" not found'),
    "StorageClassErr": said('storageclass "fast" not found', "no storage class"),
    "NodeSelectorErr": said(
        "0/3 nodes are available: 1 node(s) didn't match Pod's node affinity/selector, "
        "2 Insufficient cpu.",
        "didn't match Pod's node affinity/selector",
    ),
    "UntoleratedTaintErr": said(
        "0/2 nodes are available: 2 node(s) had untolerated taint "
        "{node.kubernetes.io/not-ready: }.",
        "0/3 nodes are available: 1 node(s) had untolerated taint {gpu: true}, 2 Insufficient cpu.",
    ),
    "VolumeZoneErr": said(
        "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) had volume node affinity conflict.",
    ),
    "UnboundVolumeErr": said("unbound PersistentVolumeClaims"),
    "UnschedulableErr": said("3 nodes are available: a, b, c", "no nodes are available"),
    "MultiAttachErr": said("Multi-Attach error", "attach error for volume x"),
    "VolumeMountErr": said("Unable to mount volumes", "MountVolume failed for the volume"),
    "SlowDownErr": (
        *said("SlowDown", "please slow down", "googleapi: Error 403: rate"),
        wrote("An error occurred (SlowDown) in my own code"),
    ),
    "ClockSkewErr": said("RequestTimeTooSkewed", "the request time is too large"),
    "StorageCredentialsErr": (
        *said("InvalidAccessKeyId", "the access key does not exist"),
        wrote("Unable to locate credentials of the database"),
    ),
    "StorageAccessErr": said("AccessDenied", "Access Denied to the building", "access denied"),
    "NoSuchBucketErr": said("NoSuchBucket", "there is no such bucket"),
    "NoSuchKeyErr": (
        *said("NoSuchKey", "KeyError: 'key'"),
        wrote("The specified key does not exist"),
    ),
    "StorageServerErr": (
        *said("an internal error", "googleapi: Error 404: not found", "Read timeout"),
        wrote("An error occurred (InternalError) when calling the hotline"),
    ),
    "DiskFullErr": (
        *said("disk is full", "No space left"),
        wrote("there is no space left on device 7"),
    ),
    "CudaOutOfMemoryErr": (*said("out of memory"), wrote("CUDA out of memory is handled below")),
    "TensorFlowOutOfMemoryErr": (wrote("OOM when allocating tensor with shape[1]"),),
    "CudaHardwareErr": (wrote("no uncorrectable ECC error encountered"),),
    "CudaProgramErr": (wrote("device-side assert triggered"), wrote("CUDA error: unknown error")),
    "CudaDriverErr": (wrote("the CUDA driver version is 12.4"), wrote("no CUDA-capable device")),
    "NcclTimeoutErr": (wrote("the watchdog caught a timeout"), wrote("NCCL timeout: 600")),
    "NcclErr": (
        wrote("NCCL error handling is on"),
        wrote("NCCL error in: a.cpp, invalid argument"),
    ),
    "GlooErr": (wrote("Connection closed by peer"), wrote("gloo/transport/tcp/pair.cc is a file")),
    "RendezvousErr": (wrote("RendezvousTimeoutError"), wrote("The client socket has timed out")),
    "SharedMemoryErr": (wrote("DataLoader worker (pid 7) is killed by signal: Killed."),),
    "TensorFlowUnavailableErr": (wrote("UnavailableError: try later"),),
    "HorovodErr": (wrote("Horovod has been shut down."),),
    "MpiDaemonErr": (wrote("see: ORTE was unable to reliably start one or more daemons."),),
    "MpiSlotsErr": (wrote("There are not enough slots available in the system."),),
    "XGBoostWorkerErr": (wrote("Failed to bootstrap the communication group."),),
    "LightGbmSocketErr": (wrote("Socket recv error"), wrote("Socket error, code: 104")),
    "DaskWorkerErr": (wrote("Attempted to run task a on 4 different workers"),),
    "DaskConnectionErr": (wrote("Timed out trying to connect to the database"),),
    "DnsErr": (
        *said("lookup of the key failed", "no such host"),
        wrote("Name or service not known"),
    ),
    "ConnectionErr": said("connection refused by the user", "i/o timeout", "dial tcp: bad port"),
    "StepConnectionErr": (
        wrote("ConnectionError: the two shapes do not connect"),
        wrote("  retried after ConnectionResetError: [Errno 104] Connection reset by peer"),
        wrote("curl: (22) The requested URL returned error: 404"),
    ),
}
