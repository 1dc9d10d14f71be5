"""The benchmark of tuning: equal trainings, counted requests, ranks, a recorded run."""

from __future__ import annotations

import importlib
import inspect
import json
import math
import statistics
import typing as t
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

from couler.llm import LlmSettings, open_model
from couler.tuning.outcome import RealTraining
from couler.tuning.space import parse_space
from tests.fakes.llm import ScriptedServer
from tests.tuning.conftest import log, ranks

pytestmark = pytest.mark.checkout

ROOT = Path(__file__).resolve().parents[2] / "benchmarks"
RECORDING = Path(__file__).with_name("tuning")


@pytest.fixture
def tuning(monkeypatch: pytest.MonkeyPatch) -> t.Any:
    monkeypatch.syspath_prepend(str(ROOT))
    return importlib.import_module("tuning")


@pytest.fixture
def workload(tuning: t.Any) -> t.Any:
    return importlib.import_module("workloads.tuning_tasks")


@pytest.fixture
def task(tuning: t.Any) -> t.Any:
    """A task whose scores are a formula, so that nothing is trained."""

    class Quick(tuning.Task):  # type: ignore[misc, name-defined]  # a benchmark has no types
        def training(self, setting: t.Mapping[str, t.Any]) -> RealTraining:
            return RealTraining(scores=(-abs(float(setting["learning_rate_init"]) - 0.02),))

    return Quick("wine", "network", 1, 2)


@pytest.mark.parametrize("method", ["default", "random", "optuna"])
def test_each_method_has_as_many_trainings_and_the_default_first(
    tuning: t.Any, task: t.Any, method: str
) -> None:
    if method == "optuna":
        pytest.importorskip("optuna", reason="Optuna is not installed: pip install couler[bench]")
    find = tuning.methods_of(None)[method]
    tried = find(task, 5).tried
    assert len(tried) == (1 if method == "default" else 5)
    assert [*tried[0].items()] == [*task.space.default.items()]
    assert all(not task.space.problems(one) for one in tried)
    assert find(task, 5).tried == tried


def test_ranges_are_drawn_evenly_in_the_logarithm_if_they_say_so(workload: t.Any) -> None:
    space = parse_space("parameters: {a: {low: 0.0001, high: 1, log: true}, b: {low: 0, high: 1}}")
    drawn = workload.draw(space, 400, 1, set())
    assert 150 < sum(one["a"] < 0.01 for one in drawn) < 250  # half of the logarithms
    assert 150 < sum(one["b"] < 0.5 for one in drawn) < 250
    assert all(not space.problems(one) for one in drawn)


def test_ranks_share_equal_places(tuning: t.Any) -> None:
    rows = [
        tuning.Row("wine", "network", 1, name, 3, score, score)
        for name, score in (("a", 0.9), ("b", 0.9), ("c", 0.5))
    ]
    assert [tuning._mean_rank(rows, name, "test") for name in "abc"] == [1.5, 1.5, 3]


