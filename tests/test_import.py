"""`import couler` costs little, and its list of names is one list."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import pytest

import couler

HEAVY = (
    "airflow",
    "click",
    "hera",
    "jinja2",
    "kubernetes",
    "networkx",
    "openai",
    "rich",
    "sqlalchemy",
    "yaml",
)

PROBE = """
import json, sys, time
start = time.process_time()
import couler
seconds = time.process_time() - start
modules = sorted({name.partition(".")[0] for name in sys.modules})
print(json.dumps({"seconds": seconds, "modules": modules}))
"""


def test_import_loads_nothing_heavy(measure: Callable[[str, str], None]) -> None:
    done = subprocess.run([sys.executable, "-c", PROBE], capture_output=True, text=True, check=True)
    seen = json.loads(done.stdout)
    assert "couler" in seen["modules"]
    assert not set(HEAVY) & set(seen["modules"])
    measure("import couler", f"{seen['seconds'] * 1000:.1f} ms CPU")


def test_every_public_name_is_listed_and_resolves() -> None:
    assert set(couler.__all__) == {"__version__", *couler._EXPORTS}
    for name in couler.__all__:
        assert getattr(couler, name) is not None
    assert set(couler.__all__) <= set(dir(couler))


def test_type_checkers_see_the_names_that_are_loaded_lazily() -> None:
    tree = ast.parse(Path(couler.__file__).read_text(encoding="utf-8"))
    seen = {
        alias.name: node.module
        for block in tree.body
        if isinstance(block, ast.If)
        for node in ast.walk(block)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert seen == couler._EXPORTS


def test_a_lazy_name_is_the_object_of_its_module() -> None:
    for name, module in couler._EXPORTS.items():
        assert getattr(couler, name) is getattr(import_module(module), name)


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'couler' has no attribute 'no_such_name'"):
        _ = couler.no_such_name


@pytest.mark.parametrize(
    "package", ["couler.stages", "couler.state", "couler.steps", "couler.tuning"]
)
def test_every_name_of_a_package_is_found(package: str) -> None:
    module = import_module(package)
    assert [name for name in module.__all__ if getattr(module, name, None) is None] == []
