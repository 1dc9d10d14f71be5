"""The text of modules as steps import them: without what is Couler's."""

from __future__ import annotations

import pytest

from couler.dsl.plain import strip_couler

ANNOTATED = """from couler import File, Workflow
def build() -> Workflow: pass
class C(Workflow): pass
def f(x: File = File('b')) -> File: return x
R = f()
"""
MODULES = {
    "a class of its own": (
        "import couler\nclass File: size = 1\n@couler.step\ndef f(): return File.size\nR = f()\n",
        1,
    ),
    "imports on one line": ("import os, couler\nR = os.sep\n", "/"),
    "a name that is bound anew": (
        "from couler import step\nstep = 4\nR = step * 2\n",
        8,
    ),
    "files": (
        "from couler import File, step\n@step\ndef f(): return File('a').path\nR = f()\n",
        "a",
    ),
    "files of the module": ("import couler\nR = couler.File('a').path\n", "a"),
    "all names": ("from couler import *\nR = 1\n@step\ndef f(): pass\n", 1),
    "annotations": (ANNOTATED, "b"),
    "a comment": ("import couler  # a File\nR = 'File' in globals()\n", False),
}


@pytest.mark.parametrize(("text", "expected"), MODULES.values(), ids=list(MODULES))
def test_modules_give_what_they_give_here(text: str, expected: object) -> None:
    names: dict[str, object] = {}
    exec(strip_couler(text), names)
    assert names.get("R") == expected
    assert strip_couler(text).count("\n") == text.count("\n")
