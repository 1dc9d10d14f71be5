"""Fan-out: the items of a foreach as `withItems` or `withParam`."""

from __future__ import annotations

import typing as t
from collections.abc import Sequence

from couler.backends.argo.expressions import quote, tag
from couler.backends.argo.pods import Tree
from couler.backends.argo.references import INDEX, Renderer
from couler.backends.argo.scope import json_text, wire_text
from couler.ir.policies import Foreach
from couler.ir.values import ItemRef, Literal, Value
from couler.ir.wire import MAX_ITEMS
from couler.ir.workflow import Step

_SAFE_INTEGER = 2**53
"""Beyond it Go's numbers of JSON are not exact."""

_TOO_MANY = f"a foreach over an output takes at most {MAX_ITEMS:,} items"


def fan_out(step: Step, foreach: Foreach, renderer: Renderer, *, indexed: bool) -> Tree:
    """Return the fields of a task that give it one instance an item.

    Parameters
    ----------
    step, foreach
        The step and its foreach.
    renderer
        Of the scope that the lists are read in.
    indexed
        The instances need to know the position of their item.
    """
    as_json = {name for name in foreach.over if _is_read_as_json(step, name)}
    if all(isinstance(items, Literal) for items in foreach.over.values()):
        lists = {name: t.cast("Literal", items).value for name, items in foreach.over.items()}
        return {"withItems": _literal_items(lists, as_json, indexed=indexed)}
    names = list(foreach.over)
    if names == ["item"] and not indexed and not as_json:
        items = renderer.expression(foreach.over["item"], step)
        return {"withParam": _bounded(items)}
    return {"withParam": _zipped(foreach.over, as_json, renderer, step, indexed=indexed)}


def _is_read_as_json(step: Step, name: str) -> bool:
    return any(
        given.type == "json" and isinstance(given.value, ItemRef) and given.value.name == name
        for given in step.inputs
    )


def _literal_items(
    lists: dict[str, Sequence[t.Any]], as_json: set[str], *, indexed: bool
) -> list[t.Any]:
    count = len(next(iter(lists.values())))
    if list(lists) == ["item"] and not indexed:
        return [_item(value, "item" in as_json) for value in lists["item"]]
    items = []
    for index in range(count):
        item: Tree = {INDEX: str(index)} if indexed else {}
        for name, values in lists.items():
            item[name] = _item(values[index], name in as_json)
        items.append(item)
    return items


def _item(value: object, as_json: bool) -> str | int:
    """An item as Argo hands it on unchanged: small integers as they are, all else as text."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < _SAFE_INTEGER:
        return value
    return json_text(value) if as_json else wire_text(value)


def _bounded(items: str) -> str:
    """The list, or a text that is no list, so that Argo fails the step and shows the text."""
    condition = f"len(fromJSON({items})) <= {MAX_ITEMS}"
    return tag(f"{condition} ? {items} : {quote(_TOO_MANY)}")


def _zipped(
    over: dict[str, Value],
    as_json: set[str],
    renderer: Renderer,
    step: Step,
    *,
    indexed: bool,
) -> str:
    """Lists side by side as a list of objects; an index out of range fails the step."""
    lists = {name: f"fromJSON({renderer.expression(items, step)})" for name, items in over.items()}
    lengths = [f"len({items})" for items in lists.values()]
    count = lengths[0] if len(lengths) == 1 else f"max({', '.join(lengths)})"
    pairs = [f"'{INDEX}', string(#)"] if indexed else []
    for name, items in lists.items():
        element = f"{items}[#]"
        text = (
            f"toJson({element})"
            if name in as_json
            else f"map([{element}], type(#) == 'string' ? # : toJson(#))[0]"
        )
        pairs.append(f"{quote(name)}, {text}")
    rows = f"toJson(map(0..({count} - 1), sprig.dict({', '.join(pairs)})))"
    return tag(f"{count} <= {MAX_ITEMS} ? {rows} : {quote(_TOO_MANY)}")
