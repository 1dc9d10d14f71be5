"""Steps that train in one process: they train for real, on data from everywhere."""

from __future__ import annotations

import json
import sqlite3
import typing as t
from pathlib import Path

import pytest

import couler
from couler import Dataset, File
from couler.ir.workflow import Script
from couler.steps import lightgbm, sklearn, xgboost
from couler.steps.dataset_check import dataset_problems
from couler.steps.fitting import source_of
from tests.dsl.look import codes, problems, steps


@couler.step
def rows(count: int) -> File:
    import random

    chosen = random.Random(0)
    with open("rows.csv", "w") as file:
        file.write("a,b,noise,label\n")
        for _ in range(count):
            a, b = chosen.random(), chosen.random()
            file.write(f"{a},{b},,{'yes' if a + b > 1 else 'no'}\n")
    return File("rows.csv")


@couler.step
def judge(model: File) -> list[float]:
    import joblib

    return joblib.load(model).predict([[0.1, 0.1], [0.9, 0.9]]).tolist()


def outputs(workflow: couler.Workflow) -> t.Any:
    assert [str(one) for one in problems(workflow)] == []
    result = workflow.run()
    assert result.status == "succeeded", result.to_json()
    return result.outputs


@pytest.mark.slow
def test_scikit_learn_with_a_file_of_another_step() -> None:
    with couler.Workflow("w", strength=10.0, count=200) as wf:
        data = Dataset(data=rows(wf.params.count), feature_cols="a, b", label_col="label")
        trained = sklearn.train("LogisticRegression", data, {"C": wf.params.strength})
        wf.output("score", trained.score)
        wf.output("metrics", trained.metrics)
        wf.output("judged", judge(trained))
    found = outputs(wf)
    assert found["score"] > 0.9
    assert found["metrics"] == {"score": found["score"], "train_rows": 160}
    assert found["judged"] == [0, 1]


@pytest.mark.slow
def test_scikit_learn_in_a_map_over_names_and_paths() -> None:
    with couler.Workflow("w") as wf:
        models = couler.map(
            lambda kind: sklearn.train(kind, Dataset(name="iris")),
            ["GaussianNB", "sklearn.svm.SVC"],
        )
        wf.output("scores", models.score)
    assert all(score > 0.8 for score in outputs(wf)["scores"])


@pytest.mark.slow
def test_a_regression_and_a_table_of_a_database(tmp_path: Path) -> None:
    database = sqlite3.connect(tmp_path / "data.db")
    database.execute("create table houses (size real, rooms integer, price real)")
    lines = [(50 + n, n % 5, 3.5 * (50 + n) + 10.25 * (n % 5)) for n in range(100)]
    database.executemany("insert into houses values (?, ?, ?)", lines)
    database.commit()
    database.close()
    with couler.Workflow("w") as wf:
        data = Dataset("houses", label_col="price", test_fraction=0.3, seed=1)
        url = f"sqlite:///{tmp_path}/data.db"
        trained = sklearn.train("LinearRegression", data, env={"DATASET_URL": url})
        wf.output("score", trained.score)
    assert outputs(wf)["score"] == pytest.approx(1.0)


