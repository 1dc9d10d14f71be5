"""The ancestor's check of manifests: whether Argo could start on one."""

from __future__ import annotations

import typing as t
from collections.abc import Iterator, Mapping

from couler.dsl._context import ProgramError
from couler.ir.diagnostics import did_you_mean

_KINDS = ("Workflow", "WorkflowTemplate", "ClusterWorkflowTemplate", "CronWorkflow")


def validate_workflow_yaml(workflow_yaml: object) -> None:
    """Check that a manifest has templates, and those that its steps name."""
    problems = list(_problems(workflow_yaml))
    if problems:
        raise ProgramError("CLR142", f"the manifest is none of Argo's: {'; '.join(problems)}")


def _problems(manifest: object) -> Iterator[str]:
    kind = manifest.get("kind") if isinstance(manifest, Mapping) else None
    if not isinstance(manifest, Mapping) or kind not in _KINDS:
        yield f"{manifest!r:.60} is of no kind of Argo's"
        return
    spec: t.Any = manifest.get("spec") or {}
    spec = spec.get("workflowSpec", spec)
    if spec.get("workflowTemplateRef"):
        return
    templates = {one.get("name"): one for one in spec.get("templates") or ()}
    if not templates:
        yield "it has no templates"
    called = [] if "Template" in kind else [("its entrypoint", spec.get("entrypoint"))]
    for name, template in templates.items():
        tasks = [task for group in template.get("steps") or () for task in group]
        tasks += template.get("dag", {}).get("tasks") or ()
        if not tasks and not template.keys().isdisjoint(("dag", "steps")):
            yield f'the template "{name}" has no steps'
        called += [
            (f'the template of step "{task.get("name")}" of "{name}"', task.get("template"))
            for task in tasks
            if task.keys().isdisjoint(("templateRef", "inline"))
        ]
    for what, name in called:
        if name not in templates:
            hint = did_you_mean(str(name), [*map(str, templates)])
            yield f"{what} is {name!r}, which is not there.{hint}".rstrip(".")
