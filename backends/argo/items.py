"""Fan-out: the items of a foreach as `withItems`, `withSequence` or `withParam`."""

from __future__ import annotations

import typing as t
from collections.abc import Sequence

from couler.backends.argo.files import INDEX, file_outputs, keeps_files
from couler.backends.argo.json_text import elements
from couler.backends.argo.pods import Tree
from couler.backends.argo.references import Renderer, sequence
from couler.backends.argo.scope import TAG_SAFE, can_be_skipped, is_read_as_json
from couler.backends.argo.tags import Tagged, encode_braces, encoding, quote, tag
from couler.ir.policies import Foreach
from couler.ir.ranges import is_known, known_items
from couler.ir.semantics import find_output
from couler.ir.semantics.wire import dump_json, encode
from couler.ir.values import MAX_ITEMS, Range, StepRef, Value, ValueType
from couler.ir.workflow import Group, Step

_SAFE_INTEGER = 2**53
"""Beyond it Go's numbers of JSON are not exact."""

_UNFIT = f"a foreach over outputs takes lists of one length, of at most {MAX_ITEMS:,} items"
_TOO_MANY = f"a foreach over an output takes a list of at most {MAX_ITEMS:,} items"


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
    lists = _known_lists(step, foreach, renderer)
    if lists is not None:
        if not all(lists.values()):
            return {"withParam": "[]"}  # Argo runs a task with an empty `withItems` once
        if as_rows:
            rows = _row_items(lists, as_json, indexed=keeps_files(step))
            if renderer.has_plain_rows(step):
                return {"withItems": rows}
            return {"withItems": [encode_braces(dump_json(row)) for row in rows]}
        [(name, values)] = lists.items()
        return {"withItems": [_item(value, name in as_json) for value in values]}
    if as_rows:
        return {"withParam": _rows(foreach.over, as_json, renderer, step)}
    [(name, items)] = foreach.over.items()
    text = renderer.expression_as(items, step, "str")  # a text is read as JSON first
    is_bounded = _is_bounded(items, renderer)
    kind = None if as_json else _kind_of_items(items, renderer)
    if is_bounded and kind in TAG_SAFE:
        return {"withParam": renderer.text(items, step, "list")}
    are_numbers = renderer.view.is_list_of_numbers(items)
    is_list = are_numbers or (renderer.view.is_list_of_texts(items) and not as_json)
    found = text
    if kind is None and not is_list:
        found = f"toJson({elements(text, as_json=bool(as_json))})"
    found = found if are_numbers else encoding(found)
    if not is_bounded:
        terms = [] if is_list else [f"type(fromJSON({text})) == 'array'"]
        terms.append(f"len(fromJSON({text})) <= {MAX_ITEMS}")
        found = f"{' && '.join(terms)} ? {found} : {quote(_TOO_MANY)}"
    return {"withParam": tag(found)}


def _known_lists(
    step: Step, foreach: Foreach, renderer: Renderer
) -> dict[str, Sequence[t.Any]] | None:
    """Return the items of each list, of files their keys; None if some depend on the run."""
    known = {name: known_items(one) for name, one in foreach.over.items() if is_known(one)}
    if known and renderer.has_plain_rows(step):  # else the expression is shorter than the keys
        keys = {name: _keys(one, renderer) for name, one in foreach.over.items()}
        known |= {name: one for name, one in keys.items() if one}
    if len(known) < len(foreach.over):
        return None
    return {name: known[name] or () for name in foreach.over}


def _keys(items: Value, renderer: Renderer) -> list[Tagged]:
    """Return the keys of the files that a foreach over known lists makes before any is read."""
    found = _gathered(items, renderer)
    if found is None:
        return []
    producer, sources, reference = found
    is_file = find_output(producer, reference.output) in file_outputs(producer)
    is_process = not isinstance(producer.action, Group) and producer.cache is None
    if not (is_file and is_process) or can_be_skipped(producer):
        return []
    location = renderer.location_of(reference)
    return [Tagged(f"{location}/{index}") for index, _ in enumerate(known_items(sources[0]) or ())]


