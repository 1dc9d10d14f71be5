"""Rules for places outside of a workflow that several steps use."""

from __future__ import annotations

import typing as t

import pytest

from couler.ir.artifacts import (
    AzureLocation,
    GcsLocation,
    HdfsLocation,
    HttpLocation,
    Location,
    OssLocation,
    S3Location,
    Tar,
)
from couler.ir.diagnostics import Diagnostic
from couler.ir.policies import Dependency, Foreach
from couler.ir.values import Compare, ItemRef, Literal, Not, ParamRef, RunRef, StepRef, Template
from couler.ir.verify import verify
from couler.ir.workflow import ExitHandler, Group, Input, Output, Parameter, Step, Workflow
from tests.support.call_counts import calls
from tests.support.file_samples import process

BEST = S3Location(key="models/best", bucket="data")
IS_A = Compare(left=ParamRef(name="p"), op="==", right=Literal(value="a"))


def puts(name: str, at: Location = BEST, type: t.Any = "file", **fields: t.Any) -> Step:
    archive = fields.pop("archive", None)
    output = Output(name="m", type=type, path="m", at=at, archive=archive)
    return process(name, outputs=(output,), **fields)


def takes(name: str, at: Location = BEST, type: t.Any = "file", **fields: t.Any) -> Step:
    return process(name, inputs=(Input(name="m", type=type, at=at),), **fields)


def found(*steps: Step, **fields: t.Any) -> list[tuple[str, str, str | None]]:
    """The codes, severities and steps of what is found of places."""
    found = problems(*steps, **fields)
    return [(p.code, p.severity, p.step) for p in found if p.code != "CLR469"]


def problems(*steps: Step, **fields: t.Any) -> t.Sequence[Diagnostic]:
    parameters = (Parameter(name="p", default="a"), Parameter(name="q", default="a"))
    return verify(Workflow(name="w", parameters=parameters, steps=steps, **fields))


def test_two_steps_at_one_place() -> None:
    assert found(puts("a"), puts("b")) == [("CLR465", "error", "b")]
    assert found(puts("a"), puts("b", depends_on=("a",))) == [("CLR465", "warning", "b")]
    between = process("x", depends_on=("a",))
    assert found(puts("a"), between, puts("b", depends_on=("x",))) == [("CLR465", "warning", "b")]
    other = S3Location(key="models/best", bucket="other")
    assert found(puts("a"), puts("b", other)) == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (S3Location(key="a"), GcsLocation(key="a")),  # both are keys of the repository
        (
            S3Location(key="a/", bucket="b"),
            S3Location(key="a", bucket="b", endpoint="s3.amazonaws.com", region="eu-central-1"),
        ),
        (
            S3Location(key=Template(parts=("a/", Literal(value="b")))),
            S3Location(key=Literal(value="a/b")),
        ),
        (
            OssLocation(key="a", bucket="b", endpoint="oss.example.org"),
            OssLocation(key="a", bucket="b", endpoint="https://oss.example.org"),
        ),
        (
            AzureLocation(blob="a", container="c", endpoint="https://x.example.org"),
            AzureLocation(blob="a", container="c", endpoint="https://x.example.org/"),
        ),
        (
            HdfsLocation(path="/a", addresses=("n:1",), user="u"),
            HdfsLocation(path="/a", addresses=("n:1",), user="v"),
        ),
        (HttpLocation(url="https://x/a"), HttpLocation(url="https://x/a")),
        (
            S3Location(key=Template(parts=("a/", RunRef(field="id")))),
            S3Location(key=Template(parts=("a/", RunRef(field="id")))),
        ),
        (S3Location(key=ParamRef(name="p")), S3Location(key=ParamRef(name="p"))),
    ],
    ids=repr,
)
def test_equal_places(one: Location, other: Location) -> None:
    assert found(puts("a", one), puts("b", other)) == [("CLR465", "error", "b")]
    assert found(puts("a", one), takes("b", other)) == [("CLR466", "warning", "b")]


def test_places_that_differ() -> None:
    one, other = (S3Location(key=ParamRef(name=name)) for name in "pq")
    assert found(puts("a", one), puts("b", other)) == []
    assert found(puts("a", one), puts("b", S3Location(key="p"))) == []


def test_steps_of_which_only_one_runs() -> None:
    assert found(puts("a", when=IS_A), puts("b", when=Not(item=IS_A))) == []
    assert found(puts("a", when=IS_A), puts("b")) == [("CLR465", "warning", "b")]
    start = process("start")
    failed = puts("b", depends_on=(Dependency(step="start", on="failure"),))
    assert found(start, puts("a", depends_on=("start",)), failed) == []
    handlers = tuple(
        ExitHandler(name=on, on=t.cast("t.Any", on), steps=(puts("end"),))
        for on in ("success", "failure")
    )
    assert found(process("a"), exit_handlers=handlers) == []
    both = (ExitHandler(name="always", on="any", steps=(puts("end"),)), handlers[0])
    assert found(process("a"), exit_handlers=both) == [("CLR465", "error", "exit:success/end")]
    assert found(puts("a"), exit_handlers=both[:1]) == [("CLR465", "warning", "exit:always/end")]


