"""Cards that are drawn from READMEs as Hugging Face has them: YAML front matter and a text."""
# https://huggingface.co/docs/hub/datasets-cards and https://huggingface.co/docs/hub/model-cards

from __future__ import annotations

import re
import typing as t
from collections.abc import Mapping
from pathlib import Path

from couler.errors import TuningError
from couler.ir.base import FrozenDict
from couler.tuning.cards import DataCard, InputType, LabelSpace, ModelCard
from couler.tuning.metrics import KNOWN, Metric
from couler.tuning.reading import parse_yaml, read_text

_FRONT = re.compile(r"\s*---\s*\n(?P<fields>.*?)^---\s*$\n?(?P<text>.*)", re.S | re.M)

_MOST_TEXT = 2000
_CLASSES_TOLD = 100

_DATA_KEYS = ("pretty_name", "task_categories", "tags", "dataset_info")
_MODEL_KEYS = ("model_name", "pipeline_tag", "library_name", "base_model")

_INPUTS: Mapping[str, InputType] = FrozenDict(
    {
        "tabular": "tabular",
        "image": "image",
        "text": "text",
        "token": "text",
        "question": "text",
        "translation": "text",
        "summarization": "text",
        "sentence": "text",
        "fill": "text",
        "audio": "audio",
        "automatic": "audio",
        "video": "video",
        "time": "time-series",
        "timeseries": "time-series",
        "graph": "graph",
    }
)
"""The kind of input by how a task or a modality begins."""


class Drawn(t.NamedTuple):
    """A card, and what of the README is not in it."""

    card: DataCard | ModelCard
    unknown: tuple[str, ...]
    """Keys of the front matter that say nothing to a card."""


def data_card_of_readme(path: Path, *, metric: str | None = None) -> Drawn:
    """Return the data card that a README tells of."""
    fields, text = _parts(path)
    info = _first_table(fields.get("dataset_info"))
    labels = _labels(info)
    tasks = _texts(fields.get("task_categories"))
    kind = labels or LabelSpace(kind=_kind_of(tasks))
    name = fields.get("pretty_name") or path.resolve().parent.name or path.stem
    card = DataCard(
        name=str(name)[:200],
        input_type=_input_type([*tasks, *_modalities(fields)]),
        label_space=kind,
        metric=_metric(metric, fields, kind, path),
        description=_summary(text),
        rows=_rows(info),
        features=_features(info, kind),
    )
    known = (*_DATA_KEYS, "metrics") if metric is None and _told_metric(fields) else _DATA_KEYS
    return Drawn(card, tuple(str(one) for one in fields if one not in known))


def model_card_of_readme(path: Path) -> Drawn:
    """Return the model card that a README tells of."""
    fields, text = _parts(path)
    title = re.search(r"^#\s+(.+)$", text, re.M)
    name = fields.get("model_name") or (title[1] if title else None) or path.resolve().parent.name
    parts = {
        "pipeline_tag": "for {}",
        "library_name": "of the library {}",
        "base_model": "trained on from {}",
    }
    told = [
        form.format(", ".join(_texts(fields[key]))) for key, form in parts.items() if key in fields
    ]
    card = ModelCard(
        name=str(name)[:200],
        structure="; ".join(told)[:_MOST_TEXT],
        description=_summary(text),
    )
    return Drawn(card, tuple(str(one) for one in fields if one not in _MODEL_KEYS))


def _parts(path: Path) -> tuple[dict[t.Any, t.Any], str]:
    whole = read_text(path, "README")
    match = _FRONT.match(whole)
    if match is None:
        raise TuningError(
            f"{path} has no front matter: YAML between two lines ---, as Hugging Face's cards begin"
        )
    before = "\n" * whole.count("\n", 0, match.start("fields"))  # for the lines in messages
    fields = parse_yaml(before + match["fields"], str(path))
    if not isinstance(fields, dict):
        raise TuningError(f"{path}: the front matter is no table of keys and values")
    return fields, match["text"]


def _summary(text: str) -> str:
    """Return the beginning of the text, without titles, comments and pictures."""
    plain = re.sub(r"<!--.*?-->|^#[^\n]*$|!\[[^\]]*\]\([^)]*\)", "", text, flags=re.S | re.M)
    return " ".join(plain.split())[:_MOST_TEXT]


def _texts(value: object) -> list[str]:
    if isinstance(value, list | tuple):
        return [str(one) for one in value if not isinstance(one, dict | list)]
    return [] if value is None or isinstance(value, dict) else [str(value)]


def _modalities(fields: Mapping[t.Any, t.Any]) -> list[str]:
    tags = _texts(fields.get("tags"))
    return [tag.removeprefix("modality:") for tag in tags if tag.startswith("modality:")]


def _input_type(told: list[str]) -> InputType:
    for one in told:
        found = _INPUTS.get(re.split(r"[-_ ]", one.lower())[0])
        if found is not None:
            return found
    return "other"


def _kind_of(tasks: list[str]) -> t.Literal["classes", "number", "other"]:
    if any("classification" in one for one in tasks):
        return "classes"
    return "number" if any("regression" in one for one in tasks) else "other"


def _first_table(value: object) -> Mapping[str, t.Any]:
    found = value[0] if isinstance(value, list) and value else value
    return found if isinstance(found, dict) else {}


def _features_of(info: Mapping[str, t.Any]) -> list[Mapping[str, t.Any]]:
    listed = info.get("features")
    return [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []


def _labels(info: Mapping[str, t.Any]) -> LabelSpace | None:
    """Return the classes of the first feature that has some."""
    for one in _features_of(info):
        dtype = one.get("dtype")
        told = dtype.get("class_label") if isinstance(dtype, dict) else None
        names = told.get("names") if isinstance(told, dict) else told
        listed = list(names.values()) if isinstance(names, dict) else names
        if isinstance(listed, list) and listed:
            return LabelSpace(
                kind="classes",
                column=str(one.get("name", ""))[:200] or None,
                classes=tuple(str(each)[:200] for each in listed[:_CLASSES_TOLD]),
                class_count=len(listed),
            )
    return None


def _features(info: Mapping[str, t.Any], labels: LabelSpace) -> int | None:
    others = [one for one in _features_of(info) if one.get("name") != labels.column]
    return len(others) or None


def _rows(info: Mapping[str, t.Any]) -> int | None:
    splits = info.get("splits")
    counts = (
        [one.get("num_examples") for one in splits or () if isinstance(one, dict)]
        if isinstance(splits, list)
        else []
    )
    whole = sum(one for one in counts if isinstance(one, int) and not isinstance(one, bool))
    return whole if whole > 0 else None


def _told_metric(fields: Mapping[t.Any, t.Any]) -> str | None:
    """Return the first metric of the front matter that is known."""
    told = _texts(fields.get("metrics"))
    return next((one for one in told if one.lower() in KNOWN), None)


def _metric(
    given: str | None, fields: Mapping[t.Any, t.Any], labels: LabelSpace, path: Path
) -> Metric:
    default = {"classes": "accuracy", "number": "r2"}.get(labels.kind)
    chosen = given or _told_metric(fields) or default
    if chosen is None:
        raise TuningError(
            f"{path} does not tell what models are judged by, nor what is predicted. Give "
            "--metric NAME"
        )
    if chosen not in KNOWN and chosen.lower() in KNOWN:
        chosen = chosen.lower()
    if chosen not in KNOWN:
        raise TuningError(f'the metric "{chosen}" is not known; known are {", ".join(KNOWN)}')
    return Metric.model_validate(chosen)
