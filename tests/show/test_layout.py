"""Levels, orders and columns, apart from any drawing."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, strategies as st

from couler.show.levels import Levels, Link, _crossings, arrange_levels, assign_columns
from couler.show.measure import fit, text_width

BEND = 4.0


@st.composite
def graphs(draw: st.DrawFn) -> tuple[list[float], list[Link]]:
    count = draw(st.integers(1, 25))
    widths = draw(st.lists(st.floats(20, 300), min_size=count, max_size=count))
    ends = st.tuples(st.integers(0, count - 1), st.integers(0, count - 1))
    pairs = draw(st.lists(ends, max_size=50, unique=True))
    styles = st.sampled_from(["success", "when"])
    return widths, [Link(one, other, draw(styles)) for one, other in pairs if one != other]


def place(widths: list[float], links: list[Link]) -> tuple[Levels, list[float], list[float]]:
    levels = arrange_levels(widths, links, 900.0)
    all_widths = [*widths, *[BEND] * (len(levels.above) - levels.bends_from)]
    return levels, all_widths, assign_columns(levels, all_widths, 10.0)


@given(graphs())
def test_every_point_has_one_place(graph: tuple[list[float], list[Link]]) -> None:
    levels, _, _ = place(*graph)
    points = sorted(point for level in levels.order for point in level)
    assert points == list(range(len(levels.above)))
    for level in levels.order:
        assert [levels.position[point] for point in level] == list(range(len(level)))


@given(graphs())
def test_every_arrow_goes_one_level_at_a_time(graph: tuple[list[float], list[Link]]) -> None:
    levels, _, _ = place(*graph)
    row = {point: number for number, level in enumerate(levels.order) for point in level}
    for link, chain in zip(graph[1], levels.chains, strict=True):
        assert {chain[0], chain[-1]} == {link.source, link.target}
        assert all(row[other] == row[one] + 1 for one, other in pairwise(chain))
        assert all(point >= levels.bends_from for point in chain[1:-1])


@given(graphs())
def test_neighbours_keep_their_distance(graph: tuple[list[float], list[Link]]) -> None:
    levels, widths, columns = place(*graph)
    for level in levels.order:
        for one, other in pairwise(level):
            distance = columns[other] - columns[one]
            assert distance >= (widths[one] + widths[other]) / 2 + 10.0 - 1e-6
    assert min(column - width / 2 for column, width in zip(columns, widths, strict=True)) >= -1e-6


def test_arrow_leads_down_unless_it_closes_a_cycle() -> None:
    links = [Link(0, 1), Link(1, 2), Link(2, 0)]
    levels = arrange_levels([10.0] * 3, links, 900.0)
    assert [chain[0] for chain in levels.chains] == [0, 1, 0]
    assert levels.order[0] == [0]


def test_crossings_are_taken_out() -> None:
    crossed = [Link(0, 5), Link(1, 4), Link(2, 3), Link(0, 4)]
    levels = arrange_levels([10.0] * 6, crossed, 900.0)
    assert _crossings(levels) == 0


@given(st.text(max_size=60), st.floats(20, 300))
def test_text_is_cut_to_fit(text: str, width: float) -> None:
    cut = fit(text, 11.0, width)
    assert cut == text or cut.endswith("…")
    assert text_width(cut, 11.0) <= width


def test_wide_letters_are_wide() -> None:
    ideographs = "\N{CJK UNIFIED IDEOGRAPH-6F22}\N{CJK UNIFIED IDEOGRAPH-5B57}"
    assert text_width(ideographs, 10) > text_width("ab", 10) > text_width("il", 10)
    assert text_width("e\N{COMBINING ACUTE ACCENT}", 10) == text_width("e", 10)
    assert text_width("abc", 10, bold=True) > text_width("abc", 10)
