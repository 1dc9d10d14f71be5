"""Real training: steps of a workflow, caches, failures, data of files."""

from __future__ import annotations

import typing as t
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from couler.backends.base import RunOptions
from couler.errors import TuningError
from couler.tuning.cards import DataCard, DataSource, ModelCard, Training, parse_data_card
from couler.tuning.drawing import draw_data_card
from couler.tuning.metrics import Metric
from couler.tuning.outcome import RealTraining
from couler.tuning.space import SearchSpace, parse_space
from couler.tuning.trainer import Trainer, left_out_columns

LEAF = parse_space("parameters: {min_samples_leaf: {values: [1, 2], default: 1}}")


@pytest.fixture
def trees() -> ModelCard:
    return ModelCard(
        name="tree", training=Training(estimator="DecisionTreeClassifier", fixed={"max_depth": 2})
    )


def train(
    settings: dict[str, dict[str, t.Any]],
    data: DataCard,
    model: ModelCard,
    home: Path,
    *,
    splits: int = 1,
    seed: int = 0,
    on_event: t.Any = None,
) -> dict[str, RealTraining]:
    options = RunOptions(home=home)
    return Trainer(
        data=data, model=model, splits=splits, seed=seed, run=options, on_event=on_event
    )(settings)


@pytest.mark.slow
def test_real_training_is_that_of_plain_scikit_learn(tmp_path: Path, data: DataCard) -> None:
    """Divisions follow the seed, a candidate goes before `fixed`, and columns are scaled."""
    x, y = load_wine(return_X_y=True)
    model = ModelCard(
        name="neighbours",
        training=Training(
            estimator="KNeighborsClassifier",
            scale=True,
            fixed={"n_neighbors": 1, "weights": "distance", "p": 1},
        ),
    )
    found = train({"c": {"n_neighbors": 9}}, data, model, tmp_path, splits=2, seed=5)

    def plain(seed: int, *steps: t.Any, **parameters: t.Any) -> float:
        order = np.random.default_rng(seed).permutation(len(y))
        test, train = order[: round(len(y) * 0.2)], order[round(len(y) * 0.2) :]
        made = make_pipeline(*steps, KNeighborsClassifier(weights="distance", p=1, **parameters))
        return float(made.fit(x[train], y[train]).score(x[test], y[test]))

    expected = tuple(plain(seed, StandardScaler(), n_neighbors=9) for seed in (5, 6))
    assert found["c"].scores == pytest.approx(expected, abs=1e-12)
    others = [
        tuple(plain(seed, StandardScaler(), n_neighbors=9) for seed in (0, 0)),
        tuple(plain(seed, n_neighbors=9) for seed in (5, 6)),
        tuple(plain(seed, StandardScaler(), n_neighbors=1) for seed in (5, 6)),
    ]
    assert expected not in others  # or this test could not fail


@pytest.mark.slow
def test_a_training_that_fails_has_its_reason_and_stops_no_other(
    tmp_path: Path, data: DataCard, trees: ModelCard
) -> None:
    settings = {"bad": {"min_samples_leaf": -1}, "odd": {"leaf": 1}, "good": {}}
    found = train(settings, data, trees, tmp_path)
    assert "min_samples_leaf" in (found["bad"].problem or "")
    assert found["odd"].problem == "DecisionTreeClassifier has no parameter 'leaf'"
    assert found["good"].mean is not None


@pytest.mark.slow
def test_files_are_trained_on_and_other_content_is_no_hit(tmp_path: Path, trees: ModelCard) -> None:
    rows, shift = tmp_path / "rows.csv", np.random.default_rng(0).normal(size=60)
    rows.write_text(
        "name,size,kind\n"
        + "".join(
            f"n{n},{value},{'up' if value > 0 else 'down'}\n" for n, value in enumerate(shift)
        )
    )
    card = draw_data_card(rows)
    assert card.columns[0].type == "text"
    assert left_out_columns(card) == ["name"]
    scoring = Trainer(data=card, model=trees).scoring
    assert scoring.endswith("Columns that hold no numbers (1) are left out.")
    ended: list[str] = []

    def trained() -> float | None:
        ended.clear()
        found = train(
            *({"c": {}}, card, trees, tmp_path / "home"),
            on_event=lambda event: ended.append(event.status) if event.status else None,
        )
        return found["c"].mean

    first = trained()
    assert first == pytest.approx(1, abs=0.1)
    assert (trained(), ended) == (first, ["cached"])
    rows.write_text(rows.read_text().replace(",up", ",down", 10))
    assert trained() is not None
    assert ended == ["succeeded"]


