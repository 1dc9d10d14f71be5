"""Items of a benchmark: descriptions of one workflow, and the program that is the right answer."""

from __future__ import annotations

import fnmatch
import hashlib
import typing as t
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import yaml
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, TypeAdapter, ValidationError

from couler.errors import CoulerError
from couler.ir.yaml_loading import safe_loader

ITEMS = "items"
"""The folder of a benchmark that its items are in."""


Stripped = t.Annotated[str, StringConstraints(strip_whitespace=True)]


class BenchmarkError(CoulerError, ValueError):
    """A benchmark, or results of one, cannot be read."""

    exit_code = 2


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class CompareOptions(_Part):
    """What counts beyond, or short of, what the reference states; see `Aspects`."""

    any_kind: bool = False
    structure: bool = False
    """Whether equal outcomes are not enough where the item is run."""
    ignore: tuple[str, ...] = ()
    also: tuple[str, ...] = ()


class Course(_Part):
    """A run and what it comes to."""

    parameters: dict[str, t.Any] = {}
    status: t.Literal["succeeded", "failed"] = "succeeded"
    outputs: dict[str, t.Any] = {}
    states: dict[t.Literal["succeeded", "failed", "skipped", "omitted"], int] = {}


class Courses(Course):
    """A run, and more of them with other parameters."""

    more: tuple[Course, ...] = ()

    @property
    def all(self) -> tuple[Course, ...]:
        """All runs."""
        return (self, *self.more)


class Item(_Part):
    """Descriptions of a workflow, its reference, and what counts when answers are judged."""

    name: str
    reference: str
    title: str
    descriptions: tuple[Stripped, ...] = Field(min_length=1)
    tags: tuple[str, ...] = ()
    engines: tuple[str, ...] = Field(("argo", "airflow"), min_length=1)
    compare: CompareOptions = CompareOptions()
    mentions: tuple[str, ...] = ()
    run: Courses | None = None

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Benchmark:
    """The items of a folder."""

    folder: Path
    items: tuple[Item, ...]

    @property
    def digest(self) -> str:
        """A short text that changes with anything in the items."""
        text = TypeAdapter(tuple[Item, ...]).dump_json(self.items)
        return hashlib.blake2b(text, digest_size=8).hexdigest()

    def select(self, patterns: Iterable[str]) -> Benchmark:
        """Return the items whose names or tags match one of some patterns, all for none."""
        chosen: set[str] = set()
        patterns = list(patterns)
        for pattern in patterns:
            found = {
                item.name
                for item in self.items
                if fnmatch.fnmatchcase(item.name, pattern)
                or any(fnmatch.fnmatchcase(tag, pattern) for tag in item.tags)
            }
            if not found:
                raise BenchmarkError(
                    f'no item of {self.folder} has a name or a tag like "{pattern}"'
                )
            chosen |= found
        if not patterns:
            return self
        return Benchmark(self.folder, tuple(item for item in self.items if item.name in chosen))


def read_benchmark(folder: Path) -> Benchmark:
    """Read the items of a folder: `items/NAME.yaml` and `items/NAME.py` for each."""
    files = sorted((folder / ITEMS).glob("*.yaml"))
    if not files:
        raise BenchmarkError(
            f"{folder} is no benchmark: it has no files {ITEMS}/*.yaml. Give the folder of one "
            "(--benchmark); Couler's own is tests/nl_benchmark of a checkout"
        )
    return Benchmark(folder, tuple(map(_read, files)))


def _read(file: Path) -> Item:
    program = file.with_suffix(".py")
    try:
        text = file.read_text(encoding="utf-8")
        stated = yaml.load(text, Loader=safe_loader())
        reference = program.read_text(encoding="utf-8")
        return Item.model_validate({**stated, "name": file.stem, "reference": reference})
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise BenchmarkError(f"{file}: the item cannot be read: {error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise BenchmarkError(f"{file}: {place or 'the file'}: {first['msg']}") from error
