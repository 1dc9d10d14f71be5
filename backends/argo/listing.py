"""Lists of files as templates of `data`: a location, and expressions over what is below it."""

from __future__ import annotations

from collections.abc import Iterator

from couler.backends.argo import files
from couler.backends.argo.pods import Tree
from couler.backends.argo.tags import Tagged, quote, tag
from couler.backends.argo.templates import Places
from couler.ir.artifacts import (
    ListFiles,
    is_in_repository,
    pattern_expression,
    storage_field,
)
from couler.ir.diagnostics import Diagnostic
from couler.ir.semantics.wire import MAX_VALUE_BYTES
from couler.ir.values import TEXTS
from couler.ir.workflow import Step

_NOTHING = "there is no file below the location"
_TOO_LARGE = f"the list of files takes more than {MAX_VALUE_BYTES:,} bytes"


def check_listing(step: Step, path: str) -> Iterator[Diagnostic]:
    """Yield why Argo cannot list the files of a step."""
    action = step.action
    if isinstance(action, ListFiles) and is_in_repository(action.at):
        yield Diagnostic(
            "CLR323",
            f'argo: step "{path}" lists files by their key alone; Argo lists them only where the '
            f"location names its storage. Name the {storage_field(action.at)}, or state the "
            f"{action.at.kind} storage once for the target.",
            step=path,
            source=step.source,
            of_target=True,
        )


def listed_text(field: str) -> str:
    """Return the name of a text in the location of a list of files."""
    return f"couler_list_{field}"


def data(action: ListFiles, places: Places) -> Tree:
    """Return the field `data` of a template."""
    [(key, _), *_] = TEXTS.visit(action.at)
    name = listed_text(key)
    text = places[name].text
    if text is None:
        parameter = places.expression(name)
        start: str = tag(f"toJson(trimSuffix({parameter}, '/') + '/')")
    else:
        start = quote(f"{text.rstrip('/')}/")
    steps = [
        f"filter(data, # startsWith {start} and not (# endsWith '/'))",
        f"len(data) > 0 ? data : fromJSON({quote(_NOTHING)})",
    ]
    if action.pattern is not None:
        expression = quote(f"^(?:{pattern_expression(action.pattern)})$")
        steps.append(f"filter(data, trimPrefix(#, {start}) matches {expression})")
    # As JSON each has two quotes and a comma, and the list two brackets.
    size = "sum(map(data, len(#) + 3)) + 1"
    steps.append(f"{size} <= {MAX_VALUE_BYTES} ? sort(data) : fromJSON({quote(_TOO_LARGE)})")
    written = str if text is not None else Tagged
    where = files.location(action.at, lambda field: places.plain(listed_text(field)))
    return {
        "source": {"artifactPaths": {"name": "files", **where}},
        "transformation": [{"expression": written(step)} for step in steps],
    }
