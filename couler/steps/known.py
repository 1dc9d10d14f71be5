"""Parameters of models and of their training that are known before the program runs."""

from __future__ import annotations

import difflib
import typing as t
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from couler.ir.diagnostics import Severity
from couler.steps.parameters import Parameter

_NEAR = 0.85
"""How like a known name another must be to be taken for a misspelling of it."""


@dataclass(frozen=True)
class Known:
    """The parameters of a library that are known."""

    types: Mapping[str, t.Any]
    """Types of the parameters by name."""
    others: frozenset[str] = frozenset()
    """Further names that are right, and like one of these."""
    text: frozenset[str] = frozenset()
    """Those of `types` that can be numbers as text, as the library reads them anyway."""


class Finding(t.NamedTuple):
    """A parameter that is wrong, or likely to be."""

    code: str
    message: str
    severity: Severity


def findings(known: Known, parameters: Mapping[str, object]) -> Iterator[Finding]:
    """Return what is wrong with parameters."""
    for name, value in parameters.items():
        if name in known.types:
            yield from _wrong_type(known, name, value)
        elif name not in known.others:
            near = difflib.get_close_matches(name, known.types, n=1, cutoff=_NEAR)
            if near and near[0] not in parameters:
                message = f'the parameter "{name}" is not known. Did you mean "{near[0]}"?'
                yield Finding("CLR106", message, "warning")


def _wrong_type(known: Known, name: str, value: object) -> Iterator[Finding]:
    if name in known.text and isinstance(value, str) and _is_number(value):
        return
    problem = Parameter(name, known.types[name], None, "").problem(value)
    if problem is not None:
        message = problem.message.replace("the argument", "the parameter", 1)
        yield Finding(problem.code, message, "error")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


_BOOSTED: Mapping[str, t.Any] = {
    "learning_rate": int | float,
    "eta": int | float,
    "max_depth": int,
    "max_leaves": int,
    "max_bin": int,
    "reg_alpha": int | float,
    "reg_lambda": int | float,
    "min_child_weight": int | float,
    "subsample": int | float,
    "colsample_bytree": int | float,
    "scale_pos_weight": int | float,
    "num_class": int,
    "seed": int,
    "objective": str,
}

XGBOOST = Known(
    {
        **_BOOSTED,
        "num_boost_round": int,
        "early_stopping_rounds": int | None,
        "booster": str,
        "tree_method": str,
        "gamma": int | float,
    },
    text=frozenset(_BOOSTED) - {"objective"} | {"gamma"},
)

LIGHTGBM = Known(
    {
        **_BOOSTED,
        "num_boost_round": int,
        "num_iterations": int,
        "num_leaves": int,
        "min_data_in_leaf": int,
        "boosting": str,
        "feature_fraction": int | float,
        "bagging_fraction": int | float,
        "bagging_freq": int,
    },
    others=frozenset(
        (
            "num_iteration",
            "num_classes",
            "max_bins",
            "pos_bagging_fraction",
            "neg_bagging_fraction",
            "bagging_fraction_seed",
            "feature_fraction_seed",
        )
    ),
    text=frozenset(_BOOSTED) - {"objective"}
    | {"num_leaves", "min_data_in_leaf", "feature_fraction", "bagging_fraction", "bagging_freq"},
)

SKLEARN = Known(
    {
        "random_state": int | None,
        "n_jobs": int | None,
        "n_estimators": int,
        "max_iter": int | None,
        "max_depth": int | None,
        "warm_start": bool,
    },
    others=frozenset(("estimator", "estimators", "final_estimator")),
)
