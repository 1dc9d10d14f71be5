"""The way from the steps of a program to those of a run, and back."""

from __future__ import annotations

import json
import typing as t
from dataclasses import dataclass

import pytest
from hypothesis import given, strategies as st

from couler.errors import StepNotFoundError
from couler.ir.semantics.places import find_place, find_places, refuse_unknown
from couler.ir.source_map import NO_CHANGE, SourceMap, carry
from couler.ir.walk import PathPart, StepPath
from tests.corpus.build import flow, group, sh

MAP = SourceMap(
    {
        "b": ("a",),
        "train-0": ("train[0]",),
        "train-7": ("train[7]",),
        "twice": ("once/x", "once/y"),
        "again": ("once",),
        "again/x": ("once/x",),
        "each/fit-2": ("each/fit[2]",),
    },
    {"gone": "the pass drop left it out"},
)
RUN = flow(
    "w",
    sh("a", "true"),
    sh("train", "true", foreach=list(range(8))),
    group("once", sh("x", "true"), sh("y", "true")),
    group("each", sh("fit", "true", foreach=[1, 2, 3]), foreach=[1, 2]),
)


def found(text: str) -> list[str]:
    return list(map(str, MAP.find(text)))


def test_paths_of_the_program_lead_to_the_run() -> None:
    assert found("b") == ["a"]
    assert found("train-7") == ["train[7]"]
    assert found("twice") == ["once/x", "once/y"]
    assert found("a") == found("train-1") == found("fit-2") == found("no path/") == []


def test_items_and_rounds_go_with_them() -> None:
    assert found("b[3]@1") == ["a[3]@1"]
    assert found("again[1]/x@2") == ["once[1]/x@2"]
    assert found("each[5]/fit-2") == ["each[5]/fit[2]"]
    assert found("train-7@1") == ["train[7]@1"]
    assert found("train-7[1]") == []  # an item of an item


def test_labels_name_a_few() -> None:
    assert MAP.label("once/x") == "once/x = twice, again/x"
    assert MAP.label("train") == "train"
    many = SourceMap({f"s{number}": ("a",) for number in range(5)})
    assert many.label("a") == "a = s0, s1, s2 and 2 more"


@dataclass(frozen=True)
class End:
    status: str


def test_ends_are_looked_up() -> None:
    ends = {"a": End("failed"), "train[0]": End("succeeded"), "train": End("failed")}
    assert MAP.look_up("b", ends) == End("failed")
    assert MAP.look_up("train-0", ends) == End("succeeded")
    assert MAP.look_up("train-7", ends) is None  # it has not ended, or never began
    assert MAP.look_up("twice", {"once/x": End("failed")}) is None
    left_out = {"train": End("omitted")}
    assert MAP.look_up("train-7", left_out) == End("omitted")


def test_users_name_steps_by_path_or_name() -> None:
    def places(text: str) -> list[str]:
        return list(map(str, find_places(RUN, text, MAP)))

    assert places("b") == ["a"]
    assert places("train") == ["train"]
    assert places("fit-2") == ["each/fit[2]"]
    assert places("each[1]/fit-2") == ["each[1]/fit[2]"]
    assert places("x") == ["once/x"]  # in the run and in the program, which are one
    assert places("twice") == ["once/x", "once/y"]
    with pytest.raises(StepNotFoundError, match=r'no step "train-8"\. Did you mean "train-7"\?'):
        places("train-8")
    with pytest.raises(StepNotFoundError, match=r'"gone" is not in the run: the pass drop left'):
        places("gone")


def test_a_path_in_the_run_goes_before_one_in_the_program() -> None:
    swapped = SourceMap({"a": ("once",), "once": ("a",)})
    assert find_place(RUN, "a", swapped) == "a"
    assert list(map(str, find_places(RUN, "a", swapped))) == ["a"]


def test_one_place_is_asked_for() -> None:
    assert find_place(RUN, "b", NO_CHANGE) == "b"
    assert find_place(RUN, "train-0", MAP) == "train[0]"
    assert find_place(RUN, "nothing", MAP) == "nothing"
    with pytest.raises(StepNotFoundError, match=r"is several of the run: once/x, once/y\. Name"):
        find_place(RUN, "twice", MAP)
    with pytest.raises(StepNotFoundError, match="the pass drop left it out"):
        find_place(RUN, "gone", MAP)


def test_what_is_unknown_is_refused() -> None:
    refuse_unknown(RUN, "train[3]", MAP)
    with pytest.raises(StepNotFoundError, match=r"inside of others: each/fit\[2\]"):
        refuse_unknown(RUN, "fit-2", MAP)
    with pytest.raises(StepNotFoundError, match=r'Did you mean "train-7"\?'):
        refuse_unknown(RUN, "trian-7", MAP)


numbers = st.none() | st.integers(0, 9)
names = st.sampled_from(["a", "b-2", "c"])
parts = st.builds(PathPart, names, numbers, numbers)


@given(st.lists(parts, min_size=1, max_size=4), st.data())
def test_what_is_carried_comes_back(shape: list[PathPart], data: t.Any) -> None:
    path = StepPath(shape)
    of = StepPath(PathPart(part.name) for part in path)
    to = StepPath(PathPart(data.draw(names)) for _ in path)
    there = carry(path, of, to)
    assert there is not None
    assert [part[1:] for part in there] == [part[1:] for part in path]
    assert carry(there, to, of) == path
    one = SourceMap({str(of): (str(to),)})
    assert one.find(str(path)) == (there,)
    assert one.sources(there) == (str(path),)


texts = st.text(st.characters(codec="utf-8"), max_size=5)


@given(st.dictionaries(texts, st.lists(texts).map(tuple)), st.dictionaries(texts, texts))
def test_json_reads_back(steps: dict[str, tuple[str, ...]], removed: dict[str, str]) -> None:
    one = SourceMap(steps, removed)
    assert SourceMap.from_json(json.loads(json.dumps(one.to_json()))) == one
