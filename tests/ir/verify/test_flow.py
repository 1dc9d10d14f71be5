"""Rules for order: dependencies, cycles, empty scopes, loops; and the order of reports."""

from __future__ import annotations

from hypothesis import given

from couler.ir.diagnostics import Diagnostic
from couler.ir.graph import Graph
from couler.ir.policies import AnyOf, Dependency, Loop, SourceRef
from couler.ir.values import Compare, Literal, RoundRef, StepRef
from couler.ir.verify import verify
from couler.ir.workflow import ExitHandler, Output, Step, Suspend, Workflow
from tests.support.sample_flows import AGAIN, A, echo, flow, group
from tests.support.strategies import acyclic_edges, edges
from tests.support.verification import codes, only

FAILED = Dependency(step="a", on="failure")
ENDED = Dependency(step="a", on="completion")


def after_a(*depends_on: str | Dependency | AnyOf) -> list[tuple[str, str]]:
    found = verify(flow(echo("a"), echo("b"), echo("c", depends_on=depends_on)))
    return [(diagnostic.code, diagnostic.severity) for diagnostic in found]


def test_nothing_to_run() -> None:
    assert codes(flow()) == ["CLR201"]
    assert only(flow(group("g", echo("a")), group("h", outputs=()))).step == "h"
    handler = ExitHandler(name="tell", on="any", steps=())
    found = only(flow(echo("a"), exit_handlers=(handler,)))
    assert found.message.startswith('exit handler "tell": it has no steps')


def test_a_cycle_is_shown_with_its_path() -> None:
    steps = (
        echo("a", depends_on=("c",)),
        echo("b", A),
        echo("c", StepRef(step="b")),
        echo("d", depends_on=("c",)),
    )
    found = only(flow(*steps))
    assert (found.code, found.step) == ("CLR202", "a")
    assert "a -> b -> c -> a" in found.message


def test_a_cycle_through_an_outcome() -> None:
    steps = (echo("a", depends_on=(Dependency(step="b", on="completion"),)), echo("b", A))
    assert codes(flow(*steps)) == ["CLR202"]


@given(edges())
def test_a_cycle_is_reported_if_there_is_one(of: dict[str, tuple[str, ...]]) -> None:
    found = set(codes(flow(echo("start"), *(echo(n, depends_on=of[n]) for n in of))))
    itself = any(name in befores for name, befores in of.items())
    others = Graph({n: [b for b in befores if b != n] for n, befores in of.items()})
    assert ("CLR203" in found) == itself
    assert ("CLR202" in found) == bool(others.find_cycle())


@given(acyclic_edges())
def test_any_graph_without_cycles_is_valid(of: dict[str, tuple[str, ...]]) -> None:
    assert codes(flow(echo("start"), *(echo(n, depends_on=of[n]) for n in of))) == []


def test_depending_on_oneself() -> None:
    assert codes(flow(echo("a", depends_on=("a",)))) == ["CLR203"]
    assert codes(flow(echo("a", depends_on=(FAILED,)))) == ["CLR203"]


def test_unknown_dependencies() -> None:
    found = only(flow(echo("train"), echo("b", depends_on=("trian",))))
    assert (found.code, 'Did you mean "train"?' in found.message) == ("CLR160", True)
    assert after_a(Dependency(step="z", on="failure")) == [("CLR160", "error")]
    assert after_a(AnyOf(options=("a", "z"))) == [("CLR160", "error")]


def test_dependencies_named_twice() -> None:
    assert after_a("a", "b") == []
    assert after_a("a", "a") == [("CLR204", "warning")]
    assert after_a(FAILED, FAILED) == [("CLR204", "warning")]
    assert after_a(FAILED, ENDED) == [("CLR204", "warning")]
    assert after_a("a", ENDED) == [("CLR204", "warning")]


def test_dependencies_that_cannot_both_be_met() -> None:
    assert after_a("a", FAILED) == [("CLR205", "error")]
    assert after_a(AnyOf(options=("a", FAILED))) == []


def test_a_choice_among_none() -> None:
    assert after_a(AnyOf(options=())) == [("CLR206", "error")]


def test_a_loop_around_what_has_no_outputs() -> None:
    assert codes(flow(Step(name="a", action=Suspend(), loop=AGAIN))) == ["CLR410"]
    assert codes(flow(echo("a", daemon=True, loop=AGAIN))) == ["CLR223"]
    assert codes(flow(group("g", echo("a"), loop=AGAIN, outputs=()))) == ["CLR162"]


def test_too_many_rounds() -> None:
    condition = Compare(left=RoundRef(), op="!=", right=Literal(value="done"))
    assert codes(flow(echo("a", loop=Loop(condition=condition, max_iterations=10_000)))) == []
    found = only(flow(echo("a", loop=Loop(condition=condition, max_iterations=10_001))))
    assert (found.code, "10,001" in found.message) == ("CLR505", True)


def test_groups_nested_too_deep() -> None:
    def nested(depth: int) -> Step:
        step = echo("a")
        for _ in range(depth):
            step = group("g", step)
        return step

    assert codes(flow(nested(32))) == []
    assert codes(flow(nested(33))) == ["CLR504"]


def test_all_problems_come_at_once_in_program_order() -> None:
    unknown = StepRef(step="z")
    workflow = Workflow(
        name="Bad Name",
        steps=(
            echo("a", unknown, depends_on=("b",)),
            group("g", echo("x y"), echo("x", unknown)),
            echo("b", A),
            echo("a"),
        ),
        outputs=(Output(name="best", value=unknown),),
        exit_handlers=(ExitHandler(name="tell", on="any", steps=(echo("1"),)),),
    )
    found = [(diagnostic.code, diagnostic.step) for diagnostic in verify(workflow)]
    assert found == [
        ("CLR150", None),
        ("CLR160", "a"),
        ("CLR202", "a"),
        ("CLR150", "g/x y"),
        ("CLR160", "g/x"),
        ("CLR151", "a"),
        ("CLR160", None),
        ("CLR150", "exit:tell/1"),
    ]


def test_a_report_carries_the_place_in_the_program() -> None:
    source = SourceRef(file="flow.py", line=31)
    found = only(flow(echo("b", A, source=source)))
    assert found == Diagnostic("CLR160", found.message, step="b", source=source)
    assert str(found).startswith('flow.py:31  CLR160 error  step "b": ')
