"""Which row of the table a failure is."""

from __future__ import annotations

import re
from dataclasses import dataclass

from couler.failures.pattern import ENGINES, GROUPS, PATTERNS, Failure, Pattern

MESSAGE_SIZE = 32 * 1024
"""Characters of a message that are looked at: of a longer one its begin and its end, half each."""

LOG_SIZE = 16 * 1024
"""Characters of a log that are looked at: its end tells why the process ended."""

FIRST_LINE_SIZE = 500
"""Characters of a line that are shown."""

_COLOURS = re.compile(r"\x1b\[[0-9;?]{0,30}[A-Za-z]")
_CONTROLS = {code: "\ufffd" for code in (*range(32), *range(127, 160)) if chr(code) not in "\t\n"}

_OF_CONTAINER = re.compile(r"\A[a-z0-9-]{1,63}: (\w{1,40}) \(exit code (\d{1,3})\)")
"""How Argo reports the end of a container."""

_OF_PROCESS = re.compile(r"\Ait ended with exit code (\d{1,3})(?: \((\w{1,40})\))?")
"""How Couler reports the end of a process."""

_OF_ANSWER = re.compile(r" \(HTTP (\d{3})\)\Z")
"""How Couler reports a refusal by a server."""

_OF_POD = re.compile(
    r"\A(?:Pod failed before \S{1,63} container starts due to )?([A-Z]\w{3,40})(?::\s|:?\Z)"
)
"""A reason before the message that belongs to it."""

_POD_REASONS = frozenset(
    reason
    for group in ("images", "containers", "scheduling", "pods", "jobs")
    for pattern in GROUPS[group]
    for one in pattern.signs
    for reason in one.reasons
)
"""Reasons of pods, containers and jobs, which engines put into their messages."""


@dataclass(frozen=True, slots=True)
class Match:
    """A failure and the row of the table that it is."""

    pattern: Pattern
    line: str


def recognise(
    message: str | None = None,
    *,
    reason: str | None = None,
    exit_code: int | None = None,
    http_status: int | None = None,
    log: str | None = None,
    system: str | None = None,
) -> Match | None:
    """Return the row of the table that a failure is, the first that fits; None if none does."""
    message = _ends_of(_plain(message or "").strip())
    told_reason, told_code = _told_in(message)
    answer = _OF_ANSWER.search(message[-20:])
    if http_status is None and answer is not None:
        http_status = int(answer[1])
    failure = Failure(
        message=message,
        reason=reason or told_reason,
        exit_code=told_code if exit_code is None else exit_code,
        http_status=http_status,
        log=_plain((log or "")[-LOG_SIZE:]),
    )
    for pattern in PATTERNS:
        if system is not None and pattern.system in ENGINES and pattern.system != system:
            continue
        for one in pattern.signs:
            line = one.find(failure)
            if line is not None:
                return Match(pattern, shortened(line) or first_line(failure.message))
    return None


def first_line(text: str) -> str:
    r"""Return the first line that says something, cut where it is long."""
    return shortened(next((line for line in _plain(text).split("\n") if line.strip()), ""))


def shortened(line: str) -> str:
    """Return a line without what is beyond the size that is shown."""
    line = line.strip()
    return line if len(line) <= FIRST_LINE_SIZE else line[: FIRST_LINE_SIZE - 1] + "…"


def _told_in(message: str) -> tuple[str | None, int | None]:
    """Return the reason and the exit code that engines put into their messages."""
    if (found := _OF_CONTAINER.match(message)) is not None:
        reason, code = found[1], int(found[2])
    elif (found := _OF_PROCESS.match(message)) is not None:
        reason, code = found[2], int(found[1])
    elif (found := _OF_POD.match(message)) is not None:
        reason, code = found[1], None
    else:
        return None, None
    return reason if reason in _POD_REASONS else None, code


def _plain(text: str) -> str:
    """Return a text as a terminal shows it: no colours, and nothing else that moves its cursor."""
    lines = _COLOURS.sub("", text).replace("\r\n", "\n").replace("\r", "\n")
    return lines.translate(_CONTROLS)


def _ends_of(message: str) -> str:
    if len(message) <= MESSAGE_SIZE:
        return message
    return f"{message[: MESSAGE_SIZE // 2]}\n{message[-MESSAGE_SIZE // 2 :]}"
