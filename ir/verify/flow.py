"""Rules for dependencies, cycles, outputs of a scope, and values of declared types."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from couler.ir.policies import AnyOf, Dependency
from couler.ir.semantics import Kind
from couler.ir.values import ItemRef, Literal, Value, ValueType, is_file
from couler.ir.verify.names import repeated
from couler.ir.verify.scope import ScopeView, is_certainly_not, is_readable
from couler.ir.verify.values import Reader, show
from couler.ir.walk import Outcome, predecessors
from couler.ir.workflow import Output, Step

_STRICT: Mapping[str, str] = {}

_MAY_HAVE_FAILED: dict[Outcome, str] = {
    "failure": "has failed when this step runs",
    "completion": "may have failed when this step runs",
}
_ONE_OF_SEVERAL = "may have failed when this step runs: it is one of several alternatives"


def check_dependencies(reader: Reader, step: Step) -> Mapping[str, str]:
    """Check what a step depends on."""
    view = reader.view
    position = view.position
    own = position[step.name]
    if len(set(step.depends_on)) != len(step.depends_on):
        _report_repeated(view, step)
    plain = True
    for entry in step.depends_on:
        if isinstance(entry, str):
            if position.get(entry, own) >= own:
                reader.waits_for_later_step = True
                _check_target(view, step, entry)
        else:
            plain = False
    if plain:
        return _STRICT
    reader.waits_for_later_step = True
    return _check_outcomes(view, step)


def _check_target(view: ScopeView, step: Step, target: str) -> None:
    if target == step.name:
        view.add("CLR203", step, "it depends on itself. Remove that dependency.")
    elif target not in view.steps:
        reach = ""
        if target in view.outer:
            reach = " The steps of the workflow have all ended when an exit handler runs."
        view.add(
            "CLR160",
            step,
            f'it depends on "{target}", but there is no such step {view.where}.'
            f"{view.report.hint(target, view.steps)}{reach}",
        )


def _check_outcomes(view: ScopeView, step: Step) -> Mapping[str, str]:
    asked: dict[str, set[Outcome]] = {}
    alternatives: dict[str, set[Outcome]] = {}
    for entry in step.depends_on:
        if isinstance(entry, AnyOf):
            if not entry.options:
                view.add(
                    "CLR206",
                    step,
                    "it depends on any of no steps, so it never runs. Name at least one.",
                )
            # One alternative is as good as none.
            into = alternatives if len(entry.options) > 1 else asked
            for option in entry.options:
                target, on = _named(option)
                into.setdefault(target, set()).add(on)
        else:
            target, on = _named(entry)
            asked.setdefault(target, set()).add(on)
    for target in asked | alternatives:
        _check_target(view, step, target)
    for target, outcomes in asked.items():
        if {"success", "failure"} <= outcomes:
            view.add(
                "CLR205",
                step,
                f'it depends on the success and on the failure of "{target}", so it never '
                "runs. Keep one, or depend on its completion.",
            )
        elif len(outcomes) > 1:
            view.add(
                "CLR204",
                step,
                f'it depends on the completion of "{target}" and on its '
                f"{next(iter(outcomes - {'completion'}))}, which says more. Remove the first.",
                "warning",
            )
    loose = dict.fromkeys(alternatives, _ONE_OF_SEVERAL)
    for target, outcomes in asked.items():
        if "success" in outcomes:
            loose.pop(target, None)
        else:
            loose[target] = _MAY_HAVE_FAILED["failure" if "failure" in outcomes else "completion"]
    return loose


def _named(option: str | Dependency) -> tuple[str, Outcome]:
    return (option, "success") if isinstance(option, str) else (option.step, option.on)


def _report_repeated(view: ScopeView, step: Step) -> None:
    for entry in repeated(step.depends_on):
        what = f'on "{entry}"' if isinstance(entry, str) else "in the same way on one step"
        view.add("CLR204", step, f"it depends {what} twice. Remove one.", "warning")


def check_cycles(view: ScopeView) -> None:
    """Report one cycle of the scope, with its path."""
    # A step that names itself has its own message.
    from couler.ir.graph import Graph

    graph = Graph(
        {
            name: tuple(before for before in predecessors(step) if before != name)
            for name, step in view.steps.items()
        }
    )
    cycle = graph.find_cycle()
    if cycle:
        view.add(
            "CLR202",
            view.steps[cycle[0]],
            f"it waits for itself: {' -> '.join(cycle)}. Remove one of these dependencies.",
        )


def check_outputs(view: ScopeView, outputs: tuple[Output, ...]) -> None:
    """Check the outputs that a group or a workflow gives out."""
    if not outputs:
        return
    reader = Reader(view)
    reader.start(None, _may_have_failed(view))
    for output in outputs:
        field = f"outputs.{output.name}"
        for setting in ("path", "json_path"):
            if getattr(output, setting) is not None:
                view.add(
                    "CLR169",
                    None,
                    f"{field} has {setting}, but it is made by no process. Give it a value.",
                )
        if output.value is None:
            view.add("CLR169", None, f"{field} has no value. Name the output of a step.")
        else:
            check_typed(
                reader, output.value, field, output.type, covered=output.default is not None
            )


def _may_have_failed(view: ScopeView) -> Mapping[str, str]:
    """Return the steps that may have failed, or not run, although the scope succeeded."""
    from couler.ir.graph import Graph

    loose = {(step.name, target) for step in view.all_steps for target in _loosely_awaited(step)}
    if not loose:
        return _STRICT
    graph = Graph({name: predecessors(step) for name, step in view.steps.items()})
    strict: set[str] = set()
    for name in reversed(graph.topological_order):
        after = graph.successors[name]
        if not after or any(other in strict and (other, name) not in loose for other in after):
            strict.add(name)
    why = "may have failed although all ended well: other steps handle its failure"
    return {name: why for name in view.steps if name not in strict}


def _loosely_awaited(step: Step) -> Iterator[str]:
    """Yield the steps whose success a step does not insist on."""
    strict = {entry for entry in step.depends_on if isinstance(entry, str)}
    for entry in step.depends_on:
        if isinstance(entry, Dependency) and entry.step not in strict:
            yield entry.step
        elif isinstance(entry, AnyOf) and len(entry.options) > 1:
            yield from (_named(o)[0] for o in entry.options if _named(o)[0] not in strict)
        elif isinstance(entry, AnyOf):
            yield from (o.step for o in entry.options if isinstance(o, Dependency))


def check_typed(
    reader: Reader,
    value: Value,
    field: str,
    declared: ValueType,
    *,
    many: bool = False,
    covered: bool = False,
    by_type: bool = False,
) -> None:
    """Check a value that stands where a type is declared."""
    kind = reader.kind(value, field, covered)
    if many:
        _check_many(reader, kind, field, declared)
    elif isinstance(value, Literal):
        _check_literal(reader, value.value, field, declared, by_type=by_type)
    elif is_file(declared):
        if not _is_literal_item(reader, value):  # its text is a location
            _check_file(reader, kind, field, declared)
    elif is_file(kind.type):
        if not kind.many or declared not in ("list", "json"):
            reader.not_a_file(kind, field)
    elif is_certainly_not(kind, declared):
        reader.add("CLR176", f"{field} is declared {declared}, but is given {kind}.")
    elif by_type and declared == "str" and kind.family not in ("str", "json"):
        _warn_of_text(reader, field, str(kind))


def _is_literal_item(reader: Reader, value: Value) -> bool:
    if not isinstance(value, ItemRef) or reader.step is None or reader.step.foreach is None:
        return False
    return isinstance(reader.step.foreach.over.get(value.name), Literal)


def _check_literal(
    reader: Reader, value: object, field: str, declared: ValueType, *, by_type: bool
) -> None:
    if not is_readable(value, declared):
        reader.add("CLR175", f"{field} is declared {declared}, but is given {show(value)}.")
    elif by_type and declared == "str" and not isinstance(value, str):
        _warn_of_text(reader, field, show(value))


def _warn_of_text(reader: Reader, field: str, what: str) -> None:
    reader.view.add(
        "CLR184",
        reader.step,
        f"{field} is declared str, but is given {what}, which is read as its JSON text. "
        "Declare its own type.",
        "warning",
    )


def _check_many(reader: Reader, kind: Kind, field: str, declared: ValueType) -> None:
    if not is_file(declared):
        reader.add(
            "CLR179", f'{field} has many, which is for files. Declare its type as "list" instead.'
        )
    elif not kind.many and kind.type not in ("json", "list"):
        reader.add(
            "CLR179",
            f"{field} takes many files, but is given {kind}. Read a step with a foreach, or "
            "remove many.",
        )


def _check_file(reader: Reader, kind: Kind, field: str, declared: ValueType) -> None:
    if kind.many and is_file(kind.type):
        reader.add(
            "CLR179", f"{field} takes one {declared}, but is given {kind}. Say many for all."
        )
    elif is_file(kind.type):
        if kind.type != declared:
            reader.add("CLR176", f"{field} is declared {declared}, but is given {kind}.")
    elif kind.type != "json":
        reader.add(
            "CLR178",
            f"{field} is declared {declared}, but is given {kind}. Read an output that is "
            f"declared {declared}.",
        )
