"""Data cards: sizes by hand, and all that is wrong with one at once."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from couler.errors import CoulerError, EstimateError
from couler.operations.data import ImageCard, TabularCard, item_bytes
from couler.operations.pipeline import preprocessing_operations
from couler.operations.reading import parse_data_card, read_data_card


def test_memory_of_a_table_by_hand() -> None:
    card = TabularCard(samples=1000, columns={"float32": 3, "int64": 1, "bool": 2, "U5": 1})
    assert card.memory_bytes() == 1000 * (3 * 4 + 8 + 2 + 20)
    assert card.memory_bytes(variant="published-code") == 42_000 // 1024 * 1024
    assert card.features_per_sample == 6
    assert preprocessing_operations(card) == 6000


def test_memory_of_images_by_hand() -> None:
    raw = ImageCard(samples=10, width=4, height=3)
    assert raw.memory_bytes() == 10 * 4 * 3 * 3 * 8
    done = ImageCard(samples=10, width=4, height=3, dtype="float32", normalised=True)
    assert done.memory_bytes() == 10 * 4 * 3 * 3 * 4
    deep = ImageCard(samples=10, width=4, height=3, dtype="uint16")
    assert deep.memory_bytes() == raw.memory_bytes()  # normalising gives 8 bytes, of whatever type
    assert preprocessing_operations(raw) == 360


def test_memory_of_images_in_the_published_code_is_by_their_files() -> None:
    card = ImageCard(samples=10, width=4, height=3, disk_bytes=1025)
    assert card.memory_bytes(variant="published-code") == 8 * 2048
    done = ImageCard(samples=10, width=4, height=3, disk_bytes=1025, normalised=True)
    assert done.memory_bytes(variant="published-code") == 2048
    unknown = ImageCard(samples=10, width=4, height=3)
    with pytest.raises(EstimateError, match="Set disk_bytes"):
        unknown.memory_bytes(variant="published-code")


@pytest.mark.parametrize(
    ("dtype", "size"),
    [("bool", 1), ("int16", 2), ("float16", 2), ("complex128", 16), ("S7", 7), ("U7", 28)],
)
def test_bytes_of_types(dtype: str, size: int) -> None:
    assert item_bytes(dtype) == size


@given(st.integers(1, 10**7), st.integers(0, 100), st.integers(0, 100))
def test_shares_are_disjoint(samples: int, train: int, test: int) -> None:
    if train + test > 100:
        train, test = 100 - train, 100 - test
    card = TabularCard(
        samples=samples,
        columns={"float64": 2},
        train_fraction=train / 100,
        test_fraction=test / 100,
    )
    assert card.train_samples == samples * train // 100
    assert card.test_samples == samples * test // 100
    assert card.train_samples + card.test_samples <= samples


def test_a_card_out_of_a_file() -> None:
    text = """
        type: tabular
        name: adult
        samples: 48842
        columns: {int64: 6, object: 9}
        train_fraction: 0.7
        test_fraction: 0.3
    """
    assert parse_data_card(text) == TabularCard(
        name="adult",
        samples=48_842,
        columns={"int64": 6, "object": 9},
        train_fraction=0.7,
        test_fraction=0.3,
    )


def test_a_card_of_images_out_of_a_dict() -> None:
    given_ = {"type": "image", "samples": 9, "width": 2, "height": 3, "normalised": True}
    assert read_data_card(given_) == ImageCard(samples=9, width=2, height=3, normalised=True)


def test_all_problems_are_told_at_once() -> None:
    text = """
        type: image
        samples: many
        widht: 5
        channels: 0
        dtype: unit8
        normalised: 1
        train_fraction: 1.5
    """
    with pytest.raises(EstimateError) as caught:
        parse_data_card(text, file="card.yaml")
    assert str(caught.value).startswith("card.yaml: 8 problems\n")
    told = "\n".join(caught.value.problems)
    assert len(caught.value.problems) == 8
    for words in (
        '"widht". Did you mean "width"?',
        "height is missing",
        'samples is "many"',
        "channels is 0",
        'there is no type "unit8". Did you mean "uint8"?',
        "normalised is 1",
        "train_fraction is 1.5",
    ):
        assert words in told
    assert isinstance(caught.value, CoulerError)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"columns": {"float": 3}}, 'there is no type "float"'),
        ({"columns": {"float64": "3"}}, 'float64 is "3"'),
        ({"columns": {}}, "columns is"),
        ({"columns": {"float64": 1}}, "columns has the label alone"),
        ({"features": 4}, "features is 4, but there are 3 columns"),
        ({"test_fraction": 0.3}, "train_fraction and test_fraction are 1.1 together"),
        ({"samples": True}, "samples is true"),
        ({"name": 5}, "name is 5"),
        ({"self": 3}, 'there is no key "self"'),
    ],
)
def test_each_problem_of_a_table(changes: dict[str, object], problem: str) -> None:
    given_ = {"type": "tabular", "samples": 5, "columns": {"float64": 3}, **changes}
    with pytest.raises(EstimateError) as caught:
        read_data_card(given_)
    assert len(caught.value.problems) == 1
    assert problem in caught.value.problems[0]


def test_a_card_that_is_made_wrong_is_refused_as_well() -> None:
    with pytest.raises(EstimateError, match='data card "iris": 1 problem\n  samples is 0'):
        TabularCard(samples=0, columns={"float64": 5}, name="iris")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [", "card.yaml:"),
        *((f"\nsamples: {one}", "card.yaml:2: ") for one in ('!!int ""', "!!seq a", "!!map [a]")),
        ("5", "card.yaml: 5 is no object with the fields of a data card"),
        ("{samples: 5}", 'card.yaml: the type is null; there are "tabular" and "image"'),
        ("{type: video}", 'card.yaml: the type is "video"'),
    ],
)
def test_what_is_no_card(text: str, message: str) -> None:
    with pytest.raises(EstimateError) as caught:
        parse_data_card(text, file="card.yaml")
    assert str(caught.value).startswith(message)
