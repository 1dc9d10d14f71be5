"""Calls that differ in their arguments only, as one foreach."""

from __future__ import annotations

import itertools
import json
import re
import typing as t
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from couler.ir.graph import Graph
from couler.ir.policies import Foreach
from couler.ir.rewrite import map_scopes
from couler.ir.semantics.outputs import read_in_scope
from couler.ir.semantics.wire import MAX_VALUE_BYTES, encode
from couler.ir.storage import EnvVar
from couler.ir.values import ItemRef, Literal, Text, Value, is_file
from couler.ir.walk import Scope, told_apart
from couler.ir.workflow import Container, Input, Script, Step, Workflow
from couler.optimizers.base import PassContext
from couler.optimizers.step_definition import definition

_LISTED = 5
"""How many of the foreaches the reason names."""

_READ_BY_ENGINES = re.compile(r"\{\{|\$\(|\$\$")
"""Texts that engines are kept from reading where they stand, but cannot travel as items."""


@dataclass(frozen=True)
class RollLoops:
    """Make one foreach of many calls that differ in literal arguments only.

    Before: any verified workflow. Containers and scripts of one scope are rolled up if they are
    equal in all but name, place in the program, and literals among arguments, inputs and variables;
    if they wait for the same steps, and the same steps wait for the success of each of them; and if
    they give no outputs. The last is needed since a list that is gathered has a limit of its own,
    and its elements travel in another form than single values. Literals that differ must be texts,
    numbers or truths, of one kind at each place.

    After: one step in the place of the first, named by what their names begin with, with an item
    for each call, in the order of the program.

    Preserved: whether and with what each call runs, how the run and every other step end, and the
    order. What was the step `hello-2` is the item `hello[1]`, or `hello-calls[1]` where a step is
    called `hello`; runs are still asked for by the names of the calls. But lists of steps are not
    those of the program, so the pass is no part of the default pipeline.

    O(n + m) for n steps and m edges, and the size of the definitions that are compared.

    Attributes
    ----------
    at_least
        How many calls there must be to make a foreach of them.

    Examples
    --------
    >>> def hello(number):
    ...     run = Container(image="alpine", command=("echo",), args=(f"hello {number}",))
    ...     return Step(name=f"hello-{number}", action=run)
    >>> flow = Workflow(name="w", steps=tuple(map(hello, range(3))))
    >>> [rolled] = RollLoops().run(flow, PassContext()).steps
    >>> rolled.name, rolled.foreach.over["arg_0"].value
    ('hello', ('hello 0', 'hello 1', 'hello 2'))
    """

    name: t.ClassVar[str] = "roll-loops"
    at_least: int = 3

    def run(self, workflow: Workflow, context: PassContext) -> Workflow:
        """Return the workflow with its calls rolled up."""
        rolled: list[str] = []

        def change(scope: Scope) -> tuple[Step, ...]:
            taken = {step.name for step in scope.steps}
            made: dict[str, Step] = {}
            names: dict[str, str] = {}
            read = read_in_scope(scope, workflow)
            for some in _alike(scope.steps, read, max(2, self.at_least)):
                name = _name([step.name for step in some], taken)
                foreach = _roll(some, name)
                if foreach is None:
                    continue
                made[some[0].name] = foreach
                names.update((step.name, name) for step in some)
                taken.add(name)
                path = scope.path_of(foreach)
                context.derive(path, [scope.path_of(step) for step in some], as_items=True)
                context.explain(f"Its {len(some):,} items differ in arguments only.", step=path)
                rolled.append(f"{path} of {len(some):,}")
            return _replaced(scope.steps, made, names) if made else scope.steps

        made = map_scopes(workflow, change)
        if rolled:
            more = f" and {len(rolled) - _LISTED:,} more" if len(rolled) > _LISTED else ""
            context.explain(
                f"Calls that differ in arguments only are items of a foreach: "
                f"{', '.join(rolled[:_LISTED])}{more}."
            )
        return made


def _alike(
    steps: tuple[Step, ...], read: frozenset[str], at_least: int
) -> Iterator[tuple[Step, ...]]:
    """Yield the steps of each foreach that can be made, in the order of the program."""
    candidates = [step for step in steps if step.name not in read and _can_be_an_item(step)]
    if len(candidates) < at_least:
        return
    after = Graph.of(steps).successors
    apart = {name for step in steps for name in told_apart(step)}
    found: dict[str, list[Step]] = {}
    for step in candidates:
        if step.name not in apart:
            key = json.dumps([_frame(step), sorted(after[step.name])])
            found.setdefault(key, []).append(step)
    yield from (tuple(some) for some in found.values() if len(some) >= at_least)


def _can_be_an_item(step: Step) -> bool:
    if step.outputs or step.hooks or step.metrics or step.daemon or step.display_name:
        return False
    return (
        isinstance(step.action, Container | Script) and step.foreach is None and step.loop is None
    )


