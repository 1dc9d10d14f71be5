"""Typed steps: from annotations to inputs and outputs, and what is wrong with a call."""

from __future__ import annotations

import enum
import os
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Annotated, Any, Literal, NamedTuple, NewType, TypedDict, TypeVar

import pytest

import couler
from couler import Directory, File
from couler.ir.values import Literal as IrLiteral
from couler.ir.workflow import Script
from tests.dsl.look import box, codes, steps


class Split(NamedTuple):
    train: File
    size: int


@dataclass
class Config:
    rate: float
    tag: str | None = None


class Color(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    LOW = 1


class Shape(TypedDict):
    width: int


Name = NewType("Name", str)


@couler.step
def everything(
    a: str,
    b: int,
    c: float,
    d: bool,
    e: list[float],
    f: dict[str, int],
    g: Config,
    h: Color,
    i: Literal["x", "y"],
    j: int | None,
    k: File,
    l: Directory,  # noqa: E741
    m: Any,
    n: Name,
    o: Annotated[int, "positive"],
    p: tuple[int, str],
    q: int | str,
    r: Level,
    s: Shape,
    t: list[File],
    u: str = "default",
) -> None: ...


def values() -> dict[str, object]:
    return {
        "a": "text",
        "b": 1,
        "c": 2,
        "d": True,
        "e": [1, 2.5],
        "f": {"x": 1},
        "g": Config(0.1),
        "h": Color.RED,
        "i": "x",
        "j": None,
        "k": couler.S3Artifact(key="data"),
        "l": couler.GitArtifact(repo="https://example.org/code.git"),
        "m": {"any": [None]},
        "n": Name("n"),
        "o": 3,
        "p": (1, "x"),
        "q": "text",
        "r": Level.LOW,
        "s": {"width": 1},
        "t": [],
    }


def test_every_annotation_has_a_type_and_a_json_form() -> None:
    with couler.Workflow("w") as wf:
        everything(**values())  # type: ignore[arg-type]
    assert list(wf.diagnostics) == []
    inputs = {
        one.name: (one.type, one.at.kind if one.at is not None else one.value.value)
        for one in steps(wf)["everything"].inputs
    }
    assert inputs == {
        "a": ("str", "text"),
        "b": ("int", 1),
        "c": ("float", 2),
        "d": ("bool", True),
        "e": ("list", (1, 2.5)),
        "f": ("dict", {"x": 1}),
        "g": ("dict", {"rate": 0.1, "tag": None}),
        "h": ("str", "red"),
        "i": ("str", "x"),
        "j": ("json", None),
        "k": ("file", "s3"),
        "l": ("directory", "git"),
        "m": ("json", {"any": (None,)}),
        "n": ("str", "n"),
        "o": ("int", 3),
        "p": ("list", (1, "x")),
        "q": ("json", "text"),
        "r": ("json", 1),
        "s": ("dict", {"width": 1}),
        "t": ("list", ()),
    }


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("a", 1),
        ("b", "1"),
        ("b", True),
        ("c", "x"),
        ("c", float("nan")),
        ("c", 10**400),
        ("d", 1),
        ("e", ["x"]),
        ("f", {1: 2}),
        ("g", {"rate": 1.0}),
        ("h", "red"),
        ("i", "z"),
        ("j", "x"),
        ("k", 3),
        ("k", "data/x.csv"),
        ("k", File("data/x.csv")),
        ("k", Path("data/x.csv")),
        ("l", "."),
        ("m", object()),
        ("p", (1,)),
        ("q", 1.5),
    ],
)
def test_a_value_of_the_wrong_type_is_reported(name: str, wrong: object) -> None:
    with couler.Workflow("w") as wf:
        everything(**{**values(), name: wrong})  # type: ignore[arg-type]
    [problem] = wf.diagnostics
    assert problem.code == "CLR107"
    assert f'the argument "{name}" must be' in problem.message
    assert name not in {one.name for one in steps(wf)["everything"].inputs}


@couler.step
def split(dataset: str) -> Split:
    return Split(File("a"), 1)


@couler.step
def train(model: str, data: File, rounds: int = 1) -> File:
    return data


@couler.step
def measure(model: File) -> float:
    return 0.5