def test_others_between_two_at_one_place() -> None:
    a, b, c = puts("a", when=IS_A), puts("b", when=Not(item=IS_A)), puts("c", when=IS_A)
    chance = [("CLR465", "warning", "c")]  # each may be skipped
    assert found(a, c) == chance
    assert found(a, b, c) == chance
    after = puts("c", when=IS_A, depends_on=("a",))
    assert [one.message for one in problems(a, b, after)] == [
        one.message for one in problems(a, after)
    ]


def test_groups() -> None:
    def group(name: str, *steps: Step, **fields: t.Any) -> Step:
        return Step(name=name, action=Group(steps=steps), **fields)

    one, other = group("g", puts("a")), puts("b")
    assert found(one, other) == [("CLR465", "error", "b")]
    assert found(one, puts("b", depends_on=("g",))) == [("CLR465", "warning", "b")]
    assert found(group("g", puts("a"), puts("b"))) == [("CLR465", "error", "g/b")]
    assert found(group("g", puts("a"), when=IS_A), other) == [("CLR465", "warning", "b")]
    given = (Input(name="v", type="str", value=ParamRef(name="p")),)
    at = S3Location(key=ParamRef(name="v"))
    inner = [group(name, puts("a", at), inputs=given) for name in "gh"]
    assert found(*inner) == []  # they may be given different values


def test_items() -> None:
    at = S3Location(key=Template(parts=("m/", ItemRef())))
    one, same = (Foreach(over={"item": Literal(value=["x", "y"])}) for _ in range(2))
    other = Foreach(over={"item": Literal(value=["z"])})
    assert found(puts("a", at, foreach=one)) == []
    assert found(puts("a", at, foreach=one), puts("b", at, foreach=other)) == []
    assert found(puts("a", at, foreach=one), puts("b", at, foreach=same)) == [
        ("CLR465", "error", "b")
    ]
    assert found(puts("a", foreach=one)) == [("CLR464", "error", "a")]


def test_reads() -> None:
    assert found(puts("a"), takes("b")) == [("CLR466", "warning", "b")]
    assert found(takes("b"), puts("a")) == [("CLR466", "warning", "b")]
    assert found(puts("a"), takes("b", depends_on=("a",))) == []
    assert found(takes("b"), puts("a", depends_on=("b",))) == []
    assert found(takes("b"), takes("c")) == []
    read = Input(name="m", type="file", value=StepRef(step="a", output="m"))
    assert found(puts("a"), process("b", inputs=(read,))) == []
    both = process(
        "a",
        inputs=(Input(name="old", type="file", at=BEST),),
        outputs=(Output(name="new", type="file", path="new", at=BEST),),
    )
    assert found(both) == []


def test_reads_of_folders() -> None:
    at = S3Location(key=Template(parts=("parts/", ItemRef())))
    parts = puts("a", at, foreach=Foreach(over={"item": ParamRef(name="p")}))
    folder = S3Location(key="parts")
    assert found(parts, takes("b", folder, "directory"))[-1:] == [("CLR466", "warning", "b")]
    assert found(puts("a", S3Location(key="parts-of")), takes("b", folder, "directory")) == []
    inside = takes("b", S3Location(key="parts/x/y"))
    assert found(puts("a", folder, "directory"), inside) == [("CLR466", "warning", "b")]
    assert found(puts("a", folder, "directory", archive=Tar()), inside) == []


def many_places(count: int) -> Workflow:
    """So many steps that put the same, so many that take a folder each, and put a file each."""
    same = [puts(f"s{n}", depends_on=(f"s{n - 1}",) if n else ()) for n in range(count)]
    reads = [takes(f"r{n}", S3Location(key=f"in/{n}"), "directory") for n in range(count)]
    own = [puts(f"o{n}", S3Location(key=f"out/{n}")) for n in range(count)]
    return Workflow(name="w", steps=(*same, *reads, *own))


def test_the_work_is_linear_in_the_places() -> None:
    assert {problem.code for problem in verify(many_places(400))} >= {"CLR465"}
    assert calls(verify, many_places(400)) < 2.2 * calls(verify, many_places(200))


def test_items_of_groups_around() -> None:
    over = Foreach(over={"item": Literal(value=["x", "y"])})

    def group(name: str, *steps: Step, **fields: t.Any) -> Step:
        return Step(name=name, action=Group(steps=steps), **fields)

    assert found(group("g", puts("a"), foreach=over)) == [("CLR464", "error", "g/a")]
    inner = group("g", group("h", puts("a")), foreach=over)
    assert found(inner) == [("CLR464", "error", "g/h/a")]
    at = S3Location(key=Template(parts=("m/", ItemRef())))
    assert found(group("g", puts("a", at, foreach=over), foreach=over)) == [
        ("CLR464", "error", "g/a")
    ]
    given = (Input(name="day", type="str", value=ItemRef()),)
    both = S3Location(key=Template(parts=(ParamRef(name="day"), "/", ItemRef())))
    step = puts("a", both, foreach=over)
    assert found(group("g", step, foreach=over, inputs=given)) == []


def test_names_that_are_used_twice() -> None:
    one = Step(name="g", action=Group(steps=(puts("a"), puts("b"))))
    other = Step(name="g", action=Group(steps=(puts("c"), takes("d"))))
    for steps in ((one, other), (one, puts("g")), (puts("g"), one)):
        assert "CLR151" in [code for code, _, _ in found(*steps)]
