"""Jobs: resources of the cluster that a step waits for."""

from __future__ import annotations

from couler.failures.pattern import Failure, Pattern, sign

PATTERNS = (
    Pattern(
        name="JobBackoffErr",
        system="kubernetes",
        signs=(
            sign(reason="BackoffLimitExceeded"),
            sign(r"\bJob has reached the specified backoff limit\b"),
        ),
        example=Failure(
            "Job has reached the specified backoff limit", reason="BackoffLimitExceeded"
        ),
        means="the pods of the job failed as often as they may",
        retry="never",
        backoff=None,
        advice="Look into the logs of the job's pods.",
        source="https://kubernetes.io/docs/concepts/workloads/controllers/job/"
        "#pod-backoff-failure-policy",
    ),
    Pattern(
        name="JobConditionErr",
        system="argo",
        signs=(sign(r"\bfailure condition '[^'\n]{1,300}' evaluated true\b"),),
        example=Failure(
            "main: Error (exit code 64): failure condition 'status.failed>3' evaluated true"
        ),
        means="the resource of the job says that it has failed",
        retry="never",
        backoff=None,
        advice="Look at the resource (kubectl describe) and into the logs of its pods.",
        source="https://github.com/argoproj/argo-workflows/blob/v4.0.7/workflow/executor/"
        "resource.go",
    ),
)
