"""Trains an estimator of scikit-learn."""

from __future__ import annotations

import difflib
import inspect
import sys
from importlib import import_module
from typing import Any

from couler.steps.programs.table import given, keep, parameters, read_table, score

try:
    import joblib
    from sklearn.utils import all_estimators
except ImportError:
    sys.exit("scikit-learn is not installed where this step runs: pip install scikit-learn")


def find(name: str) -> Any:
    """Return the class of an estimator by its name, or by its path below sklearn."""
    if name.startswith("sklearn."):
        module, _, member = name.rpartition(".")
        return getattr(import_module(module), member)
    known = dict(all_estimators())
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        hint = f". Did you mean {near[0]}?" if near else ""
        sys.exit(f"scikit-learn has no estimator {name!r}{hint}")
    return known[name]


def main() -> None:
    """Train, judge and keep a model."""
    table = read_table()
    estimator = find(given("estimator"))
    options = {**parameters("model"), **parameters("train")}
    if "random_state" in inspect.signature(estimator).parameters:
        options.setdefault("random_state", given("dataset").get("seed", 0))
    model = estimator(**options)
    model.fit(table.train_x, table.train_y)
    predicted = model.predict(table.test_x) if len(table.test_y) else []
    joblib.dump(model, given("save_as"))
    keep(table, score(table, predicted), {})


if __name__ == "__main__":
    main()
