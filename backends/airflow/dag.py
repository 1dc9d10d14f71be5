"""Whole DAG files: frame, DAG, objects of a run, and the notes beside the file."""

from __future__ import annotations

import textwrap
import typing as t
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import resources

from couler.backends.airflow.connections import connections
from couler.backends.airflow.ends import last_tasks, removal_lines, start_lines, wait_lines
from couler.backends.airflow.lower import lowered
from couler.backends.airflow.module import Definitions, Module
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
from couler.backends.airflow.policies import policy_notes, seconds
from couler.backends.airflow.python import (
    INDENT,
    WIDTH,
    Call,
    Code,
    block,
    call,
    statement,
    value_of,
)
from couler.backends.airflow.reading import Scope
from couler.backends.airflow.scopes import Scopes
from couler.backends.airflow.settings import dag_settings
from couler.backends.airflow.specs import Tree
from couler.backends.airflow.tasks import NO_GATE, Gate, Tasks
from couler.backends.airflow.versions import mark
from couler.ir.kubernetes_pods import claim_template
from couler.ir.pods import DisruptionBudget, PodOptions, PodSettings, RunSettings
from couler.ir.storage import NewClaimVolume
from couler.ir.uses import Need, needs
from couler.ir.walk import all_steps
from couler.ir.workflow import Workflow
from couler.ir.yaml_writer import dump_all

if t.TYPE_CHECKING:
    from jinja2 import Template


def dag_file(workflow: Workflow, options: Options) -> str:
    """Return the DAG file of a verified workflow whose defaults are resolved."""
    workflow = declare_results(lowered(workflow, has_claim=options.files_claim is not None))
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
    dag = block(
        _dag(workflow, module, options, tasks.common), "dag" if tasks.created or waits else ""
    )
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
    title, _, more = (workflow.description or "").strip().partition("\n\n")
    where = "The DAG stands at the end, what it uses before it."
    return [*filter(None, (title, more)), f"{mark(options.version)} {where}"]


def _dag(
    workflow: Workflow, module: Module, options: Options, common: Mapping[str, object]
) -> Call:
    shared = shared_types(workflow)
    params = {one.name: parameter(one, module, shared) for one in workflow.parameters}
    fields = {
        **dag_settings(workflow, module, options, common),
        "params": params or None,
        "user_defined_macros": {name: Code(name) for name in module.macros} or None,
        "dagrun_timeout": workflow.timeout_s and seconds(workflow.timeout_s, module),
        "max_active_tasks": workflow.max_parallel,
    }
    return call(module.take("airflow.sdk", "DAG"), **merged(fields, own_arguments(workflow)))


def framed(
    *,
    docstring: Sequence[str],
    imports: str,
    definitions: Definitions,
    dag: str,
    tasks: str,
) -> str:
    """Return a DAG file."""
    _, title, *about = (line for text in docstring for line in ("", *_paragraph(text)))
    return _frame().render(
        title=f" {title}" if title.startswith('"') else title,
        about=about,
        imports=imports,
        **definitions._asdict(),
        dag=dag,
        tasks=tasks,
    )


@cache
def _frame() -> Template:
    from jinja2 import Environment, StrictUndefined

    environment = Environment(
        block_start_string="[%",
        block_end_string="%]",
        variable_start_string="[[",
        variable_end_string="]]",
        comment_start_string="[#",
        comment_end_string="#]",
        trim_blocks=True,
        keep_trailing_newline=True,
        undefined=StrictUndefined,
        autoescape=False,
    )
    source = resources.files(__package__) / "templates" / "dag.py.jinja"
    return environment.from_string(source.read_text(encoding="utf-8"))


def _paragraph(text: str) -> list[str]:
    """Return the lines of a text in a docstring."""
    lines: list[str] = []
    for line in text.strip().splitlines():
        shown = "".join(one if one.isprintable() else " " for one in line)
        safe = shown.replace("\\", "\\\\").replace('"""', "'''")
        lines += textwrap.wrap(safe, WIDTH - 2, break_long_words=False) or [""]
    return lines


_RESOURCE = "airflow.providers.cncf.kubernetes.operators.resource"
_GENERATOR = "airflow.providers.cncf.kubernetes.pod_generator"


