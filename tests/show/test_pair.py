"""Two workflows in one picture, and parts that are drawn as groups."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from couler.errors import EngineOptionError
from couler.ir.policies import Part
from couler.ir.workflow import Container, ExitHandler, Group, Step, Workflow
from couler.show.pair import PAIR_FORMATS, render_pair, with_bands
from couler.show.scene import scene_of

RUN = Container(image="busybox", command=("true",))
SVG = "{http://www.w3.org/2000/svg}"


def step(name: str, *after: str, run: str | None = None, group: str | None = None) -> Step:
    part = None if run is None and group is None else Part(run=run, group=group)
    return Step(name=name, action=RUN, depends_on=after, part=part)


BEFORE = Workflow(name="flow", steps=(step("a"), step("b", "a"), step("c", "b")))
AFTER = BEFORE.model_copy(
    update={
        "steps": (Step(name="all", action=Group(steps=BEFORE.steps)),),
        "exit_handlers": (ExitHandler(name="tell", on="any", steps=(step("a"),)),),
    }
)
SPLIT = Workflow(
    name="flow",
    steps=(
        step("a", run="one", group="x"),
        step("b", "a", run="one", group="y"),
        step("c", "a", run="one", group="y"),
        step("d", "b", "c", group="z"),
        step("e", "d", "c"),
    ),
)


def test_svg_has_both_below_each_other() -> None:
    root = ET.fromstring(render_pair(BEFORE, AFTER, "svg"))
    one, other = root.findall(f"{SVG}svg")
    assert one.get("y") == "0"
    assert float(other.get("y", "")) >= float(one.get("height", ""))
    assert float(root.get("height", "")) >= float(other.get("y", "")) + float(
        other.get("height", "")
    )
    assert float(root.get("width", "")) >= float(one.get("width", ""))
    texts = [["".join(text.itertext()) for text in part.iter(f"{SVG}text")] for part in root]
    assert "flow: before" in texts[0]
    assert "flow: after" in texts[1]
    assert "all" in texts[1]
    assert "all" not in texts[0]


@pytest.mark.parametrize("as_", ["mermaid", "dot"])
def test_clusters_keep_names_apart(as_: str) -> None:
    text = render_pair(BEFORE, AFTER, as_)
    assert text.count("subgraph") == 4  # before, after, the group, the handler
    if as_ == "mermaid":
        ids = [line.split("[")[0].strip() for line in text.splitlines() if "container" in line]
        assert len(ids) == len(set(ids)) == 7
    else:
        for path in ("before/a", "after/all/a", "after/exit:tell/a"):
            assert text.count(f'"{path}" [label=') == 1


def test_unknown_picture() -> None:
    with pytest.raises(EngineOptionError, match=r'no picture "svgg".*Did you mean "svg"'):
        render_pair(BEFORE, AFTER, "svgg")


@pytest.mark.parametrize("as_", PAIR_FORMATS)
def test_split_workflow_is_drawn_in_every_picture(as_: str) -> None:
    text = render_pair(BEFORE, SPLIT, as_)
    for name in ("run one", "part y"):
        assert name in text


class TestBands:
    """100 chains of 30 steps, of which each third crosses to the next."""

    FLOW = Workflow(
        name="wide",
        steps=tuple(
            step(
                f"s{row}-{column}",
                *([f"s{row - 1}-{column}"] if row else []),
                *([f"s{row - 1}-{column - 1}"] if row and column % 3 else []),
            )
            for row in range(30)
            for column in range(100)
        ),
    )

    def test_levels_are_boxes(self) -> None:
        scene, note = with_bands(scene_of(self.FLOW), over=1000, most=40)
        assert [(box.name, box.detail) for box in scene.layer.boxes[:2]] == [
            ("level 1", "100 steps, drawn closed"),
            ("level 2", "100 steps, drawn closed"),
        ]
        assert len(scene.layer.boxes) == 30
        assert len(scene.layer.edges) == 29
        assert note == "3,000 steps are drawn as 30 bands, by the steps before them"

    def test_picture_says_so(self) -> None:
        text = render_pair(self.FLOW, BEFORE, "svg")
        assert "3,000 steps are drawn as 30 bands, by the steps before them" in text
        assert len(text) < 100_000


def test_what_is_drawn_around_steps_is_no_step() -> None:
    inner = tuple(step(f"i{n}", group="x") for n in range(400))
    flow = Workflow(
        name="w",
        steps=(step("a", group="y"), Step(name="g", action=Group(steps=inner))),
        exit_handlers=(ExitHandler(name="tell", on="any", steps=(step("a"),)),),
    )
    assert "403 steps" in render_pair(flow, flow, "dot")
    assert "400 of 403 steps are inside" in render_pair(flow, flow, "svg")