def test_wrong_calls_are_all_reported_with_line_and_nearest_name() -> None:
    with couler.Workflow("w", n=1) as wf:
        data = split("digits")
        train("svm", data.train, modle="x")  # type: ignore[call-arg]
        train("svm")  # type: ignore[call-arg]
        train("svm", data.train, 1, 2)  # type: ignore[call-arg]
        train("svm", data.train, model="x")  # type: ignore[misc]
        train("svm", data.size)  # type: ignore[arg-type]
        train(wf.params.n, data.train)

    def argument(name: str, wanted: str, given: str) -> str:
        where = f'step "train": the argument "{name}"'
        return f"{where} must be {wanted}, not <couler value {given}>, which is int"

    found = [(one.code, one.message) for one in wf.diagnostics]
    assert found == [
        ("CLR104", 'step "train": no argument "modle". Did you mean "model"?'),
        ("CLR101", 'step "train": the argument "data" is missing'),
        ("CLR102", 'step "train" is given 4 arguments; it takes 3'),
        ("CLR102", 'step "train": the argument "model" is given twice'),
        (
            "CLR107",
            argument("data", "File", "split.size"),
        ),
        (
            "CLR107",
            argument("model", "str", "n"),
        ),
    ]
    lines = [one.source.line for one in wf.diagnostics if one.source]
    assert lines == list(range(lines[0], lines[0] + 6))


def test_lists_and_records_of_values_come_in_parts() -> None:
    @couler.step
    def use(parts: list[float], data: Split, config: Config) -> None: ...

    with couler.Workflow("w", rate=0.5) as wf:
        data = split("x")
        a = measure(data.train)
        use([a, 0.5, a], data, Config(wf.params.rate))
    assert [(one.name, one.type) for one in steps(wf)["use"].inputs] == [
        ("parts_0", "float"),
        ("parts_1", "float"),
        ("parts_2", "float"),
        ("data_train", "file"),
        ("data_size", "int"),
        ("config_rate", "float"),
        ("config_tag", "json"),
    ]
    assert codes(wf) == []


def test_values_deep_inside_are_refused() -> None:
    @couler.step
    def use(value: object) -> None: ...

    with couler.Workflow("w") as wf:
        use({"deep": split("x").size})
    assert [one.code for one in wf.diagnostics] == ["CLR103"]


def test_text_of_a_container_may_be_read_as_any_value() -> None:
    @couler.step
    def use(n: int, xs: list[float]) -> None: ...

    with couler.Workflow("w") as wf:
        use(box("a"), couler.map(lambda x: box("b", x), [1, 2]))
    assert codes(wf) == []


def test_outside_of_a_workflow_the_function_just_runs() -> None:
    assert train("svm", File("x")) == File("x")
    assert train.fn("svm", File("x")) == File("x")
    assert train.__name__ == "train"


def test_values_of_a_closed_workflow_do_not_run_the_function() -> None:
    with couler.Workflow("w"):
        data = split("x")
    with pytest.raises(couler.DefinitionError, match="CLR119"):
        train("svm", data.train)
    with pytest.raises(couler.DefinitionError, match="CLR119"):
        train.map(["svm"])


def test_partial_can_be_called_and_narrowed() -> None:
    with couler.Workflow("w") as wf:
        data = split("x")
        train.partial(model="svm").partial(rounds=2)(data.train)
    inputs = {one.name: one.value for one in steps(wf)["train"].inputs}
    assert inputs["rounds"] == IrLiteral(value=2)
    assert inputs["model"] == IrLiteral(value="svm")
    assert codes(wf) == []


def test_options_stand_in_the_step_and_images_follow_defaults() -> None:
    @couler.step(image="custom:1", packages=["numpy"], memory="1Gi", retry=2)
    def own() -> None: ...

    @couler.step
    def plain() -> None: ...

    with couler.Workflow("w", defaults=couler.StepDefaults(image="shared:1")) as wf:
        own()
        plain()
        own.with_options(memory="2Gi", cpu=2)()
    found = steps(wf)
    action = found["own"].action
    assert isinstance(action, Script)
    assert (action.image, action.packages, action.function) == ("custom:1", ("numpy",), "own")
    assert found["own"].resources.memory == "1Gi"
    assert found["own"].retry.limit == 2
    assert found["plain"].action.image == "shared:1"
    assert (found["own-2"].resources.memory, found["own-2"].resources.cpu) == ("2Gi", "2")
    assert found["own-2"].retry.limit == 2