@pytest.mark.slow
def test_an_error_is_told_as_it_is_and_not_negated(tmp_path: Path) -> None:
    card = parse_data_card(
        "{name: diabetes, input_type: tabular, label_space: {kind: number}, metric: rmse, "
        "data: {name: diabetes}}"
    )
    model = ModelCard(name="ridge", training=Training(estimator="Ridge", scale=True))
    found = train({"c": {"alpha": 1.0}}, card, model, tmp_path)
    assert 40 < (found["c"].mean or 0) < 80


@pytest.mark.parametrize(
    ("update", "problem"),
    [
        ({"data": None}, "does not say where the data are"),
        ({"data": DataSource(file="missing.csv")}, "cannot be read: No such file"),
        (
            {"metric": Metric(name="own", direction="maximize")},
            "nothing here computes own",
        ),
    ],
)
def test_what_cannot_be_trained_is_told_before(
    data: DataCard, trees: ModelCard, update: dict[str, object], problem: str
) -> None:
    with pytest.raises(TuningError, match=problem):
        Trainer(data=data.model_copy(update=update), model=trees).check(LEAF)


def test_a_model_card_without_training_is_told(data: DataCard, trees: ModelCard) -> None:
    with pytest.raises(TuningError, match="does not say how the model is trained"):
        Trainer(data=data, model=trees.model_copy(update={"training": None})).check(LEAF)
    other = data.label_space.model_copy(update={"kind": "other"})
    with pytest.raises(TuningError, match="neither classes nor numbers"):
        Trainer(data=data.model_copy(update={"label_space": other}), model=trees).check(LEAF)


@pytest.mark.parametrize(
    ("update", "space", "problem"),
    [
        ({"estimator": "DecisionTreClassifier"}, LEAF, 'Did you mean "DecisionTreeClassifier"'),
        ({"fixed": {"max_dept": 2}}, LEAF, 'no parameter "max_dept". Did you mean "max_depth"'),
        ({}, parse_space("parameters: {leaf: {values: [1]}}"), 'has no parameter "leaf"'),
    ],
)
def test_a_training_that_cannot_work_is_told_before(
    *,
    data: DataCard,
    trees: ModelCard,
    update: dict[str, object],
    space: SearchSpace,
    problem: str,
) -> None:
    assert trees.training is not None
    model = trees.model_copy(update={"training": trees.training.model_copy(update=update)})
    with pytest.raises(TuningError, match=problem):
        Trainer(data=data, model=model).check(space)


@pytest.mark.parametrize("limit", [{"seed": -1}, {"splits": 0}])
def test_limits_are_checked(data: DataCard, trees: ModelCard, limit: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=rf"{next(iter(limit))} is "):
        Trainer(data=data, model=trees, **limit)  # type: ignore[arg-type]  # both are ints


@pytest.mark.slow
def test_labels_of_npz_files_can_be_any_text(tmp_path: Path, trees: ModelCard) -> None:
    x = np.random.default_rng(0).normal(size=(60, 2))
    labels = np.where(x[:, 1] > 0, 'a,"b"', "c\nd")
    np.savez(tmp_path / "rows.npz", X=x, y=labels)
    card = draw_data_card(tmp_path / "rows.npz")
    assert card.label_space.classes == ('a,"b"', "c\nd")
    found = train({"c": {}}, card, trees, tmp_path / "home")
    assert found["c"].mean == pytest.approx(1, abs=0.1)


@pytest.mark.slow
def test_the_label_of_an_npz_file_is_that_of_the_card(tmp_path: Path, trees: ModelCard) -> None:
    chance = np.random.default_rng(0)
    kind = chance.integers(0, 2, size=80)
    x = np.column_stack([kind, kind * 5.0 + chance.normal(size=80)])
    np.savez(tmp_path / "rows.npz", X=x, y=chance.integers(0, 2, size=80))  # y tells nothing
    card = draw_data_card(tmp_path / "rows.npz", label="x0")
    found = train({"c": {}}, card, trees, tmp_path / "home")
    assert found["c"].mean == pytest.approx(1, abs=0.1)
