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
from couler.tuning.outcome import Candidate, Outcome
from couler.tuning.space import SearchSpace, parse_space
from couler.tuning.validation import (
    ValidateOptions,
    check_trainable,
    rows_of,
    train_for_real,
    trials_of,
    validate,
)

LEAF = parse_space("parameters: {min_samples_leaf: {values: [1, 2], default: 1}}")


@pytest.fixture
def trees() -> ModelCard:
    return ModelCard(
        name="tree", training=Training(estimator="DecisionTreeClassifier", fixed={"max_depth": 2})
    )


def options(folder: Path, **told: int) -> ValidateOptions:
    return ValidateOptions(**{"splits": 1, **told}, run=RunOptions(home=folder))  # type: ignore[arg-type]  # all are ints


def test_the_default_and_the_best_are_trained(
    tmp_path: Path, data: DataCard, trees: ModelCard
) -> None:
    def candidate(name: str, predicted: float | None, leaf: int) -> Candidate:
        origin = "default" if name == "c01" else "random"
        parameters = {"min_samples_leaf": leaf}
        return Candidate(
            name=name, round=1, origin=origin, parameters=parameters, predicted=predicted
        )

    found = Outcome(
        data="wine",
        model="tree",
        metric=data.metric,
        parameters={"min_samples_leaf": 70},
        chosen="c02",
        why="",
        candidates=(
            candidate("c01", 0.5, 1),
            candidate("c02", 0.99, 70),
            candidate("c03", 0.7, 2),
            candidate("c04", None, 3),
        ),
    )
    assert [one.name for one in trials_of(found, 1)] == ["c02", "c01"]
    made = validate(found, data, trees, options(tmp_path, top=1))
    assert made.not_trained_on == ()
    assert [one.name for one in made.candidates if one.real is not None] == ["c01", "c02"]
    assert made.chosen == "c01"  # what was predicted best is really worse
    assert made.why.startswith("best of 2 by real training, accuracy ")
    c01, c02 = made.candidates[:2]
    assert (c01.real_mean or 0) > (c02.real_mean or 0) + 0.1


@pytest.mark.slow
def test_trials_are_cached_steps_with_fixed_divisions(
    tmp_path: Path, data: DataCard, trees: ModelCard
) -> None:
    ended: list[tuple[str, str]] = []

    def train(leaf: int) -> tuple[float, ...]:
        found = train_for_real(
            {"c01": {"min_samples_leaf": leaf}},
            data,
            trees,
            options(tmp_path),
            on_event=lambda event: ended.append((str(event.path), event.status or event.kind)),
        )
        return found["c01"].scores

    first = train(1)
    assert ("c01-0", "succeeded") in ended
    ended.clear()
    assert train(1) == first
    assert {status for _, status in ended} == {"cached"}
    ended.clear()
    train(5)
    assert "cached" not in {status for _, status in ended}


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
    found = train_for_real(
        {"c": {"n_neighbors": 9}}, data, model, options(tmp_path, splits=2, seed=5)
    )

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
    found = train_for_real(settings, data, trees, options(tmp_path, splits=1))
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
    assert rows_of(card, tmp_path / "home").left_out == ("name",)
    home = options(tmp_path / "home", splits=1)
    ended: list[str] = []

    def train() -> float | None:
        ended.clear()
        found = train_for_real(
            *({"c": {}}, card, trees, home),
            on_event=lambda event: ended.append(event.status) if event.status else None,
        )
        return found["c"].mean

    first = train()
    assert first == pytest.approx(1, abs=0.1)
    assert (train(), ended) == (first, ["cached"])
    rows.write_text(rows.read_text().replace(",up", ",down", 10))
    assert train() is not None
    assert ended == ["succeeded"]


