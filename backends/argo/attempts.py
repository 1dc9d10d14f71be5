"""The tries of a step under Argo."""

from __future__ import annotations

import re
from collections.abc import Sequence

from couler.backends.argo.status_nodes import Node
from couler.backends.remote import AttemptState, ObservedAttempt

_OF_CHILD = re.compile(r"child '.*' (?:failed|errored)|children? failed.*", re.DOTALL)
_CANCELLED = re.compile(
    r"shutdown with strategy|Stopped with strategy|exceeded its deadline|exceeded workflow deadline"
)
_FALSE = re.compile(r"when '.*' evaluated false", re.DOTALL)
_SIGNALLED = (137, 143)
"""Exit codes of processes that were told to end, or killed."""


def is_child_message(message: str) -> bool:
    """Return whether a message only names a node inside, by an id that no user knows."""
    return _OF_CHILD.fullmatch(message) is not None


def attempts_of(tries: Sequence[Node], stopped: bool) -> tuple[ObservedAttempt, ...]:
    """Return the attempts that nodes stand for; those that have not begun are none."""
    begun = [
        node for node in tries if node.has_run and node.phase != "Pending" and not node.is_cached
    ]
    return tuple(
        ObservedAttempt(
            number=number,
            status=_state(node, stopped),
            started=node.started,
            finished=node.finished if node.has_ended else None,
            exit_code=node.exit_code,
            message=None if node.phase == "Succeeded" else told(node, stopped),
            node=node.host,
        )
        for number, node in enumerate(begun, start=1)
    )


def told(node: Node, stopped: bool) -> str | None:
    """Return what Argo tells people of a node, if it is of use to them."""
    message = node.message
    if message is None or is_child_message(message):
        return None
    if _FALSE.fullmatch(message):
        return "its condition is false"
    return "the run was cancelled" if stopped and _CANCELLED.search(message) else message


def _state(node: Node, stopped: bool) -> AttemptState:
    if not node.has_ended:
        return "running"
    if node.phase == "Succeeded":
        return "succeeded"
    code = node.exit_code
    if stopped and (code in _SIGNALLED or _CANCELLED.search(node.message or "")):
        return "cancelled"
    return "failed" if node.phase == "Failed" and code is not None else "error"
