"""The SVG picture: right, readable, and the same every time."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from couler.ir.conditions import Compare
from couler.ir.policies import Foreach
from couler.ir.serialize import write_json
from couler.ir.values import Literal, ParamRef
from couler.ir.workflow import Container, Group, Http, Workflow
from couler.show import render
from couler.show.svg import MOST_BOXES
from tests.show.conftest import Picture, layered, step
from tests.support.strategies import workflows

LEAVES = ("container", "script", "job", "suspend")


def flow(*steps: object, name: str = "w") -> Workflow:
    return Workflow(name=name, steps=steps)


def test_every_step_is_named(selection: Workflow, read_svg: Callable) -> None:
    picture = read_svg(render(selection, "svg"))
    assert {"train", "evaluate", "pick", "deploy", "tell", "archive", "page"} <= set(picture.texts)
    assert 'dataset: str = "digits", n: str' in picture.texts
    assert "on exit, always: report" in picture.texts
    assert "on exit, after a failure: alarm" in picture.texts


def test_foreach_is_a_stack_with_its_count(selection: Workflow, read_svg: Callable) -> None:
    picture = read_svg(render(selection, "svg"))
    assert picture.texts.count("\N{MULTIPLICATION SIGN}2") == 2  # evaluate is over train's items
    assert "for each model in 2 items" in picture.texts
    assert len(picture.rects("container")) == 2 * 3 + 3


def test_count_that_only_the_run_knows(read_svg: Callable) -> None:
    over = Foreach(over={"item": ParamRef(name="files")})
    picture = read_svg(render(flow(step("a", foreach=over)), "svg"))
    assert "\N{MULTIPLICATION SIGN}n" in picture.texts


def test_condition_is_a_dashed_arrow_with_its_text(selection: Workflow, read_svg: Callable) -> None:
    svg = render(selection, "svg")
    picture = read_svg(svg)
    assert "pick.score > 0.95" in picture.texts
    assert len(picture.paths("when")) == 2  # the arrow and the legend's
    assert re.search(r"\.edge\.when\{[^}]*stroke-dasharray", svg)


def test_condition_without_a_step_stands_in_the_box(read_svg: Callable) -> None:
    wanted = Compare(left=ParamRef(name="fast"), op="==", right=Literal(value=False))
    picture = read_svg(render(flow(step("a", when=wanted)), "svg"))
    assert "when params.fast == false" in picture.texts


def test_kinds_and_arrows_are_explained(everything: Workflow, read_svg: Callable) -> None:
    picture = read_svg(render(everything, "svg"))
    legend = {"container", "job", "wait", "group", "after success", "after a failure"}
    legend |= {"after any end", "after the success of one of them"}
    assert legend <= set(picture.texts)
    assert "script" not in picture.texts
    assert "with a condition" not in picture.texts


def test_loop_is_an_arrow_back(everything: Workflow, read_svg: Callable) -> None:
    picture = read_svg(render(everything, "svg"))
    assert 'again while round.result == "more"' in picture.texts
    assert "at most 5 rounds" in picture.texts
    [back] = [path for path in picture.paths("success") if len(path) > 3 and path[1] > path[-1]]
    assert back[0] < back[2], "it leaves to the right"


def test_groups_hold_their_steps(everything: Workflow, read_svg: Callable) -> None:
    picture = read_svg(render(everything, "svg"))
    outer, inner = picture.rects("group")
    assert outer.contains(inner)
    assert sum(inner.contains(one) for one in picture.rects("container")) == 2
    assert sum(outer.contains(one) for one in picture.rects("container")) == 3


def test_arrows_lead_down(everything: Workflow, read_svg: Callable) -> None:
    picture = read_svg(render(everything, "svg"))
    arrows = [*picture.paths("failure"), *picture.paths("completion")]
    long = [path for path in arrows if len(path) > 3]
    assert long
    assert all(path[-1] > path[1] for path in long)


@pytest.mark.parametrize(("count", "width"), [(1, 1), (12, 3), (60, 6), (120, 40)])
def test_boxes_do_not_overlap_and_fit(count: int, width: int, read_svg: Callable) -> None:
    picture = read_svg(render(layered(count, width), "svg"))
    boxes = picture.rects(*LEAVES)
    assert len(boxes) == count
    assert not [pair for pair in combinations(boxes, 2) if pair[0].overlaps(pair[1])]
    for box in boxes:
        assert 0 <= box.x <= box.x + box.width <= picture.width
        assert 0 <= box.y <= box.y + box.height <= picture.height


@settings(max_examples=15)
@given(workflows())
def test_any_workflow_is_drawn_without_overlaps(workflow: Workflow) -> None:
    picture = Picture(render(workflow, "svg"))
    for one, other in combinations(picture.rects(*LEAVES), 2):
        shift = (round(abs(one.x - other.x), 1), round(abs(one.y - other.y), 1))
        is_stack = shift in [(4.0, 4.0), (8.0, 8.0)]
        assert is_stack or not one.overlaps(other)
    for rect in picture.rects(*LEAVES, "group", "handler"):
        assert rect.x >= 0
        assert rect.x + rect.width <= picture.width
        assert rect.y + rect.height <= picture.height


@settings(max_examples=20)
@given(st.text(max_size=40), st.text(max_size=40))
def test_any_text_is_escaped(name: str, image: str) -> None:
    one = step(name, action=Container(image=image))
    picture = Picture(render(flow(one, name=name), "svg"))
    assert len(picture.rects("container")) == 1


def test_markup_stays_text(read_svg: Callable) -> None:
    evil = '</text><script>alert(1)</script>&amp;"'
    picture = read_svg(render(flow(step("a", action=Container(image=evil)), name=evil), "svg"))
    assert not picture.elements("script")
    assert evil in picture.texts
    assert any(evil in hint for hint in picture.hints)


def test_long_texts_are_cut_and_shown_under_the_pointer(read_svg: Callable) -> None:
    image = "registry.example.org/" + "very-long-" * 20
    picture = read_svg(render(flow(step("a", action=Container(image=image))), "svg"))
    [shown] = [text for text in picture.texts if text.startswith("registry")]
    assert shown.endswith("…")
    assert any(image in hint for hint in picture.hints)
    assert picture.width < 600


def test_steps_with_the_same_arrows_make_a_block(read_svg: Callable) -> None:
    many = [step(f"s{number}", "load") for number in range(58)]
    merge = step("merge", *(one.name for one in many))
    picture = read_svg(render(flow(step("load"), *many, merge), "svg"))
    [block] = picture.rects("block")
    boxes = picture.rects("container")
    assert len(boxes) == 60
    assert sum(block.contains(one) for one in boxes) == 58
    assert len(picture.paths("success")) == 3  # in, out, and the legend's
    assert "58 steps side by side" in picture.texts
    assert picture.width < 1300


def test_many_steps_without_arrows_make_rows(read_svg: Callable) -> None:
    picture = read_svg(render(flow(*(step(f"s{n}") for n in range(100))), "svg"))
    assert 0.5 < picture.width / picture.height < 4


def test_wide_level_is_split(read_svg: Callable) -> None:
    pairs = [(step(f"a{n}"), step(f"b{n}", f"a{n}")) for n in range(60)]
    end = step("end", *(f"b{n}" for n in range(60)))
    picture = read_svg(render(flow(*(one for pair in pairs for one in pair), end), "svg"))
    rows = {round(box.y) for box in picture.rects("container")}
    assert len(rows) > 3


def test_parts_that_no_arrow_joins_are_set_in_rows(read_svg: Callable) -> None:
    pairs = [(step(f"a{n}"), step(f"b{n}", f"a{n}")) for n in range(60)]
    picture = read_svg(render(flow(*(one for pair in pairs for one in pair)), "svg"))
    boxes = picture.rects("container")
    assert not [pair for pair in combinations(boxes, 2) if pair[0].overlaps(pair[1])]
    assert 0.5 < picture.width / picture.height < 4


def test_large_picture_closes_groups_and_says_so(read_svg: Callable) -> None:
    inner = Group(steps=tuple(step(f"s{n}") for n in range(20)))
    picture = read_svg(render(flow(*(step(f"g{n}", action=inner) for n in range(40))), "svg"))
    assert "40 groups are drawn closed; 800 of 840 steps are inside" in picture.texts
    assert picture.texts.count("20 steps, drawn closed") == 40
    assert len(picture.rects("group")) == 40 < MOST_BOXES


@pytest.mark.parametrize(
    ("inside", "note", "detail"),
    [
        (1, "1 group is drawn closed; 1 of 302 steps is inside", "1 step, drawn closed"),
        (2, "1 group is drawn closed; 2 of 303 steps are inside", "2 steps, drawn closed"),
    ],
)
def test_one_group_that_is_closed(read_svg: Callable, inside: int, note: str, detail: str) -> None:
    group = step("g", action=Group(steps=tuple(step(f"s{n}") for n in range(inside))))
    chain = [step("c0", "g"), *(step(f"c{n}", f"c{n - 1}") for n in range(1, MOST_BOXES))]
    picture = read_svg(render(flow(group, *chain), "svg"))
    assert note in picture.texts
    assert detail in picture.texts


def test_only_the_innermost_groups_are_closed(read_svg: Callable) -> None:
    inner = Group(steps=tuple(step(f"s{n}") for n in range(20)))
    outer = Group(steps=tuple(step(f"i{n}", action=inner) for n in range(5)))
    picture = read_svg(render(flow(*(step(f"o{n}", action=outer) for n in range(4))), "svg"))
    assert "20 groups are drawn closed; 400 of 424 steps are inside" in picture.texts
    assert len(picture.rects("group")) == 24


def test_cycle_is_drawn_and_named(read_svg: Callable) -> None:
    cyclic = flow(step("a", "b"), step("b", "a"), step("c", "c", "gone"))
    picture = read_svg(render(cyclic, "svg"))
    assert "closes a cycle: not valid" in picture.texts
    assert len(picture.paths("back")) == 3  # a to b, c to itself, and the legend's


def test_nothing_to_draw(read_svg: Callable) -> None:
    assert "no steps" in read_svg(render(flow(), "svg")).texts
    picture = read_svg(render(flow(step("g", action=Group(steps=()))), "svg"))
    assert "0 steps" in picture.texts


def test_requests_are_slanted(read_svg: Callable) -> None:
    picture = read_svg(render(flow(step("a", action=Http(url="http://localhost/x"))), "svg"))
    # One is the legend's.
    assert [one.attrib["class"] for one in picture.elements("polygon")] == ["http", "http"]


def test_light_and_dark(selection: Workflow) -> None:
    svg = render(selection, "svg")
    light, dark = svg.split("@media (prefers-color-scheme:dark)")
    for rule in (".ground{fill:", ".couler text{fill:", ".container{fill:", ".edge{stroke:"):
        assert rule in light
        assert rule in dark


def test_two_pictures_on_a_page_do_not_meet(selection: Workflow) -> None:
    svg = render(selection, "svg")
    assert " id=" not in svg
    assert "href=" not in svg


def test_same_in_every_process(everything: Workflow, tmp_path: Path) -> None:
    (tmp_path / "w.json").write_text(write_json(everything))
    program = (
        "import sys; from couler.ir.serialize import read_json; from couler.show import render;"
        "sys.stdout.write(render(read_json(open(sys.argv[1]).read()), 'svg'))"
    )
    texts = {
        subprocess.run(
            [sys.executable, "-c", program, str(tmp_path / "w.json")],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert texts == {render(everything, "svg")}
