"""Whole DAG files."""

from __future__ import annotations

from couler.backends.airflow.ends import last_tasks, removal_lines, start_lines, wait_lines
from couler.backends.airflow.frame import framed
from couler.backends.airflow.lower import lowered
from couler.backends.airflow.module import Module
from couler.backends.airflow.options import Options
from couler.backends.airflow.outputs import declare_results
from couler.backends.airflow.overrides import merged, own_arguments
from couler.backends.airflow.parameters import (
    RUN_PARAMETERS,
    config_parameters,
    param,
    parameter,
    shared_types,
)
from couler.backends.airflow.parts import part_ids
from couler.backends.airflow.places import own_name
from couler.backends.airflow.pods import Pods
from couler.backends.airflow.policies import seconds
from couler.backends.airflow.python import INDENT, Call, Code, block, call, statement
from couler.backends.airflow.reading import Scope
from couler.backends.airflow.run_objects import RunObjects
from couler.backends.airflow.scopes import Scopes
from couler.backends.airflow.settings import dag_settings
from couler.backends.airflow.tasks import NO_GATE, Gate, Tasks
from couler.backends.airflow.versions import mark
from couler.ir.workflow import Workflow


def dag_file(workflow: Workflow, options: Options) -> str:
    """Return the DAG file of a verified workflow whose defaults are resolved."""
    workflow = declare_results(lowered(workflow))
    module = Module(options.version)
    tasks = Tasks(module, Pods(module, workflow, options), options, workflow)
    reader = own_name(RUN_PARAMETERS, workflow)
    scope = Scope(
        {step.name: step for step in workflow.steps},
        params={one.name: param(one, reader) for one in workflow.parameters},
    )
    blocks = Scopes(module, tasks, part_ids(workflow))
    objects = RunObjects(workflow, module)
    body = objects.lines(last_tasks(workflow, scope), indent=1)
    indent = 1 + sum(line.endswith(":") for line in body)
    gate = NO_GATE
    first = config_parameters(workflow, module, tasks.as_it_is)
    if first is not None:
        gate = Gate(module.name("run_parameters"))
        body.append(statement(gate.before[0], first, indent=indent))
    if workflow.suspended:
        may_start, lines = start_lines(workflow, module, indent=indent)
        if first is not None:
            lines.append(f"{INDENT * indent}{may_start} >> {gate.variable}")
        gate, body = Gate(gate.variable or may_start), body + lines
    for made in objects.made:
        body += [f"{INDENT * indent}{before} >> {made}" for before in gate.before]
        gate = Gate(made)
    body += blocks.lines(scope, workflow.steps, indent=indent, gate=gate)
    body += blocks.end(workflow, scope, indent=indent)
    body += removal_lines(tasks.created, workflow, module, indent=indent)
    waits = wait_lines(workflow, module, has_teardowns=bool(tasks.created or objects.made))
    body += waits
    dag = block(_dag(workflow, module, options), "dag" if tasks.created or waits else "")
    definitions = module.definitions(
        HELPER_IMAGE=options.helper_image,
        FILES_CLAIM=options.files_claim,
        IO_IMAGE=options.io_image,
    )
    return framed(
        docstring=_docstring(workflow, options),
        imports=module.import_lines,
        definitions=definitions,
        dag=dag,
        tasks="\n".join(body),
    )


def _docstring(workflow: Workflow, options: Options) -> list[str]:
    title, _, more = (workflow.description or "").strip().partition("\n")
    where = "The DAG stands at the end, what it uses before it."
    return [
        title or f"Workflow {workflow.name}.",
        *([more] if more else ()),
        f"{mark(options.version)} {where}",
    ]


def _dag(workflow: Workflow, module: Module, options: Options) -> Call:
    shared = shared_types(workflow)
    params = {one.name: parameter(one, module, shared) for one in workflow.parameters}
    fields = {
        **dag_settings(workflow, module, options),
        "params": params or None,
        "user_defined_macros": {name: Code(name) for name in module.macros} or None,
        "dagrun_timeout": workflow.timeout_s and seconds(workflow.timeout_s, module),
        "max_active_tasks": workflow.max_parallel,
    }
    return call(module.take("airflow.sdk", "DAG"), **merged(fields, own_arguments(workflow)))
