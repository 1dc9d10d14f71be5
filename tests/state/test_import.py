"""The package costs nothing before a database is opened, and its list of names is one list."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import couler.state

PROBE = """
import sys
from couler.state import Home, RunRecord, StepRecord, own_run, owner_of, shown_status
assert "sqlalchemy" not in sys.modules, "loaded before it is needed"
from couler.state import Journal, find_run, open_database
assert "sqlalchemy" in sys.modules
"""


def test_sqlalchemy_is_loaded_when_it_is_needed() -> None:
    subprocess.run([sys.executable, "-c", PROBE], check=True)


def test_every_public_name_is_listed_and_resolves() -> None:
    assert couler.state.__all__ == sorted(couler.state._EXPORTS)
    for name, module in couler.state._EXPORTS.items():
        defined = getattr(import_module(f"couler.state.{module}"), name)
        assert getattr(couler.state, name) is defined
    assert set(couler.state.__all__) <= set(dir(couler.state))


def test_type_checkers_see_the_names_that_are_loaded_lazily() -> None:
    tree = ast.parse(Path(couler.state.__file__).read_text(encoding="utf-8"))
    seen = {
        alias.name: str(node.module).removeprefix("couler.state.")
        for block in tree.body
        if isinstance(block, ast.If)
        for node in ast.walk(block)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert seen == couler.state._EXPORTS


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"module 'couler.state' has no attribute 'no_such'"):
        _ = couler.state.no_such