@pytest.mark.slow
def test_an_error_is_told_as_it_is_and_not_negated(tmp_path: Path) -> None:
    card = parse_data_card(
        "{name: diabetes, input_type: tabular, label_space: {kind: number}, metric: rmse, "
        "data: {name: diabetes}}"
    )
    model = ModelCard(name="ridge", training=Training(estimator="Ridge", scale=True))
    found = train_for_real({"c": {"alpha": 1.0}}, card, model, options(tmp_path, splits=1))
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
        check_trainable(data.model_copy(update=update), trees, LEAF)


def test_a_model_card_without_training_is_told(data: DataCard, trees: ModelCard) -> None:
    with pytest.raises(TuningError, match="does not say how the model is trained"):
        check_trainable(data, trees.model_copy(update={"training": None}), LEAF)
    other = data.label_space.model_copy(update={"kind": "other"})
    with pytest.raises(TuningError, match="neither classes nor numbers"):
        check_trainable(data.model_copy(update={"label_space": other}), trees, LEAF)


@pytest.mark.parametrize(
    ("update", "space", "problem"),
    [
        ({"estimator": "DecisionTreClassifier"}, LEAF, 'Did you mean "DecisionTreeClassifier"'),
        ({"fixed": {"max_dept": 2}}, LEAF, 'no parameter "max_dept". Did you mean "max_depth"'),
        ({}, parse_space("parameters: {leaf: {values: [1]}}"), 'has no parameter "leaf"'),
        (
            {},
            parse_space("parameters: {min_samples_leaf: {values: [-1], default: -1}}"),
            "the default cannot be trained, so nothing was asked of the model: .*min_samples_leaf",
        ),
        pytest.param(
            {},
            parse_space("parameters: {min_samples_leaf: {values: [-1, -2]}}"),
            "none of 2 candidates can be trained",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_a_training_that_cannot_work_is_told_before(
    *,
    tmp_path: Path,
    data: DataCard,
    trees: ModelCard,
    update: dict[str, object],
    space: SearchSpace,
    problem: str,
) -> None:
    assert trees.training is not None
    model = trees.model_copy(update={"training": trees.training.model_copy(update=update)})
    with pytest.raises(TuningError, match=problem):
        check_trainable(data, model, space, options(tmp_path))


@pytest.mark.slow
def test_a_score_that_the_data_do_not_have_is_told_before(
    tmp_path: Path, data: DataCard, trees: ModelCard
) -> None:
    card = data.model_copy(update={"metric": Metric.model_validate("roc_auc")})
    with pytest.raises(TuningError, match="cannot be trained"):
        check_trainable(card, trees, LEAF, options(tmp_path))


def test_a_seed_is_not_below_0() -> None:
    with pytest.raises(ValueError, match="seed is -1"):
        ValidateOptions(seed=-1)


@pytest.mark.slow
def test_labels_of_npz_files_can_be_any_text(tmp_path: Path, trees: ModelCard) -> None:
    x = np.random.default_rng(0).normal(size=(60, 2))
    labels = np.where(x[:, 1] > 0, 'a,"b"', "c\nd")
    np.savez(tmp_path / "rows.npz", X=x, y=labels)
    card = draw_data_card(tmp_path / "rows.npz")
    assert card.label_space.classes == ('a,"b"', "c\nd")
    found = train_for_real({"c": {}}, card, trees, options(tmp_path / "home", splits=1))
    assert found["c"].mean == pytest.approx(1, abs=0.1)


@pytest.mark.slow
def test_the_label_of_an_npz_file_is_that_of_the_card(tmp_path: Path, trees: ModelCard) -> None:
    chance = np.random.default_rng(0)
    kind = chance.integers(0, 2, size=80)
    x = np.column_stack([kind, kind * 5.0 + chance.normal(size=80)])
    np.savez(tmp_path / "rows.npz", X=x, y=chance.integers(0, 2, size=80))  # y tells nothing
    card = draw_data_card(tmp_path / "rows.npz", label="x0")
    found = train_for_real({"c": {}}, card, trees, options(tmp_path / "home", splits=1))
    assert found["c"].mean == pytest.approx(1, abs=0.1)
