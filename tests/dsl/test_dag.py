"""Graphs by paths of functions and by names, and the text of `depends`."""

from __future__ import annotations

import itertools

import hypothesis.strategies as st
import pytest
from hypothesis import given

import couler
from couler.dsl.depends import DependsError, parse_depends
from couler.ir.policies import AnyOf, Dependency
from couler.ir.values import StepRef
from couler.ir.workflow import Input
from tests.dsl.look import box, codes, implicit, inner, steps, waits


def test_the_same_name_is_the_same_step() -> None:
    couler.dag(
        [
            [lambda: box("A")],
            [lambda: box("A"), lambda: box("B"), lambda: box("D")],
            [lambda: box("A"), lambda: box("C"), lambda: box("D")],
        ]
    )
    assert waits(implicit()) == {"A": (), "B": ("A",), "D": ("B", "C"), "C": ("A",)}
    assert codes(implicit()) == []


def test_steps_without_names_are_told_apart_by_their_function() -> None:
    def first() -> object:
        return couler.run_container("busybox", ["true"])

    def second() -> object:
        return couler.run_container("busybox", ["true"])

    def third() -> object:
        return couler.run_container("busybox", ["true"])

    couler.dag([[first, second], [lambda: first(), third]])
    assert waits(implicit()) == {"first": (), "second": ("first",), "third": ("first",)}


def test_maps_loops_conditions_and_groups_are_nodes() -> None:
    with couler.Workflow("w") as wf:
        flip = box("flip")

        def body(x: object) -> object:
            return box("two", box("one", x))

        couler.dag(
            [
                [
                    lambda: box("A"),
                    lambda: couler.map(body, [1, 2]),
                    lambda: couler.when(flip == "heads", lambda: box("H", "arg")),
                    lambda: couler.exec_while(couler.equal("x"), lambda: box("L")),
                    lambda: couler.concurrent([lambda: box("P"), lambda: box("Q")]),
                    lambda: box("Z"),
                ]
            ]
        )
    assert waits(wf) == {
        "flip": (),
        "A": (),
        "body": ("A",),
        "H": ("body",),
        "L": ("H",),
        "P": ("L",),
        "Q": ("L",),
        "Z": ("P", "Q"),
    }
    found = steps(wf)
    assert found["H"].action.args == ("arg",)
    assert found["body"].foreach is not None
    assert list(inner(found["body"])) == ["one", "two"]
    assert codes(wf) == []


@pytest.mark.parametrize("graph", [None, "ab", [["A"]], [3]])
def test_what_is_no_graph_is_refused(graph: object) -> None:
    with pytest.raises(couler.DefinitionError, match="CLR133"):
        couler.dag(graph)  # type: ignore[arg-type]


def test_outputs_of_named_steps_become_arguments() -> None:
    names = ["A"]
    args = ["own"]
    couler.set_dependencies(
        lambda: couler.run_container("busybox", ["echo"], args, step_name="B"), names
    )
    couler.run_container(
        "busybox",
        ["sh"],
        output=[
            couler.create_parameter_artifact("/tmp/a.txt"),
            couler.create_local_artifact("/tmp/b.bin"),
        ],
        step_name="A",
    )
    couler.set_dependencies(lambda: box("C"), names, pass_outputs=False)
    found = steps(implicit())
    assert found["B"].action.args == ("own", StepRef(step="A", output="a"))
    assert found["B"].inputs == (
        Input(name="b", value=StepRef(step="A", output="b"), type="file", path="/tmp/b.bin"),
    )
    assert found["C"].action.args == ()
    assert (names, args) == (["A"], ["own"])
    assert steps(implicit()) == found


def test_outputs_of_jobs_become_arguments() -> None:
    job = couler.run_job({"apiVersion": "v1", "kind": "Job"}, step_name="J")
    couler.set_dependencies(lambda: box("B"), [job.step_name])
    found = steps(implicit())
    assert [ref.output for ref in found["B"].action.args] == ["job_name", "job_id", "job_obj"]
    assert [one.name for one in found["J"].outputs] == ["job_name", "job_id", "job_obj"]


def test_dependencies_by_text() -> None:
    couler.set_dependencies(lambda: box("B"), dependencies="A.Succeeded && C.Failed")
    assert waits(implicit())["B"] == ("A", Dependency(step="C", on="failure"))
    assert implicit().diagnostics == ()


def test_a_wrong_text_is_reported() -> None:
    couler.set_dependencies(lambda: box("B"), dependencies="A &&")
    couler.set_dependencies(lambda: box("C"), dependencies="!A")
    assert [one.code for one in implicit().diagnostics] == ["CLR131", "CLR132"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a", ("a",)),
        (" a.Succeeded ", ("a",)),
        ("a-1.Errored", (Dependency(step="a-1", on="failure"),)),
        ("a && a", ("a",)),
        ("a && (a || b)", ("a",)),
        ("a || b && c", (AnyOf(options=("a", "b")), AnyOf(options=("a", "c")))),
        ("((a))", ("a",)),
    ],
)
def test_texts(text: str, expected: tuple[object, ...]) -> None:
    assert parse_depends(text) == expected


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "CLR131"),
        ("a b", "CLR131"),
        ("(a", "CLR131"),
        ("a)", "CLR131"),
        ("a & b", "CLR131"),
        ("a.", "CLR131"),
        ("!a", "CLR132"),
        ("a.Skipped", "CLR132"),
        ("a.AnySucceeded", "CLR132"),
        (" && ".join(f"(a{i} || b{i})" for i in range(8)).replace("&&", "||"), None),
        (" || ".join(f"(a{i} && b{i})" for i in range(8)), "CLR132"),
    ],
)
def test_texts_that_cannot_be_read_or_expressed(text: str, code: str | None) -> None:
    if code is None:
        assert len(parse_depends(text)) == 1
        return
    with pytest.raises(DependsError) as caught:
        parse_depends(text)
    assert caught.value.code == code


ATOMS = [f"{name}.{end}" for name in "abc" for end in ("Succeeded", "Failed")]
FORMULAS = st.recursive(
    st.sampled_from(ATOMS),
    lambda inner: st.tuples(inner, st.sampled_from(["&&", "||"]), inner).map(
        lambda parts: f"({parts[0]} {parts[1]} {parts[2]})"
    ),
    max_leaves=5,
)


@given(FORMULAS)
def test_what_is_parsed_means_the_same(text: str) -> None:
    parsed = parse_depends(text)
    for ends in itertools.product(("Succeeded", "Failed"), repeat=3):
        state = dict(zip("abc", ends, strict=True))
        formula = text
        for atom in ATOMS:
            name, end = atom.split(".")
            formula = formula.replace(atom, str(state[name] == end))
        expected = eval(formula.replace("&&", " and ").replace("||", " or "))
        assert _is_met(parsed, state) == expected


def _is_met(parsed: tuple[object, ...], state: dict[str, str]) -> bool:
    def holds(option: object) -> bool:
        if isinstance(option, Dependency):
            return option.on == "completion" or state[option.step] == "Failed"
        return state[str(option)] == "Succeeded"

    return all(
        any(map(holds, entry.options)) if isinstance(entry, AnyOf) else holds(entry)
        for entry in parsed
    )
