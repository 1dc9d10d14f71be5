"""Maps: over lists and outputs, over one step and several, inside one another."""

from __future__ import annotations

from typing import NamedTuple

import pytest

import couler
from couler import File
from couler.ir.values import (
    Field,
    FirstOf,
    ItemRef,
    Literal,
    OrElse,
    ParamRef,
    RunRef,
    StepRef,
    Template,
)
from couler.ir.workflow import Input
from tests.dsl.look import box, codes, implicit, inner, steps


@couler.step
def load(name: str) -> File:
    return File(name)


@couler.step
def score(data: File, rate: float = 1.0) -> float:
    return rate


@couler.step
def mean(values: list[float]) -> float:
    return sum(values)


class Pair(NamedTuple):
    name: str
    score: float


@couler.step
def pair(name: str) -> Pair:
    return Pair(name, 1)


@couler.step
def names(values: list[str]) -> list[str]:
    return values


@pytest.mark.parametrize("items", [[1, 2], (1, 2), {1: "a", 2: "b"}.keys()])
def test_lists_may_be_anything_that_has_items(items: object) -> None:
    couler.map(lambda x: box("each", x), items)
    assert steps(implicit())["each"].foreach.over["x"] == Literal(value=(1, 2))


def test_environment_and_cache_keys_read_items_too() -> None:
    with couler.Workflow("w") as wf:
        couler.map(
            lambda x: box("each", env={"X": x, "Y": "y"}, cache=couler.Cache("c", key=x)), [1]
        )
    each = steps(wf)["each"]
    assert each.env[0].value == ItemRef(name="x")
    assert each.cache.salt == ItemRef(name="x")


def test_several_steps_become_a_group() -> None:
    def body(x: object) -> object:
        return box("second", box("first", x))

    with couler.Workflow("w") as wf:
        out = couler.map(body, [1, 2])
        box("after", out)
    group = steps(wf)["body"]
    assert group.inputs == (Input(name="x", value=ItemRef(name="x"), type="int"),)
    assert inner(group)["first"].action.args == (ParamRef(name="x"),)
    assert [one.name for one in group.outputs] == ["second"]
    assert steps(wf)["after"].action.args == (StepRef(step="body", output="second"),)
    assert codes(wf) == []


def test_results_keep_their_structure() -> None:
    def body(x: object) -> dict[str, object]:
        first, second = box("first", x), box("second", x)
        return {"first": first, "both": (first, second), "plain": 3}

    with couler.Workflow("w") as wf:
        out = couler.map(body, [1, 2])
        box("after", out["first"], *out["both"], out["plain"])
    assert steps(wf)["after"].action.args == (
        StepRef(step="body", output="first"),
        StepRef(step="body", output="first"),
        StepRef(step="body", output="second"),
        "3",
    )


def test_a_function_that_returns_nothing_gives_the_step() -> None:
    def helper(x: object) -> None:
        box("each", x)

    with couler.Workflow("w") as wf:
        done = couler.map(helper, [1])
        after = box("after")
        done >> after
        box("reads", done)
    assert steps(wf)["after"].depends_on == ("each",)
    assert steps(wf)["reads"].action.args == (StepRef(step="each"),)


def test_records_of_a_group_gather_by_field() -> None:
    def body(x: str) -> Pair:
        load(x)
        return pair(x)

    with couler.Workflow("w") as wf:
        out = couler.map(body, ["a", "b"])
        mean(out.score)
        all_names, _ = out
        names(all_names)
    assert steps(wf)["mean"].inputs[0].value == StepRef(step="body", output="pair_score")
    assert steps(wf)["names"].inputs[0].value == StepRef(step="body", output="pair_name")
    assert codes(wf) == []


def test_gathered_files_cross_the_border_of_a_group() -> None:
    @couler.step
    def merge(files: list[File]) -> File:
        return files[0]

    with couler.Workflow("w") as wf:
        with couler.group("g"):
            many = load.map(["a"])
        merge(many)
        with couler.group("h"):
            merge(many)
    assert steps(wf)["merge"].inputs[0].many
    assert steps(wf)["h"].inputs[0].many
    assert codes(wf) == []


def test_wrong_maps_are_reported() -> None:
    with couler.Workflow("w") as wf:
        a = score(load("x"))
        load.map("abc")
        load.map([1])
        score.map(["s3://x"], [1.0], [2])
        score.partial(rate=1.0).map(datta=["x"])
        score.map(rate=[0.1, 0.2], data=["s3://x"])
        load.map(a)
        couler.map(lambda x: None, [1])
        couler.map(lambda x: box("b", x), a)
        load.map()
    assert [one.code for one in wf.diagnostics] == [
        "CLR127",
        "CLR107",
        "CLR102",
        "CLR104",
        "CLR126",
        "CLR127",
        "CLR128",
        "CLR127",
        "CLR127",
    ]


