"""What travels with a step of its file: all that it uses, and nothing else."""

from __future__ import annotations

import ast
import random
import sys
import typing as t
from collections.abc import Iterator
from pathlib import Path

import pytest

import couler
from couler.dsl.statements import bindings, bound_names
from couler.ir.workflow import Script
from tests.support.project_modules import ProjectModule
from tests.support.step_sources import imported


class Module:
    """What dataclasses find for the name of a module."""


class Traced(dict[str, object]):
    """The names of a module, of which it is recorded which were read."""

    def __init__(self) -> None:
        super().__init__(__name__="traced")
        self.read: set[str] = set()
        module = Module()
        module.__dict__ = self
        sys.modules["traced"] = module  # type: ignore[assignment]

    def __getitem__(self, name: str) -> object:
        self.read.add(name)
        return super().__getitem__(name)


def source_of(module: object) -> str | None:
    """Return what of a module travels with its step; None if the step is refused."""
    with couler.Workflow("w") as flow:
        module.work(3)  # type: ignore[attr-defined]
    action = flow.to_ir().steps[0].action
    assert isinstance(action, Script)
    if flow.diagnostics:
        return None
    body = ast.parse(action.source).body
    names = [getattr(one, "name", "") for one in body]
    future = [one for one in body if getattr(one, "module", "") == "__future__"]
    return ast.unparse(ast.Module([*future, *body[names.index("_run") + 1 : -1]], []))


def result_of(source: str, names: Traced) -> object:
    exec(compile(source, "script", "exec", dont_inherit=True), names)
    return names["work"](3)  # type: ignore[operator]


@pytest.mark.parametrize("count", [60, pytest.param(2_000, marks=pytest.mark.nightly)])
def test_a_step_gives_what_the_plain_call_gives(count: int, tmp_path: Path) -> None:
    draw, refused = random.Random(29), []
    for index in range(count):
        path = tmp_path / f"module_{index}.py"
        path.write_text(ProjectModule(draw).text())
        source = source_of(imported(path))
        if source is None:
            refused.append(path)
            continue
        expected = imported(path).work.fn(3)
        traced = Traced()
        assert result_of(source, traced) == expected, path
        # Python reads names in bodies of classes past the trace: without these, all is otherwise.
        for name in bindings(source).keys() - traced.read - {"*", "annotations"}:
            statements = [one for one in ast.parse(source).body if name not in bound_names(one)]
            other = ast.unparse(ast.Module(statements, []))
            try:
                assert result_of(other, Traced()) != expected, (path, name)
            except (NameError, TypeError):
                continue
    assert len(refused) <= 0.02 * count, refused[:5]


HELPERS = """
import couler
from couler import File

LIMIT = 4
STEPS = [LIMIT]
STEPS.append(1)

class Row:
    def size(self):
        return LIMIT

def scale(x):
    return x * LIMIT + unit()

def unit():
    return len(STEPS)

@couler.step
def other(data: File) -> int:
    return scale(1)
"""
FLOW = """
import couler
from helpers import LIMIT as MOST, Row, scale, unit as one

@couler.step
def work(n: int) -> list:
    return [scale(n), one(), Row().size(), MOST, sorted(globals())]
"""


@pytest.fixture
def flow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[t.Any]:
    """A program with a module beside it."""
    (tmp_path / "helpers.py").write_text(HELPERS)
    (tmp_path / "flow.py").write_text(FLOW)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield imported(tmp_path / "flow.py")
    sys.modules.pop("helpers")


def test_what_is_imported_by_name_from_the_project_travels(flow: t.Any) -> None:
    source = source_of(flow)
    assert source is not None
    *values, names = t.cast("list[t.Any]", result_of(source, Traced()))
    assert values == flow.work.fn(3)[:-1]
    assert "couler" not in names
    assert "other" not in names


@pytest.mark.parametrize(
    ("old", "new"),
    [("x * LIMIT", "x * 9"), ("return LIMIT", "return 9")],
    ids=["function", "class"],
)
def test_a_module_that_is_edited_after_its_import_is_refused(
    old: str, new: str, flow: t.Any, tmp_path: Path
) -> None:
    (tmp_path / "helpers.py").write_text(HELPERS.replace(old, new))
    with couler.Workflow("w") as made:
        flow.work(3)
    [problem] = made.diagnostics
    assert problem.code == "CLR110"
    assert "helpers.py does not say what runs" in problem.message


def test_names_of_two_modules_that_collide_are_refused(flow: t.Any, tmp_path: Path) -> None:
    path = tmp_path / "flow.py"
    text = FLOW.replace("@couler", "LIMIT = 1\n\n@couler").replace("[scale(n)", "[LIMIT, scale(n)")
    path.write_text(text)
    with couler.Workflow("w") as made:
        imported(path).work(3)
    [problem] = made.diagnostics
    assert problem.code == "CLR125"
    assert "LIMIT is defined in two modules" in problem.message


PATHS = """
from pathlib import Path
from typing import NamedTuple

import couler


class Parts(NamedTuple):
    train: Path
    test: Path


@couler.step
def split(text: str) -> Parts:
    Path("a.txt").write_text(text + " a")
    Path("b.txt").write_text(text + " b")
    return Parts(Path("a.txt"), Path("b.txt"))


@couler.step
def read(part: Path) -> str:
    return part.read_text()


@couler.step(returns=couler.File)
def join(first: str, other: Path) -> str:
    with open(first) as file, open("all.txt", "w") as out:
        out.write(f"{file.read()}, {other.read_text()}")
    return "all.txt"


with couler.Workflow("w") as wf:
    parts = split("x")
    wf.output("one", read(parts.train))
    wf.output("two", read(join(parts.train, parts.test)))
    wf.output("all", read(join(parts.test, parts.train)))
"""


def test_paths_are_files_without_a_change_of_the_function(tmp_path: Path) -> None:
    (tmp_path / "flow.py").write_text(PATHS)
    flow = imported(tmp_path / "flow.py").wf
    assert flow.diagnostics == ()
    run = flow.run()
    assert run.outputs == {"one": "x a", "two": "x a, x b", "all": "x b, x a"}
