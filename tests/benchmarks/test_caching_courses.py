"""Courses of runs are played through as the engine would run them."""

from __future__ import annotations

import importlib
import sys
import types
from collections.abc import Mapping
from pathlib import Path

import pytest

import couler
from couler import File

pytestmark = pytest.mark.checkout

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks"
SECONDS = {
    "load": 8.0,
    "clean": 4.0,
    "standardise": 2.0,
    "rank": 16.0,
    "project": 1.0,
    "expand": 1.0,
    "fit_linear": 32.0,
    "fit_trees": 64.0,
    "report": 128.0,
}
SIZES = dict.fromkeys(set(SECONDS) - {"report"}, 100)


@pytest.fixture
def benchmark(monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    monkeypatch.syspath_prepend(str(FOLDER))
    for name in ("caching_real", "caching_courses"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return importlib.import_module("caching_courses")


def study_of(benchmark: types.ModuleType, sizes: Mapping[str, int]) -> object:
    program = benchmark.caching_real.workflow(10)
    return benchmark.Study.of(program.to_ir(), SECONDS, sizes)


def test_with_room_for_all_only_what_changed_runs(benchmark: types.ModuleType) -> None:
    study = study_of(benchmark, SIZES)
    first = benchmark.caching_real.FIRST
    courses = [first, {**first, "depth": 8}, {**first, "quantiles": 200}, first]
    spent_s = benchmark.play_anew(study, courses, benchmark.UNLIMITED, 0)
    report = 4 * 128.0
    assert spent_s == 128.0 + 64.0 + (16.0 + 1.0 + 64.0) + report


def test_what_was_given_up_runs_again_where_something_that_runs_reads_it(
    benchmark: types.ModuleType,
) -> None:
    """LRU has room for three: of the first run `expand` and both models are left."""
    study = study_of(benchmark, SIZES)
    first = benchmark.caching_real.FIRST
    report = 128.0
    another_tree = [first, {**first, "depth": 8}]
    spent_s = benchmark.play_anew(study, another_tree, "lru", 300)
    assert spent_s == 128.0 + 64.0 + 2 * report
    another_projection = [first, {**first, "components": 10}]
    spent_s = benchmark.play_anew(study, another_projection, "lru", 300)
    assert spent_s == 128.0 + (8.0 + 4.0 + 2.0 + 1.0 + 32.0) + 2 * report


def test_without_room_all_runs(benchmark: types.ModuleType) -> None:
    study = study_of(benchmark, SIZES)
    courses = benchmark.caching_real.courses(3, 1)
    [row] = benchmark.compare(study, 3, [1], ["lru"], 99)
    assert row.ratios == [1.0]
    assert benchmark.play_anew(study, courses, "next-use", 99) == 3 * sum(SECONDS.values())


@pytest.mark.parametrize("every", [1, 2, 3])
def test_of_a_chain_whose_end_changes_the_default_runs_no_more_than_lru(
    benchmark: types.ModuleType, every: int
) -> None:
    """There is room for one table and one model, and each parameter is tried more than once."""
    seconds = {"load": 30.0, "prepare": 20.0, "fit": 5.0}
    study = benchmark.Study.of(chain().to_ir(), seconds, {"load": 100, "prepare": 100, "fit": 1})
    courses = [{"seed": 1, "depth": number // every} for number in range(21)]
    spent_s = {
        policy: benchmark.play_anew(study, courses, policy, 101) for policy in ("lru", "next-use")
    }
    assert spent_s["next-use"] <= spent_s["lru"] == 30 + 20 + 5 * (1 + 20 // every)


def chain() -> couler.Workflow:
    @couler.step(cache=True)
    def load(seed: int) -> File:
        return File("table")

    @couler.step(cache=True)
    def prepare(table: File) -> File:
        return File("prepared")

    @couler.step(cache=True)
    def fit(table: File, depth: int) -> File:
        return File("model")

    with couler.Workflow("chain", seed=1, depth=1) as made:
        given = made.params
        made.output("model", fit(prepare(load(given.seed)), given.depth))
    return made
