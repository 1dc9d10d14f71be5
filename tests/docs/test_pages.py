"""README.md and the guides: programs verify, compile and run; output is what commands print.

A comment above a fenced block says more about it, its words separated by `;`:

- `file: NAME`: the file that the block is;
- `continues`: the program is that of the block before, with this one below;
- `compiles`: the workflow compiles for Argo; `compiles for: ENGINE` for another engine;
- `runs`: it succeeds on this machine;
- `module`: the program is no workflow, and others of the page import it;
- `script`: the program is no workflow, and runs to its end;
- `reports: CODES`: checking finds these codes;
- `output of: COMMAND`: what the command prints, `couler` or `python`, in a block of any language;
- `generated`: `make goldens` writes the block; `generated from: TEXT`: what is printed from the
  first line on that begins so.

In output `...` stands for any text of a line, and as a line of its own for any lines.
"""

from __future__ import annotations

import contextlib
import contextvars
import os
import re
import shlex
import subprocess
import sys
import types
import typing as t
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import pytest
from click.testing import CliRunner

from couler import stages
from couler.cli import app
from couler.cli.load import Source, load
from couler.stages.programs import Loaded

pytestmark = pytest.mark.checkout

ROOT = Path(__file__).parents[2]
PAGES = (
    "README.md",
    "docs/index.md",
    "docs/writing-workflows.md",
    "docs/your-own-code.md",
    "docs/from-couler-0.md",
    "docs/step-zoo.md",
    "docs/generated-programs.md",
    "docs/airflow.md",
    "docs/argo.md",
    "docs/airflow-files.md",
    "docs/local-engine.md",
    "docs/failures.md",
    "docs/passes.md",
    "docs/clean-passes.md",
    "docs/training-jobs.md",
    "docs/splitting.md",
    "docs/grouping.md",
    "docs/caching.md",
    "docs/clusters.md",
    "docs/placement.md",
    "docs/estimates.md",
    "docs/generating.md",
    "docs/language-models.md",
    "docs/tuning.md",
)

_BLOCK = re.compile(
    r"^(?:<!-- (?P<words>[^\n]*?) -->\n)?```(?P<language>\w+)\n(?P<text>.*?)^```$", re.M | re.S
)
_OPENED = re.compile(r"^with couler\.Workflow\(.*?\) as (\w+):$", re.M | re.S)
_ENVIRONMENT = {
    name: value
    for name, value in os.environ.items()
    if not name.startswith("COULER_") and name not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS")
}


class Block(t.NamedTuple):
    """A fenced block of a page."""

    page: str
    line: int
    language: str
    text: str
    words: dict[str, str]
    program: str
    """For Python: the text, below that of the blocks that it continues."""

    @property
    def file(self) -> str:
        """The file that it is written to."""
        return self.words.get("file", "program.py")

    @property
    def engines(self) -> list[str]:
        """The engines that it compiles for."""
        argo = ["argo"] if "compiles" in self.words else []
        return [*argo, *self.words.get("compiles for", "").split()]

    @property
    def is_generated(self) -> bool:
        """Whether it is written by the test that compares it."""
        return "generated" in self.words or "generated from" in self.words

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def _blocks(page: str) -> list[Block]:
    text = (ROOT / page).read_text(encoding="utf-8")
    found: list[Block] = []
    program = ""
    for match in _BLOCK.finditer(text):
        pairs = (word.partition(":") for word in (match["words"] or "").split(";"))
        words = {name.strip(): value.strip() for name, _, value in pairs}
        if match["language"] == "python":
            program = f"{program}\n\n{match['text']}" if "continues" in words else match["text"]
        line = text.count("\n", 0, match.start()) + 1
        found.append(Block(page, line, match["language"], match["text"], words, program))
    return found


if not (ROOT / "docs").is_dir():
    pytest.skip("the pages are not beside these tests", allow_module_level=True)

BLOCKS = [block for page in PAGES for block in _blocks(page)]
PROGRAMS = [
    block
    for block in BLOCKS
    if block.language == "python" and block.words.keys().isdisjoint(("output of", "module"))
]
OUTPUTS = [
    block
    for block in BLOCKS
    if block.language == "console" or ("output of" in block.words and not block.is_generated)
]
GENERATED = {block.page: None for block in BLOCKS if block.is_generated}


def _workflows(block: Block, folder: Path) -> list[Loaded]:
    """Return the workflows that a block defines; those of blocks before it have been checked."""
    _write_files(block, folder)
    path = folder / block.file
    path.write_text(block.program, encoding="utf-8")
    names: list[str | None] = [*_OPENED.findall(block.text)]
    return [load(Source(str(path), name)) for name in names or [None]]


