"""The planning task says what the problem says, and plans become groupings."""

from __future__ import annotations

import dataclasses
import importlib.util
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from couler.errors import ConfigurationError, EngineError, GroupingError
from couler.optimizers.grouping import planner as planner_module
from couler.optimizers.grouping.methods import group_operators
from couler.optimizers.grouping.planner import (
    PlannedGroups,
    cost_scale,
    domain_text,
    grouping_of_plan,
    problem_text,
    run_planner,
)
from couler.optimizers.grouping.problem import Costs, Edge, Group, Image, Limits, Operator, Problem
from tests.optimizers.grouping.pipelines import problem_of
from tests.optimizers.grouping.planning import plan_of

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "grouping"

SMALL = Problem(
    operators=(
        Operator('lo"ad\n(now t3)'),
        Operator("train", frozenset({"torch"})),
        Operator("report"),
    ),
    images=(Image("plain", setup_s=2), Image("torch", frozenset({"torch"}), setup_s=20.5)),
    edges=(Edge('lo"ad\n(now t3)', "train", 2000), Edge("train", "report", 100)),
    costs=Costs(intra=1, inter=3, group=40, per_bytes=1000, per_setup_s=1),
)
"""Names that are no names of PDDL, bytes, and costs that are not whole."""


@pytest.mark.golden
@pytest.mark.parametrize(
    ("name", "text"), [("domain", domain_text()), ("problem", problem_text(SMALL))]
)
def test_texts(name: str, text: str, golden: Callable[[Path, str], None]) -> None:
    golden(GOLDEN / f"{name}.pddl", text)


def test_plans_of_batch_steps_are_split_where_groups_wait_in_a_circle() -> None:
    plan = plan_of(problem_of("rbr"), (Group("red", ("a", "c")), Group("blue", ("b",))))
    batch = problem_of("rbr", mode="batch")
    assert [group.operators for group in grouping_of_plan(batch, plan)] == [("a",), ("b",), ("c",)]


def test_plans_of_other_problems_are_refused() -> None:
    plan = [("put-operator", "t0", "t1", "o0", "i7"), ("put-operator", "t1", "t2", "o9", "i0")]
    with pytest.raises(GroupingError) as raised:
        grouping_of_plan(problem_of("rb"), plan)
    assert raised.value.violations == (
        "(put-operator t0 t1 o0 i7) names no operator or image of the problem",
        "(put-operator t1 t2 o9 i0) names no operator or image of the problem",
        "0 operators are put, of 2",
    )
    with pytest.raises(GroupingError, match='image "blue" lacks red'):
        grouping_of_plan(problem_of("r"), [("put-operator", "t0", "t1", "o0", "i1")])


def test_what_the_task_cannot_express_is_refused() -> None:
    operators = (Operator("a", memory_bytes=3), Operator("b", memory_bytes=3))
    problem = Problem(
        operators, (Image("i"),), costs=Costs(per_lost_s=1), limits=Limits(memory_bytes=4)
    )
    with pytest.raises(GroupingError) as raised:
        problem_text(problem)
    assert raised.value.violations == (
        "limits of memory or GPUs can be reached",
        "lost seconds cost",
    )
    # A limit that is never reached is none.
    free = dataclasses.replace(problem, costs=Costs(), limits=Limits(memory_bytes=6))
    assert "(:goal (now t2))" in problem_text(free)


def test_costs_are_made_whole() -> None:
    assert cost_scale(problem_of("r-b")) == 1
    assert cost_scale(problem_of("r-b", costs=Costs(intra=0.25, inter=1.5, group=1 / 3))) == 12


FAKE = """
import json, sys, time
from pathlib import Path
folder, engine, seconds = sys.argv[1:]
answer = {answer}
if answer == "hang":
    time.sleep(3600)
if isinstance(answer, int):
    sys.stderr.write("some trouble\\n")
    sys.exit(answer)
assert "(define (domain" in Path(folder, "domain.pddl").read_text()
assert "(define (problem" in Path(folder, "problem.pddl").read_text()
Path(folder, "plan.json").write_text(json.dumps(answer))
"""


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[object], None]:
    """Let a program answer in place of the one that calls unified-planning."""

    def make(answer: object) -> None:
        program = tmp_path / "program.py"
        program.write_text(FAKE.format(answer=repr(answer)))
        monkeypatch.setattr(planner_module, "PROGRAM", program)
        monkeypatch.setattr(planner_module, "STARTING_S", 5.0)

    return make


def test_a_planner_runs_in_another_process(fake: Callable[[object], None]) -> None:
    problem = problem_of("r-b")
    best = group_operators(problem, "milp")
    plan = plan_of(problem, best.grouping)
    fake({"status": "SOLVED_OPTIMALLY", "plan": plan})
    assert group_operators(problem, "planner") == best
    fake({"status": "SOLVED_SATISFICING", "plan": plan})
    found = group_operators(problem, "planner", engine="enhsp")
    assert (found.grouping, found.cost, found.bound) == (best.grouping, best.cost, None)


def test_without_a_plan_in_time_the_greedy_groups_are_taken(fake: Callable[[object], None]) -> None:
    problem = problem_of("r-b")
    greedy = group_operators(problem, "greedy")
    fake({"status": "TIMEOUT", "plan": None})
    assert group_operators(problem, "planner") == greedy


def test_a_planner_that_does_not_end_is_ended(
    fake: Callable[[object], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    fake("hang")
    monkeypatch.setattr(planner_module, "STARTING_S", 0.0)
    assert run_planner("", "", "enhsp", 0.2) is None


def test_a_planner_that_fails_is_an_error(fake: Callable[[object], None]) -> None:
    fake(9)
    with pytest.raises(EngineError, match="enhsp-opt failed with exit code 9: some trouble"):
        group_operators(problem_of("rb"), "planner")
    fake({"status": "UNSOLVABLE_PROVEN", "plan": None})
    with pytest.raises(EngineError, match="found no plan: UNSOLVABLE_PROVEN"):
        group_operators(problem_of("rb"), "planner")


def test_a_missing_planner_is_named(fake: Callable[[object], None]) -> None:
    fake(planner_module.MISSING)
    with pytest.raises(ConfigurationError, match=r"pip install 'couler\[planning\]' \(some tr"):
        group_operators(problem_of("rb"), "planner")
    with pytest.raises(ConfigurationError, match="there is no Python at /no/where"):
        PlannedGroups(python="/no/where").solve(problem_of("rb"))
    with pytest.raises(ConfigurationError, match='no planner "enshp"; choose of enhsp'):
        PlannedGroups("enshp").solve(problem_of("rb"))


def test_the_program_says_that_unified_planning_is_missing() -> None:
    if importlib.util.find_spec("unified_planning") is not None:
        pytest.skip("unified-planning is installed")
    with pytest.raises(ConfigurationError, match="No module named 'unified_planning'"):
        group_operators(problem_of("rb"), "planner")


def has_enhsp() -> bool:
    probe = "import unified_planning, up_enhsp"
    return not subprocess.run(
        [sys.executable, "-c", probe], capture_output=True, check=False
    ).returncode


@pytest.mark.slow
def test_enhsp_proves_what_the_integer_program_finds() -> None:
    if not has_enhsp():
        pytest.skip("ENHSP is not installed: pip install 'couler[planning]', and Java")
    for tags in ("--r-------b---", "r--b--r--b----"):
        problem = problem_of(tags)
        found = group_operators(problem, "planner", engine="enhsp-opt", seconds=60.0)
        assert found.bound == pytest.approx(found.cost)
        assert found.cost == group_operators(problem, "milp").cost
