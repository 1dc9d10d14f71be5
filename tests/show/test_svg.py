"""The SVG picture: right, readable, and the same every time."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import pytest
from hypothesis import given, settings, strategies as st

from couler.ir.workflow import Container, Group, Workflow
from couler.show import render
from couler.show.svg import MOST_BOXES
from tests.show.conftest import Picture, layered, step
from tests.support.strategies import workflows

LEAVES = ("container", "script", "job", "suspend")


def flow(*steps: object, name: str = "w") -> Workflow:
    return Workflow(name=name, steps=steps)


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
