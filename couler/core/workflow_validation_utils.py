"""The ancestor's check of manifests: whether Argo could start on one."""

from __future__ import annotations

import typing as t
from collections.abc import Iterator, Mapping

from couler.dsl._context import ProgramError
from couler.ir.diagnostics import did_you_mean

Tree: t.TypeAlias = Mapping[str, t.Any]

_KINDS = ("Workflow", "WorkflowTemplate", "ClusterWorkflowTemplate", "CronWorkflow")
_BODIES = (
    *("container", "containerSet", "dag", "data", "http", "plugin", "resource", "script"),
    *("steps", "suspend"),
)


def validate_workflow_yaml(workflow_yaml: object) -> None:
    """Check that a manifest hangs together, such as one that a program has changed by hand."""
    problems = list(_problems(workflow_yaml))
    if problems:
        raise ProgramError("CLR142", f"the manifest is none of Argo's: {'; '.join(problems)}")


def _problems(manifest: object) -> Iterator[str]:
    if not isinstance(manifest, Mapping):
        yield f"{manifest!r:.60} is no dict"
        return
    kind = manifest.get("kind")
    if not str(manifest.get("apiVersion", "")).startswith("argoproj.io/") or kind not in _KINDS:
        yield f"its kind is {kind!r} of {manifest.get('apiVersion')!r}"
        return
    metadata = _mapping(manifest.get("metadata"))
    if not metadata.get("name") and not metadata.get("generateName"):
        yield "it has no name"
    spec = _mapping(manifest.get("spec"))
    if kind == "CronWorkflow":
        if not spec.get("schedules") and not spec.get("schedule"):
            yield "it has no schedule"
        spec = _mapping(spec.get("workflowSpec"))
    yield from _of_spec(spec, needs_entrypoint=kind in ("Workflow", "CronWorkflow"))


def _of_spec(spec: Tree, *, needs_entrypoint: bool) -> Iterator[str]:
    if spec.get("workflowTemplateRef"):
        return
    templates = [_mapping(one) for one in spec.get("templates") or ()]
    names = [str(one.get("name", "")) for one in templates]
    if not templates:
        yield "it has no templates"
    for name in dict.fromkeys(names):
        if names.count(name) > 1:
            yield f'there are {names.count(name)} templates "{name}"'
    if needs_entrypoint and not spec.get("entrypoint"):
        yield "it has no entrypoint"
    for field in ("entrypoint", "onExit"):
        if spec.get(field) and spec[field] not in names:
            yield _unknown(f"its {field}", spec[field], names)
    for template in templates:
        yield from _of_template(template, names)


def _of_template(template: Tree, names: list[str]) -> Iterator[str]:
    what = f'the template "{template.get("name", "")}"'
    bodies = [body for body in _BODIES if body in template]
    if len(bodies) != 1:
        yield f"{what} has {' and '.join(bodies) or 'nothing'} to run"
        return
    body = template[bodies[0]]
    if bodies == ["dag"]:
        tasks = [_mapping(one) for one in _mapping(body).get("tasks") or ()]
        yield from _of_tasks(what, tasks)
    elif bodies == ["steps"]:
        tasks = [_mapping(one) for group in body or () for one in group or ()]
    else:
        return
    if not tasks:
        yield f"{what} has no steps"
    called = [str(task.get("name", "")) for task in tasks]
    for name in dict.fromkeys(called):
        if called.count(name) > 1:
            yield f'{what} has {called.count(name)} steps "{name}"'
    for task in tasks:
        is_elsewhere = task.get("templateRef") or task.get("inline")
        if not is_elsewhere and task.get("template") not in names:
            place = f'step "{task.get("name", "")}" of {what}'
            yield _unknown(f"the template of {place}", task.get("template"), names)


def _of_tasks(what: str, tasks: list[Tree]) -> Iterator[str]:
    names = [str(task.get("name", "")) for task in tasks]
    if any("depends" in task for task in tasks) and any("dependencies" in task for task in tasks):
        yield f"{what} has both depends and dependencies"
    for task in tasks:
        for name in task.get("dependencies") or ():
            if name not in names:
                yield _unknown(f'a dependency of "{task.get("name", "")}" in {what}', name, names)


def _unknown(what: str, name: object, known: list[str]) -> str:
    return f"{what} is {name!r}, which is not there.{did_you_mean(str(name), known)}".rstrip(".")


def _mapping(value: object) -> Tree:
    return value if isinstance(value, Mapping) else {}
