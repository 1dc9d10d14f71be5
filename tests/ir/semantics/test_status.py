"""Rules 3 and 4 of docs/semantics.md, on cases worked out by hand."""

from __future__ import annotations

import pytest

from couler.ir.graph import Graph
from couler.ir.semantics.status import State, failed_steps, refuse_start
from couler.ir.workflow import Step
from tests.corpus.build import any_of, on_completion, on_failure, ref, sh

STATES: dict[str, State] = {
    "good": "succeeded",
    "reused": "cached",
    "bad": "failed",
    "off": "skipped",
    "out": "omitted",
}


def waiting_for(*entries: object) -> Step:
    return sh("step", "true", depends_on=list(entries))


@pytest.mark.parametrize(
    ("entries", "verdict"),
    [
        ((), None),
        (("good", "reused", "off"), None),
        (("good", "bad"), "omitted"),
        (("out",), "omitted"),
        ((on_failure("bad"),), None),
        ((on_failure("good"),), "skipped"),
        ((on_failure("off"),), "skipped"),
        ((on_failure("out"),), "skipped"),
        ([on_completion(name) for name in STATES], None),
        # A missing success outweighs a missing failure, in any order.
        ((on_failure("good"), "bad"), "omitted"),
        (("bad", on_failure("good")), "omitted"),
        ((on_failure("bad"), on_failure("good")), "skipped"),
        ((any_of("bad", "good"),), None),
        ((any_of("bad", "out"),), "omitted"),
        ((any_of("bad", on_failure("good")),), "skipped"),
        ((any_of("bad", on_completion("out")),), None),
        ((any_of(),), "omitted"),
    ],
)
def test_start(entries: tuple[object, ...], verdict: str | None) -> None:
    refusal = refuse_start(waiting_for(*entries), STATES)
    assert (refusal and refusal.state) == verdict


def test_refusal_says_why() -> None:
    refused = refuse_start(waiting_for(any_of("bad", on_failure("off"))), STATES)
    assert refused is not None
    assert (
        refused.reason
        == "it needs the success of bad, which failed or the failure of off, which was skipped"
    )


def test_reading_asks_for_success_unless_the_step_is_named() -> None:
    refused = refuse_start(sh("step", 'echo "$1"', ref("bad")), STATES)
    assert refused is not None
    assert refused.state == "omitted"
    named = sh("step", 'echo "$1"', ref("bad"), depends_on=[on_completion("bad")])
    assert refuse_start(named, STATES) is None


def test_steps_of_another_scope_are_not_waited_for() -> None:
    assert refuse_start(sh("tell", 'echo "$1"', ref("elsewhere")), STATES) is None


ROW = Graph({"a": (), "b": ("a",), "c": ("b",)})


@pytest.mark.parametrize(
    ("states", "failed"),
    [
        (("succeeded", "succeeded", "succeeded"), ""),
        (("failed", "omitted", "omitted"), "a"),
        (("failed", "succeeded", "skipped"), ""),  # b has handled it
        (("failed", "failed", "omitted"), "b"),
        (("failed", "skipped", "skipped"), "a"),
        (("failed", "skipped", "succeeded"), ""),
        (("skipped", "skipped", "skipped"), ""),
        (("cached", "failed", "succeeded"), ""),
        (("succeeded", "cancelled", "omitted"), "b"),
    ],
)
def test_what_failed_a_row_is_named(states: tuple[State, State, State], failed: str) -> None:
    assert failed_steps(ROW, dict(zip("abc", states, strict=True))) == tuple(failed)


def test_a_leaf_below_two_branches_fails_with_either() -> None:
    graph = Graph({"a": (), "b": (), "c": ("a", "b")})
    assert failed_steps(graph, {"a": "succeeded", "b": "failed", "c": "skipped"}) == ("b",)


def test_a_failed_step_with_a_good_leaf_below_fails_only_its_other_leaf() -> None:
    graph = Graph({"a": (), "repair": ("a",), "use": ("a",)})
    ends: dict[str, State] = {"a": "failed", "repair": "succeeded", "use": "omitted"}
    assert failed_steps(graph, ends) == ("a",)


def test_what_waits_for_a_cancelled_step_is_omitted_and_not_started_by_it() -> None:
    needy = sh("needy", "true", depends_on=["bad"])
    refused = refuse_start(needy, {"bad": "cancelled"})
    assert refused == ("omitted", "it needs the success of bad, which was cancelled")
