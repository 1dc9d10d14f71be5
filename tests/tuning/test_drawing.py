"""Cards drawn from data and estimators."""

from __future__ import annotations

import io
import json
import pickle
import typing as t
import zipfile
from pathlib import Path

import numpy as np
import pytest

from couler.errors import TuningError
from couler.tuning import drawing
from couler.tuning.cards import parse_data_card, write_card
from couler.tuning.drawing import draw_data_card, draw_set_card
from couler.tuning.estimators import draw_model_card

FLOWERS = "a,b,color,kind\n1,2.5,red,rose\n3,,blue,tulip\n5,-1,red,rose\n"


def written(folder: Path, text: str, name: str = "rows.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_csv(tmp_path: Path) -> None:
    card = draw_data_card(written(tmp_path, FLOWERS))
    assert (card.name, card.rows, card.features, card.missing) == ("rows", 3, 3, 1)
    assert card.metric.name == "accuracy"
    space = card.label_space
    assert (space.column, space.classes, space.counts) == ("kind", ("rose", "tulip"), (2, 1))
    a, b, color = card.columns
    assert (a.type, a.least, a.most, a.mean, a.missing) == ("number", 1, 5, 3, 0)
    assert (b.mean, b.missing) == (0.75, 1)
    assert (color.type, color.distinct) == ("text", 2)
    assert parse_data_card(write_card(card)) == card


@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
def test_other_delimiters_are_seen(tmp_path: Path, delimiter: str) -> None:
    card = draw_data_card(written(tmp_path, FLOWERS.replace(",", delimiter)))
    assert card.features == 3
    assert card.data is not None
    assert card.data.delimiter == delimiter


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "is empty"),
        ("a,b\n", "has no rows"),
        ("a\n1\n", "no column besides the label"),
        ("a,a\n1,2\n", 'two columns "a"'),
        ("a,b\n1,2\n1\n", "row 2: 1 values, but 2 columns"),
        ('a,b\n"' + "x" * 200_000 + '",2\n', "cannot be read as CSV"),
    ],
)
def test_what_is_no_table_is_refused(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(TuningError, match=problem):
        draw_data_card(written(tmp_path, text))


def test_sizes_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawing, "_MOST_ROWS", 2)
    with pytest.raises(TuningError, match="more than 2 rows"):
        draw_data_card(written(tmp_path, FLOWERS))
    wide = ",".join(f"c{number}" for number in range(210))
    card = draw_data_card(written(tmp_path, f"{wide}\n{wide}\n"))
    assert (card.features, len(card.columns)) == (209, 200)
    with pytest.raises(TuningError, match="10,001 columns"):
        draw_data_card(written(tmp_path, ",".join(map(str, range(10_001))) + "\n"))


def test_a_wrong_label_or_metric_names_the_nearest(tmp_path: Path) -> None:
    path = written(tmp_path, FLOWERS)
    with pytest.raises(TuningError, match=r'no column "knd".*Did you mean "kind"'):
        draw_data_card(path, label="knd")
    with pytest.raises(TuningError, match='Did you mean "accuracy"'):
        draw_data_card(path, metric="acuracy")
    with pytest.raises(TuningError, match=r"neither \.csv, \.tsv nor \.npz"):
        draw_data_card(tmp_path / "rows.xls")


def test_npz(tmp_path: Path) -> None:
    path = tmp_path / "rows.npz"
    np.savez(path, X=np.arange(12.0).reshape(2, 2, 3), y=np.array(["no", "yes"]))
    card = draw_data_card(path)
    assert (card.rows, card.features, card.label_space.classes) == (2, 6, ("no", "yes"))
    assert card.columns[5].most == 11


class Hostile:
    def __reduce__(self) -> tuple[t.Any, ...]:
        return (Path.touch, (Path("ran"),))


def test_nothing_in_an_npz_file_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    array = io.BytesIO()
    np.lib.format.write_array(array, np.array([Hostile()], dtype=object), allow_pickle=True)
    for name, content in (("pickled.npz", array.getvalue()), ("raw.npz", pickle.dumps(Hostile()))):
        with zipfile.ZipFile(name, "w") as archive:
            archive.writestr("X.npy", content)
            archive.writestr("y.npy", content)
        with pytest.raises(TuningError, match="cannot be read as npz"):
            draw_data_card(Path(name))
    written(tmp_path, "no zip", "text.npz")
    with pytest.raises(TuningError, match="cannot be read as npz"):
        draw_data_card(Path("text.npz"))
    assert not Path("ran").exists()


def test_a_small_npz_file_cannot_stand_for_a_huge_one(tmp_path: Path) -> None:
    path = tmp_path / "bomb.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("X.npy", bytes(165_000_000))
        archive.writestr("y.npy", b"")
    with pytest.raises(TuningError, match="above"):
        draw_data_card(path)


@pytest.mark.parametrize(
    ("arrays", "problem"),
    [
        ({"X": np.ones((2, 2))}, "must have the arrays X and y; it has X"),
        ({"X": np.ones((2, 2)), "y": np.ones(3)}, r"not \(2, 2\) and \(3,\)"),
        ({"X": np.array([["a"]]), "y": np.ones(1)}, "X has numbers"),
        ({"X": np.ones((0, 2)), "y": np.ones(0)}, "X has n x m values"),
    ],
)
def test_other_arrays_are_refused(tmp_path: Path, arrays: dict[str, t.Any], problem: str) -> None:
    np.savez(tmp_path / "rows.npz", **arrays)
    with pytest.raises(TuningError, match=problem):
        draw_data_card(tmp_path / "rows.npz")


