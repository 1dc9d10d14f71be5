"""How tries of tasks ended that did not succeed, by what Airflow has logged of them."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from couler.backends.remote import Json

_FAILURES = ("RuntimeError", "AirflowTaskTimeout")
"""Errors of what ran and ended badly: those of functions of the worker, and of a time limit."""

KILLED = "Task killed!"
"""What Airflow writes where it has ended a task from outside."""

_STATUS = re.compile(
    r"'container_statuses': \[.*?'name': 'base',.*?"
    r"'terminated': (?P<end>None|\{.*?\}),\s*'waiting'",
    re.DOTALL,
)
_EXIT_CODE = re.compile(r"'exit_code': (\d+)")
_REASON = re.compile(r"'reason': '([^']*)'")
_MESSAGE = re.compile(r"'message': (?P<text>(?:\s*(?:'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"))+)")
_POD_REASON = re.compile(r"^ {12}'reason': '([^']*)'", re.MULTILINE)
_POD_MESSAGE = re.compile(r"^ {12}'message': '([^']*)'", re.MULTILINE)
_REFUSED = re.compile(r"\((?P<status>\d{3})\)\nReason: (?P<reason>.*)")
"""How the client of Kubernetes writes a refusal."""
_OUR_WORDS = re.compile(r"couler (error|failure): (.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class TryEnd:
    """How a try ended that did not succeed."""

    message: str | None = None
    exit_code: int | None = None
    was_killed: bool = False
    is_failure: bool = False


def end_of_try(entries: Sequence[Mapping[str, Json]]) -> TryEnd:
    """Return how a try ended, by what Airflow has logged of it."""
    was_killed = any(entry.get("event") == KILLED for entry in entries)
    for entry in reversed(entries):
        details = entry.get("error_detail") or ()
        if entry.get("level") == "error" and details:
            told = details[0]  # those behind it are what it was raised for
            end = _of_error(str(told.get("exc_type")), str(told.get("exc_value")))
            return replace(end, was_killed=was_killed)
    for entry in reversed(entries):
        if entry.get("level") in ("error", "critical") and entry.get("event") != KILLED:
            return TryEnd(first_line(str(entry["event"])), None, was_killed)
    return TryEnd(None, None, was_killed)


def _of_error(kind: str, text: str) -> TryEnd:
    """Return how a try ended by the error that failed it, which may hold the pod's whole state."""
    head, _, pod = text.partition("remote_pod:")
    first = _refusal(head) or first_line(head) or kind
    is_failure = kind in _FAILURES
    status = pod[pod.rfind("\n 'status': ") :]
    found = _STATUS.search(status)
    evicted = _POD_REASON.search(status)
    if evicted is not None:
        more = _POD_MESSAGE.search(status)
        return TryEnd(f"{evicted[1]}: {more[1]}" if more else evicted[1])
    if found is None or found["end"] == "None":
        return TryEnd(first, is_failure=is_failure)
    code, reason = _EXIT_CODE.search(found["end"]), _REASON.search(found["end"])
    words = _text_of(_MESSAGE.search(found["end"]))
    ours = _OUR_WORDS.fullmatch(words.strip())
    if ours is not None:
        return TryEnd(ours[2], is_failure=ours[1] == "failure")
    if code is None:
        return TryEnd(first)
    if reason is not None and reason[1] in ("ContainerCannotRun", "StartError"):
        return TryEnd(": ".join(filter(None, (reason[1], words))))
    told = f"it ended with exit code {code[1]}"
    if reason is not None and reason[1] not in ("Error", "Completed"):
        told += f" ({reason[1]})"
    return TryEnd(f"{told}: {words}" if words else told, int(code[1]), is_failure=True)


def _refusal(text: str) -> str | None:
    """Return what the API of Kubernetes has refused with, None if it did not."""
    refused = _REFUSED.match(text)
    if refused is None:
        return None
    _, _, body = text.partition("\nHTTP response body: ")
    try:
        told = json.loads(body)["message"]
    except (ValueError, KeyError, TypeError):  # a proxy answered, or nobody
        told = refused["reason"]
    return f"{told} (HTTP {refused['status']})"


def _text_of(found: re.Match[str] | None) -> str:
    """Return a text that Python has written in quotes, in one or several parts."""
    if found is None:
        return ""
    try:
        return str(ast.literal_eval(f"({found['text']})"))
    except (SyntaxError, ValueError):
        return ""


def first_line(text: str) -> str:
    """Return the first line of a text that says something."""
    return next((line for line in text.splitlines() if line.strip()), "").strip()
