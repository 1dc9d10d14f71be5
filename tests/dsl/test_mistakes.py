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
    """A program, and what is told of it."""

    file: Path
    name: str
    program: str
    told: str

    def __str__(self) -> str:
        return f"{self.file.stem}: {self.name}"


def _mistakes(file: Path) -> Iterator[Mistake]:
    for part in file.read_text(encoding="utf-8").split("=== ")[1:]:
        name, _, rest = part.partition("\n")
        program, _, told = rest.partition("---\n")
        yield Mistake(file, name, program, told.rstrip("\n"))


MISTAKES = [one for file in FILES for one in _mistakes(file)]


def _told(mistake: Mistake, folder: Path) -> str:
    (folder / "flow.py").write_text(_BEGIN + mistake.program, encoding="utf-8")
    try:
        loaded = load_program("flow.py")
    except LoadError as error:
        return "\n".join(map(str, error.diagnostics))
    return "\n".join(map(str, [*loaded.diagnostics, *verify(loaded.workflow)]))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("mistake", MISTAKES, ids=str)
def test_a_mistake_is_told_with_its_place(mistake: Mistake, folder: Path) -> None:
    told = _told(mistake, folder)
    assert told == mistake.told
    lines = (_BEGIN + mistake.program).count("\n")
    for line in told.splitlines():
        place = _LINE.fullmatch(line)
        assert place is not None, f"no place, or no code: {line}"
        assert 1 <= int(place[1]) <= lines
        assert "inside couler" not in line
        assert " at 0x" not in line
        assert "object has no attribute 'items'" not in line
    assert told, "nothing is told of it"


def test_there_is_one_of_every_name() -> None:
    names = [str(one) for one in MISTAKES]
    assert len(names) > 200
    assert len(names) == len(set(names))


@pytest.mark.golden
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_what_is_told_is_what_the_file_says(
    file: Path, folder: Path, golden: Callable[[Path, str], None]
) -> None:
    parts = [
        f"=== {one.name}\n{one.program}---\n{_told(one, folder)}\n\n" for one in _mistakes(file)
    ]
    golden(file, "".join(parts).rstrip("\n") + "\n")
