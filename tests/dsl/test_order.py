"""Order: program order in the implicit style; data, `>>` and conditions in a block."""

from __future__ import annotations

import couler
from couler.ir.policies import AnyOf, Dependency
from tests.dsl.look import box, codes, implicit, inner, steps, waits


def test_implicit_style_runs_step_by_step() -> None:
    for name in "abc":
        box(name)
    assert waits(implicit()) == {"a": (), "b": ("a",), "c": ("b",)}


def test_concurrent_is_one_position_and_each_branch_a_sequence() -> None:
    box("first")
    couler.concurrent([lambda: box("a"), lambda: (box("b1"), box("b2"))])
    box("last")
    assert waits(implicit()) == {
        "first": (),
        "a": ("first",),
        "b1": ("first",),
        "b2": ("b1",),
        "last": ("a", "b2"),
    }


def test_whens_on_one_output_are_one_position() -> None:
    flip = box("flip")
    couler.when(couler.equal(flip, "heads"), lambda: box("heads"))
    couler.when(couler.equal(flip, "tails"), lambda: box("tails"))
    box("after")
    assert waits(implicit()) == {
        "flip": (),
        "heads": ("flip",),
        "tails": ("flip",),
        "after": ("heads", "tails"),
    }


def test_a_map_is_one_position() -> None:
    box("before")
    couler.map(lambda x: box("each", x), [1, 2])
    box("after")
    assert waits(implicit()) == {"before": (), "each": ("before",), "after": ("each",)}


def test_steps_inside_a_map_are_in_program_order_too() -> None:
    def body(x: object) -> None:
        box("first", x)
        box("second")

    couler.map(body, [1, 2])
    assert inner(steps(implicit())["body"])["second"].depends_on == ("first",)


def test_in_a_block_only_data_orders() -> None:
    with couler.Workflow("w") as wf:
        a = box("a")
        box("b")
        box("c", a)
    assert waits(wf) == {"a": (), "b": (), "c": ()}
    assert codes(wf) == []


def test_arrows_with_lists_on_both_sides() -> None:
    with couler.Workflow("w") as wf:
        a, b, c, d = (box(name) for name in "abcd")
        a >> [b, c] >> d
    assert waits(wf) == {"a": (), "b": ("a",), "c": ("a",), "d": ("b", "c")}


def test_arrows_backwards_and_chain_say_the_same() -> None:
    with couler.Workflow("w") as wf:
        a, b, c, d = (box(name) for name in "abcd")
        d << [b, c]
        couler.chain(a, [b, c])
    assert waits(wf) == {"a": (), "b": ("a",), "c": ("a",), "d": ("b", "c")}


def test_an_edge_is_kept_once() -> None:
    with couler.Workflow("w") as wf:
        a, b = box("a"), box("b")
        a >> b
        a >> b
        couler.chain(a, b)
    assert waits(wf)["b"] == ("a",)


def test_failure_completion_and_any_of() -> None:
    with couler.Workflow("w") as wf:
        a, b, c, d, e = (box(name) for name in "abcde")
        couler.failure(a) >> c
        couler.completion(a) >> d
        couler.any_of(a, couler.failure(b)) >> e
    assert waits(wf)["c"] == (Dependency(step="a", on="failure"),)
    assert waits(wf)["d"] == (Dependency(step="a", on="completion"),)
    assert waits(wf)["e"] == (AnyOf(options=("a", Dependency(step="b", on="failure"))),)


def test_an_edge_into_a_group_makes_the_group_wait() -> None:
    with couler.Workflow("w") as wf:
        a = box("a")
        with couler.group("g"):
            b = box("b")
        c = box("c")
        a >> b >> c
    assert waits(wf) == {"a": (), "g": ("a",), "c": ("g",)}
    assert inner(steps(wf)["g"])["b"].depends_on == ()


def test_a_group_cannot_wait_for_its_own_step() -> None:
    with couler.Workflow("w") as wf:
        with couler.group("g") as group:
            b = box("b")
        b >> group
    assert [problem.code for problem in wf.diagnostics] == ["CLR117"]


def test_only_steps_can_be_ordered() -> None:
    with couler.Workflow("w") as wf:
        a = box("a")
        a >> "b"
        couler.failure([a]) >> a
    assert [problem.code for problem in wf.diagnostics] == ["CLR116", "CLR116"]


def test_dag_makes_the_order_explicit_and_keeps_earlier_steps() -> None:
    box("a")
    box("b")
    couler.dag([[lambda: box("c"), lambda: box("d")]])
    box("e")
    assert waits(implicit()) == {"a": (), "b": (), "c": (), "d": ("c",), "e": ()}
