"""The benchmark of tuning: equal trainings, a scripted row that says so, honest ranks."""

from __future__ import annotations

import importlib
import json
import typing as t
from pathlib import Path

import pytest

pytestmark = pytest.mark.checkout

ROOT = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture
def tuning(monkeypatch: pytest.MonkeyPatch) -> t.Any:
    monkeypatch.syspath_prepend(str(ROOT))
    return importlib.import_module("tuning")


@pytest.fixture
def task(tuning: t.Any) -> t.Any:
    """A task whose scores are a formula, so that nothing is trained."""

    class Quick(tuning.Task):  # type: ignore[misc, name-defined]  # a benchmark has no types
        def train(self, setting: t.Mapping[str, t.Any]) -> float:
            return -abs(float(setting["learning_rate_init"]) - 0.02)

    return Quick("wine", "network", 1, 2)


@pytest.mark.parametrize("method", ["default", "random", "optuna", "llm (scripted)"])
def test_each_method_has_as_many_trainings_and_the_default_first(
    tuning: t.Any, task: t.Any, method: str
) -> None:
    if method == "optuna":
        pytest.importorskip("optuna", reason="Optuna is not installed: pip install couler[bench]")
    tried, _ = tuning.METHODS[method](task, 5)
    assert len(tried) == (1 if method == "default" else 5)
    assert [*tried[0].items()] == [*task.space.default.items()]
    assert all(not task.space.problems(one) for one in tried)
    again, _ = tuning.METHODS[method](task, 5)
    assert again == tried


def test_the_rule_of_the_script_prefers_what_is_near_to_the_default(
    tuning: t.Any, task: t.Any
) -> None:
    tried, correlation = tuning.by_script(task, 5)
    near = [tuning._distance(task.space.parameters["alpha"], one["alpha"], 1e-4) for one in tried]
    assert near[0] == 0
    assert all(0 <= one <= 1 for one in near)
    assert correlation is None or -1 <= correlation <= 1


def test_ranks_share_equal_places(tuning: t.Any) -> None:
    rows = [
        tuning.Row("wine", "network", 1, name, 3, score, score)
        for name, score in (("a", 0.9), ("b", 0.9), ("c", 0.5))
    ]
    assert [tuning._mean_rank(rows, name, "test") for name in "abc"] == [1.5, 1.5, 3]


def test_without_an_endpoint_the_row_is_left_out_and_says_so(
    tuning: t.Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("COULER_LLM_API_KEY", "OPENAI_API_KEY", "COULER_LLM_MODEL"):
        monkeypatch.delenv(name, raising=False)
    methods, left_out = tuning.chosen_methods(is_scripted=False)
    assert "llm" not in methods
    assert left_out[-1].startswith("llm is left out: ")


@pytest.mark.slow
def test_it_runs_and_marks_what_is_scripted(
    tuning: t.Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "rows.json"
    assert tuning.main(["--quick", "--scripted", "--json", str(out)]) == 0
    printed = capsys.readouterr().out
    assert "is a fixed rule of this benchmark and no language model" in printed
    assert all("scripted" in line for line in printed.splitlines() if line.startswith("llm"))
    rows = json.loads(out.read_text())["rows"]
    assert {row["method"] for row in rows if row["scripted"]} == {"llm (scripted)"}
    assert len({(row["data"], row["model"], row["seed"]) for row in rows}) == 8
