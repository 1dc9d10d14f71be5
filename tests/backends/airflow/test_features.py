"""Every feature that Airflow is declared to do becomes a file of Python."""

from __future__ import annotations

import ast

from couler.backends.airflow import AirflowBackend
from couler.backends.base import Unsupported, unsupported_uses
from couler.ir.defaults import resolve_defaults
from couler.ir.features import Feature
from tests.support.airflow_target import with_files
from tests.support.feature_samples import FEATURE_SAMPLES

BACKEND = AirflowBackend()
TARGET = with_files()
CAPABILITIES = BACKEND.capabilities(TARGET)


def test_every_feature_is_declared() -> None:
    assert set(CAPABILITIES) == set(Feature)


def test_what_is_declared_of_a_feature_is_what_becomes_of_its_sample() -> None:
    for feature, workflow in FEATURE_SAMPLES.items():
        found = unsupported_uses(workflow, BACKEND, TARGET, {})
        refused = {one.message.split(" cannot do ")[1].split(",")[0] for one in found}
        assert (feature.value in refused) is isinstance(CAPABILITIES[feature], Unsupported)
        if not refused:
            resolved = resolve_defaults(workflow)
            errors = [one for one in BACKEND.check(resolved, TARGET) if one.severity == "error"]
            assert errors == [], feature
            tree = ast.parse(BACKEND.compile(resolved, TARGET).to_text())
            assert compile(tree, f"{workflow.name}.py", "exec")
            assert not any(name.partition(".")[0] == "couler" for name in imported(tree))


def imported(tree: ast.Module) -> set[str]:
    """Return the modules that a file imports, wherever it does so."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found
