"""What the processes of a step have written: which pod that is, and its log over broken streams."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from couler.backends.argo.family import home_of
from couler.backends.argo.status_nodes import Node, place
from couler.backends.argo.workflow_api import MAIN_CONTAINER, WorkflowApi
from couler.backends.remote import Json
from couler.errors import EngineError
from couler.ir.workflow import ContainerSet, Step
from couler.rest.client import RestError
from couler.rest.patience import Patience, Waits

STARTING = Patience(first_s=1.0, cap_s=5.0, total_s=3600.0)
"""How long to wait for a pod that is to start, where its log is followed."""

BROKEN = Patience(first_s=0.5, cap_s=15.0, total_s=300.0)
"""How long a log that is followed may be away."""

_NAME_FORMAT = "workflows.argoproj.io/pod-name-format"
_LONGEST_NAME, _HASH = 253, 10
_BUSY = (429, 500, 502, 503, 504)
_ARCHIVED = ("main-logs",)

_EXECUTOR = re.compile(r'time="?[-0-9]{10}T\S+ level=\w+ msg=.*\bargo=true\b')
_EXITED = re.compile(r'msg="sub-process exited".* error="([^"]+)"')

Begin = Callable[[Patience], Waits]


def pod_name(workflow: Json, node: Node) -> str:
    """Return the name of the pod of a node, as Argo makes it (`GeneratePodName`)."""
    workflow, node = home_of(workflow, node)
    metadata = workflow["metadata"]
    if (metadata.get("annotations") or {}).get(_NAME_FORMAT) == "v1":
        return node.id
    name: str = metadata["name"]
    if node.name == name:
        return name
    called = node.tree.get("templateRef")
    template = called["template"] if called else node.tree.get("templateName")
    prefix = f"{name}-{template}" if template else name
    return f"{prefix[: _LONGEST_NAME - _HASH - 1]}-{_fnv32a(node.name.encode())}"


def _fnv32a(content: bytes) -> int:
    """Return the hash of Fowler, Noll and Vo (32 bits, variant 1a)."""
    found = 0x811C9DC5
    for byte in content:
        found = (found ^ byte) * 0x01000193 & 0xFFFFFFFF
    return found


def containers_of(step: Step) -> tuple[str, ...]:
    """Return the names of the containers that do the work of a step."""
    if isinstance(step.action, ContainerSet):
        return tuple(container.name for container in step.action.containers)
    return (MAIN_CONTAINER,)


def archived_log(node: Node) -> str | None:
    """Return where the log of a node was archived; None if it was not."""
    artifacts: Sequence[Mapping[str, Json]] = (node.tree.get("outputs") or {}).get(
        "artifacts"
    ) or ()
    return next((place(one) for one in artifacts if one["name"] in _ARCHIVED), None)


def pod_lines(
    api: WorkflowApi,
    workflow: str,
    pod: str,
    container: str,
    *,
    follow: bool,
    is_over: Callable[[], bool],
    begin: Begin = Patience.begin,
) -> Iterator[str]:
    """Yield the lines of a container."""
    seen = 0
    starting, broken = begin(STARTING), begin(BROKEN)
    while True:
        number = 0
        try:
            for number, line in enumerate(
                api.logs(workflow, pod, container, follow=follow), start=1
            ):
                if number > seen:  # a log that is asked for again begins at its first line
                    seen = number
                    yield line
            return
        except RestError as error:
            if number > 0:
                broken = begin(BROKEN)
            if _is_starting(error) and not follow:
                return  # nothing is written yet
            if not follow or not _is_worth_waiting(error):
                raise
            is_early = _is_starting(error) or error.code == 404
            if is_early and (seen or is_over()):
                raise
            if not (starting if is_early else broken).wait():
                raise


def _is_worth_waiting(error: RestError) -> bool:
    """Whether a log may be there later: its pod is not made yet, or the server is away."""
    if error.code is None or error.code in _BUSY:
        return True
    return error.code == 404 or _is_starting(error)


def _is_starting(error: RestError) -> bool:
    return error.code == 400 and "waiting to start" in error.reason


def without_executor(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines that a process wrote, less those of Argo's executor around it."""
    own: str | None = None
    for line in lines:
        if not _EXECUTOR.match(line):
            if line != own:
                yield line
        elif ended := _EXITED.search(line):
            own = f"Error: {ended[1]}"


def gone(path: str, node: Node) -> EngineError:
    """Return the error for a log whose pod is gone."""
    where = archived_log(node)
    kept = (
        f'it is archived as "{where}" in the repository of artifacts'
        if where is not None
        else "and it was not archived (archiveLogs of the artifact repository)"
    )
    return EngineError(f"argo: the pod of {path} is gone, with the log of it; {kept}")