class RunObjects:
    """Writes what makes the objects of a run: its claims, and its disruption budget."""

    def __init__(self, workflow: Workflow, module: Module) -> None:
        self._workflow = workflow
        self._module = module
        self._runs = workflow.runs or RunSettings()
        self.made: list[str] = []
        """The variables of the tasks for which all steps wait."""

    def lines(self, leaves: Sequence[str], *, indent: int) -> list[str]:
        """Return the lines below which all tasks stand, each a level deeper; there may be none."""
        claims = [
            self._claim(one) for one in self._workflow.volumes if isinstance(one, NewClaimVolume)
        ]
        budget = self._runs.disruption_budget
        lines: list[str] = []
        if claims:
            keeps = self._runs.claim_cleanup == "run_success"
            lines += self._around("claims", claims, indent, leaves if keeps else ())
            indent += 1
        if budget is not None:
            lines += self._around("budget", [self._budget(budget)], indent)
        return lines

    def _around(
        self, name: str, objects: list[Tree], indent: int, leaves: Sequence[str] = ()
    ) -> list[str]:
        """Return the tasks that make and delete objects; with leaves only after a success."""
        manifest = Code(self._module.constant(name, dump_all(objects)))
        make, drop = self._module.name(f"make_{name}"), self._module.name(f"delete_{name}")
        condition = None
        if leaves:
            failed = self._module.use(f"run_failed(ti, {value_of(list(leaves)).flat()})")
            when = self._module.condition("when_run_succeeded", f"not {failed}")
            condition = self._module.skip_unless(when)
        created = call(
            self._module.take(_RESOURCE, "KubernetesCreateResourceOperator"),
            task_id=f"make-{name}",
            yaml_conf=manifest,
        )
        deleted = call(
            self._module.take(_RESOURCE, "KubernetesDeleteResourceOperator"),
            task_id=f"delete-{name}",
            yaml_conf=manifest,
            pre_execute=condition,
        )
        self.made.append(make)
        return [
            statement(make, created, indent=indent),
            statement(drop, deleted, indent=indent),
            f"{INDENT * indent}with {drop}.as_teardown():",
        ]

    def _claim(self, wanted: NewClaimVolume) -> Tree:
        name = self._module.use_in_templates(f"run_name(ti, '{wanted.name}')")
        tree = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", **claim_template(wanted)}
        return {**tree, "metadata": {"name": "{{ " + name + " }}"}}

    def _budget(self, wanted: DisruptionBudget) -> Tree:
        name = self._module.use_in_templates("run_name(ti, 'budget')")
        safe = self._module.take(_GENERATOR, "make_safe_label_value")
        self._module.macros[safe] = None
        labels = {
            "dag_id": "{{ " + safe + "(ti.dag_id) }}",
            "run_id": "{{ " + safe + "(ti.run_id) }}",
        }
        spec = {"minAvailable": wanted.min_available, "maxUnavailable": wanted.max_unavailable}
        return {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": "{{ " + name + " }}"},
            "spec": {
                "selector": {"matchLabels": labels},
                **{name: value for name, value in spec.items() if value is not None},
            },
        }


def notes(workflow: Workflow, options: Options) -> Iterator[str]:
    """Yield what must exist where the workflow runs, and what Airflow does in its own way."""
    names = connections(options)
    accounts = {pod.service_account for pod in _pods(workflow)}
    for need in needs(workflow):
        if need.kind == "secret" and need.name in names:
            yield f'connection "{need.name}"{_entries(need)} must exist in Airflow'
        elif need.kind != "service account" or need.name in accounts:
            yield str(need)
    yield from policy_notes(workflow)
    yield from _without_effect(workflow)


def _entries(need: Need) -> str:
    return f" with {', '.join(need.keys)}" if need.keys else ""


def _without_effect(workflow: Workflow) -> Iterator[str]:
    runs = {step.part.run or "" for step in workflow.steps if step.part is not None} - {""}
    if runs:
        yield (
            f"parts with runs of their own ({len(runs)}): shown as groups of tasks; all are of one "
            "DAG and run as one"
        )
    for name in sorted({pod.executor_service_account or "" for pod in _pods(workflow)} - {""}):
        yield (
            f'executor_service_account "{name}": no effect; the worker starts and watches pods by '
            "an account of its own, and pods have no container of the engine that needs one"
        )


def _pods(workflow: Workflow) -> Iterator[PodOptions]:
    yield workflow.pod or PodSettings()
    for step in all_steps(workflow):
        if step.pod is not None:
            yield step.pod