def test_signatures_that_no_step_can_have_are_reported_once() -> None:
    @couler.step
    def bad(a: set[int], *rest: int, b: PurePath, **more: int) -> list[File]:
        return []

    @couler.step
    def positional(a: int, /) -> None: ...

    @couler.step
    def colliding(xs: list[int], xs_0: int, data: Split, data_size: int) -> None: ...

    class Reserved(NamedTuple):
        or_else: int

    @couler.step
    def reserved() -> Reserved:
        return Reserved(1)

    with couler.Workflow("w") as wf:
        bad(set(), b=os)  # type: ignore[arg-type]
        bad(set(), b=os)  # type: ignore[arg-type]
        positional(1)
        colliding([1], 1, Split(File("x"), 1), 1)
        reserved()
    by_step: dict[str, list[str]] = {}
    for problem in wf.diagnostics:
        by_step.setdefault(str(problem.step), []).append(problem.code)
    assert by_step["bad"][:5] == ["CLR108", "CLR109", "CLR108", "CLR109", "CLR108"]
    assert by_step["positional"][0] == "CLR109"
    assert by_step["colliding"] == ["CLR109", "CLR109"]
    assert by_step["reserved"][0] == "CLR109"


def test_optional_records_and_lists_take_values() -> None:
    @couler.step
    def use(
        data: Split | None = None, xs: list[float] | None = None, files: list[File] | None = None
    ) -> None: ...

    with couler.Workflow("w") as wf:
        data = split("x")
        use(data, [measure(data.train), 1.0], [data.train])
        use(None, None, None)
        use(files=train.partial(data=data.train).map(["a"]))
    found = steps(wf)
    assert [one.name for one in found["use"].inputs] == [
        "data_train",
        "data_size",
        "xs_0",
        "xs_1",
        "files_0",
    ]
    assert [(one.name, one.type) for one in found["use-2"].inputs] == [
        ("data", "json"),
        ("xs", "json"),
    ]
    assert found["use-3"].inputs[0].many
    assert codes(wf) == []


def test_types_that_cannot_travel_say_why() -> None:
    @dataclass
    class Inner:
        value: complex

    T = TypeVar("T")

    @couler.step
    def bad(
        a: dict[int, str], b: PurePath, c: Inner, d: File | int, e: list[complex], f: T
    ) -> tuple[int, str]: ...

    with couler.Workflow("w") as wf:
        bad({}, PurePath(), Inner(1j), 1, [], 1)
    messages = [one.message for one in wf.diagnostics if one.code == "CLR108"]
    no_complex = "a complex does not travel; use str"
    assert [one.partition(": ")[2].partition("; write")[0] for one in messages] == [
        "argument a: the keys of dict[int, str] must be str",
        "argument b: a PurePath does not travel; use File (from couler import File)",
        f"argument c: the field value of Inner: {no_complex}",
        "argument d: File | int: only JSON types can be mixed",
        f"argument e: {no_complex}",
    ]


def test_a_file_that_need_not_be_made_is_for_steps_that_take_none() -> None:
    @couler.step
    def draft() -> File:
        return File("draft.md")

    @couler.step
    def review(text: File | None) -> str:
        return "nothing" if text is None else text

    @couler.step
    def publish(text: File) -> str:
        return text

    with couler.Workflow("w", wanted=False) as wf:
        with couler.when(wf.params.wanted == True):  # noqa: E712
            text = draft()
        review(text.or_else(None))
        publish(text.or_else(None))
    [problem] = wf.diagnostics
    assert (problem.code, '"publish"' in problem.message) == ("CLR107", True)


@couler.step
def by_branch(fast: bool) -> File:
    if fast:
        return File("a.bin")
    path = "b.bin"
    return File(path)


@couler.step
def by_number(number: int) -> File:
    path = f"{number}.txt"
    return File(path)


@couler.step
def by_argument(path: str) -> File:
    if not path:
        path = "c.bin"
    return File(path)


@couler.step
def by_parts() -> File:
    import os

    folder = "deep"
    return File(os.path.join(folder, "d.bin"))


@couler.step
def read_one(file: File) -> None: ...


@pytest.mark.parametrize(
    ("make", "path"),
    [
        (lambda: by_parts(), "inputs/file/d.bin"),
        (
            lambda: couler.run_container("busybox", output=File("out/e.csv.gz")),
            "inputs/file/e.csv.gz",
        ),
        (lambda: couler.first_of(by_parts(), by_parts()), "inputs/file/d.bin"),
        (lambda: couler.first_of(by_parts(), by_branch(True)), None),
        (lambda: by_branch(True), None),
        (lambda: by_number(1), None),
        (lambda: by_argument("x"), None),
        (lambda: couler.run_container("busybox", output=File("..")), None),
    ],
)
def test_a_file_has_the_name_that_its_step_states(make: Any, path: str | None) -> None:
    with couler.Workflow("names") as wf:
        read_one(make())
    [step] = [one for one in wf.to_ir().steps if one.name == "read_one"]
    assert step.inputs[0].path == path
