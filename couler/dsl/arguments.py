"""The arguments of a typed step as inputs of the IR."""

from __future__ import annotations

import dataclasses
import os
import typing as t
from collections.abc import Mapping

from couler.dsl._nodes import make_literal, make_plain_input
from couler.dsl.checks import advice, shown
from couler.dsl.handles import OutputHandle, Value, literal
from couler.dsl.located import located_input
from couler.dsl.locations import LocatedFile
from couler.dsl.scope import make_process_input
from couler.dsl.types import FILE, STR, UNKNOWN, TypeSpec, fits, is_json, list_of
from couler.ir.workflow import Input

if t.TYPE_CHECKING:
    from couler.dsl.scope import Scope
    from couler.dsl.signature import Argument

_SCALARS = (str, int, bool)  # a float can be no number


def make_inputs(
    scope: Scope, step: str, arguments: Mapping[str, Argument], given: Mapping[str, object]
) -> list[Input]:
    """Return the inputs of a step."""
    inputs: list[Input] = []
    for name, value in given.items():
        argument = arguments.get(name)
        if argument is None:
            continue
        spec = argument.spec
        if spec is UNKNOWN:  # what is wrong with it has been reported
            continue
        if value is None and spec.optional and spec.is_files and argument.default is None:
            continue
        _add(scope, step, name, spec, value, inputs)
    return inputs


def _add(
    scope: Scope, step: str, name: str, spec: TypeSpec, value: object, inputs: list[Input]
) -> None:
    if spec.is_file and isinstance(value, str | os.PathLike):
        _report_path(scope, step, name, spec, value)
    elif type(value) in _SCALARS:
        if spec.accepts(value):
            inputs.append(make_plain_input(name, make_literal(value), spec.wire))
        else:
            report_type(scope, step, name, spec, value)
    elif isinstance(value, Value):
        wanted = _columns_of(spec)
        parts = None if wanted is None else value._parts()
        if wanted is not None and parts is not None:
            if _is_gathered(parts) == (spec.fields is None):
                _add_fields(scope, step, name, spec, wanted, parts, inputs)
            else:
                report_type(scope, step, name, spec, value)
            return
        value = value if value._home is scope else scope.bring(value)
        if fits(value._spec, spec):
            inputs.append(make_process_input(name, value, spec))
        elif _is_path_of(spec, value._spec):
            inputs.append(make_process_input(name, value, value._spec))
        else:
            report_type(scope, step, name, spec, value)
    elif isinstance(value, LocatedFile):
        if spec.is_file or spec is STR:
            inputs.append(_located(scope, step, name, FILE if spec is STR else spec, value))
        else:
            report_type(scope, step, name, spec, value)
    elif holds_value(value):
        if spec.fields is not None and not isinstance(value, dict):
            fields = {key: getattr(value, key) for key in spec.fields if hasattr(value, key)}
            _add_fields(scope, step, name, spec, spec.fields, fields, inputs)
        elif isinstance(value, list | tuple) and spec.item is not None and spec.wire != "dict":
            for index, item in enumerate(value):
                _add(scope, step, f"{name}_{index}", spec.item, item, inputs)
        else:
            scope.builder.report(
                "CLR103",
                f'step "{step}": the argument "{name}" holds values of the workflow deep inside; '
                "pass them as arguments of their own",
                step=step,
            )
    elif not spec.accepts(value):
        report_type(scope, step, name, spec, value)
    else:
        inputs.append(make_plain_input(name, literal(value), spec.wire))


def _report_path(
    scope: Scope, step: str, name: str, spec: TypeSpec, path: str | os.PathLike[str]
) -> None:
    """Report a path of this machine, which means nothing where the step runs."""
    scope.builder.report(
        "CLR107",
        f'step "{step}": the argument "{name}" must be {spec.label} of another step or one at a '
        f"location, not the path {str(path)!r:.60}. Name where it lies, such as "
        "couler.S3Artifact(key=...)",
        step=step,
    )


def _located(scope: Scope, step: str, name: str, spec: TypeSpec, file: LocatedFile) -> Input:
    """Return the input by which a step takes a file from outside of the workflow."""
    placed = scope.builder.placed.get(id(file))
    if placed is not None:
        value = scope.bring(OutputHandle(placed[1], placed[2]))
        return make_process_input(name, value, spec)
    return located_input(scope, file, name, step, path=file.path, as_type=spec.wire)


def _add_fields(
    scope: Scope,
    step: str,
    name: str,
    spec: TypeSpec,
    wanted: Mapping[str, TypeSpec],
    parts: Mapping[str, object],
    inputs: list[Input],
) -> None:
    for field, of in wanted.items():
        if field in parts:
            _add(scope, step, f"{name}_{field}", of, parts[field], inputs)
        else:
            message = (
                f'step "{step}": the argument "{name}" must be {spec.label}; it has no {field}'
            )
            scope.builder.report("CLR107", message, step=step)
            return


def _is_path_of(wanted: TypeSpec, given: TypeSpec) -> bool:
    """Return whether a text that is wanted can be the path of a file that is given."""
    return wanted is STR and given.is_file and not given.optional


def _columns_of(spec: TypeSpec) -> Mapping[str, TypeSpec] | None:
    """Return the types of the parts in which a record, or a list of records, is handed over."""
    if spec.fields is not None or spec.wire != "list" or spec.item is None:
        return spec.fields
    fields = spec.item.fields
    return None if fields is None else {name: list_of(of) for name, of in fields.items()}


def _is_gathered(parts: Mapping[str, Value]) -> bool:
    """Return whether the fields of a record are those of many, gathered by a map."""
    return any(one._spec.gathered for one in parts.values())


def holds_value(value: object) -> bool:
    """Return whether a value of the program is one of the workflow, or holds one."""
    if isinstance(value, Value | LocatedFile):
        return True
    if isinstance(value, list | tuple):
        return any(map(holds_value, value))
    if isinstance(value, dict):
        return any(map(holds_value, value.values()))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return any(holds_value(getattr(value, one.name)) for one in dataclasses.fields(value))
    return False


def _label_of(value: Value) -> str:
    parts = value._parts()
    if parts is None:
        return value._spec.label
    kind = "a list of records" if _is_gathered(parts) else "a record"
    return f"{kind} of {', '.join(parts)}"


def report_type(scope: Scope, step: str, name: str, spec: TypeSpec, value: object) -> None:
    """Report an argument whose value does not fit its annotation."""
    if isinstance(value, Value):
        given = f"{value!r}, which is {_label_of(value)}"
        if spec.is_file and value._spec is STR:
            given += (
                ". If it is the path of a file that the step writes, give it returns=couler.File"
            )
    else:
        kind = type(value).__name__
        kind = "" if kind == spec.label else f", which is {kind}"
        given = f"{shown(value)}{kind}{_instead(spec, value)}"
    scope.builder.report(
        "CLR107",
        f'step "{step}": the argument "{name}" must be {spec.label}, not {given}',
        step=step,
    )


def _instead(spec: TypeSpec, value: object) -> str:
    """Return what to write in place of a value, if that is not plain from the two types."""
    if value is None:
        return f'. Annotate it with "{spec.label} | None" if it can be missing'
    if isinstance(value, dict) and spec.fields is not None:
        return f". Write {spec.label}(**value)"
    if spec.classes and spec.fields is None and spec.item is None:  # an enumeration
        return f". Write a member: {spec.label}(value)"
    if is_json(value) and not isinstance(value, tuple):
        return ""
    text = advice(value)
    return f". {text[0].upper()}{text[1:]}"
