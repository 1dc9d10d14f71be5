"""The items of a foreach, and the lists gathered from them (docs/semantics.md, section 7)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from couler.errors import EvaluationError
from couler.ir.evaluation.values import (
    Gathered,
    Outputs,
    Single,
    Stored,
    View,
    elements,
    from_json,
    resolve,
)
from couler.ir.policies import Foreach
from couler.ir.ranges import is_known
from couler.ir.values import MAX_ITEMS, MAX_LIST_BYTES, check_size, dump_json


def foreach_items(foreach: Foreach, view: View) -> tuple[Mapping[str, Stored], ...]:
    """Return for each instance of a foreach its items by name."""
    lists = {name: elements(resolve(over, view)) for name, over in foreach.over.items()}
    lengths = {name: len(items) for name, items in lists.items()}
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{name} has {length}" for name, length in lengths.items())
        raise EvaluationError(f"the lists of a foreach must be of equal length, but {told}")
    count = next(iter(lengths.values()))
    if count > MAX_ITEMS and not all(map(is_known, foreach.over.values())):
        raise EvaluationError(
            f"the foreach has {count:,} items; at most {MAX_ITEMS:,} of a list that is known "
            "only when the workflow runs. Put several into one item"
        )
    null = from_json(None)
    return tuple(
        {name: items[index] or null for name, items in lists.items()} for index in range(count)
    )


def gather(names: Iterable[str], items: Sequence[Outputs | None]) -> Outputs:
    """Return the outputs of a foreach: for each output the list of what the items gave."""
    gathered = {name: gather_one(name, items) for name in names}
    for name, values in gathered.items():
        check_size(_list_text(values), MAX_LIST_BYTES, f'the gathered list "{name}"')
    return gathered


def gather_one(name: str, items: Sequence[Outputs | None]) -> Gathered:
    """Return the list of what the items gave as one output, however large it is."""
    # An optional file need not be there.
    return Gathered(
        tuple(None if item is None or name not in item else _single(item[name]) for item in items)
    )


def _single(stored: Stored) -> Single:
    if not isinstance(stored, Single):  # an item has no foreach of its own
        raise TypeError(f"an item's output is one value, not {stored!r}")
    return stored


def _list_text(values: Gathered) -> str:
    """Return the list as it travels, without decoding what may be of the wrong type."""
    texts = (
        "null"
        if item is None
        else dump_json(item.text)
        if item.type in ("str", "file", "directory")
        else item.text
        for item in values.items
    )
    return f"[{','.join(texts)}]"
