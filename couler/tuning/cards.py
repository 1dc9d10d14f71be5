"""Data cards and model cards: the data and the model that prompts describe."""
# The Couler paper, IV-C: the data card has the name of the data, its type, its label space and the
# default metric; the model card has the name of the model, its structure, its description and its
# architecture's hyperparameters. T. Gebru et al.: Datasheets for Datasets (2021). M. Mitchell et
# al.: Model Cards for Model Reporting (2019). The data cards of `couler.operations` are others:
# they tell what work takes, and have no labels.

from __future__ import annotations

import json
import os
import re
import typing as t
from collections.abc import Callable, Container
from pathlib import Path

from pydantic import Field, NonNegativeInt, PositiveInt, model_validator

from couler.config_files import Table
from couler.ir.base import FrozenDict, JsonMap
from couler.ir.values import thawed
from couler.ir.yaml_writer import dump
from couler.tuning.metrics import KNOWN, Metric
from couler.tuning.reading import parse_sheet, read_text

InputType: t.TypeAlias = t.Literal[
    "tabular", "image", "text", "audio", "video", "time-series", "graph", "other"
]
ShortText: t.TypeAlias = t.Annotated[str, Field(max_length=500)]
LongText: t.TypeAlias = t.Annotated[str, Field(max_length=20_000)]
Name: t.TypeAlias = t.Annotated[str, Field(min_length=1, max_length=200)]

MAX_PROMPT_COLUMNS = 30


class Column(Table):
    """A column of a table."""

    name: ShortText
    type: t.Literal["number", "text", "empty"]
    missing: NonNegativeInt = 0
    distinct: NonNegativeInt | None = None
    least: float | None = None
    most: float | None = None
    mean: float | None = None
    std: float | None = None
    association: float | None = None
    """With the label: Pearson's correlation, or for classes the share of variance between them."""


class LabelSpace(Table):
    """What is predicted."""

    kind: t.Literal["classes", "number", "other"]
    column: ShortText | None = None
    classes: t.Annotated[tuple[ShortText, ...], Field(max_length=1000)] = ()
    counts: tuple[NonNegativeInt, ...] = ()
    class_count: PositiveInt | None = None
    least: float | None = None
    most: float | None = None
    mean: float | None = None
    std: float | None = None

    @model_validator(mode="after")
    def _check(self) -> t.Self:
        if self.counts and len(self.counts) != len(self.classes):
            raise ValueError(f"{len(self.counts)} counts, but {len(self.classes)} classes")
        return self


class DataSource(Table):
    """Where the data are, to really train on them; no prompt has it."""

    name: str | None = None
    file: str | None = None
    delimiter: str | None = None

    @model_validator(mode="after")
    def _check(self) -> t.Self:
        if (self.name is None) == (self.file is None):
            raise ValueError("data are a name or a file, and one of them")
        return self


class DataCard(Table):
    """What is known of a data set."""

    name: Name
    input_type: InputType
    label_space: LabelSpace
    metric: Metric
    description: LongText = ""
    scoring: LongText = ""
    rows: PositiveInt | None = None
    features: PositiveInt | None = None
    missing: NonNegativeInt | None = None
    columns: t.Annotated[tuple[Column, ...], Field(max_length=200)] = ()
    data: DataSource | None = None

    def for_prompt(self) -> str:
        """Return the card as data of a prompt: columns as rows of a table, the telling ones."""
        told = self.model_dump(exclude={"data", "scoring", "columns"}, exclude_defaults=True)
        if self.columns:
            strongest = sorted(self.columns, key=lambda one: -abs(one.association or 0))
            is_number = self.label_space.kind == "number"
            heading = "correlation_with_label" if is_number else "share_of_variance_between_classes"
            fields = [one for one in Column.model_fields if any(getattr(c, one) for c in strongest)]
            first, others = strongest[:MAX_PROMPT_COLUMNS], strongest[MAX_PROMPT_COLUMNS:]
            told["columns"] = {
                "fields": [heading if one == "association" else one for one in fields],
                "rows": [[getattr(column, one) for one in fields] for column in first],
            }
            if others:
                most = abs(others[0].association or 0)
                told["columns"]["others"] = {"count": len(others), f"max_{heading}": most}
        return as_data(told)

    def seen_from(self, folder: Path) -> t.Self:
        """Return the card with the path of its data as it starts at a folder."""
        if self.data is None or self.data.file is None:
            return self
        found = os.path.relpath(self.data.file, folder)
        return self.model_copy(update={"data": self.data.model_copy(update={"file": found})})


