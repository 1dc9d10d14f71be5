"""What tasks have written, told apart from what Airflow writes about them."""

from __future__ import annotations

import re
import time
import typing as t
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from couler.backends.airflow.rest import RunApi
from couler.backends.airflow.task_states import Instance
from couler.backends.airflow.try_ends import first_line

Json: t.TypeAlias = t.Any

_CONTAINER = re.compile(r"\[([a-z0-9]([-a-z0-9]*[a-z0-9])?)\] ?", re.ASCII)
"""What the operator for pods puts before what a container has written: its name."""
_POD_LOGGER = "PodManager"
_OWN = "base"
"""The container of the step itself."""
_TROUBLE = ("error", "critical")
_AIRFLOW = "airflow: "
_NOT_READ = "Could not read"
_READ_ANEW = "log read interrupted but container"
_MOST_REPEATED = 1000
_LATE_LOOKS = 5
"""After how many looks without a new line no more are expected of a try that was cut off."""
_TASK_LOGGERS = ("task.stdout", "task.stderr")


def lines_of(entry: Mapping[str, Json]) -> Iterator[str]:
    """Yield the lines of an entry of a log that are for users."""
    logger, event = str(entry.get("logger", "")), str(entry.get("event", ""))
    named = _CONTAINER.match(event) if logger.endswith(_POD_LOGGER) else None
    if named is not None:
        head = "" if named[1] == _OWN else f"[{named[1]}] "
        for line in event[named.end() :].removesuffix("\n").split("\n"):
            yield head + line
    elif logger in _TASK_LOGGERS:
        yield from event.removesuffix("\n").split("\n")
    elif entry.get("level") in _TROUBLE:
        yield from (f"{_AIRFLOW}{line}" for line in _trouble(entry, event))


def _trouble(entry: Mapping[str, Json], event: str) -> Iterator[str]:
    yield event.partition("\n")[0]
    for one in (entry.get("error_detail") or ())[:1]:  # those behind it are its causes
        yield f"{one.get('exc_type')}: {first_line(str(one.get('exc_value')))}"


def read_log(run: RunApi, instance: Instance, attempt: int) -> list[str]:
    """Return the lines of a try so far."""
    entries = run.log(instance, attempt)
    lines = _own_lines(entries)
    if not all(line.startswith(_AIRFLOW) for line in lines):
        return lines
    return [line for entry in entries for line in _warnings(entry)] + lines


def _own_lines(entries: Iterable[Mapping[str, Json]]) -> list[str]:
    parts: list[list[str]] = [[]]
    for entry in entries:
        if _READ_ANEW in str(entry.get("event", "")):
            parts.append([])
        else:
            parts[-1] += lines_of(entry)
    return joined(parts)


def _warnings(entry: Mapping[str, Json]) -> Iterator[str]:
    """Yield what Airflow warns of; with the step's own lines it says nothing to users."""
    event = str(entry.get("event", ""))
    is_warning = entry.get("level") == "warning" and _READ_ANEW not in event
    if (is_warning and not str(entry.get("logger")).startswith("urllib3.")) or (
        "timestamp" not in entry and event.startswith(_NOT_READ)
    ):
        yield _AIRFLOW + event.partition("\n")[0]


def joined(parts: Iterable[Sequence[str]]) -> list[str]:
    """Return parts of a log as one, without what one repeats of those before it."""
    whole: list[str] = []
    for part in parts:
        most = min(len(whole), len(part), _MOST_REPEATED)
        same = (count for count in range(most, 0, -1) if whole[-count:] == list(part[:count]))
        whole += part[next(same, 0) :]
    return whole


def follow_log(
    run: RunApi,
    instance: Instance,
    attempt: int,
    *,
    is_over: Callable[[], bool],
    was_cut: Callable[[], bool] = lambda: False,
    between_s: float,
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[str]:
    """Yield the lines of a try as they come, until it has ended."""
    known, left = 0, _LATE_LOOKS
    while True:
        ended = is_over()  # before it is read, so that nothing of it is missed
        begun = time.monotonic()
        lines = _own_lines(run.log(instance, attempt))
        took_s = time.monotonic() - begun
        yield from lines[known:]
        left = _LATE_LOOKS if len(lines) > known else left - ended
        known = max(known, len(lines))
        if ended and (left <= 0 or not was_cut()):
            yield from () if known else read_log(run, instance, attempt)
            return
        sleep(max(between_s, 2 * took_s))
