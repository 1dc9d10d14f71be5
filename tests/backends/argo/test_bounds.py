"""The bound of a foreach that nothing runs beside is that of the entrypoint."""

from __future__ import annotations

import json

import pytest

from couler import stages
from couler.ir.policies import Foreach
from couler.ir.workflow import ExitHandler, Step, Workflow
from tests.corpus.build import flow, group, sh, value


def bounded(name: str = "each", after: tuple[str, ...] = ()) -> Step:
    foreach = Foreach(over={"item": value([1, 2, 3])}, max_parallel=2)
    return sh(name, "true", depends_on=after).model_copy(update={"foreach": foreach})


def bounds(workflow: Workflow) -> dict[str, int]:
    """Return the bounds by the templates that have one; "run" for that of the run."""
    spec = json.loads(stages.compile(workflow, "argo", format="json").to_text())["spec"]
    places = {"run": spec, **{one["name"]: one for one in spec["templates"]}}
    return {name: one["parallelism"] for name, one in places.items() if "parallelism" in one}


def test_a_bound_holds_for_the_entrypoint_where_nothing_runs_beside_the_items() -> None:
    before, after = [sh("a", "true"), sh("b", "true")], sh("c", "true", depends_on=["each"])
    assert bounds(flow("f", *before, bounded(after=("a", "b")), after)) == {"main": 2}


@pytest.mark.parametrize(
    "beside",
    [
        (sh("x", "true"),),
        (sh("x", "true", depends_on=["each"], foreach=[1, 2, 3]),),
        tuple(sh(name, "true", depends_on=["each"]) for name in "xyz"),
    ],
    ids=["at the same time", "items without a bound", "more steps than the bound"],
)
def test_a_bound_holds_for_the_items_alone_where_others_may_take_more(
    beside: tuple[Step, ...],
) -> None:
    assert bounds(flow("f", bounded(), *beside)) == {"each-group": 2}


def test_a_daemon_beside_the_items_does_not_count() -> None:
    daemon = sh("serve", "sleep 60", daemon=True, result=None)
    assert bounds(flow("f", daemon, bounded(after=("serve",)))) == {"each-group": 2}


def test_groups_count_once_and_exit_handlers_never() -> None:
    after = group("x", sh("y", "true"), sh("z", "true"), depends_on=["each"])
    told = ExitHandler(name="tell", on="any", steps=(sh("tell", "true"),))
    assert bounds(flow("f", bounded(), after, exit_handlers=[told])) == {"main": 2}


def test_two_bounds_hold_each_for_its_items() -> None:
    found = bounds(flow("f", bounded("a"), bounded("b", after=("a",))))
    assert found == {"a-group": 2, "b-group": 2}


def test_the_bound_of_a_workflow_stays() -> None:
    assert bounds(flow("f", bounded(), max_parallel=7)) == {"run": 7, "main": 2}
