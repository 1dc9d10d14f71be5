"""Programs that train: how models are judged, and plain mistakes told in one line."""

from __future__ import annotations

import json
import sys
import typing as t
import warnings
from pathlib import Path

import pytest

from couler.steps.fitting import source_of

Given = dict[str, t.Any]

FLOWERS = "a,b,kind\n" + "".join(
    f"{n},{n * n % 7},{'low' if n < 20 else 'high'}\n" for n in range(40)
)
COUNTS = "a,b,count\n" + "".join(f"{n % 9},{n % 4},{(n % 9 + n % 4) % 12}\n" for n in range(90))
PRICES = "a,b,price\n" + "".join(f"{n},{n % 5},{1.5 * n + 2.25}\n" for n in range(60))


class Ended(t.NamedTuple):
    """How a program ended."""

    code: int
    err: str
    score: float | None
    metrics: Given


Train = t.Callable[..., Ended]


@pytest.fixture
def train(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Train:
    """Run a program as a step would, in this process, where its libraries are loaded once."""
    monkeypatch.chdir(tmp_path)

    def run(library: str, dataset: Given, /, *, table: str = "", **inputs: t.Any) -> Ended:
        Path("rows.csv").write_text(table)
        suffix = {"sklearn": "joblib", "xgboost": "json", "lightgbm": "txt"}[library]
        given = {"dataset": {"data": "rows.csv", **dataset}, "save_as": f"out/m.{suffix}", **inputs}
        if "name" in dataset or "table_name" in dataset:
            del given["dataset"]["data"]
        for name, value in given.items():
            monkeypatch.setenv(f"COULER_INPUT_{name}", json.dumps(value))
        program = compile(source_of(f"fit_{library}.py"), "program.py", "exec")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                exec(program, {"__name__": "__main__"})
        except SystemExit as ended:
            return Ended(1, str(ended.code), None, {})
        assert Path(f"out/m.{suffix}").stat().st_size > 0
        score, metrics = Path("outputs/score"), Path("outputs/metrics")
        found = json.loads(score.read_text()) if score.exists() else None
        return Ended(0, "", found, json.loads(metrics.read_text()))

    return run


def library(name: str) -> t.Any:
    if name != "sklearn":
        pytest.importorskip(name, exc_type=ImportError)
    return name


@pytest.mark.parametrize(
    ("name", "inputs"),
    [
        ("sklearn", {"estimator": "RandomForestRegressor"}),
        ("sklearn", {"estimator": "LinearRegression", "model_fit_intercept": True}),
        ("xgboost", {"model_objective": "reg:squarederror"}),
        ("xgboost", {"model_objective": "count:poisson", "train_num_boost_round": 60}),
        ("lightgbm", {"model_objective": "regression"}),
        ("lightgbm", {"model_application": "rmse"}),
    ],
)
def test_whole_numbers_are_no_classes_for_what_predicts_numbers(
    name: str, inputs: Given, train: Train
) -> None:
    ended = train(library(name), {}, table=COUNTS, **inputs)
    assert ended.code == 0, ended.err
    assert ended.score is not None
    assert ended.score > (0 if "Linear" in inputs.get("estimator", "") else 0.5)
    assert ended.metrics["score"] == ended.score


@pytest.mark.parametrize(
    ("name", "inputs"),
    [
        ("sklearn", {"estimator": "RandomForestClassifier"}),
        ("xgboost", {"model_objective": "binary:logitraw"}),
        ("xgboost", {"model_objective": "multi:softmax", "model_num_class": 2}),
        ("lightgbm", {"model_objective": "binary", "model_min_data_in_leaf": 1}),
    ],
)
def test_classes_are_judged_by_the_share_that_is_right(
    name: str, inputs: Given, train: Train
) -> None:
    ended = train(library(name), {}, table=FLOWERS, **inputs)
    assert ended.code == 0, ended.err
    assert ended.score is not None
    assert 0.85 <= ended.score <= 1.0


@pytest.mark.parametrize(
    ("name", "inputs", "least", "most"),
    [
        ("sklearn", {"estimator": "LogisticRegression", "scoring": "roc_auc"}, 0.9, 1),
        ("sklearn", {"estimator": "LinearRegression", "scoring": "neg_max_error"}, -10, 0),
        (
            "sklearn",
            {"estimator": "KMeans", "model_n_clusters": 2, "scoring": "adjusted_rand_score"},
            0.3,
            1,
        ),
        ("xgboost", {"model_objective": "binary:logistic", "scoring": "auc"}, 0.9, 1),
        ("xgboost", {"model_eval_metric": "error", "scoring": "auc"}, 0.9, 1),
        ("lightgbm", {"scoring": "auc", "model_min_data_in_leaf": 1}, 0.9, 1),
        (
            "lightgbm",
            {"model_metric": "auc", "scoring": "binary", "model_min_data_in_leaf": 1},
            0,
            1,
        ),
    ],
)
def test_scoring_names_what_judges(
    name: str, inputs: Given, least: float, most: float, train: Train
) -> None:
    numbers = inputs.get("estimator") == "LinearRegression"
    ended = train(library(name), {}, table=PRICES if numbers else FLOWERS, **inputs)
    assert ended.code == 0, ended.err
    assert ended.score is not None
    assert least <= ended.score <= most


@pytest.mark.parametrize("name", ["sklearn", "xgboost", "lightgbm"])
def test_without_rows_held_out_there_is_no_score(name: str, train: Train) -> None:
    inputs = {"estimator": "KMeans"} if name == "sklearn" else {}
    ended = train(library(name), {"test_fraction": 0}, table=FLOWERS, **inputs)
    assert ended.code == 0, ended.err
    assert ended.score is None
    assert ended.metrics["train_rows"] == 40
    assert "score" not in ended.metrics


SVC: Given = {"estimator": "SVC"}


@pytest.mark.parametrize(
    ("dataset", "table", "inputs", "message"),
    [
        (
            {"label_col": "kid"},
            FLOWERS,
            SVC,
            "no column 'kid'; it has: a, b, kind. Did you mean kind",
        ),
        ({"feature_cols": ["a", "c"]}, FLOWERS, SVC, "no column 'c'"),
        ({}, "x,kind\nred,1\nblue,2\n", SVC, "but 'red' in row 1 is no number"),
        ({}, "a,b\n", SVC, "no rows below its header"),
        ({}, "", SVC, "is empty"),
        ({}, "a;b;c\n1;2;3\n", SVC, "delimiter=';'"),
        ({}, "a,a,b\n1,2,3\n", SVC, "two columns 'a'"),
        ({}, "a,b\n1,2\n3\n", SVC, "line 3: 1 values, but 2 columns"),
        ({}, "a,b\n1,2\n", SVC, "nothing to learn"),
        ({}, "a,b\n1,x\n2,\n", SVC, "missing in 1 of 2 rows"),
        ({}, "a,b\n1,x\n,y\n3,x\n4,y\n5,x\n6,y\n", SVC, "SVC: Input X contains NaN"),
        ({"data": "none.csv"}, "", SVC, "no file 'none.csv'"),
        ({"data": "."}, "", SVC, "cannot be read as csv"),
        ({"data": sys.executable}, "", SVC, "cannot be read as csv"),
        ({"data": "rows.csv", "format": "parquet"}, FLOWERS, SVC, "arquet"),
        ({"task": "regression"}, FLOWERS, SVC, "SVC is for classification, but the Dataset says"),
        ({}, FLOWERS, {"estimator": "LinearRegression"}, "as a number, but it holds text"),
        ({}, FLOWERS, {"estimator": "KMeans"}, "scoring="),
        ({}, FLOWERS, {"estimator": "SVV"}, "no estimator 'SVV'. Did you mean"),
        ({}, FLOWERS, {"estimator": "sklearn.svm.SVV"}, "has no sklearn.svm.SVV"),
        ({}, FLOWERS, {"estimator": "sklearn.svm.l1_min_c"}, "it has no fit"),
        ({}, FLOWERS, {**SVC, "model_c": 1}, "SVC has no parameter 'c'"),
        ({}, FLOWERS, {**SVC, "model_C": "x"}, "SVC: The 'C' parameter of SVC must be"),
        ({}, FLOWERS, {**SVC, "scoring": "acuracy"}, "Did you mean accuracy?"),
        ({"task": "regression"}, "a,b\n1,2.5\n2,3.5\n", {"estimator": "Ridge"}, "is no number"),
        ({"table_name": "t"}, "", SVC, "give Dataset(source=...)"),
        ({"table_name": "t", "source": "secret:pw@host"}, "", SVC, "no URL of SQLAlchemy"),
        ({"table_name": "t", "source": "nodb://u:secret@h/d"}, "", SVC, "nodb"),
        ({"table_name": "t", "source": "oracle://u:secret@h/d"}, "", SVC, "is not installed"),
        ({"table_name": "t", "source": "sqlite:////no/where/x.db"}, "", SVC, "the database: "),
        ({"table_name": "t", "source": "sqlite://"}, "", SVC, "no table 't'; it has: none"),
    ],
)
def test_a_plain_mistake_is_one_line(
    dataset: Given, table: str, inputs: Given, message: str, train: Train
) -> None:
    ended = train("sklearn", dataset, table=table, **inputs)
    assert ended.code == 1
    assert len(ended.err.splitlines()) == 1, ended.err
    assert message in ended.err
    assert "secret" not in ended.err


@pytest.mark.parametrize(
    ("name", "inputs", "message"),
    [
        ("xgboost", {"model_objective": "rank:ndcg"}, "needs more than labels"),
        ("xgboost", {"model_objective": "binary:logistic"}, "but there are 9"),
        ("xgboost", {"model_max_depth": "deep"}, "XGBoost: "),
        ("xgboost", {"train_num_boost_round": "many"}, "XGBoost: "),
        ("xgboost", {"scoring": "acc"}, "XGBoost: "),
        ("lightgbm", {"model_objective": "lambdarank"}, "needs more than labels"),
        ("lightgbm", {"model_objective": "regresion"}, "Did you mean regression?"),
        ("lightgbm", {"model_objective": "binary"}, "but there are 9"),
        ("lightgbm", {"model_objective": "binary", "train_loss": "l2"}, "the same parameter"),
        ("lightgbm", {"model_num_leaves": "many"}, "LightGBM: "),
        ("lightgbm", {"scoring": "acc"}, "LightGBM: "),
    ],
)
def test_so_it_is_with_boosters(name: str, inputs: Given, message: str, train: Train) -> None:
    table = COUNTS.replace(",9\n", ",0\n").replace(",10\n", ",0\n").replace(",11\n", ",0\n")
    ended = train(library(name), {}, table=table, **inputs)
    assert ended.code == 1
    assert "Traceback" not in ended.err
    assert message in ended.err.splitlines()[-1]


def test_columns_are_scaled_by_the_rows_trained_on(train: Train, tmp_path: Path) -> None:
    joblib = pytest.importorskip("joblib")
    far = "a,b,kind\n" + "".join(
        f"{1e6 + n % 7},{n % 3},{'x' if n % 3 else 'y'}\n" for n in range(60)
    )
    plain = train("sklearn", {}, table=far, estimator="SVC")
    scaled = train("sklearn", {}, table=far, estimator="SVC", scale=True)
    assert (plain.code, scaled.code) == (0, 0)
    assert scaled.score == 1
    scaler, _ = joblib.load(tmp_path / "out" / "m.joblib")
    assert scaler.n_samples_seen_ == 48  # of 60, without those held out
    assert abs(scaler.mean_[0] - 1e6) < 10
