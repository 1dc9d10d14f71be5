"""Modules that travel with a step, drawn at random: what they give, and what counts for its key."""

from __future__ import annotations

import ast
import random
import re
import sys
import typing as t
from pathlib import Path

import pytest

import couler
from couler.dsl.reached import reached
from couler.dsl.statements import bound_names
from couler.ir.workflow import Script, Workflow
from tests.support.project_modules import ProjectModule
from tests.support.step_sources import imported

FORMS = [
    ("import {m}", "", "{m}.work(n)"),
    ("import {m} as given", "", "given.work(n)"),
    ("from {m} import work as given", "", "given(n)"),
    ("import json", "from {m} import work as given", "given(n)"),
    ("import json", "import importlib; given = importlib.import_module('{m}')", "given.work(n)"),
]
STEP = "import couler\n{0}\n\n@couler.step\ndef work(n: int) -> list:\n    {1}\n    return {2}\n"


def compiled(path: Path) -> tuple[Workflow, list[str]]:
    with couler.Workflow("w") as flow:
        imported(path).work(3)
    return flow.to_ir(), [one.code for one in flow.diagnostics]


def shipped(workflow: Workflow, folder: Path, names: list[str]) -> object:
    """Run a script with the files that travel alone."""
    action = workflow.steps[0].action
    assert isinstance(action, Script)
    for one in workflow.code:
        (folder / one.path).parent.mkdir(parents=True, exist_ok=True)
        (folder / one.path).write_bytes(one.data)
    for name in names:
        sys.modules.pop(name, None)
    sys.path.insert(0, str(folder))
    try:
        main: dict[str, t.Any] = {"__name__": "script"}
        exec(compile(action.source, "script", "exec", dont_inherit=True), main)
        return main["work"](3)
    finally:
        sys.path.remove(str(folder))
        for name in names:
            sys.modules.pop(name, None)


@pytest.mark.parametrize("count", [20, pytest.param(2_000, marks=pytest.mark.nightly)])
def test_steps_give_what_they_give_here(
    count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    draw = random.Random(7)
    for index in range(count):
        names = [f"helper_{index}"]
        file = tmp_path / f"{names[0]}.py"
        if index % 2:
            names = [f"package_{index}", f"package_{index}.inner"]
            (tmp_path / names[0]).mkdir()
            (tmp_path / names[0] / "__init__.py").write_text("from .inner import work\n")
            file = tmp_path / names[0] / "inner.py"
        file.write_text(ProjectModule(draw).text())
        path = tmp_path / f"flow_{index}.py"
        form = [one.format(m=names[0]) for one in FORMS[index % len(FORMS)]]
        path.write_text(STEP.format(form[0], form[1] or "pass", form[2]))
        workflow, problems = compiled(path)
        assert problems == [], path
        expected = imported(path).work.fn(3)
        assert shipped(workflow, tmp_path / f"code_{index}", names) == expected, path


@pytest.mark.parametrize("count", [20, pytest.param(2_000, marks=pytest.mark.nightly)])
def test_what_is_used_counts_and_other_functions_do_not(count: int, tmp_path: Path) -> None:
    draw = random.Random(8)
    file = tmp_path / "helper.py"
    unrelated = 0

    def key(changed: str) -> str:
        file.write_text(changed)
        return reached("from helper import work\nwork(3)\n", {"helper": file})

    for _ in range(count):
        text = ProjectModule(draw).text()
        before = key(text)
        used = _read_names(text)
        lines = text.split("\n")
        for node in ast.parse(text).body:
            names = set(bound_names(node)) - {"couler", "work"}
            if isinstance(node, ast.Import | ast.ImportFrom) or not names:
                continue
            last = (node.end_lineno or 1) - 1
            changed = [*lines[:last], lines[last] + "  # changed", *lines[last + 1 :]]
            other = key("\n".join(changed))
            if names & used:
                assert other != before, (names, text)
            elif not getattr(node, "decorator_list", ()) and all(
                len(re.findall(rf"\b{one}\b", text)) == 1 for one in names
            ):
                unrelated += 1
                assert other == before, (names, text)
    assert unrelated > count / 2


class _Reads(dict[str, t.Any]):
    def __init__(self) -> None:
        super().__init__(__name__="helper_read")
        self.read: set[str] = set()

    def __getitem__(self, name: str) -> t.Any:
        self.read.add(name)
        return super().__getitem__(name)


def _read_names(text: str) -> set[str]:
    """Return the names of a module that a call of its step reads."""
    names = _Reads()
    module = type(sys)("helper_read")
    sys.modules["helper_read"] = module
    exec(compile(text, "helper", "exec", dont_inherit=True), names)
    module.__dict__.update(names)
    names.read.clear()
    names["work"].fn(3)
    return names.read
