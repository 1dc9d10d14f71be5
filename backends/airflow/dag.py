"""Whole DAG files."""

from __future__ import annotations

from collections.abc import Collection
from itertools import pairwise

from couler.backends.airflow.module import Module
from couler.backends.airflow.options import Options
from couler.backends.airflow.python import Call, Code, Expression, call, laid_out, quoted, value_of
from couler.backends.airflow.reading import Read, Scope
from couler.backends.airflow.scopes import Scopes
from couler.backends.airflow.tasks import Tasks
from couler.ir.values import StepRef, Value, walk
from couler.ir.walk import read_values, scopes
from couler.ir.wire import is_file
from couler.ir.workflow import Parameter, Workflow

_PARAM_TYPES = {
    "str": "string",
    "int": "integer",
    "float": "number",
    "bool": "boolean",
    "list": "array",
    "dict": "object",
}


def dag_file(workflow: Workflow, options: Options) -> str:
    """Return the DAG file of a verified workflow whose defaults are resolved."""
    module = Module()
    tasks = Tasks(module, _read_outputs(workflow))
    scope = Scope(
        {step.name: step for step in workflow.steps},
        params={one.name: _param(one) for one in workflow.parameters},
    )
    blocks = Scopes(module, tasks)
    body = blocks.lines(scope, workflow.steps, indent=1)
    body += blocks.end(workflow, scope, indent=1)
    dag = laid_out(_dag(workflow, module), before=len("with "), after=1)
    definitions = module.definitions(HELPER_IMAGE=options.helper_image)
    title = workflow.description or f"Workflow {workflow.name}."
    head = f'"""{_comment(title)}\n\nCompiled by couler for Airflow 3.\n"""'
    parts = [f"{head}\n\n{module.import_lines}", *definitions, f"with {dag}:\n" + "\n".join(body)]
    text = parts[0]
    for before, part in pairwise(parts):
        text += ("\n" if _is_text(before) and _is_text(part) else "\n\n\n") + part
    return text + "\n"


def _is_text(part: str) -> bool:
    return part[0].isupper()


def _dag(workflow: Workflow, module: Module) -> Call:
    params = {one.name: _parameter(one, module) for one in workflow.parameters}
    return call(
        module.take("airflow.sdk", "DAG"),
        dag_id=workflow.name,
        description=workflow.description,
        schedule=Code("None"),
        catchup=False,
        params=params or None,
        default_args={"retries": 0},
        user_defined_macros={name: Code(name) for name in module.macros} or None,
        max_active_tasks=workflow.max_parallel,
    )


def _parameter(given: Parameter, module: Module) -> Expression:
    name = module.take("airflow.sdk", "Param")
    fields = {
        "type": _PARAM_TYPES.get(given.type),
        "enum": list(given.choices) or None,
        "description": given.description,
    }
    if given.required:
        return call(name, **fields)
    return call(name, value_of(given.default), **fields)


def _param(given: Parameter) -> Read:
    code = f"params[{quoted(given.name)}]"
    is_text = given.type == "str" or is_file(given.type)
    return Read(code if is_text else f"text({code})", given.type, native=code)


def _comment(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"""', '\\"""')


def _read_outputs(workflow: Workflow) -> dict[int, Collection[str]]:
    """Return for each step, by its identity, the names of its outputs that something reads."""
    found: dict[int, set[str]] = {}
    for scope in scopes(workflow):
        steps = {step.name: step for step in scope.steps}
        values: list[Value] = [value for step in scope.steps for value in read_values(step)]
        outputs = workflow.outputs if scope.owner is None else scope.owner.outputs
        values += [one.value for one in outputs if one.value is not None]
        for value in values:
            for inner in walk(value):
                if isinstance(inner, StepRef) and inner.step in steps:
                    found.setdefault(id(steps[inner.step]), set()).add(inner.output)
    return found
