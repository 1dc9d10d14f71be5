"""Whole DAG files."""

from __future__ import annotations

from itertools import pairwise

from couler.backends.airflow.module import Module
from couler.backends.airflow.options import Options
from couler.backends.airflow.outputs import declare_results
from couler.backends.airflow.parameters import config_parameters, param, parameter
from couler.backends.airflow.policies import seconds
from couler.backends.airflow.python import Call, Code, call, laid_out, statement
from couler.backends.airflow.reading import Scope
from couler.backends.airflow.scopes import Scopes
from couler.backends.airflow.tasks import Tasks
from couler.ir.workflow import Workflow


def dag_file(workflow: Workflow, options: Options) -> str:
    """Return the DAG file of a verified workflow whose defaults are resolved."""
    workflow = declare_results(workflow)
    module = Module(options.version)
    tasks = Tasks(module, options.version)
    scope = Scope(
        {step.name: step for step in workflow.steps},
        params={one.name: param(one) for one in workflow.parameters},
    )
    blocks = Scopes(module, tasks)
    first = config_parameters(workflow, module, tasks.as_it_is, options.namespace)
    body = [] if first is None else [statement(module.name("run_parameters"), first, indent=1)]
    before = None if first is None else "run_parameters"
    body += blocks.lines(scope, workflow.steps, indent=1, first=before)
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
    params = {one.name: parameter(one, module) for one in workflow.parameters}
    return call(
        module.take("airflow.sdk", "DAG"),
        dag_id=workflow.name,
        description=workflow.description,
        schedule=Code("None"),
        catchup=False,
        params=params or None,
        default_args={"retries": 0},
        user_defined_macros={name: Code(name) for name in module.macros} or None,
        dagrun_timeout=workflow.timeout_s and seconds(workflow.timeout_s, module),
        max_active_tasks=workflow.max_parallel,
    )


def _comment(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"""', '\\"""')
