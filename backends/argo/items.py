"""Fan-out: the items of a foreach as `withItems`, `withSequence` or `withParam`."""

from __future__ import annotations

import typing as t
from collections.abc import Sequence

from couler.backends.argo.files import INDEX, keeps_files
from couler.backends.argo.pods import Tree
from couler.backends.argo.references import Renderer, sequence
from couler.backends.argo.scope import find_output, is_read_as_json, json_text, wire_text
from couler.backends.argo.tags import quote, tag, tag_in
from couler.ir.policies import Foreach
from couler.ir.ranges import is_known, known_items
from couler.ir.values import MAX_ITEMS, Literal, Range, StepRef, Value
from couler.ir.workflow import Step

_SAFE_INTEGER = 2**53
"""Beyond it Go's numbers of JSON are not exact."""

_TOO_MANY = f"a foreach over an output takes at most {MAX_ITEMS:,} items"


def fan_out(step: Step, foreach: Foreach, renderer: Renderer) -> Tree:
    """Return the fields of a task that give it one instance an item."""
    as_json = {name for name in foreach.over if is_read_as_json(step, name)}
    as_rows = renderer.has_rows(step, foreach)
    [first, *_] = foreach.over.values()
    if isinstance(first, Range) and not as_rows and (first.format is None or not as_json):
        return {
            "withSequence": sequence(
                first,
                lambda end: renderer.text(end, step, "int"),
                lambda end: renderer.expression_as(end, step, "int"),
            )
        }
    all_known = all(map(is_known, foreach.over.values()))
    if as_rows or not all_known:
        for name, items in foreach.over.items():
            if name in as_json and isinstance(items, Literal):  # its braces are written as escapes
                continue
            if (hostile := tag_in(items)) is not None:
                return {"withItems": [hostile]}  # which the check finds and refuses
    if all_known:
        lists = {name: known_items(items) or () for name, items in foreach.over.items()}
        if not all(lists.values()):
            return {"withParam": "[]"}  # Argo runs a task with an empty `withItems` once
        if as_rows:
            return {"withItems": _row_items(lists, as_json, indexed=keeps_files(step))}
        [(name, values)] = lists.items()
        return {"withItems": [_item(value, name in as_json) for value in values]}
    if as_rows or as_json:
        rows = _rows(foreach.over, as_json, renderer, step, as_rows=as_rows)
        return {"withParam": rows}
    [items] = foreach.over.values()
    if _is_bounded(items, renderer) and _holds_scalars(items, renderer):
        return {"withParam": renderer.text(items, step, "list")}
    text = renderer.expression(items, step)
    if not _holds_scalars(items, renderer):
        text = _without_objects(text)
    return {"withParam": tag(text) if _is_bounded(items, renderer) else _bounded(text)}


def _holds_scalars(items: Value, renderer: Renderer) -> bool:
    """Whether all items of a list are known to be texts, numbers, booleans or files."""
    if not isinstance(items, StepRef):
        return False
    producer = renderer.view.steps.get(items.step)
    if producer is None or producer.foreach is None:
        return False
    return find_output(producer, items.output).type not in ("list", "dict", "json")


def _without_objects(items: str) -> str:
    """The list with its items as text if some are objects or null, which Argo takes apart."""
    texts = f"toJson(map(fromJSON({items}), type(#) == 'string' ? # : toJson(#)))"
    return f"(any(fromJSON({items}), type(#) in ['map', 'nil']) ? {texts} : {items})"


def _is_bounded(items: Value, renderer: Renderer) -> bool:
    """Whether a list is known to be short enough, as a foreach within the bound made it."""
    if isinstance(items, Range):
        return not is_known(items)
    if not isinstance(items, StepRef):
        return False
    producer = renderer.view.steps.get(items.step)
    if producer is None or producer.foreach is None:
        return False
    return all(
        len(known_items(source) or ()) <= MAX_ITEMS for source in producer.foreach.over.values()
    )


def _row_items(lists: dict[str, Sequence[t.Any]], as_json: set[str], *, indexed: bool) -> list[str]:
    rows = zip(*lists.values(), strict=True)
    items: list[str] = []
    for index, row in enumerate(rows):
        item: Tree = {INDEX: str(index)} if indexed else {}
        for name, value in zip(lists, row, strict=True):
            item[name] = json_text(value) if name in as_json else wire_text(value)
        items.append(json_text(item))
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


def _rows(
    over: dict[str, Value],
    as_json: set[str],
    renderer: Renderer,
    step: Step,
    *,
    as_rows: bool,
) -> str:
    """Lists side by side; an index out of range, of lists of different lengths, fails the step."""
    lists = {name: f"fromJSON({renderer.expression(items, step)})" for name, items in over.items()}
    lengths = [f"len({items})" for items in lists.values()]
    count = lengths[0] if len(lengths) == 1 else f"max({', '.join(lengths)})"
    pairs = [f"'{INDEX}', string(#)"] if keeps_files(step) else []
    texts = []
    for name, items in lists.items():
        element = f"{items}[#]"
        text = (
            f"toJson({element})"
            if name in as_json
            else f"map([{element}], type(#) == 'string' ? # : toJson(#))[0]"
        )
        texts.append(text)
        pairs.append(f"{quote(name)}, {text}")
    row = f"toJson(sprig.dict({', '.join(pairs)}))" if as_rows else texts[0]
    rows = f"toJson(map(0..({count} - 1), {row}))"
    if all(_is_bounded(items, renderer) for items in over.values()):
        return tag(rows)
    return tag(f"{count} <= {MAX_ITEMS} ? {rows} : {quote(_TOO_MANY)}")
