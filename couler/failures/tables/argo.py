"""Argo Workflows: its controller, its executor in the pods, and its server."""

from __future__ import annotations

from couler.failures.pattern import Failure, Pattern, sign
from couler.failures.tables.waits import BUSY, QUICK

_ARGO = "https://github.com/argoproj/argo-workflows/blob/v4.0.7"
_OPERATOR = f"{_ARGO}/workflow/controller/operator.go"

PATTERNS = (
    Pattern(
        name="PodDeletedErr",
        system="argo",
        signs=(sign(r"\A(?:pod|container) deleted\Z"),),
        example=Failure("pod deleted"),
        means="the step's pod was deleted while it ran, by a person or with its node",
        retry="always",
        backoff=QUICK,
        advice="If nobody deleted it, its node was drained or lost: keep long steps off nodes that "
        "can be taken away (node_selector).",
        source=_OPERATOR,
    ),
    Pattern(
        name="PodIncompleteErr",
        system="argo",
        signs=(
            sign(
                r"\Apod failed: (?:neither main nor wait container completed successfully"
                r"|(?:main|wait) container did not complete successfully)\Z"
            ),
            sign(r"\Acan't find failed message for pod \S{1,253} namespace \S{1,63}\Z"),
        ),
        example=Failure("pod failed: wait container did not complete successfully"),
        means="the pod ended from outside before its containers told how they ended",
        retry="always",
        backoff=QUICK,
        advice="Look at the events of its node: mostly it was shut down, or ran out of memory.",
        source=_OPERATOR,
    ),
    Pattern(
        name="ArgoRateLimitErr",
        system="argo",
        signs=(sign(r"\Aresource creation rate-limit reached\Z"),),
        example=Failure("resource creation rate-limit reached"),
        means="the controller may create no more pods at this moment",
        retry="after a wait",
        backoff=BUSY,
        advice="Argo goes on by itself. If it waits long, have its resourceRateLimit raised.",
        source=_OPERATOR,
    ),
    Pattern(
        name="StepDeadlineErr",
        system="argo",
        signs=(
            sign(r"\A(?:Step exceeded its deadline|\S{1,500} exceeded its deadline)\Z"),
            sign(r"\A(?:Max duration limit exceeded|retry exceeded workflow deadline .{1,80})\Z"),
        ),
        example=Failure("Step exceeded its deadline"),
        means="the step or its run took longer than it may",
        retry="never",
        backoff=None,
        advice="Give the step more time (timeout), or less to do.",
        source=_OPERATOR,
    ),
    Pattern(
        name="RecursionDepthErr",
        system="argo",
        signs=(sign(r"\bMaximum recursion depth exceeded\. See https://argo-workflows\."),),
        example=Failure(
            "Maximum recursion depth exceeded. See "
            "https://argo-workflows.readthedocs.io/en/latest/scaling/#maximum-recursion-depth"
        ),
        means="templates are nested deeper than the controller allows",
        retry="never",
        backoff=None,
        advice="Nest fewer groups and loops, or lower max_iterations.",
        source=_OPERATOR,
    ),
    Pattern(
        name="WorkflowTooLargeErr",
        system="argo",
        signs=(
            sign(r"\bworkflow is longer than maximum allowed size\b"),
            sign(r"\boffload node status is not supported\b"),
        ),
        example=Failure(
            "workflow is longer than maximum allowed size. compressed size 1052637 > maxSize "
            "1048576"
        ),
        means="the status of the workflow no longer fits into its object",
        retry="never",
        backoff=None,
        advice="Split the workflow, or have the administrator turn on nodeStatusOffLoad.",
        source=f"{_ARGO}/workflow/packer/packer.go",
    ),
    Pattern(
        name="MissingOutputErr",
        system="argo",
        signs=(
            sign(r"\bopen /var/run/argo/outputs/(?:parameters|artifacts)/.{0,500}: no such file\b"),
            sign(r"\bopen /mainctrfs/.{0,500}: no such file\b"),
        ),
        example=Failure(
            "wait: Error (exit code 64): open /var/run/argo/outputs/parameters/tmp/answer: "
            "no such file or directory"
        ),
        means="the process ended well, but did not write an output that it declares",
        retry="never",
        backoff=None,
        advice="Write the file at the path of the output, or declare the output optional.",
        source=f"{_ARGO}/workflow/executor/emissary/emissary.go",
    ),
    Pattern(
        name="JobResourceDeletedErr",
        system="argo",
        signs=(sign(r"\bThe resource has been deleted while its status was still being "),),
        example=Failure(
            "main: Error (exit code 64): The resource has been deleted while its status was still "
            'being checked. Will not be retried: pytorchjobs.kubeflow.org "train" not found'
        ),
        means="the resource of a job was deleted while the step waited for it",
        retry="always",
        backoff=QUICK,
        advice="Find out who deletes it: a time to live of the operator, or a person.",
        source=f"{_ARGO}/workflow/executor/resource.go",
    ),
)