def _gathered(items: Value, renderer: Renderer) -> tuple[Step, list[Value], StepRef] | None:
    """Return the step whose foreach gives a list, and the lists of that foreach."""
    step = renderer.view.steps.get(items.step) if isinstance(items, StepRef) else None
    if step is None or step.foreach is None or not isinstance(items, StepRef):
        return None
    return step, [*step.foreach.over.values()], items


def _kind_of_items(items: Value, renderer: Renderer) -> ValueType | None:
    """The type of all items of a list, if they are known to be texts, numbers or booleans."""
    if isinstance(items, Range):
        return "int" if items.format is None else "str"
    found = _gathered(items, renderer)
    if found is None:
        return None
    producer, _, reference = found
    kind = find_output(producer, reference.output).type
    return None if kind in ("list", "dict", "json") else kind


def _is_bounded(items: Value, renderer: Renderer) -> bool:
    """Whether a list is known to be short enough, as a foreach within the bound made it."""
    if isinstance(items, Range):
        return not is_known(items)
    found = _gathered(items, renderer)
    return found is not None and all(len(known_items(one) or ()) <= MAX_ITEMS for one in found[1])


def _row_items(
    lists: dict[str, Sequence[t.Any]], as_json: set[str], *, indexed: bool
) -> list[Tree]:
    rows = zip(*lists.values(), strict=True)
    items: list[Tree] = []
    for index, row in enumerate(rows):
        item: Tree = {INDEX: str(index)} if indexed else {}
        for name, value in zip(lists, row, strict=True):
            item[name] = encode(value, "json" if name in as_json else "str")
        items.append(item)
    return items


def _item(value: object, as_json: bool) -> str | int:
    """An item as Argo hands it on unchanged: small integers as they are, all else as text."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < _SAFE_INTEGER:
        return value
    return encode_braces(encode(value, "json" if as_json else "str"))


def _rows(over: dict[str, Value], as_json: set[str], renderer: Renderer, step: Step) -> str:
    """Lists side by side, of one length."""
    lists: list[str] = []
    terms: list[str] = []
    for name, items in over.items():
        text = renderer.expression_as(items, step, "str")
        known = None if name in as_json else _known_list(items, text, renderer)
        lists.append(known or elements(text, as_json=name in as_json))
        if not (known or _is_bounded(items, renderer)):
            terms.append(f"type(fromJSON({text})) == 'array'")
    lets = "".join(f"let list{index} = {one}; " for index, one in enumerate(lists))
    terms += [f"len(list0) == len(list{index})" for index in range(1, len(lists))]
    terms.append(f"len(list0) <= {MAX_ITEMS}")
    fields = [f"{quote(INDEX)}: string(#)"] if keeps_files(step) else []
    fields += [f"{quote(name)}: list{index}[#]" for index, name in enumerate(over)]
    row = f"({{{', '.join(fields)}}})"  # braces alone would be those of a block
    if renderer.has_plain_rows(step):
        rows = f"toJson(map(0..(len(list0) - 1), {row}))"
    else:
        rows = encoding(f"toJson(map(0..(len(list0) - 1), toJson{row}))")
    unfit = quote(_UNFIT if len(lists) > 1 else _TOO_MANY)
    return tag(f"{lets}{' && '.join(terms)} ? {rows} : {unfit}")


def _known_list(items: Value, text: str, renderer: Renderer) -> str | None:
    """Return an expression for a list as texts, if its items are known to be numbers or texts."""
    if renderer.view.is_list_of_numbers(items):
        return f"filter(split(trim({text}, '[]'), ','), # != '')"
    values = known_items(items) or ()
    if values and all(isinstance(one, str | int | float) for one in values):
        return f"[{', '.join(quote(encode(one, 'str')) for one in values)}]"
    return f"fromJSON({text})" if renderer.view.is_list_of_texts(items) else None
