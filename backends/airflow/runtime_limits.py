"""Functions that DAG files carry to keep what travels between tasks within its limits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from couler.backends.airflow.runtime import gather, json_or_none

if TYPE_CHECKING:
    from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException

MODULES: dict[str, tuple[str, ...]] = {
    "airflow.sdk.exceptions": ("AirflowFailException", "AirflowSkipException"),
    "typing": ("Any",),
}
"""Where the names come from that the functions use."""


def fitting(name: str, value: str | None) -> str | None:
    """Return a value that is made here; fail if it is too large to travel."""
    size = len((value or "").encode())
    if size > 64 * 1024:
        raise AirflowFailException(f"{name} takes {size} bytes, and 65536 may travel")
    return value


def check_lists(
    place: str,
    rows: Any,
    kinds: dict[str, str],
    defaults: dict[str, str] | None = None,
    ti: Any = None,
) -> None:
    """Fail if a list of what items gave is too large to travel; skip if there were none."""
    given = defaults or {}
    lists = {name: gather(ti, place, name, rows, given.get(name)) for name in kinds}
    if None in lists.values() or {one for texts in lists.values() for one in texts or ()} == {None}:
        raise AirflowSkipException(f"{place} was skipped")
    for name, kind in kinds.items():
        texts = lists[name] or []
        if kind in ("str", "file", "directory"):
            texts = [json_or_none(one) for one in texts]
        size = sum(len((one or "null").encode()) + 1 for one in texts) + 1
        if size > 96 * 1024:
            raise AirflowFailException(f"{name} takes {size} bytes in all, and 98304 may travel")
