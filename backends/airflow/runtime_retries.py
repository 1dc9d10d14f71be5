"""Functions that DAG files carry to tell which failures are tried again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from airflow.sdk import RetryDecision, RetryPolicy
    from airflow.sdk.exceptions import AirflowTaskTimeout

MODULES: dict[str, tuple[str, ...]] = {
    "airflow.sdk": ("RetryDecision", "RetryPolicy"),
    "airflow.sdk.exceptions": ("AirflowTaskTimeout",),
    "typing": ("Any",),
}
"""Where the names come from that the functions use."""


def retry_if(
    kind: str | None = None,
    exit_codes: list[int] | None = None,
    passing: list[str | int] | None = None,
) -> Any:
    """What allows a retry after failures of one kind, with certain exit codes, or passing."""

    def evaluate(_: Any, exception: BaseException, context: Any, **tries: int) -> Any:
        pod = getattr(context["ti"].task, "remote_pod", None)
        found, code = end_of(pod)
        late: BaseException | None = exception
        while late and not isinstance(late, AirflowTaskTimeout):  # what cleans up can fail as well
            late = late.__context__
        if late or isinstance(exception, RuntimeError):
            found, code = "failure", None
        if (kind and found != kind) or (exit_codes and code not in exit_codes):
            return RetryDecision.fail(f"no retry after this {found}, exit code {code}")
        if passing is not None and not is_passing(pod, exception, passing):
            return RetryDecision.fail(f"no retry, as this {found} is not known to pass")
        return RetryDecision.default()

    return type("RetryIf", (RetryPolicy,), {"evaluate": evaluate})()


def is_passing(pod: Any, exception: BaseException, known: list[str | int]) -> bool:
    """Return whether an error is one of the known: by why the pod ended, a status or its class."""
    told: set[Any] = {pod and pod.status.reason}
    cause: BaseException | None = exception
    while cause:
        told |= {one.__name__ for one in type(cause).__mro__}
        told.add(getattr(cause, "status", None))
        if "sidecar container is already terminated" in str(cause):
            told.add("XComRetrievalError")
        cause = cause.__context__
    return not told.isdisjoint(known)


def end_of(pod: Any) -> tuple[str, int | None]:
    """Return how a pod has failed, and the exit code of its process if that has."""
    if pod is None or pod.status.reason:  # which is why the pod was ended from outside
        is_late = pod is not None and pod.status.reason == "DeadlineExceeded"
        return "failure" if is_late else "error", None
    for one in pod.status.container_statuses or []:
        ended = one.state.terminated
        if one.name != "base" or not ended or not ended.exit_code:
            continue
        words = (ended.message or "").partition(": ")[0]
        if words in ("couler error", "couler failure"):
            return words.removeprefix("couler "), None
        if ended.reason not in ("ContainerCannotRun", "StartError"):
            return "failure", ended.exit_code
    return "error", None
