"""After the passes each step of the program is found by its own name, with the end that is its."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

import pytest

from couler import stages
from couler.ir.policies import Cache
from couler.ir.source_map import SourceMap
from couler.ir.workflow import Step, Workflow
from couler.optimizers.passes.merge_common_steps import MergeCommonSteps
from couler.optimizers.passes.roll_loops import RollLoops
from couler.optimizers.pipeline import Pipeline
from couler.optimizers.source_map import make_source_map
from couler.state.results import StepResult, StepResults
from tests.corpus.build import flow, group, ref, sh
from tests.support.dry_runs import run_dry
from tests.support.tangles import enriched, is_valid

BOTH = ("merge-common-steps", "roll-loops")


def calls(count: int, name: str = "say") -> list[Step]:
    return [sh(f"{name}-{n}", "echo", f"w{n}", result=None) for n in range(count)]


def mapped(workflow: Workflow, *passes: str) -> SourceMap:
    return stages.plan(workflow, passes=passes).source_map


def test_merged_steps_and_all_inside_of_them() -> None:
    def load(name: str) -> Step:
        return group(name, sh("x", "echo 1", cache=Cache()), sh("y", "echo 2", cache=Cache()))

    found = mapped(flow("w", load("a"), load("b"), sh("z", "echo 3")), "merge-common-steps")
    assert found == SourceMap({"b": ("a",), "b/x": ("a/x",), "b/y": ("a/y",)})


def test_one_pass_after_the_other() -> None:
    one, two = (sh(name, "echo x", cache=Cache(), result=None) for name in ("t-0", "t-0-again"))
    more = [sh(f"t-{n}", "echo x", cache=Cache(), result=None, labels={"n": str(n)}) for n in (1,)]
    workflow = flow("w", one, two, *more)
    assert mapped(workflow, *BOTH) == SourceMap({"t-0-again": ("t-0",)})

    def say(name: str, word: str) -> Step:
        return sh(name, "echo", word, cache=Cache(), result=None)

    workflow = flow("w", say("t-0", "x"), say("t-9", "x"), say("t-1", "y"), say("t-2", "z"))
    assert mapped(workflow, *BOTH) == SourceMap(
        {"t-0": ("t[0]",), "t-9": ("t[0]",), "t-1": ("t[1]",), "t-2": ("t[2]",)}
    )


@pytest.mark.parametrize(
    "passes", [None, ["split{group_steps=2}"], ["remove-redundant-edges"], ["roll-loops"]], ids=str
)
def test_where_paths_stay_there_is_nothing_to_tell(passes: list[str] | None) -> None:
    steps = [sh("a", "true"), sh("b", ref("a")), sh("c", ref("a"), ref("b"), depends_on=["a"])]
    planned = stages.plan(flow("w", *steps, sh("d", "true")), passes=passes)
    assert not planned.source_map


@pytest.mark.usefixtures("samples")
def test_passes_of_others() -> None:
    workflow = flow("w", *calls(3))
    assert mapped(workflow, "rename-steps") == SourceMap(
        {f"say-{n}": (f"my-say-{n}",) for n in range(3)}
    )
    assert mapped(workflow, "roll-loops", "rename-steps") == SourceMap(
        {f"say-{n}": (f"my-say[{n}]",) for n in range(3)}
    )
    # A level that status does not show changes no path.
    assert not mapped(workflow, "wrap-steps")
    why = "the pass leave-out-last left it out: Nobody looks at it."
    assert mapped(workflow, "leave-out-last") == SourceMap({}, {"say-2": why})
    assert mapped(workflow, "rename-steps", "leave-out-last") == SourceMap(
        {f"say-{n}": (f"my-say-{n}",) for n in range(2)}, {"say-2": why}
    )


@dataclass(frozen=True)
class Told:
    """How many runs were compared, and how many steps had another place."""

    runs: int = 0
    moved: int = 0


def compare(workflow: Workflow, pipeline: Pipeline) -> Told:
    """Run a workflow before and after the passes, and look each step up by its own path."""
    planned, log = pipeline.run(workflow, verified=True)
    source_map = make_source_map(workflow, log)
    if not source_map:
        return Told()
    before, after = run_dry(workflow), run_dry(planned)
    noon = datetime(2026, 3, 1, 12, tzinfo=UTC)
    ends = {
        path: StepResult(state, noon, outputs=outputs)
        for path, (state, outputs) in after.steps.items()
    }
    results = StepResults(ends, source_map, noon)
    found = {path: (results[path].status, results[path].outputs) for path in before.steps}
    assert found == before.steps
    return Told(1, len(source_map.steps))


def test_every_step_is_found_by_its_own_path() -> None:
    pipeline = Pipeline((MergeCommonSteps(), RollLoops(at_least=2)))
    told = [compare(flow, pipeline) for flow in map(enriched, range(30)) if is_valid(flow)]
    assert sum(one.runs for one in told) > 8
    assert sum(one.moved for one in told) > 15