def _frame(step: Step) -> object:
    """Return what a step does, but for the literals that may differ."""
    tree = definition(step)
    for place, text in _texts(step):
        if _literal(text) is not None:
            _set(tree, place, None)
    return tree


_TextPlace: t.TypeAlias = "tuple[str | int, ...]"
"""The keys and indexes that lead to a text in a step as JSON."""


def _texts(step: Step) -> Iterator[tuple[_TextPlace, Text]]:
    """Yield the texts that items can give, each with its place in the step as JSON."""
    if isinstance(step.action, Container):
        for index, word in enumerate(step.action.args):
            yield ("action", "args", index), word
    for index, given in enumerate(step.inputs):
        if given.value is not None and not given.many and not is_file(given.type):
            yield ("inputs", index, "value"), given.value
    for index, variable in enumerate(step.env):
        if variable.value is not None:
            yield ("env", index, "value"), variable.value


def _set(tree: t.Any, place: _TextPlace, value: object) -> None:
    for key in place[:-1]:
        tree = tree[key]
    tree[place[-1]] = value


def _literal(text: Text) -> Literal | None:
    """Return a text as the literal that it is, None for what is none that an item can be."""
    literal = Literal(value=text) if isinstance(text, str) else text
    if not isinstance(literal, Literal) or not isinstance(literal.value, str | bool | int | float):
        return None
    is_read = isinstance(literal.value, str) and _READ_BY_ENGINES.search(literal.value)
    return None if is_read else literal


def _roll(steps: Sequence[Step], name: str) -> Step | None:
    """Return the foreach of some steps, None if its lists cannot be."""
    first = steps[0]
    over: dict[str, Value] = {}
    items: dict[_TextPlace, ItemRef] = {}
    for place, values in _differing(steps):
        if len(set(map(type, values))) > 1 or len(encode(values).encode()) > MAX_VALUE_BYTES:
            return None
        key = _item_name(first, place)
        over[key] = Literal(value=values)
        items[place] = ItemRef(name=key)
    if not over:
        return None
    return _with_items(first, items).model_copy(
        update={"name": name, "foreach": Foreach(over=over), "origin": RollLoops.name}
    )


def _differing(steps: Sequence[Step]) -> Iterator[tuple[_TextPlace, list[object]]]:
    """Yield the places where the literals of some steps differ, and what stands there in each."""
    for column in zip(*(list(_texts(step)) for step in steps), strict=True):
        literals = [_literal(text) for _, text in column]
        values: list[object] = [one.value for one in literals if one is not None]
        if len(values) == len(steps) and len({json.dumps(value) for value in values}) > 1:
            yield column[0][0], values


def _item_name(step: Step, place: _TextPlace) -> str:
    field, index = place[0], place[1]
    if field == "action":
        return f"arg_{place[2]}"
    assert isinstance(index, int)
    return f"input_{step.inputs[index].name}" if field == "inputs" else f"env_{index}"


def _with_items(step: Step, items: dict[_TextPlace, ItemRef]) -> Step:
    update: dict[str, object] = {}
    if isinstance(step.action, Container):
        args: tuple[Text, ...] = tuple(
            items.get(("action", "args", index), word)
            for index, word in enumerate(step.action.args)
        )
        update["action"] = step.action.model_copy(update={"args": args})
    if step.inputs:
        update["inputs"] = tuple(
            _filled(one, "inputs", n, items) for n, one in enumerate(step.inputs)
        )
    if step.env:
        update["env"] = tuple(_filled(one, "env", n, items) for n, one in enumerate(step.env))
    return step.model_copy(update=update)


_Held = t.TypeVar("_Held", Input, EnvVar)


def _filled(one: _Held, field: str, index: int, items: dict[_TextPlace, ItemRef]) -> _Held:
    item = items.get((field, index, "value"))
    return one if item is None else one.model_copy(update={"value": item})


def _name(names: list[str], taken: set[str]) -> str:
    """Return a name for steps of these names that no step has: what they begin with, or longer."""
    same = itertools.takewhile(lambda letters: len({*letters}) == 1, zip(*names, strict=False))
    start = "".join(letters[0] for letters in same).rstrip("0123456789").rstrip("-_") or names[0]
    numbered = (f"{start}-calls-{number}" for number in itertools.count(2))
    longer = itertools.chain((start, f"{start}-calls"), numbered)
    return next(name for name in longer if name not in taken)


def _replaced(
    steps: tuple[Step, ...], made: Mapping[str, Step], names: Mapping[str, str]
) -> tuple[Step, ...]:
    """Return the steps of a scope with each foreach in the place of the first of its calls."""

    def waits(step: Step) -> Step:
        if not any(isinstance(entry, str) and entry in names for entry in step.depends_on):
            return step
        entries = dict.fromkeys(
            names.get(entry, entry) if isinstance(entry, str) else entry
            for entry in step.depends_on
        )
        return step.model_copy(update={"depends_on": tuple(entries)})

    return tuple(
        waits(made.get(step.name, step))
        for step in steps
        if step.name in made or step.name not in names
    )