def test_parquet(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    table = pyarrow.table({"x": [0.0, 1.0] * 20, "y": ["no", "yes"] * 20})
    parquet.write_table(table, tmp_path / "rows.parquet")
    with couler.Workflow("w") as wf:
        data = Dataset(data=str(tmp_path / "rows.parquet"))
        wf.output("score", sklearn.train("DecisionTreeClassifier", data).score)
    assert outputs(wf)["score"] == 1.0


@pytest.mark.slow
@pytest.mark.parametrize("name", ["breast_cancer", "wine", "diabetes"])
def test_xgboost(name: str) -> None:
    pytest.importorskip("xgboost")
    with couler.Workflow("w", depth=3) as wf:
        trained = xgboost.train(
            Dataset(name=name),
            {"max_depth": wf.params.depth},
            {"num_boost_round": 20},
        )
        wf.output("score", trained.score)
        wf.output("metrics", trained.metrics)
        wf.output("model", trained.model)
    found = outputs(wf)
    assert found["score"] > (0.3 if name == "diabetes" else 0.85)
    loss = {"breast_cancer": "logloss", "wine": "mlogloss", "diabetes": "rmse"}[name]
    assert {f"train-{loss}", f"test-{loss}"} < set(found["metrics"])
    assert json.loads(Path(found["model"]).read_text())["version"]


@pytest.mark.slow
def test_lightgbm_and_its_estimator() -> None:
    pytest.importorskip("lightgbm", exc_type=ImportError)
    estimator = lightgbm.LightGBMEstimator(num_leaves=7)
    estimator.set_hyperparameters(num_iterations=30)
    estimator.model_path = "lightgbm_model"
    with couler.Workflow("w") as wf:
        classes = estimator.fit(Dataset(name="wine"), step_name="classes")
        numbers = lightgbm.train(Dataset(name="diabetes", task="regression"), step_name="numbers")
        for name, value in {"classes": classes, "numbers": numbers}.items():
            wf.output(name, value.score)
            wf.output(f"{name}_metrics", value.metrics)
        wf.output("model", classes)
    found = outputs(wf)
    assert found["classes"] > 0.85
    assert found["numbers"] > 0.2
    assert "test-multi_logloss" in found["classes_metrics"]
    assert Path(found["model"]).read_text().startswith("tree")
    assert "[num_leaves: 7]" in Path(found["model"]).read_text()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda path: sklearn.train("LogisticRegresion", Dataset(name="iris")), "Did you mean Log"),
        (lambda path: sklearn.train("SVC", Dataset(data=path, label_col="x")), "no column 'x'"),
        (lambda path: sklearn.train("SVC", Dataset(data=path)), "'red' in row 1 is no number"),
        (lambda path: sklearn.train("SVC", Dataset("t")), "give Dataset(source=...)"),
    ],
)
def test_what_is_wrong_with_the_data_is_told_where_it_runs(
    call: t.Callable[[str], object], message: str, tmp_path: Path
) -> None:
    (tmp_path / "rows.csv").write_text("color,label\nred,1\nblue,2\n")
    with couler.Workflow("w") as wf:
        call(str(tmp_path / "rows.csv"))
    assert codes(wf) == []
    result = wf.run()
    assert result.status == "failed"
    [step] = result.steps.values()
    assert message in Path(step.log).read_text()


@pytest.mark.parametrize(
    ("dataset", "words"),
    [
        (Dataset(), "it says nothing"),
        (Dataset("t", name="iris"), "table_name and name"),
        (Dataset("t", test_fraction=1.0), "from 0 to less than 1"),
        (Dataset(name="irsi"), "breast_cancer, diabetes, digits, iris, wine. Did you mean "),
        (Dataset(data=3), "data is 3"),
        (Dataset("t", seed=-1), "seed is -1"),
        (Dataset(data="a.csv", source="sqlite://"), "goes with table_name"),
        (Dataset("t", format="csv"), "goes with data"),
        (Dataset(data="a.csv", delimiter=", "), "not one character"),
        (Dataset("t", "a,,b"), "names no column, or an empty one"),
        (Dataset("t", []), "names no column"),
        (Dataset("t", "a,b,a"), 'names "a" twice'),
        (Dataset("t", "a,b", "b"), '"b" is the label'),
    ],
)
def test_a_wrong_dataset_is_reported(dataset: Dataset, words: str) -> None:
    with couler.Workflow("w") as wf:
        xgboost.train(dataset)
    [problem] = problems(wf)
    assert problem.code == "CLR105"
    assert words in problem.message


@pytest.mark.parametrize(
    "fields",
    [
        {"test_fraction": "0.2"},
        {"seed": 1.5},
        {"task": "clustering"},
        {"feature_cols": [1, 2]},
        {"label_col": 3},
        {"format": "xlsx"},
        {"name": 3},
    ],
)
def test_a_field_of_a_wrong_type_is_one_diagnostic(fields: dict[str, t.Any]) -> None:
    with couler.Workflow("w") as wf:
        sklearn.train("SVC", Dataset(**{"name": "iris", **fields}), step_name="fit")
    [problem] = problems(wf)
    assert (problem.code, problem.step) == ("CLR107", "fit")
    assert f'the Dataset: the argument "{next(iter(fields))}" must be' in problem.message


def test_several_mistakes_of_a_dataset_are_told_together() -> None:
    with couler.Workflow("w") as wf:
        sklearn.train("SVC", Dataset(name="irsi", test_fraction=2), step_name="fit")
    assert codes(wf) == ["CLR105", "CLR105"]


def test_what_shapes_a_dataset_is_known_when_the_workflow_is_built() -> None:
    with couler.Workflow("w", label="y", url="sqlite://") as wf:
        data = Dataset("t", label_col=t.cast(str, wf.params.label), source=wf.params.url)
        sklearn.train("SVC", data, step_name="fit")
    [problem] = problems(wf)
    assert problem.code == "CLR105"
    assert '"label_col" shapes the step' in problem.message


