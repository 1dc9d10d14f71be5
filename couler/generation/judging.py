"""The first judge of what a model writes: gates, the isolated build, and verification."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from couler.backends.base import Target
from couler.box import Built, build_program
from couler.box.running import run_boxed
from couler.errors import ConfigurationError
from couler.generation.options import Verdict
from couler.ir.diagnostics import Diagnostic
from couler.ir.workflow import Workflow
from couler.stages.checks import diagnose

FAILED_RUN = "CLR642"

Build = Callable[[str], Built]
"""Builds a program in isolation."""

_MOST_TOLD = 12


class TargetSettingError(ConfigurationError):
    """A target has no setting that a workflow needs: no other program would fix that."""

    program: str | None = None


def judge_program(
    text: str,
    targets: Mapping[str, Target] | None = None,
    *,
    build: Build | None = None,
    run: bool = False,
) -> Verdict:
    """Build a program in isolation, verify what it gives, and run that in the sandbox if asked."""
    built = build_program(text, file="workflow.py") if build is None else build(text)
    if built.workflow is None:
        return Verdict(None, built.diagnostics)
    try:
        verdict = judge_workflow(built.workflow, targets, found=built.diagnostics)
        return _after_run(built.workflow, verdict) if run and verdict.is_verified else verdict
    except TargetSettingError as error:
        error.program = text
        raise


def judge_workflow(
    workflow: Workflow,
    targets: Mapping[str, Target] | None = None,
    *,
    found: tuple[Diagnostic, ...] = (),
) -> Verdict:
    """Verify a workflow everywhere and for some engines; raises as `judge_program`."""
    seen = dict.fromkeys((*found, *diagnose(workflow)))
    for engine, target in (targets or {}).items():
        seen.update(dict.fromkeys(diagnose(workflow, [engine], target=target)))
    for one in seen:
        if one.of_target and one.severity == "error":
            raise TargetSettingError(f"the workflow needs a setting of the target: {one.message}")
    return Verdict(workflow, tuple(seen))


def _after_run(workflow: Workflow, verdict: Verdict) -> Verdict:
    ran = run_boxed(workflow)
    if ran.status == "succeeded":
        return verdict
    found = Diagnostic(FAILED_RUN, f"the run in the sandbox failed: {ran.message}")
    if ran.status != "failed":  # no other program would fix that
        message = f"the run in the sandbox did not end: {ran.message}"
        found = Diagnostic(FAILED_RUN, message, severity="warning")
    return Verdict(workflow, (*verdict.diagnostics, found))


def with_failed_run(verdict: Verdict) -> Verdict:
    """Return a verdict in which a run that failed is a warning: the program is paid for."""
    found = (
        replace(one, severity="warning") if one.code == FAILED_RUN else one
        for one in verdict.diagnostics
    )
    return Verdict(verdict.workflow, tuple(found))


def told(diagnostics: Sequence[Diagnostic]) -> str:
    """Return diagnostics as a model is told them: a line each, the first ones only."""
    lines = [str(one) for one in diagnostics[:_MOST_TOLD]]
    if len(diagnostics) > _MOST_TOLD:
        lines.append(f"and {len(diagnostics) - _MOST_TOLD} more")
    return "\n".join(lines)


def repair_message(errors: Sequence[Diagnostic]) -> str:
    """Return in a sentence what a model is asked to repair."""
    first = errors[0]
    more = f", and {len(errors) - 1} more" if len(errors) > 1 else ""
    return f"asked to repair {first.code}: {first.message}{more}"


def numbered(program: str) -> str:
    r"""Return a program with the numbers of its lines, as diagnostics name them."""
    lines = program.rstrip("\n").split("\n")
    width = len(str(len(lines)))
    return "\n".join(f"{number:>{width}}| {line}" for number, line in enumerate(lines, 1))
