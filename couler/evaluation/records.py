"""What an evaluation came to, sample by sample: a file that can be gone on with."""

from __future__ import annotations

import json
import os
import threading
import typing as t
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

import couler
from couler.errors import BenchmarkError
from couler.evaluation.judging import Outcome, Verdict
from couler.llm import Usage

SCHEMA_VERSION = 1
SCRIPTED = "scripted"
"""How the names of models begin that answer from a script."""


class Key(t.NamedTuple):
    """What tells a sample from the others of an evaluation."""

    item: str
    description: int
    ablation: str
    temperature: float
    sample: int


@dataclass(frozen=True, slots=True)
class Sample:
    """One answer, and what it is worth."""

    item: str
    description: int
    ablation: str
    temperature: float
    sample: int
    seed: int
    outcome: Outcome
    code: str | None
    reasons: tuple[str, ...]
    not_run: str | None
    program: str | None
    model: str
    usage: Usage

    @property
    def key(self) -> Key:
        """What tells it from others."""
        return Key(self.item, self.description, self.ablation, self.temperature, self.sample)

    @property
    def is_scripted(self) -> bool:
        """Whether it came from a script."""
        return self.model.startswith(SCRIPTED)

    @classmethod
    def of(
        cls, key: Key, seed: int, verdict: Verdict, program: str | None, model: str, usage: Usage
    ) -> Sample:
        """Return the sample of a verdict."""
        return cls(
            *key,
            seed,
            verdict.outcome,
            verdict.code,
            tuple(map(writable, verdict.reasons)),
            verdict.not_run,
            None if program is None else writable(program),
            model,
            usage,
        )


@dataclass(frozen=True, slots=True)
class Header:
    """What an evaluation is of: samples of another one are no part of it."""

    benchmark: str
    model: str
    endpoint: str
    seed: int
    version: str = couler.__version__


def writable(text: str) -> str:
    r"""Return a text without halves of characters, which no file and no terminal can have."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


_SAMPLE = TypeAdapter(Sample)
_USAGE = TypeAdapter(Usage)
_HEADER = TypeAdapter(Header)


class Records:
    """The file of an evaluation: a line that says of what it is, then a line for each sample."""

    def __init__(self, file: Path | None, header: Header, *, resume: bool = False) -> None:
        self._file = file
        self._begun = resume
        self._header = header
        self.samples: dict[Key, Sample] = {}
        self.lost = Usage()
        self._lock = threading.Lock()
        if file is None:
            return
        if resume:
            self._read(file, header)
        elif file.exists():
            raise BenchmarkError(
                f"{file} is there already. Go on with it by --resume {file}, or name another file"
            )
        try:  # before the first sample is paid
            file.open("a").close()
            if not resume:
                file.unlink()
        except OSError as error:
            raise BenchmarkError(f"{file} cannot be written: {error.strerror}") from error

    def add(self, sample: Sample) -> None:
        """Keep a sample; it is in the file before this returns. The first makes the file."""
        self._write(_line("sample", asdict(sample)))
        self.samples[sample.key] = sample

    def lose(self, usage: Usage) -> None:
        """Keep what a sample took that came to no end: it counts in the budget."""
        with self._lock:
            self.lost += usage
        self._write(_line("lost", asdict(usage)))

    def _write(self, line: str) -> None:
        if self._file is None:
            return
        with self._lock:
            text = line if self._begun else _line("evaluation", asdict(self._header)) + line
            try:
                _append(self._file, text.encode("ascii"), new=not self._begun)
            except OSError as error:
                go_on = f"go on with --resume {self._file}" if self._begun else "begin anew"
                raise BenchmarkError(
                    f"{self._file} cannot be written: {error.strerror}. Make room, then {go_on}"
                ) from error
            self._begun = True

    def _read(self, file: Path, header: Header) -> None:
        text = file.read_text(encoding="utf-8", errors="replace")
        whole, _, rest = text.rpartition("\n")
        lines = _lines(file, whole)
        try:
            found = _HEADER.validate_python(next(lines)["evaluation"], strict=False)
        except (StopIteration, LookupError, ValidationError) as error:
            raise BenchmarkError(f"{file}:1: this is no file of an evaluation") from error
        for name, wanted in asdict(header).items():
            if getattr(found, name) != wanted and name != "version":
                raise BenchmarkError(
                    f"{file}: it is of another evaluation: {name} is {getattr(found, name)!r} "
                    f"there, and {wanted!r} here"
                )
        for number, line in enumerate(lines, start=2):
            try:
                if "lost" in line:
                    self.lost += _USAGE.validate_python(line["lost"], strict=False)
                    continue
                sample = _SAMPLE.validate_python(line["sample"], strict=False)
            except (LookupError, ValidationError) as error:
                raise BenchmarkError(f"{file}:{number}: this is no sample") from error
            self.samples[sample.key] = sample
        if rest:  # the last line was being written when the evaluation was interrupted
            file.write_text(f"{whole}\n", encoding="utf-8")


def _append(file: Path, data: bytes, *, new: bool) -> None:
    """Write all of something at the end of a file, or nothing: half a line could not be read."""
    with file.open("xb" if new else "ab", buffering=0) as opened:
        begin, left = opened.seek(0, os.SEEK_END), memoryview(data)
        try:
            while left:
                left = left[opened.write(left) :]
        except OSError:
            opened.truncate(begin)
            if new:
                file.unlink()
            raise


def _line(kind: str, value: dict[str, t.Any]) -> str:
    """Return a line in ASCII: what splits lines elsewhere, or is half a character, is escaped."""
    return json.dumps({"schema_version": SCHEMA_VERSION, kind: value}) + "\n"


def _lines(file: Path, text: str) -> Iterator[dict[str, t.Any]]:
    for number, line in enumerate(text.split("\n"), start=1):
        try:
            tree = json.loads(line)
        except ValueError as error:
            raise BenchmarkError(f"{file}:{number}: this is no JSON") from error
        if not isinstance(tree, dict) or tree.get("schema_version") != SCHEMA_VERSION:
            raise BenchmarkError(f"{file}:{number}: this is no line of an evaluation")
        yield tree