@pytest.mark.parametrize(
    ("name", "rows", "features", "metric"),
    [("diabetes", 442, 10, "r2"), ("wine", 178, 13, "accuracy")],
)
def test_sets_of_scikit_learn(name: str, rows: int, features: int, metric: str) -> None:
    card = draw_set_card(name)
    assert (card.rows, card.features, card.metric.name) == (rows, features, metric)
    assert parse_data_card(write_card(card)) == card


def test_an_unknown_set_names_the_nearest() -> None:
    with pytest.raises(TuningError, match='Did you mean "digits"'):
        draw_set_card("digit")


def test_cards_of_estimators_have_the_limits_of_training() -> None:
    card = draw_model_card("MLPClassifier")
    assert card.hyperparameters["hidden_layer_sizes"] == (100,)
    assert card.loss == "log_loss"
    assert (card.hyperparameters["max_iter"], card.hyperparameters["early_stopping"]) == (
        200,
        False,
    )
    assert card.training is not None
    assert card.training.scale
    trees = draw_model_card("GradientBoostingRegressor")
    assert (trees.loss, trees.hyperparameters["learning_rate"]) == ("squared_error", 0.1)
    with pytest.raises(TuningError, match=r'no estimator "MLPClasifier"\. Did you mean "MLPCl'):
        draw_model_card("MLPClasifier")


def damaged(path: Path, kind: str) -> None:
    """Write an npz file that is none."""
    np.savez_compressed(path, X=np.ones((20, 2)), y=np.arange(20) % 2)
    data = bytearray(path.read_bytes())
    if kind == "packed wrongly":
        data[60:80] = b"\xff" * 20
    elif kind == "encrypted":
        for begin, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
            found = data.find(begin)
            while found >= 0:
                data[found + place] |= 1
                found = data.find(begin, found + 4)
    path.write_bytes(bytes(data))
    if kind == "claims too much":
        header = io.BytesIO()
        np.lib.format.write_array_header_1_0(
            header, {"descr": "<f8", "fortran_order": False, "shape": (2 * 10**12,)}
        )
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("X.npy", header.getvalue())
            archive.writestr("y.npy", header.getvalue())


@pytest.mark.parametrize("kind", ["packed wrongly", "encrypted", "claims too much"])
def test_a_damaged_npz_file_is_one_message(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "rows.npz"
    damaged(path, kind)
    with pytest.raises(TuningError, match=r"rows\.npz cannot be read as npz: "):
        draw_data_card(path)


def test_labels_without_a_value_are_told(tmp_path: Path) -> None:
    np.savez(tmp_path / "rows.npz", X=np.ones((2, 1)), y=np.array([np.nan, np.nan]))
    with pytest.raises(TuningError, match='the label "y" has no value in any row'):
        draw_data_card(tmp_path / "rows.npz")
    (tmp_path / "rows.csv").write_text("a,k\n1,\n2,\n")
    with pytest.raises(TuningError, match='the label "k" has no value in any row'):
        draw_data_card(tmp_path / "rows.csv")


def test_columns_have_their_spread_and_association_with_classes(tmp_path: Path) -> None:
    rows = "a,b,c,text,kind\n0,1,7,p,x\n1,,7,q,x\n10,1,7,p,y\n11,3,7,q,y\n"
    a, b, c, text = draw_data_card(written(tmp_path, rows)).columns
    assert (a.mean, a.std) == (5.5, 5.025)
    assert a.association == 0.99  # 100 of 101: the classes are 10 apart, the rows in each 1
    assert (b.missing, b.association) == (1, 0.25)  # of 1; 1 and 3
    assert (c.std, c.association) == (0, None)
    assert (text.distinct, text.std, text.association) == (2, None, None)


def test_columns_have_their_correlation_with_a_number(tmp_path: Path) -> None:
    rows = "a,b,y\n" + "".join(f"{n},{(n % 3) - n},{2.5 * n}\n" for n in range(30))
    card = draw_data_card(written(tmp_path, rows))
    assert (card.label_space.kind, card.label_space.std) == ("number", 21.64)
    assert card.columns[0].association == 1
    assert card.columns[1].association == -0.996


def test_numbers_whose_sum_no_float_can_hold_have_no_mean(tmp_path: Path) -> None:
    (a,) = draw_data_card(written(tmp_path, "a,y\n1e308,u\n1.2e308,v\n1e308,v\n")).columns
    assert (a.least, a.most, a.mean, a.std) == (1e308, 1.2e308, None, None)


def test_prompts_have_the_columns_that_tell_most(tmp_path: Path) -> None:
    names = [f"c{number}" for number in range(40)]
    chance = np.random.default_rng(0)
    y = chance.normal(size=50)
    x = chance.normal(size=(50, 40))
    x[:, 39] = y
    lines = [",".join(map(str, (*row, label))) for row, label in zip(x, y, strict=True)]
    card = draw_data_card(written(tmp_path, "\n".join((",".join((*names, "y")), *lines)) + "\n"))
    told = json.loads(card.for_prompt())["columns"]
    assert len(card.columns) == 40
    assert (len(told["rows"]), told["others"]["count"]) == (30, 10)
    assert told["fields"][-1] == "correlation_with_label"
    assert (told["rows"][0][0], told["rows"][0][-1]) == ("c39", 1)
    assert abs(told["rows"][29][-1]) >= told["others"]["max_correlation_with_label"]
