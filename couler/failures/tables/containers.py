"""Containers that the kubelet could not start."""

from __future__ import annotations

from couler.failures.pattern import Failure, Pattern, sign
from couler.failures.tables.waits import BUSY, FEW

_DEBUG = "https://kubernetes.io/docs/tasks/debug/debug-application/debug-pods/"

PATTERNS = (
    Pattern(
        name="RunAsRootErr",
        system="kubernetes",
        signs=(
            sign(
                r"\bcontainer has runAsNonRoot and image (?:will run as root|has non-numeric user)"
            ),
        ),
        example=Failure(
            "container has runAsNonRoot and image will run as root",
            reason="CreateContainerConfigError",
        ),
        means="the pod may not run as root, but its image does",
        retry="never",
        backoff=None,
        advice="Give the step a user id (pod, container), or the image a user that is a number.",
        source="https://kubernetes.io/docs/tasks/configure-pod-container/security-context/",
    ),
    Pattern(
        name="MissingConfigErr",
        system="kubernetes",
        signs=(
            sign(r"\b(?:secret|configmap)s? \"[a-z0-9.-]{1,253}\" not found\b"),
            sign(r"\bcouldn't find key \S{1,253} in (?:Secret|ConfigMap) \S"),
            sign(r"\breferences non-existent (?:secret|config) key: \S"),
            sign(reason="CreateContainerConfigError"),
        ),
        example=Failure(
            "Pod failed before main container starts due to CreateContainerConfigError: "
            'secret "db-password" not found'
        ),
        means="a secret or a config map that the step reads is missing, or has no such key",
        retry="never",
        backoff=None,
        advice="Create it in the namespace; couler submit makes declared secrets with "
        "--create-secrets.",
        source="https://kubernetes.io/docs/concepts/configuration/secret/",
    ),
    Pattern(
        name="CommandNotFoundErr",
        system="kubernetes",
        signs=(
            sign(
                r"\bexec: \"[^\"\n]{1,300}\": (?:executable file not found in \$PATH"
                r"|permission denied|stat [^:\n]{1,300}: no such file or directory)"
            ),
        ),
        example=Failure(
            "failed to create containerd task: failed to create shim task: OCI runtime create "
            "failed: runc create failed: unable to start container process: error during container "
            'init: exec: "trian": executable file not found in $PATH: unknown',
            reason="StartError",
            exit_code=128,
        ),
        means="the image has no such program, or it may not be run",
        retry="never",
        backoff=None,
        advice="Correct the first word of command, or put the program into the image.",
        source=_DEBUG,
    ),
    Pattern(
        name="PodSandboxErr",
        system="kubernetes",
        signs=(
            sign(reason="FailedCreatePodSandBox"),
            sign(r"\bFailed to create pod sandbox: rpc error: code = "),
        ),
        example=Failure(
            "Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup "
            'network for sandbox "76c5c21331dd": failed to find plugin "loopback"',
            reason="FailedCreatePodSandBox",
        ),
        means="the node could not give the pod its network",
        retry="after a wait",
        backoff=BUSY,
        advice="If it lasts, tell the cluster's administrator which node it is.",
        source=_DEBUG,
    ),
    Pattern(
        name="ContainerStartErr",
        system="kubernetes",
        signs=(
            sign(
                reason=(
                    "ContainerCannotRun",
                    "CreateContainerError",
                    "RunContainerError",
                    "StartError",
                )
            ),
            sign(r"\bOCI runtime create failed: "),
            sign(r"\bfailed to create containerd task: "),
        ),
        example=Failure(
            "failed to create containerd task: failed to create shim task: OCI runtime create "
            "failed: runc create failed: expected cgroupsPath to be of format slice:prefix:name",
            reason="RunContainerError",
        ),
        means="the node could not start the container",
        retry="after a wait",
        backoff=FEW,
        advice="The end of the message says why: a path of a volume, a device, or the node itself.",
        source=_DEBUG,
    ),
)
