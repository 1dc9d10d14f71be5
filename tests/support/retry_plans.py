"""Whether a retry does what its plan says, and whether planning leaves everything as it was."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import typing as t
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from couler.backends.base import RunOptions
from couler.backends.local import LocalBackend
from couler.ir.policies import Cache
from couler.ir.semantics.outputs import Instance
from couler.ir.semantics.replay import PlannedStep
from couler.ir.walk import HANDLER_PREFIX, StepPath
from couler.ir.workflow import Group, Step, Workflow
from couler.state.results import RunResult, StepResult
from tests.corpus.build import flow, sh

LOCAL = LocalBackend()

UNKNOWN_INPUTS = "its inputs are not known yet"
UNKNOWN_CONDITION = "if its condition holds"


@dataclass(frozen=True)
class Retry:
    """A retry and the plan that was made of it before."""

    planned: tuple[PlannedStep, ...]
    result: RunResult

    @property
    def verdicts(self) -> dict[str, str]:
        return verdicts(self.planned)

    @property
    def reasons(self) -> dict[str, str | None]:
        return {step.path: step.reason for step in self.planned}


def fill(workflow: Workflow, home: Path, **parameters: object) -> str:
    """Run a workflow, so that the cache has its steps, and return the run's name."""
    result = LOCAL.run(workflow, parameters=parameters, options=RunOptions(home=home, jobs=4))
    assert result.status == "succeeded", result.message
    return result.run_id


def another(home: Path) -> str:
    """Return a run that knows no step of any workflow: all that it can take is in the cache."""
    return fill(flow("w", sh("unrelated", "true")), home)


def kept(name: str, script: str, *args: t.Any, **fields: t.Any) -> Step:
    """Return a step that asks for the cache."""
    return sh(name, script, *args, cache=Cache(), **fields)


def verdicts(planned: tuple[PlannedStep, ...]) -> dict[str, str]:
    """Return the verdicts by path, each path being there once."""
    found = {step.path: step.verdict for step in planned}
    assert len(found) == len(planned), planned
    return t.cast("dict[str, str]", found)


def retry_as_planned(
    run: str,
    workflow: Workflow,
    home: Path,
    *,
    use_cache: bool = True,
    environ: Mapping[str, str] | None = None,
    **parameters: object,
) -> Retry:
    """Plan a retry, retry, and fail unless the two agree step for step.

    The retry must succeed, since that is what a plan is made for.

    Parameters
    ----------
    run
        Name of the run.
    workflow
        The workflow, which takes the place of the recorded one.
    home
        Where the run is kept.
    use_cache
        Whether steps may take the outputs of other runs.
    environ
        The environment; None for that of this process.
    parameters
        Values that take the place of earlier ones.
    """
    options = RunOptions(home=home, jobs=4, gpus=1, use_cache=use_cache)
    arguments: dict[str, t.Any] = {
        "workflow": workflow,
        "options": options,
        "environ": environ,
        "parameters": parameters,
    }
    with nothing_changes(home):
        planned = LOCAL.plan_retry(run, **arguments)
    result = LOCAL.retry(run, **arguments)
    assert result.status == "succeeded", result.message
    agree(workflow, planned, result)
    return Retry(planned, result)


def agree(workflow: Workflow, planned: tuple[PlannedStep, ...], result: RunResult) -> None:
    """Fail unless each step came out as a plan has it.

    What a plan cannot know it says: of an item or a round that is not there yet, of inputs and of
    conditions that are made by what runs. Only there may the end be another.
    """
    happened = what_happened(workflow, result)
    doubtful = [StepPath.parse(it.path) for it in planned if UNKNOWN_CONDITION in (it.reason or "")]
    left_out = [  # by a condition that nobody knew
        path
        for path in (StepPath.parse(it) for it, state in happened.items() if state == "skipped")
        if any(is_within(one, path) for one in doubtful)
    ]
    running = [StepPath.parse(step.path) for step in planned if step.verdict == "runs"]
    wholes = [path for path in running if Instance(step_at(workflow, path), path, ()).is_whole]
    for step in planned:
        path, found = StepPath.parse(step.path), happened.get(step.path)
        is_open = path in wholes or any(is_within(path, it) for it in left_out)
        may_be_cached = step.verdict == "runs" and UNKNOWN_INPUTS in (step.reason or "")
        is_right = found == step.verdict or (may_be_cached and found == "cached")
        assert is_right or is_open, f"{step}, but {found}"
    for text in happened.keys() - verdicts(planned).keys():
        path = StepPath.parse(text)
        is_inside = any(is_within(path, it) for it in wholes)
        is_later = any(follows_in_loop(path, it) for it in running)
        assert is_inside or is_later or path in left_out, f"{text} {happened[text]}, not planned"


