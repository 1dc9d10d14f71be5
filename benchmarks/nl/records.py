"""What an evaluation came to, sample by sample: a file that can be resumed."""

from __future__ import annotations

import json
import threading
import typing as t
from dataclasses import asdict, dataclass
from pathlib import Path

from pydantic import TypeAdapter

import couler
from benchmarks.nl.items import BenchmarkError
from benchmarks.nl.judging import Outcome, Verdict
from couler.llm import Usage

SCHEMA_VERSION = 1
SCRIPTED = "scripted"
"""How the names of models begin that answer from a script."""


class Key(t.NamedTuple):
    """What tells a sample from the others of an evaluation."""

    item: str
    description: int
    mode: str
    temperature: float
    sample: int


@dataclass(frozen=True, slots=True)
class Sample:
    """One answer, and what it is worth."""

    item: str
    description: int
    mode: str
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
        return Key(self.item, self.description, self.mode, self.temperature, self.sample)

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
        self._header = header
        self.samples: dict[Key, Sample] = {}
        self.lost = Usage()
        self._lock = threading.Lock()
        if file is None:
            return
        if not resume and file.exists():
            raise BenchmarkError(
                f"{file} is there already. Resume it by --resume {file}, or name another file"
            )
        try:  # before the first sample is paid for
            if resume:
                self._read(file)
            file.open("a").close()
            if not resume:
                file.unlink()
        except OSError as error:
            raise BenchmarkError(f"{file}: {error.strerror}") from error

    def add(self, sample: Sample) -> None:
        """Keep a sample; it is in the file before this returns."""
        self._write("sample", asdict(sample))
        self.samples[sample.key] = sample

    def lose(self, usage: Usage) -> None:
        """Keep what a sample took that did not finish: it counts in the budget."""
        with self._lock:
            self.lost += usage
        self._write("lost", asdict(usage))

    def _write(self, kind: str, value: dict[str, t.Any]) -> None:
        if self._file is None:
            return
        with self._lock:
            text = _line(kind, value)
            if not self._file.exists():
                text = _line("evaluation", asdict(self._header)) + text
            with self._file.open("a", encoding="ascii") as opened:
                opened.write(text)

    def _read(self, file: Path) -> None:
        whole, _, rest = file.read_text(encoding="utf-8", errors="replace").rpartition("\n")
        try:
            first, *lines = [json.loads(line) for line in whole.split("\n")]
            found = _HEADER.validate_python(first["evaluation"], strict=False)
            for line in lines:
                if "lost" in line:
                    self.lost += _USAGE.validate_python(line["lost"], strict=False)
                else:
                    sample = _SAMPLE.validate_python(line["sample"], strict=False)
                    self.samples[sample.key] = sample
        except (ValueError, LookupError, TypeError) as error:
            raise BenchmarkError(f"{file} is no file of an evaluation: {error}") from error
        for name, wanted in asdict(self._header).items():
            if getattr(found, name) != wanted and name != "version":
                raise BenchmarkError(
                    f"{file}: it is of another evaluation: {name} is {getattr(found, name)!r} "
                    f"there, and {wanted!r} here"
                )
        if rest:  # the last line was being written when the evaluation was interrupted
            file.write_text(f"{whole}\n", encoding="utf-8")


def _line(kind: str, value: dict[str, t.Any]) -> str:
    """Return a line in ASCII: what splits lines elsewhere, or is half a character, is escaped."""
    return json.dumps({"schema_version": SCHEMA_VERSION, kind: value}) + "\n"
