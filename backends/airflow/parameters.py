"""Parameters as those of a DAG: checked by Airflow when a run begins, and how they are read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container

from couler.backends.airflow.module import Module
from couler.backends.airflow.operators import PYTHON
from couler.backends.airflow.places import own_name
from couler.backends.airflow.python import (
    Call,
    Code,
    Expression,
    Unpacked,
    call,
    quoted,
    value_of,
)
from couler.backends.airflow.reading import Read
from couler.ir.semantics.wire import encode
from couler.ir.values import is_file
from couler.ir.workflow import Parameter, Workflow

RUN_PARAMETERS = "run-parameters"
"""The id of the task that reads entries of config maps."""

_TYPES = {
    "str": "string",
    "int": "integer",
    "float": "number",
    "bool": "boolean",
    "list": "array",
    "dict": "object",
    "file": "string",
    "directory": "string",
}
_TEXTS = {
    "int": r"^-?(0|[1-9][0-9]*)$",
    "float": r"^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$",
    "bool": "^(true|false)$",
}
"""What text may stand for a number or a boolean, as command lines give it."""
_DRAFT = {"$schema": "http://json-schema.org/draft-04/schema#"}
"""The last draft of JSON Schema in which 5.0 is no integer."""


def shared_types(workflow: Workflow) -> set[str]:
    """Return the types of several parameters, whose schema stands in the file once."""
    counts = Counter(one.type for one in workflow.parameters if not one.choices)
    return {name for name, count in counts.items() if count > 1}


def _own_schema(given: Parameter, shared: Container[str]) -> dict[str, object] | None:
    """Return the schema that stands before the DAG, if that of a parameter does."""
    if given.config is not None or given.type not in _TEXTS:
        return None
    if given.type == "int":
        return {"type": ["integer", "string"], "pattern": _TEXTS["int"], **_DRAFT}
    if given.type not in shared or given.choices:
        return None
    return {"type": [_TYPES[given.type], "string"], "pattern": _TEXTS[given.type]}


def parameter(given: Parameter, module: Module, shared: Container[str] = ()) -> Call:
    """Return a parameter with the schema that its values must fit."""
    types = [_TYPES[given.type]] if given.type in _TYPES else []
    pattern = None if given.choices else _TEXTS.get(given.type)
    if pattern is not None:
        types.append("string")
    choices = list(given.choices) or None
    if given.config is not None and types:  # null: none is given, and the entry is the value
        types.append("null")
        choices = choices and [*choices, None]
    fields: dict[str, object] = {
        "type": types[0] if len(types) == 1 else types or None,
        "enum": choices,
        "pattern": pattern,
        "description": given.description,
    }
    name = module.take("airflow.sdk", "Param")
    own = _own_schema(given, shared)
    if own is not None:
        known = Unpacked(Code(module.shared_table(_TYPES[given.type], own)))
        made = call(name, *(() if given.required else (value_of(given.default),)))
        more = call(name, enum=choices, description=given.description).keywords
        return Call(name, made.arguments, (("", known), *more))
    if given.config is not None:
        return call(name, None, **fields)
    if given.required:
        return call(name, **fields)
    return call(name, value_of(given.default), **fields)


def param(given: Parameter, task: str = RUN_PARAMETERS) -> Read:
    """Return how a parameter is read; the task is the one that reads config maps."""
    if given.config is not None:
        return Read(f"output(ti, {quoted(task)}, {quoted(given.name)})", given.type)
    code = f"params[{quoted(given.name)}]"
    if given.type == "str" or is_file(given.type):
        return Read(code, given.type, native=code)
    if given.type in ("int", "float"):
        native = f"{given.type}({code})"  # which may be given as text
        return Read(f"encode({code})", given.type, native=native, alone=code, is_plain=True)
    if given.type == "json":
        return Read(f"dump_json({code})", given.type)
    if given.type == "bool":
        return Read(f"encode({code})", "bool", native=f'{code} in (True, "true")', is_plain=True)
    return Read(f"encode({code})", given.type, native=code)


def config_parameters(
    workflow: Workflow, module: Module, text: Callable[[str], Expression]
) -> Call | None:
    """Return the task that reads entries of config maps for parameters; None without such."""
    entries: dict[str, dict[str, Expression]] = {}
    for one in workflow.parameters:
        if one.config is None:
            continue
        given = {"config_map": one.config.config_map, "key": one.config.key, "type": one.type}
        if one.default is not None:
            given["default"] = encode(one.default, one.type)
        entries[one.name] = {name: text(value) for name, value in given.items()}
    if not entries:
        return None
    return call(
        module.take(PYTHON, "PythonOperator"),
        task_id=own_name(RUN_PARAMETERS, workflow),
        python_callable=Code(module.use("config_parameters")),
        op_args=[entries],
    )
