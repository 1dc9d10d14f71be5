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
from couler.dsl.used_code import used_code
from couler.ir.imports import bound_names
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


@pytest.mark.parametrize("count", [20, pytest.param(400, marks=pytest.mark.nightly)])
def test_what_is_used_counts_and_other_functions_do_not(count: int, tmp_path: Path) -> None:
    draw = random.Random(8)
    file = tmp_path / "helper.py"
    unrelated = 0

    def key(changed: str) -> str:
        file.write_text(changed)
        return used_code("from helper import work\nwork(3)\n", {"helper": file}, [])

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


REGISTRY = """
SEEN = {}
def register(name, value=None):
    def keep(one): SEEN[name] = one; return one
    return keep if value is None else keep(value)
class Base:
    def __init_subclass__(cls): SEEN[cls.__name__] = cls.value()
"""
USED = {
    "a module under another name": ("from pk import other_name as m", "m.one()", "one"),
    "a module that another one has": ("import pk", "pk.other_name.one()", "one"),
    "a star of a star": ("from pk.stars import *", "one()", "one"),
    "names that are looked up": ("from pk.finds import find", "find('found')", "found"),
    "a function with the name of a module": ("from pk import count", "count()", "count"),
    "what a module makes when it is asked": ("from pk import lazy", "lazy()", "__getattr__"),
    "a registration that is assigned": ("import pk.plug", "pk.SEEN", "one"),
    "a decorator in a variable": ("import pk.plug", "pk.SEEN", "two"),
    "a decorator that registers": ("import pk.plug", "pk.SEEN", "three"),
    "a subclass of a subclass": ("import pk.plug", "pk.SEEN", "Leaf"),
}


@pytest.mark.parametrize(("line", "use", "name"), USED.values(), ids=list(USED))
def test_a_change_of_what_is_used_is_seen(line: str, use: str, name: str, tmp_path: Path) -> None:
    files = {
        "pk": f"def count(): return 1\n{REGISTRY}\ndef __getattr__(name): return print\n"
        "from .plug import one\nfrom . import plug as other_name\n",
        "pk.stars": "from .inner import *\n",
        "pk.inner": "from .plug import *\n",
        "pk.finds": "def find(n): return globals()[n]()\ndef found(): return 1\n",
        "pk.count": "other = 1\n",
        "pk.plug": """
from pk import Base, register
def one(): return 1
_token = register("one", one)
deco = register("two")
@deco
def two(): return 2
def keep(f): return register("three")(f)
@keep
def three(): return 3
class Mid(Base):
    @staticmethod
    def value(): return 0
class Leaf(Mid):
    @staticmethod
    def value(): return 1
""",
    }
    own = {}
    for module, text in files.items():
        own[module] = tmp_path / f"{module}.py"
        own[module].write_text(text)
    own["pk"] = own["pk"].rename(tmp_path / "__init__.py")
    before = used_code(f"{line}\n{use}\n", own, [])
    definition = re.compile(rf"(?s)((?:def|class) {name}\b.*?return )\w+")
    changed = 0
    for file in own.values():
        text, count = definition.subn(r"\g<1>9", file.read_text())
        file.write_text(text)
        changed += count
    assert changed
    assert used_code(f"{line}\n{use}\n", own, []) != before


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