def test_without_an_endpoint_the_rows_are_left_out_and_it_says_so(
    tuning: t.Any,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("COULER_LLM_API_KEY", "OPENAI_API_KEY", "COULER_LLM_MODEL"):
        monkeypatch.delenv(name, raising=False)
    arguments = ("--tasks", "generated/kernel", "--seeds", "1", "--trainings", "2", "--jobs", "1")
    assert tuning.main(arguments) == 0
    printed = capsys.readouterr().out
    assert "llm is left out: language model: no model is chosen" in printed
    assert "optimum" in printed
    assert not [line for line in printed.splitlines() if line.startswith("llm ") and "0." in line]


class Answering(t.NamedTuple):
    """The methods of one task, and the server that answers them."""

    methods: dict[str, t.Any]
    server: ScriptedServer


@pytest.fixture
def answering(tuning: t.Any) -> Iterator[Callable[[list[t.Any]], Answering]]:
    with ExitStack() as stack:

        def opened(rules: list[t.Any]) -> Answering:
            server = stack.enter_context(ScriptedServer(rules))
            settings = LlmSettings(base_url=server.base_url, model="scripted", api_key="none")
            model = stack.enter_context(open_model(settings))
            return Answering(tuning.methods_of(model), server)

        yield opened


def test_random_settings_fill_up_and_are_counted(
    tuning: t.Any, task: t.Any, answering: t.Any
) -> None:
    nothing = {"when": {"prompt": "tune-settings"}, "reply": {"json": {"settings": []}}}
    found = answering([nothing]).methods["llm"](task, 5)
    assert (len(found.tried), found.correlation, found.filled) == (5, None, 4)
    assert len({tuning.key_of(one) for one in found.tried}) == 5
    assert found.usage.calls == 3


def test_modes_have_equal_trainings_and_count_their_requests(
    workload: t.Any, task: t.Any, answering: t.Any
) -> None:
    drawn = workload.draw(task.space, 6, 1, set())
    rules = [
        ranks(*((one, 0.9) for one in drawn)),
        {"when": {"prompt": "tune-log"}, "reply": {"json": log(0.5)}},
    ]
    methods, server = answering(rules)
    found = {name: find(task, 3) for name, find in methods.items() if name.startswith("llm")}
    assert {name: one.usage.calls for name, one in found.items()} == {
        "llm": 2,
        "llm anonymous": 2,
        "llm logs": 5,
        "llm logs anonymous": 5,
    }
    assert {(len(one.tried), one.filled) for one in found.values()} == {(3, 0)}
    texts = ["".join(text for _, text in one.messages) for one in server.requests]
    assert len(texts) == 14
    assert sum("proanthocyanins" in text for text in texts) == 7


def test_anonymous_requests_for_generated_rows_are_sent_once(
    tuning: t.Any, workload: t.Any, answering: t.Any
) -> None:
    task = workload.Task("generated", "kernel", 1, 2)
    drawn = workload.draw(task.space, 6, 1, set())
    methods, server = answering([ranks(*((one, 0.5) for one in drawn))])
    named, anonymous = (methods[name](task, 3) for name in ("llm", "llm anonymous"))
    assert named == anonymous
    assert (named.usage.calls, len(server.requests)) == (2, 2)


def test_an_answer_that_is_none_ends_one_row_and_not_the_benchmark(
    tuning: t.Any, task: t.Any, answering: t.Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task, "judge", lambda _: 0.5)
    methods = answering([{"reply": {"text": "no"}}]).methods
    chosen = {name: methods[name] for name in ("default", "llm", "random")}
    rows, failures = tuning.measure(task, 3, chosen)
    assert [row.method for row in rows] == ["default", "random"]
    assert [(one.method, "RankedSettings" in one.reason) for one in failures] == [("llm", True)]
    assert any(line.startswith("wine") for line in tuning.table(rows))


def test_the_best_in_cross_validation_is_judged_and_not_the_best_of_the_test(
    tuning: t.Any, task: t.Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained, judged = {1e-4: 0.5, 1e-3: 0.9, 1e-2: 0.7}, {1e-4: 0.99, 1e-3: 0.2, 1e-2: 0.8}
    settings = [{"alpha": one} for one in trained]
    methods = {"random": lambda *_: tuning.Found(settings)}
    monkeypatch.setattr(task, "train", lambda one: trained[one["alpha"]])
    monkeypatch.setattr(task, "judge", lambda one: judged[one["alpha"]])
    (row,), _ = tuning.measure(task, 3, methods)
    assert (row.validation, row.test, row.trainings) == (0.9, 0.2, 3)
    with pytest.raises(RuntimeError, match="random has 3 trainings, not 4"):
        tuning.measure(task, 4, methods)


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
    task.rows = task.rows._replace(
        x=np.zeros((3, 1)),
        test_x=np.ones((2, 1)),
        y=np.array([1.0, 2.0, 6.0]),  # their mean is 3
        test_y=np.array([5.0, 7.0]),  # 2 and 4 from it
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
    x = np.array([[1.0], [2.0], [4.0], [8.0]])
    task.rows = task.rows._replace(x=x, test_x=np.full((2, 1), 99.0), y=np.zeros(4))
    monkeypatch.setattr(task, "_made", lambda _: Sum())
    assert task.train({}) == 7.5  # each row judges once: 15, of 2 folds
    assert all(fitted | judged == {1, 2, 4, 8} for fitted, judged in folds)
    assert not any(fitted & judged for fitted, judged in folds)


def test_a_training_that_fails_is_below_all(tuning: t.Any, monkeypatch: pytest.MonkeyPatch) -> None:
    task = tuning.Task("wine", "boosting", 1, 2)
    assert task.train({"subsample": -1.0}) == -math.inf
    assert "subsample" in task.training({"subsample": -1.0}).problem


def test_optuna_goes_to_where_scores_are_high(tuning: t.Any, task: t.Any) -> None:
    pytest.importorskip("optuna", reason="Optuna is not installed: pip install couler[bench]")
    scores = [task.train(one) for one in tuning.by_optuna(task, 30).tried]
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
    rows = task.rows
    assert (card.rows, card.rows + len(rows.test_x)) == (len(rows.x), 178)
    assert list(card.label_space.counts) == np.bincount(rows.y).tolist()
    assert card.columns[0].mean == float(f"{rows.x[:, 0].mean():.4g}")
    assert (card.columns[0].name, card.label_space.classes[0]) == ("alcohol", "class_0")
    assert "2-fold cross-validation" in card.scoring


def test_the_known_optimum_of_generated_rows_is_the_best_on_average(workload: t.Any) -> None:
    tasks = [workload.Task("generated", "kernel", seed, 2) for seed in range(1, 5)]
    for other in (
        {"gamma": 2.0},
        {"gamma": 18.0},
        {"alpha": 0.05},
        {"alpha": 1.5},
        {"kernel": "laplacian"},
        {"kernel": "laplacian", "gamma": 2.0},
    ):
        gains = [one.judge(one.optimum) - one.judge({**one.optimum, **other}) for one in tasks]
        assert statistics.mean(gains) > 0, other
    assert not tasks[0].space.problems(tasks[0].optimum)


def test_a_recorded_run_is_repeated_without_an_endpoint(
    tuning: t.Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The recording and its rows are of --record and --json; real scores are the recorded ones."""
    recorded = json.loads((RECORDING / "rows.json").read_text())

    class Trained(tuning.Task):  # type: ignore[misc, name-defined]  # a benchmark has no types
        def __post_init__(self) -> None:
            super().__post_init__()
            trainings = recorded["scores"][f"{self.data}/{self.model}/{self.seed}"]
            for key, real in trainings.items():
                self.known[key] = RealTraining.model_validate_json(json.dumps(real))

        def judge(self, setting: t.Mapping[str, t.Any]) -> float:
            return 0.0

    monkeypatch.setattr(tuning, "Task", Trained)
    out = tmp_path / "rows.json"
    arguments = [f"--{name}={recorded[name]}" for name in tuning.OPTIONS]
    replay = ("--replay", str(RECORDING / "dialogue.jsonl"), "--jobs", "1", "--json", str(out))
    assert tuning.main([f"--tasks={','.join(recorded['tasks'])}", *arguments, *replay]) == 0
    repeated = json.loads(out.read_text())
    assert repeated["failures"] == recorded["failures"] == []

    def of_models(rows: list[dict[str, t.Any]]) -> list[dict[str, t.Any]]:
        return [{**row, "test": 0.0} for row in rows if row["method"].startswith("llm")]

    found, expected = of_models(repeated["rows"]), of_models(recorded["rows"])
    assert len(found) == len(tuning.MODES) * recorded["seeds"] * len(recorded["tasks"])
    assert found == expected
