"""Changing a Workflow as a whole, so that it is known afterwards whether that was done."""

from __future__ import annotations

import secrets
from collections.abc import Callable

from couler.backends.remote import Json
from couler.errors import ConfigurationError, EngineError, RefusedError
from couler.rest.client import RestError

MARK = "couler/change"
"""Annotation of a Workflow that was changed from here, which tells that change from all others."""

_CONFLICT = 409
_CONFLICTS = 10
"""How often a change is made again that another change of the object came before."""


def change(
    name: str,
    make: Callable[[Json], Json | None],
    *,
    read: Callable[[], Json],
    write: Callable[[Json], Json],
) -> Json:
    """Change a Workflow, again if another change came before, and return it."""
    mark = secrets.token_hex(8)
    is_unsure = False
    found = read()
    for _ in range(_CONFLICTS):
        try:
            wanted = make(found)
        except RefusedError as error:
            if not is_unsure:
                raise
            raise EngineError(f"{error}. What became of an earlier attempt is not known") from error
        if wanted is None:
            return found
        try:
            return write(_marked(wanted, mark))
        except RestError as error:
            found = _read_after(error, read)
            if _mark_of(found) == mark:
                return found
            if error.code != _CONFLICT:
                raise
            is_unsure = is_unsure or not isinstance(error, RefusedError)
    raise RefusedError(
        f"argo: the workflow {name} changes too often to be changed from here. Try again"
    )


def owned(found: Json, owner: Json) -> Json | None:
    """Return an object that has one more owner; None if it has that already."""
    metadata = found["metadata"]
    owners = metadata.get("ownerReferences") or []
    if any(one["uid"] == owner["uid"] for one in owners):
        return None
    return {**found, "metadata": {**metadata, "ownerReferences": [*owners, owner]}}


def _read_after(error: RestError, read: Callable[[], Json]) -> Json:
    """Return a Workflow as it is after an error; raise the error where that tells nothing more."""
    if isinstance(error, RefusedError) and error.code != _CONFLICT:
        raise error
    try:
        return read()
    except (RestError, ConfigurationError):
        # A refusal to be read is no refusal to be changed.
        raise error from None


def _marked(workflow: Json, mark: str) -> Json:
    metadata = workflow["metadata"]
    annotations = {**(metadata.get("annotations") or {}), MARK: mark}
    return {**workflow, "metadata": {**metadata, "annotations": annotations}}


def _mark_of(workflow: Json) -> str | None:
    mark: str | None = (workflow["metadata"].get("annotations") or {}).get(MARK)
    return mark
