"""Every installed pass keeps what runs come to, on the corpus and on random workflows.

Passes are found as `couler plan` finds them, so that one that is added is tested here as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from couler.errors import InvalidWorkflowError
from couler.ir.defaults import resolve_defaults
from couler.ir.workflow import Workflow
from couler.optimizers.base import Pass
from couler.optimizers.passes.place import Place
from couler.optimizers.pipeline import PassLog, Pipeline, read_pass
from tests.corpus import Case, cases
from tests.support.dry_runs import Outcome, run_dry
from tests.support.equivalence import assert_same_outcome
from tests.support.installed_passes import installed_passes, own_passes, pass_of_golden
from tests.support.local_runs import run_here
from tests.support.sample_cluster import sample_cluster
from tests.support.tangles import enriched, is_valid, tangle


def brief(one: Pass) -> Pass:
    """Return a pass that searches no longer than it must: any placement keeps what runs come to."""
    return Place(strategy="upward-rank{evaluations=6}") if one == Place() else one


PASSES = tuple(brief(read_pass(name)) for name in installed_passes())
WITH_OPTIONS = tuple(
    one
    for one in map(brief, map(read_pass, sorted(map(pass_of_golden, own_passes()))))
    if one not in PASSES
)
"""Those whose golden shows them with options other than the default ones."""

STRICT = tuple(one for one in PASSES if getattr(one, "keeps_failures", True))
"""Those that keep the outcome of every run."""

PIPELINES = (
    *(Pipeline((one,)) for one in (*PASSES, *WITH_OPTIONS)),
    Pipeline(STRICT),
    Pipeline(tuple(reversed(STRICT))),
    Pipeline(PASSES),
)
"""Each pass alone, all that keep failures in two orders, and all of them."""

FEW = range(16)
MANY = tuple(range(first, first + 150) for first in range(1000, 2000, 250))


def title(pipeline: Pipeline) -> str:
    names = [one.name for one in pipeline.passes]
    if len(names) > 1:
        return f"{len(names)}-from-{names[0]}"
    return f"{names[0]}-with-options" if pipeline.passes[0] in WITH_OPTIONS else names[0]


def rewritten(pipeline: Pipeline, workflow: Workflow) -> tuple[Workflow, PassLog] | None:
    """Return a valid workflow after the passes, None where none changes it or one refuses it."""
    try:
        planned, log = pipeline.run(workflow, verified=True, cluster=sample_cluster)
    except InvalidWorkflowError as error:
        if "made a workflow that is not valid" in str(error):
            raise
        return None
    return None if all(one.after is one.before for one in log.records) else (planned, log)


@pytest.mark.parametrize("pipeline", PIPELINES, ids=title)
@pytest.mark.slow
def test_corpus(pipeline: Pipeline, tmp_path: Path) -> None:
    compare_corpus(pipeline, tmp_path, most=10)


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("pipeline", PIPELINES, ids=title)
def test_whole_corpus(pipeline: Pipeline, tmp_path: Path) -> None:
    compare_corpus(pipeline, tmp_path, most=len(cases()))


@cache
def valid_cases() -> tuple[tuple[Case, Workflow], ...]:
    """Return the corpus with the defaults of its workflows written out, once for all pipelines."""
    found = tuple((case, resolve_defaults(case.workflow)) for case in cases())
    assert all(is_valid(workflow) for _, workflow in found)
    return found


def compare_corpus(pipeline: Pipeline, folder: Path, most: int) -> None:
    """Run the cases that the passes change, or as many of them from all over the corpus."""
    made = [
        (case, workflow, *found)
        for case, workflow in valid_cases()
        if (found := rewritten(pipeline, workflow)) is not None
    ]
    for case, workflow, planned, log in made[:: -(-len(made) // most) or 1]:
        result = run_here(replace(case, workflow=planned), folder / case.name)
        after = Outcome(
            result.status,
            result.outputs,
            {path: (step.status, {}) for path, step in result.steps.items()},
        )
        expected = Outcome(
            case.expected.status,
            case.expected.run_outputs,
            {path: (state, {}) for path, state in case.expected.steps.items()},
        )
        if expected.is_well or keeps_failures(pipeline):
            assert_same_outcome(workflow, expected, planned, after, log)


def compare_runs(
    make: Callable[[int], Workflow],
    seeds: range,
    pipelines: Sequence[Pipeline] = PIPELINES,
) -> int:
    """Compare runs of random workflows, and tell how many of these some passes changed.

    What several pipelines make alike runs once.
    """
    changed = 0
    for seed in seeds:
        workflow = make(seed)
        if not is_valid(workflow):
            continue
        runs: list[tuple[Workflow, Outcome]] = []
        for pipeline in pipelines:
            try:
                compare_run(pipeline, workflow, runs)
            except Exception as error:
                error.add_note(f"{make.__name__}({seed}) after {title(pipeline)}")
                raise
        changed += len(runs) > 1
    return changed


def compare_run(
    pipeline: Pipeline, workflow: Workflow, runs: list[tuple[Workflow, Outcome]]
) -> None:
    """Compare a run of a workflow with one after passes; `runs` are those that there are."""
    made = rewritten(pipeline, workflow)
    if made is None:
        return
    planned, log = made
    before, after = (_end_of(one, runs) for one in (workflow, planned))
    if before.is_well or keeps_failures(pipeline):
        assert_same_outcome(workflow, before, planned, after, log)


def _end_of(workflow: Workflow, runs: list[tuple[Workflow, Outcome]]) -> Outcome:
    for other, end in runs:
        if other == workflow:
            return end
    end = run_dry(workflow)
    runs.append((workflow, end))
    return end


def keeps_failures(pipeline: Pipeline) -> bool:
    """Return whether a pipeline keeps the outcome of runs in which something fails, too."""
    return all(getattr(one, "keeps_failures", True) for one in pipeline.passes)


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("make", [tangle, enriched])
def test_random(make: Callable[[int], Workflow]) -> None:
    compare_runs(make, FEW)


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("seeds", MANY, ids=str)
@pytest.mark.parametrize("make", [tangle, enriched])
def test_many_random(make: Callable[[int], Workflow], seeds: range) -> None:
    compare_runs(make, seeds)


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("make", [tangle, enriched])
def test_random_workflows_show_something(make: Callable[[int], Workflow]) -> None:
    valid = [workflow for workflow in map(make, FEW) if is_valid(workflow)]
    assert len(valid) * 3 > len(FEW)
    ends = [run_dry(workflow) for workflow in valid]
    states = {state for end in ends for state, _ in end.steps.values()}
    assert states == {"succeeded", "failed", "skipped", "omitted"}
    assert {end.status for end in ends} == {"succeeded", "failed"}
    assert compare_runs(make, FEW, [Pipeline(STRICT)]) * 2 > len(valid)