def test_lists_of_handles_make_a_step_for_each() -> None:
    with couler.Workflow("w") as wf:
        files = [load("a"), load("b")]
        scores = score.partial(rate=1.0).map(files)
        mean(scores)
        couler.map(lambda data, n: box("show", n), files, [1, 2])
    found = steps(wf)
    assert [one for one in found if one.startswith(("score", "show"))] == [
        "score",
        "score-2",
        "show",
        "show-2",
    ]
    assert [one.value for one in found["mean"].inputs] == [
        StepRef(step="score"),
        StepRef(step="score-2"),
    ]
    assert codes(wf) == []


def test_lists_of_handles_must_fit_the_others() -> None:
    with couler.Workflow("w") as wf:
        files = [load("a"), load("b")]
        couler.map(lambda data, n: box("show", n), files, [1])
        couler.map(lambda data, n: box("show", n), files, load.map(["a", "b"]))
    assert [one.code for one in wf.diagnostics] == ["CLR126", "CLR127"]


def test_a_group_in_a_map_takes_the_foreach_itself() -> None:
    def body(x: object) -> object:
        with couler.group("g"):
            box("a", x)
            return box("b")

    with couler.Workflow("w") as wf:
        box("after", couler.map(body, [1]))
    assert codes(wf) == []
    assert list(steps(wf)) in (["g", "after"], ["body", "after"])


def test_map_needs_a_list() -> None:
    with pytest.raises(couler.DefinitionError, match="CLR127"):
        couler.map(lambda: None)


def test_every_kind_of_value_is_read_by_a_single_step() -> None:
    with couler.Workflow("w", size=1) as wf:
        a, b = box("a"), box("b")
        couler.map(
            lambda x: box(
                "each",
                x.or_else(a),
                couler.first_of(x, b, "none"),
                couler.text("{}-{}-{}", x["k"]["l"], wf.params.size, wf.run_facts.id),
            ),
            [{"k": {"l": 1}}],
        )
    item = ItemRef(name="x")
    assert steps(wf)["each"].action.args == (
        OrElse(value=item, default=StepRef(step="a")),
        FirstOf(options=(item, StepRef(step="b"), Literal(value="none"))),
        Template(
            parts=(
                Field(of=item, path=("k", "l")),
                "-",
                ParamRef(name="size"),
                "-",
                RunRef(field="id"),
            )
        ),
    )


def test_named_tuples_of_results_stay_named_tuples() -> None:
    class Both(NamedTuple):
        one: object
        two: object

    def body(x: object) -> Both:
        return Both(box("one", x), box("two", x))

    with couler.Workflow("w") as wf:
        out = couler.map(body, [1])
        box("after", out.one, out.two)
    assert [ref.output for ref in steps(wf)["after"].action.args] == ["one", "two"]


def test_outputs_of_a_container_inside_a_group_are_gathered_by_name_and_index() -> None:
    def body(x: object) -> object:
        box("first", x)
        return box("second", output={"score": "/s", "model": couler.File("/m")})

    @couler.step
    def merge(files: list[File]) -> None: ...

    with couler.Workflow("w") as wf:
        out = couler.map(body, [1, 2])
        box("after", out.score, out[0], out["score"])
        merge(out.model)
        assert len(list(out)) == 2
        assert "body/" in repr(out)
    assert {ref.output for ref in steps(wf)["after"].action.args} == {"second"}
    assert steps(wf)["merge"].inputs[0].many
    assert codes(wf) == []


def test_options_with_values_are_read_in_every_scope() -> None:
    with couler.Workflow("w", key="k") as wf:

        @couler.step(env={"KEY": wf.params.key}, cache=couler.Cache("c", key=wf.params.key))
        def work(n: int) -> int:
            return n

        work(1)
        with couler.group("g"):
            work(2)
        work.map([1, 2])
    found = steps(wf)
    assert found["work"].env[0].value == ParamRef(name="key")
    assert found["g"].inputs[0].value == ParamRef(name="key")
    assert codes(wf) == []


def test_an_order_inside_a_map_is_an_order_of_the_map() -> None:
    with couler.Workflow("w") as wf:
        a, z = box("a"), box("z")

        def body(x: object) -> None:
            each = box("each", x)
            a >> each
            each >> z

        couler.map(body, [1])
    assert steps(wf)["body"].depends_on == ("a",)
    assert steps(wf)["z"].depends_on == ("body",)
    assert codes(wf) == []
