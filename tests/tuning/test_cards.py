"""Cards: what is read, what is refused, and what prompts are told of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from couler.errors import TuningError
from couler.tuning.cards import (
    parse_data_card,
    parse_model_card,
    read_data_card,
    read_model_card,
    write_card,
)
from tests.tuning.conftest import DATA, MODEL


def test_cards_read_back_equal() -> None:
    for parse, text in ((parse_data_card, DATA), (parse_model_card, MODEL)):
        card = parse(text)  # type: ignore[operator]  # either
        assert parse(write_card(card)) == card  # type: ignore[operator]


def test_a_metric_of_ones_own_reads_back_equal() -> None:
    own = "metric: {name: churn, direction: minimize, least: 0}"
    card = parse_data_card(DATA.replace("metric: accuracy", own))
    assert (card.metric.direction, card.metric.scorer) == ("minimize", None)
    assert parse_data_card(write_card(card)) == card


def test_all_problems_are_told_at_once() -> None:
    text = """
    nme: x
    input_type: tabula
    label_space: {kind: classes, clases: [a]}
    metric: acuracy
    rows: "many"
    """
    with pytest.raises(TuningError) as caught:
        parse_data_card(text, where="d.yaml")
    told = str(caught.value)
    assert told.startswith("d.yaml: 6 problems")
    for one in (
        'there is no key "nme". Did you mean "name"?',
        "name is missing",
        'input_type is "tabula"',
        'there is no key "label_space.clases". Did you mean "classes"?',
        'metric: the metric "acuracy" is not known. Did you mean "accuracy"?',
        'rows is "many"',
    ):
        assert one in told


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[1, 2]", "is no table with the keys name"),
        ("", "it is empty, and no table with the keys name"),
        ("name: [", "no YAML"),
        ("name: x\ndescription: !!seq {a: 1}", ":2: .*!!seq"),
        ("name: x\ndescription: !!bool maybe", ":2: .*is no bool"),
        ("name: 2024-01-01", "name is 2024-01-01; it must be a text"),
        ("!!python/object/apply:os.system [ls]", "python/object.* means nothing"),
    ],
)
def test_what_is_no_card_is_refused(text: str, problem: str) -> None:
    with pytest.raises(TuningError, match=problem):
        parse_data_card(text)


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    with pytest.raises(TuningError, match=r"the model card .* cannot be read: No such file"):
        read_model_card(tmp_path / "none.yaml")
    (tmp_path / "large.yaml").write_bytes(b"#" * ((1 << 20) + 1))
    with pytest.raises(TuningError, match="more than 1,048,576 bytes"):
        read_data_card(tmp_path / "large.yaml")
    (tmp_path / "latin.yaml").write_bytes(b"name: caf\xe9")
    with pytest.raises(TuningError, match="no text in UTF-8"):
        read_data_card(tmp_path / "latin.yaml")


def test_the_path_of_data_starts_at_the_folder_of_the_card(tmp_path: Path) -> None:
    file = tmp_path / "cards" / "d.yaml"
    file.parent.mkdir()
    file.write_text(DATA.replace("{name: wine}", "{file: ../rows.csv}"))
    card = read_data_card(file)
    assert card.data is not None
    assert Path(card.data.file or "").resolve() == tmp_path / "rows.csv"
    assert "rows.csv" not in card.for_prompt()


def test_data_are_a_name_or_a_file() -> None:
    with pytest.raises(TuningError, match="data are a name or a file, and one of them"):
        parse_data_card(DATA.replace("{name: wine}", "{name: wine, file: x.csv}"))
