"""The text of modules as steps import them: without what is Couler's."""

from __future__ import annotations

import pytest

from couler.dsl.plain import drop_unused_steps, strip_couler

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


SHARED = (
    "import couler\n\nclass Kind: pass\n\n@couler.step\ndef make() -> int:\n    return helper()\n"
)
HELPER = "\ndef helper() -> int: return 1\n"


def test_steps_that_nothing_names_do_not_travel() -> None:
    source = "from shared import Kind\n\ndef use() -> int:\n    return Kind.size\n"
    found = drop_unused_steps({"shared.py": SHARED + HELPER}, [source])
    assert found == {"shared.py": f"\n\nclass Kind: pass\n\n\n\n\n{HELPER}"}
    assert drop_unused_steps({"shared.py": SHARED}, [source]) == {
        "shared.py": "\n\nclass Kind: pass\n"
    }


@pytest.mark.parametrize(
    "source",
    [
        "import shared\nshared.make()",
        "from shared import make as made",
        "import shared\ngetattr(shared, name)()",
        "import shared\ngetattr(shared, 'make')()",
        "import shared\nvars(shared)",
        "import shared\ngetattr(shared, 'ma' + kind, None)",
        "import shared\neval('shared.ma' + kind)",
        "import shared\nlist(map(getattr, [shared], names))",
        "import shared\nfrom operator import attrgetter as get",
        "import shared\nsubprocess.run([python, '-c', 'import shared; shared.make()'])",
    ],
)
def test_steps_that_something_names_travel(source: str) -> None:
    texts = {"shared.py": SHARED + HELPER}
    assert "def make" in drop_unused_steps(texts, [source])["shared.py"]
    other = {**texts, "other.py": source}
    assert "def make" in drop_unused_steps(other, ["import other"])["shared.py"]


def test_steps_that_a_data_file_names_travel() -> None:
    texts = {"shared.py": SHARED + HELPER}
    found = drop_unused_steps(texts, ["import shared"], ["_target_: shared.make"])
    assert "def make" in found["shared.py"]
    assert "def make" not in drop_unused_steps(texts, ["import shared"])["shared.py"]
