"""Plausible mistakes: each is told with a place in the program, and how to mend it.

The files of `mistakes/` hold programs, below a line that begins with `=== `, and what is told of
them, below a line `---`. All programs begin with the lines of `_BEGIN`.
"""

from __future__ import annotations

import re
import typing as t
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from couler.ir.verify import verify
from couler.stages.programs import LoadError, load_program

FOLDER = Path(__file__).parent / "mistakes"
FILES = sorted(FOLDER.glob("*.txt"))

_BEGIN = """\
import couler
from couler import File


def box(name="box", *args, **options):
    return couler.run_container("busybox", ["echo"], list(args), step_name=name, **options)


"""
_LINE = re.compile(r"flow\.py:(\d+)  CLR\d{3} (?:error|warning)  .+")


class Mistake(t.NamedTuple):
    """A program with a mistake in it."""

    file: Path
    name: str
    program: str

    def __str__(self) -> str:
        return f"{self.file.stem}: {self.name}"


def _mistakes(file: Path) -> Iterator[Mistake]:
    for part in file.read_text(encoding="utf-8").split("=== ")[1:]:
        name, _, rest = part.partition("\n")
        yield Mistake(file, name, rest.partition("---\n")[0])


def _told(mistake: Mistake, folder: Path) -> str:
    (folder / "flow.py").write_text(_BEGIN + mistake.program, encoding="utf-8")
    try:
        loaded = load_program("flow.py")
    except LoadError as error:
        told = "\n".join(map(str, error.diagnostics))
        # Python adds what it was doing at the last call, which the depth of the caller decides.
        return re.sub(r"(maximum recursion depth exceeded) (while|in) [a-zA-Z ]+", r"\1", told)
    return "\n".join(map(str, [*loaded.diagnostics, *verify(loaded.workflow)]))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_there_is_one_of_every_name() -> None:
    names = [str(one) for file in FILES for one in _mistakes(file)]
    assert len(names) > 200
    assert len(names) == len(set(names))


@pytest.mark.golden
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_mistakes_are_told_with_their_places(
    file: Path, folder: Path, golden: Callable[[Path, str], None]
) -> None:
    parts = []
    for mistake in _mistakes(file):
        told = _told(mistake, folder)
        assert told, f"nothing is told of {mistake}"
        lines = (_BEGIN + mistake.program).count("\n")
        for line in told.splitlines():
            place = _LINE.fullmatch(line)
            assert place is not None, f"no place, or no code: {line}"
            assert 1 <= int(place[1]) <= lines
            assert "inside couler" not in line
            assert " at 0x" not in line
        parts.append(f"=== {mistake.name}\n{mistake.program}---\n{told}\n\n")
    golden(file, "".join(parts).rstrip("\n") + "\n")