@pytest.mark.slow
def test_without_rows_held_out_there_is_no_score_to_read() -> None:
    with couler.Workflow("w") as wf:
        trained = sklearn.train("KMeans", Dataset(name="iris", test_fraction=0), step_name="fit")
        wf.output("metrics", trained.metrics)
    assert outputs(wf)["metrics"] == {"train_rows": 150}
    with couler.Workflow("w") as wf:
        trained = sklearn.train("KMeans", Dataset(name="iris", test_fraction=0), step_name="fit")
        with pytest.raises(AttributeError, match="score"):
            wf.output("score", trained.score)


SOME = Dataset(name="iris")
ALL = Dataset(name="iris", test_fraction=0)


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (lambda: xgboost.train(SOME, {"eta": 1}, {"eta": 2}), "CLR105"),
        (lambda: sklearn.train("SVC", ALL, scoring="f1"), "CLR106"),
        (lambda: sklearn.train("SVC", SOME, None, None, "m"), "CLR102"),
        (lambda: xgboost.train("iris"), "CLR107"),
        (lambda: xgboost.train(), "CLR101"),
        (lambda: sklearn.train("SVC", Dataset(name="iris"), {"C": object()}), "CLR103"),
        (lambda: sklearn.train("SVC", Dataset(name="iris"), {"svc c": 1}), "CLR105"),
        (lambda: lightgbm.train(Dataset(name="iris"), memory=3), "CLR105"),
        (lambda: sklearn.train("SVC", Dataset(name="iris"), modelpath="x"), "CLR104"),
    ],
)
def test_wrong_arguments_are_reported(call: t.Callable[[], object], code: str) -> None:
    with couler.Workflow("w") as wf:
        call()
    assert codes(wf) == [code]


def test_packages_are_what_the_step_and_its_data_need() -> None:
    with couler.Workflow("w") as wf:
        xgboost.train(Dataset(name="iris"), step_name="named")
        sklearn.train("SVC", Dataset("t"), step_name="table")
        sklearn.train("SVC", Dataset(data="/x/y.parquet"), step_name="parquet")
        sklearn.train("SVC", Dataset(name="iris"), image="own:1", step_name="own")
        sklearn.train("SVC", Dataset(name="iris"), packages=["scikit-learn==1.6"], step_name="pin")
    packages = {name: one.action.packages for name, one in steps(wf).items()}
    assert packages == {
        "named": ("xgboost-cpu", "scikit-learn"),
        "table": ("scikit-learn", "sqlalchemy"),
        "parquet": ("scikit-learn", "pyarrow"),
        "own": (),
        "pin": ("scikit-learn==1.6",),
    }


@pytest.mark.parametrize("program", ["fit_xgboost.py", "fit_lightgbm.py", "fit_sklearn.py"])
def test_programs_are_shipped_whole(program: str) -> None:
    source = source_of(program)
    compile(source, program, "exec")
    assert "couler" not in source.replace("COULER_INPUT", "")
    with couler.Workflow("w") as wf:
        sklearn.train("SVC", Dataset(name="iris"))
    action = steps(wf)["sklearn-train"].action
    assert isinstance(action, Script)
    assert action.source == source_of("fit_sklearn.py")


def test_a_password_in_the_source_of_a_table_is_refused() -> None:
    with couler.Workflow("w") as wf:
        sklearn.train(
            "LogisticRegression",
            couler.Dataset("iris", source="postgresql://ada:hunter2@db.example.org/data"),
        )
    [problem] = wf.diagnostics
    assert problem.code == "CLR467"
    assert "DATASET_URL" in problem.message
    assert "hunter2" not in problem.message


class Name(str):
    """A name of a column that counts how often it is compared."""

    compared = 0

    def __eq__(self, other: object) -> bool:
        type(self).compared += 1
        return str(self) == str(other)

    __hash__ = str.__hash__


@pytest.mark.parametrize("last", ["x0", "y"])
def test_columns_that_are_there_twice_are_found_in_one_pass(last: str) -> None:
    columns = [*(Name(f"x{number}") for number in range(1000)), Name(last)]
    Name.compared = 0
    found = list(dataset_problems(Dataset("t", columns, "label")))
    assert [one.message for one in found] == (['feature_cols names "x0" twice'] * (last == "x0"))
    assert Name.compared < 10_000


def test_so_it_is_with_columns_of_a_file() -> None:
    table = pytest.importorskip("couler.steps.programs.table")
    names = [*(Name(f"x{number}") for number in range(1000)), Name("x7")]
    Name.compared = 0
    assert table.first_double(names) == "x7"
    assert Name.compared < 10_000