class Training(Table):
    """How the model is trained for real."""

    step: t.Literal["sklearn.train"] = "sklearn.train"
    estimator: Name
    fixed: JsonMap = FrozenDict()
    scale: bool = False


class ModelCard(Table):
    """What is known of a model."""

    name: Name
    structure: LongText = ""
    description: LongText = ""
    hyperparameters: JsonMap = FrozenDict()
    loss: ShortText = ""
    training: Training | None = None

    def for_prompt(self, searched: Container[str] = ()) -> str:
        """Return the card as data of a prompt, without defaults of what is searched for."""
        told = self.model_dump(exclude={"training"}, exclude_defaults=True)
        if (training := self.training) is not None:
            fixed = {**self.hyperparameters, **training.fixed}
            told |= {"estimator": training.estimator, "columns_are_standardized": training.scale}
            told["hyperparameters"] = {
                name: value for name, value in fixed.items() if name not in searched
            }
        return as_data(told)

    def seen_from(self, folder: Path) -> t.Self:
        """Return the card: it has no paths."""
        return self


def as_data(value: object) -> str:
    r"""Return a value as JSON in which nothing can end the tags around it."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, default=list)
    for mark in "<>&":
        text = text.replace(mark, f"\\u{ord(mark):04x}")
    return text


def anonymous(card: DataCard) -> tuple[DataCard, Callable[[str], str]]:
    """Return a card with neutral names, and what replaces the names of the card in other texts."""
    label = card.label_space
    columns = [f"x{number}" for number, _ in enumerate(card.columns, 1)]
    classes = [f"class {number}" for number, _ in enumerate(label.classes, 1)]
    neutral = {
        card.name: "data",
        **({} if label.column is None else {label.column: "y"}),
        **dict(zip(label.classes, classes, strict=True)),
        **{one.name: name for one, name in zip(card.columns, columns, strict=True)},
    }
    # Short names and numbers are parts of other words, and nobody recognizes data by them.
    named = {_key(name): to for name, to in neutral.items() if re.search(r"[^\W\d_]{3}", name)}
    parts = [re.findall(r"[^\W_]+", name) for name in neutral if _key(name) in named]
    longest_first = sorted((r"[\W_]*".join(map(re.escape, one)) for one in parts), key=len)[::-1]
    pattern = re.compile(rf"(?<!\w)(?:{'|'.join(longest_first) or '(?!)'})(?!\w)", re.I)

    def hide(text: str) -> str:
        return pattern.sub(lambda found: named.get(_key(found[0]), "name"), text)

    update = {
        "name": "data",
        "description": "",
        "scoring": hide(card.scoring),
        "columns": tuple(
            one.model_copy(update={"name": name})
            for one, name in zip(card.columns, columns, strict=True)
        ),
        "label_space": label.model_copy(
            update={"column": label.column and "y", "classes": tuple(classes)}
        ),
    }
    return card.model_copy(update=update), hide


def _key(name: str) -> str:
    """Return what ways of writing a name have in common."""
    return re.sub(r"[\W_]", "", name).lower()


def parse_data_card(text: str, *, where: str = "data card") -> DataCard:
    """Return the data card that a text of YAML describes."""
    return parse_sheet(DataCard, text, where)


def read_data_card(path: Path) -> DataCard:
    """Read a data card; the path of its data is made one from here."""
    card = parse_data_card(read_text(path, "data card"), where=str(path))
    if card.data is None or card.data.file is None:
        return card
    found = str(path.parent / card.data.file)
    return card.model_copy(update={"data": card.data.model_copy(update={"file": found})})


def parse_model_card(text: str, *, where: str = "model card") -> ModelCard:
    """Return the model card that a text of YAML describes."""
    return parse_sheet(ModelCard, text, where)


def read_model_card(path: Path) -> ModelCard:
    """Read a model card."""
    return parse_model_card(read_text(path, "model card"), where=str(path))


def write_card(card: DataCard | ModelCard) -> str:
    """Return a card as YAML, which reads back equal."""
    tree = card.model_dump(exclude_defaults=True)
    if isinstance(card, DataCard):
        known = KNOWN.get(card.metric.name)
        if known is not None and Metric.model_validate(dict(known)) == card.metric:
            tree["metric"] = card.metric.name
    return dump(thawed(tree))
