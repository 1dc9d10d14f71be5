"""The benchmark of tuning: equal trainings, a scripted row that says so, honest ranks."""

from __future__ import annotations

import importlib
import inspect
import json
import math
import statistics
import typing as t
from pathlib import Path

import numpy as np
import pytest

from couler.llm import LlmSettings
from couler.tuning.algorithm4 import TuneOptions
from tests.fakes.llm import ScriptedServer

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
    tried = tuning.METHODS[method](task, 5).tried
    assert len(tried) == (1 if method == "default" else 5)
    assert [*tried[0].items()] == [*task.space.default.items()]
    assert all(not task.space.problems(one) for one in tried)
    assert tuning.METHODS[method](task, 5).tried == tried


def test_the_rule_of_the_script_prefers_what_is_near_to_the_default(
    tuning: t.Any, task: t.Any
) -> None:
    tried, correlation, filled = tuning.by_script(task, 5)
    assert filled == 0
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


def answering(tuning: t.Any, monkeypatch: pytest.MonkeyPatch, rules: list[t.Any]) -> None:
    """Let `llm` be a server that answers from rules."""

    def by_rules(task: t.Any, trainings: int) -> t.Any:
        with ScriptedServer(rules) as server:
            settings = LlmSettings(base_url=server.base_url, model="scripted", api_key="none")
            options = TuneOptions(candidates=trainings, seed=task.seed, source="proposed")
            return tuning._predicted(task, trainings, settings, options)

    monkeypatch.setitem(tuning.METHODS, "llm", by_rules)


def test_random_candidates_fill_up_and_are_counted(
    tuning: t.Any, task: t.Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tuning._rule(task, task.space.default)["reply"]
    rules = [
        {"when": {"prompt": "tune-propose"}, "reply": {"json": {"settings": []}}},
        {"when": {"prompt": "tune-log"}, "reply": log},
    ]
    answering(tuning, monkeypatch, rules)
    tried, correlation, filled = tuning.METHODS["llm"](task, 5)
    assert (len(tried), correlation, filled) == (5, None, 4)
    assert len({tuning.key_of(one) for one in tried}) == 5


def test_an_answer_that_is_none_ends_one_row_and_not_the_benchmark(
    tuning: t.Any, task: t.Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    answering(tuning, monkeypatch, [{"reply": {"text": "no"}}])
    monkeypatch.setattr(tuning, "Task", lambda *_: task)
    monkeypatch.setattr(task, "judge", lambda _: 0.5)
    options = tuning.Options(3, 2, ("default", "llm", "random"))
    rows, failures = tuning.measure(("wine", "network", 1), options)
    assert [row.method for row in rows] == ["default", "random"]
    assert [(one.method, "predicted log" in one.reason) for one in failures] == [("llm", True)]
    assert any(line.startswith("wine") for line in tuning.table(rows))


def test_the_best_in_cross_validation_is_judged_and_not_the_best_of_the_test(
    tuning: t.Any, task: t.Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained, judged = {1e-4: 0.5, 1e-3: 0.9, 1e-2: 0.7}, {1e-4: 0.99, 1e-3: 0.2, 1e-2: 0.8}
    settings = [{"alpha": one} for one in trained]
    monkeypatch.setitem(tuning.METHODS, "random", lambda *_: tuning.Found(settings))
    monkeypatch.setattr(tuning, "Task", lambda *_: task)
    monkeypatch.setattr(task, "train", lambda one: trained[one["alpha"]])
    monkeypatch.setattr(task, "judge", lambda one: judged[one["alpha"]])
    options = tuning.Options(3, 2, ("random",))
    (row,), _ = tuning.measure(("wine", "network", 1), options)
    assert (row.validation, row.test, row.trainings) == (0.9, 0.2, 3)
    with pytest.raises(RuntimeError, match="random has 3 trainings, not 4"):
        tuning.measure(("wine", "network", 1), tuning.Options(4, 2, ("random",)))


def test_judge_fits_the_rows_trained_on_and_scores_those_held_out(
    tuning: t.Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Mean:
        """Predicts the mean; its score is less the mean distance."""

        def fit(self, x: t.Any, y: t.Any) -> Mean:
            self.mean = y.mean()
            return self

        def score(self, x: t.Any, y: t.Any) -> float:
            return -float(abs(y - self.mean).mean())

    task = tuning.Task("diabetes", "boosting", 1, 2)
    task.rows = (
        np.zeros((3, 1)),
        np.ones((2, 1)),
        np.array([1.0, 2.0, 6.0]),  # their mean is 3
        np.array([5.0, 7.0]),  # 2 and 4 from it
    )
    monkeypatch.setattr(task, "_made", lambda _: Mean())
    assert task.judge({}) == -3


def test_cross_validation_has_only_the_rows_trained_on(
    tuning: t.Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = pytest.importorskip("sklearn.base")
    folds: list[tuple[set[float], set[float]]] = []

    class Sum(base.RegressorMixin, base.BaseEstimator):  # type: ignore[misc]  # it has no types
        """Its score is the sum of what it is judged by."""

        def fit(self, x: t.Any, y: t.Any) -> Sum:
            self.seen_ = {*x[:, 0].tolist()}
            return self

        def score(self, x: t.Any, y: t.Any) -> float:
            folds.append((self.seen_, {*x[:, 0].tolist()}))
            return float(x.sum())

    task = tuning.Task("diabetes", "boosting", 1, 2)
    task.rows = (np.array([[1.0], [2.0], [4.0], [8.0]]), np.full((2, 1), 99.0), np.zeros(4), None)
    monkeypatch.setattr(task, "_made", lambda _: Sum())
    assert task.train({}) == 7.5  # each row judges once: 15, of 2 folds
    assert all(fitted | judged == {1, 2, 4, 8} for fitted, judged in folds)
    assert not any(fitted & judged for fitted, judged in folds)


def test_a_training_that_fails_is_below_all(tuning: t.Any, monkeypatch: pytest.MonkeyPatch) -> None:
    task = tuning.Task("wine", "boosting", 1, 2)
    assert task.train({"subsample": -1.0}) == -math.inf


def test_optuna_goes_to_where_scores_are_high(tuning: t.Any, task: t.Any) -> None:
    pytest.importorskip("optuna", reason="Optuna is not installed: pip install couler[bench]")
    scores = [task.train(one) for one in tuning.METHODS["optuna"](task, 30).tried]
    assert statistics.median(scores[20:]) > statistics.median(scores[:10])


@pytest.mark.parametrize("model", ["boosting", "network"])
@pytest.mark.parametrize("data", ["diabetes", "wine"])
def test_defaults_are_those_of_scikit_learn(tuning: t.Any, data: str, model: str) -> None:
    utils = pytest.importorskip("sklearn.utils")
    task = tuning.Task(data, model, 1, 2)
    known = inspect.signature(dict(utils.all_estimators())[task.estimator]).parameters
    for name, value in task.space.default.items():
        assert value == known[name].default
    assert task.cards()[1].training.fixed == {}


def test_the_data_card_tells_only_of_the_rows_trained_on(tuning: t.Any) -> None:
    task = tuning.Task("wine", "boosting", 1, 2)
    card, _ = task.cards()
    x, test_x, y, _ = task.rows
    assert (card.rows, card.rows + len(test_x)) == (len(x), 178)
    assert list(card.label_space.counts) == np.bincount(y).tolist()
    assert card.columns[0].mean == float(f"{x[:, 0].mean():.6g}")


@pytest.mark.nightly
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