def what_happened(workflow: Workflow, result: RunResult) -> dict[str, str]:
    """Return what became of each instance that runs something, or was left out as a whole."""
    found: dict[str, str] = {}
    for text, step in result.steps.items():
        path = StepPath.parse(text)
        if len(path) == 1 and path[0].name.startswith(HANDLER_PREFIX):
            continue
        definition = step_at(workflow, path)
        is_leaf = not isinstance(definition.action, Group)
        is_whole = Instance(definition, path, ()).is_whole
        if step.status in ("skipped", "omitted"):
            found[text] = step.status
        elif is_leaf and not is_whole:
            found[text] = _verdict(step)
    return found


def step_at(workflow: Workflow, path: StepPath) -> Step:
    """Return the step of a path; transparent groups have no place in it."""
    first = path[0].name
    if first.startswith(HANDLER_PREFIX):
        name = first.removeprefix(HANDLER_PREFIX)
        [handler] = [one for one in workflow.exit_handlers if one.name == name]
        steps, path = handler.steps, StepPath(path[1:])
    else:
        steps = workflow.steps
    for part in path:
        step = _named(steps, part.name)
        steps = step.action.steps if isinstance(step.action, Group) else ()
    return step


def is_within(path: StepPath, outer: StepPath) -> bool:
    """Tell whether a path is another one, or is inside of it; a whole has its items inside."""
    if len(path) < len(outer) or path[: len(outer) - 1] != outer[:-1]:
        return False
    part, last = path[len(outer) - 1], outer[-1]
    return (
        part.name == last.name
        and last.item in (None, part.item)
        and last.round in (None, part.round)
    )


def follows_in_loop(path: StepPath, earlier: StepPath) -> bool:
    """Tell whether a path is in a later round of a loop than another."""
    for part, before in zip(path, earlier, strict=False):
        if part != before:
            return (
                part[:2] == before[:2]
                and part.round is not None
                and before.round is not None
                and part.round > before.round
            )
    return False


@contextlib.contextmanager
def nothing_changes(home: Path) -> Iterator[None]:
    """Fail if anything in the database, or any file or folder of a home, is another afterwards."""
    rows, files = _rows(home), _files(home)
    yield
    assert _files(home) == files
    assert _rows(home) == rows


def _named(steps: tuple[Step, ...], name: str) -> Step:
    for step in steps:
        if step.name == name:
            return step
    for step in steps:
        if isinstance(step.action, Group) and step.action.transparent:
            with contextlib.suppress(LookupError):
                return _named(step.action.steps, name)
    raise LookupError(name)


def _verdict(step: StepResult) -> str:
    if step.reused:
        return "reused"
    return "runs" if step.status == "succeeded" else step.status


def _rows(home: Path) -> list[str]:
    with contextlib.closing(sqlite3.connect(home / "couler.db")) as connection:
        return list(connection.iterdump())


def _files(home: Path) -> dict[str, tuple[int, int, int]]:
    """Return kind, size and time of each; those of the database are told by its rows."""
    found = {}
    for folder, _, names in os.walk(home):
        for path in (Path(folder), *(Path(folder, name) for name in names)):
            if path.name.startswith("couler.db") or path == home:
                continue
            facts = path.lstat()
            found[str(path)] = (facts.st_mode, facts.st_size, facts.st_mtime_ns)
    return found
