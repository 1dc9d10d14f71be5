"""Workflows to draw, and a reader of the pictures."""

from __future__ import annotations

import random
import re
import typing as t
import xml.etree.ElementTree as ET
from collections.abc import Callable

import pytest

from couler.ir.policies import AnyOf, Dependency, Foreach, Loop
from couler.ir.values import Compare, ItemRef, Literal, RoundRef, StepRef
from couler.ir.workflow import (
    Container,
    ExitHandler,
    Group,
    Http,
    Input,
    Job,
    Output,
    Parameter,
    Script,
    Step,
    Suspend,
    Workflow,
)

RUN = Container(image="busybox", command=("true",))


def step(name: str, *after: str, **fields: t.Any) -> Step:
    """Return a container step after others."""
    return Step(**{"name": name, "action": RUN, "depends_on": after, **fields})


class Rect(t.NamedTuple):
    """A box of a picture."""

    kind: str
    x: float
    y: float
    width: float
    height: float

    def overlaps(self, other: Rect) -> bool:
        """Return whether two boxes share some area."""
        return (
            self.x < other.x + other.width
            and other.x < self.x + self.width
            and self.y < other.y + other.height
            and other.y < self.y + self.height
        )

    def contains(self, other: Rect) -> bool:
        """Return whether another box is inside."""
        return (
            self.x <= other.x
            and self.y <= other.y
            and other.x + other.width <= self.x + self.width
            and other.y + other.height <= self.y + self.height
        )


class Picture:
    """An SVG picture, read."""

    def __init__(self, svg: str) -> None:
        self.root = ET.fromstring(svg)
        self.width = float(self.root.attrib["width"])
        self.height = float(self.root.attrib["height"])

    def elements(self, tag: str) -> list[ET.Element]:
        """Return the elements of a kind."""
        return list(self.root.iter("{http://www.w3.org/2000/svg}" + tag))

    @property
    def texts(self) -> list[str]:
        """All texts, without what shows under the pointer."""
        return [
            element.text or (element[0].tail if len(element) else "") or ""
            for element in self.elements("text")
        ]

    @property
    def hints(self) -> list[str]:
        """What shows under the pointer."""
        return [element.text or "" for element in self.elements("title")]

    def rects(self, *kinds: str) -> list[Rect]:
        """Return the boxes of some kinds, the legend's left out."""
        found = []
        for element in self.elements("rect"):
            kind = element.attrib["class"]
            sides = [float(element.attrib.get(name, 0)) for name in ("x", "y", "width", "height")]
            if kind in kinds and sides[3] != 16.0:
                found.append(Rect(kind, *sides))
        return found

    def paths(self, style: str) -> list[list[float]]:
        """Return the numbers in the paths of the arrows of a style."""
        return [
            [float(number) for number in re.findall(r"-?\d+(?:\.\d+)?", element.attrib["d"])]
            for element in self.elements("path")
            if element.attrib["class"].split() == ["edge", style]
        ]


@pytest.fixture
def read_svg() -> Callable[[str], Picture]:
    return Picture


@pytest.fixture
def selection() -> Workflow:
    """Model selection: a map, a map over outputs, a condition, two exit handlers."""
    good = Compare(left=StepRef(step="pick", output="score"), op=">", right=Literal(value=0.95))
    models = Foreach(over={"model": Literal(value=("svm", "tree"))})
    trained = Foreach(over={"model": StepRef(step="train")}, max_parallel=2)
    item = (Input(name="model", value=ItemRef(name="model")),)
    return Workflow(
        name="selection",
        parameters=(
            Parameter(name="dataset", default="digits"),
            Parameter(name="n", required=True),
        ),
        steps=(
            step("train", foreach=models, inputs=item),
            step("evaluate", foreach=trained, inputs=item),
            step(
                "pick",
                action=Script(image="python:3.12-slim", source="1", function="pick"),
                inputs=(Input(name="scores", value=StepRef(step="evaluate")),),
                outputs=(Output(name="score", type="float", path="score"),),
            ),
            step("deploy", when=good, action=Http(url="https://example.org", method="POST")),
        ),
        exit_handlers=(
            ExitHandler(name="report", on="any", steps=(step("tell"), step("archive", "tell"))),
            ExitHandler(name="alarm", on="failure", steps=(step("page"),)),
        ),
    )


@pytest.fixture
def everything() -> Workflow:
    """Other kinds of steps and of arrows, groups in groups, a loop."""
    again = Loop(
        condition=Compare(left=RoundRef(), op="==", right=Literal(value="more")), max_iterations=5
    )
    inner = Group(steps=(step("fit"), step("score", "fit")))
    outer = Group(steps=(step("prepare"), step("inner", "prepare", action=inner)))
    return Workflow(
        name="everything",
        steps=(
            step("load"),
            step("outer", "load", action=outer),
            step("poll", "load", loop=again),
            step("ask", action=Suspend(), depends_on=(AnyOf(options=("outer", "poll")),)),
            step("job", "ask", action=Job(manifest={"kind": "TFJob"})),
            step("mend", depends_on=(Dependency(step="job", on="failure"),)),
            step("sweep", depends_on=(Dependency(step="job", on="completion"),)),
        ),
    )


def layered(count: int, width: int, seed: int = 1) -> Workflow:
    """Return a workflow of random layers, with some long arrows."""
    chance = random.Random(seed)
    steps = []
    for number in range(count):
        level = number // width
        before = list(range(max(0, (level - 1) * width), level * width))
        chosen = chance.sample(before, min(2, len(before)))
        if number > 3 * width and number % 5 == 0:
            chosen.append(chance.randrange(number - 2 * width))
        steps.append(step(f"s{number}", *(f"s{one}" for one in dict.fromkeys(chosen))))
    return Workflow(name=f"layers-{count}", steps=tuple(steps))