@pytest.mark.parametrize(
    "block",
    [
        pytest.param(block, marks=[pytest.mark.slow] * ("runs" in block.words), id=str(block))
        for block in PROGRAMS
    ],
)
def test_programs_do_what_the_page_says(
    block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    if "script" in block.words:
        monkeypatch.setitem(sys.modules, "__main__", types.ModuleType("__main__"))
        code = compile(block.program, block.file, "exec")
        # In a context of its own: steps outside of a workflow leave one open.
        contextvars.copy_context().run(exec, code, vars(sys.modules["__main__"]))
        return
    for workflow in _workflows(block, tmp_path):
        found = stages.diagnose(workflow, block.engines)
        codes = [one.code for one in found if one.severity == "error"]
        assert codes == block.words.get("reports", "").split(), found
        for engine in block.engines:
            assert stages.compile(workflow, engine).to_text()
        if "runs" in block.words:
            result = stages.run(workflow)
            assert result.status == "succeeded", result


def _write_files(block: Block, folder: Path) -> None:
    """Write the files of a page that come before a block of output."""
    for other in BLOCKS:
        if other.page == block.page and other.line < block.line and "file" in other.words:
            text = other.program if other.language == "python" else other.text
            path = folder / other.file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")


def _print_of(command: str, folder: Path) -> str:
    """Return what a command prints, on both streams.

    `couler` is called in this process; tests/cli proves that it does the same as a process.
    """
    words = shlex.split(command)
    environment = {
        **_ENVIRONMENT,
        "XDG_CONFIG_HOME": str(folder / "no-settings"),
        "XDG_DATA_HOME": str(folder / "data"),
    }
    while "=" in words[0]:
        name, _, value = words.pop(0).partition("=")
        environment[name] = value
    if words[0] == "couler" and words[1] != "llm":  # which begins the rest as a process
        with contextlib.chdir(folder), mock.patch.dict(os.environ, environment, clear=True):
            return CliRunner().invoke(app, words[1:], prog_name="couler").output
    programs = {"couler": ["-m", "couler.cli"], "python": []}
    assert words[0] in programs, command
    done = subprocess.run(
        [sys.executable, *programs[words[0]], *words[1:]],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
        cwd=folder,
        env=environment,
    )
    return done.stdout


def _fits(expected: str, printed: str) -> bool:
    pattern = ""
    for line in expected.splitlines():
        if line.strip() == "...":
            pattern += r"(?:.*\n)*?"
        else:
            pattern += re.escape(line).replace(re.escape("..."), ".*") + r"\n"
    return re.fullmatch(pattern, printed) is not None


@pytest.mark.slow
@pytest.mark.parametrize("block", OUTPUTS, ids=str)
def test_output_is_what_commands_print(block: Block, tmp_path: Path) -> None:
    _write_files(block, tmp_path)
    if "output of" in block.words:
        calls = [(block.words["output of"], block.text)]
    else:
        parts = re.split(r"^\$ (.*)\n", block.text, flags=re.M)
        assert parts[0] == "", "a console block begins with a command"
        calls = list(zip(parts[1::2], parts[2::2], strict=True))
    for command, expected in calls:
        printed = _print_of(command, tmp_path)
        assert _fits(expected, printed), f"{command} prints:\n{printed}"


@pytest.mark.golden
@pytest.mark.parametrize("page", GENERATED)
def test_generated_output_is_up_to_date(
    page: str, tmp_path: Path, golden: Callable[[Path, str], None]
) -> None:
    lines = (ROOT / page).read_text(encoding="utf-8").split("\n")
    for block in reversed(BLOCKS):  # from below, so that the lines above keep their numbers
        if block.page == page and block.is_generated:
            _write_files(block, tmp_path)
            first = block.line + 1  # below the comment and the fence
            last = first + block.text.count("\n")
            lines[first:last] = _shown_of(block, tmp_path).splitlines()
    golden(ROOT / page, "\n".join(lines))


def _shown_of(block: Block, folder: Path) -> str:
    printed = _print_of(block.words["output of"], folder)
    start = block.words.get("generated from")
    if start is None:
        return printed
    found = re.search(rf"^{re.escape(start)}", printed, re.M)
    assert found, f"{block}: no line begins with {start}:\n{printed}"
    return printed[found.start() :]


@pytest.mark.parametrize(
    ("expected", "printed", "fits"),
    [
        ("a\n...\nb\n", "a\nx\ny\nb\n", True),
        ("a\n...\nb\n", "a\nb\n", True),
        ("took ... s\n", "took 0.1 s\n", True),
        ("took ... s\n", "took 0.1 s\nmore\n", False),
        ("", "something\n", False),
    ],
)
def test_elided_output_fits(expected: str, printed: str, fits: bool) -> None:
    assert _fits(expected, printed) is fits


def test_every_page_with_programs_is_read() -> None:
    read = {block.page for block in PROGRAMS}
    assert {"README.md", "docs/writing-workflows.md"} <= read
    assert any(block.page == "README.md" for block in OUTPUTS)
