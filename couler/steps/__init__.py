"""The step zoo: ready-made steps for training, and the way to make and share more."""

import typing as _t
from importlib import import_module as _import_module

__all__ = ["STATIC", "ZooStep", "get_step", "step_names", "zoo_step"]

if _t.TYPE_CHECKING:
    from couler.steps.parameters import STATIC
    from couler.steps.registry import ZooStep, get_step, step_names, zoo_step

_EXPORTS = {
    "STATIC": "couler.steps.parameters",
    "ZooStep": "couler.steps.registry",
    "get_step": "couler.steps.registry",
    "step_names": "couler.steps.registry",
    "zoo_step": "couler.steps.registry",
}

_MODULES = ("katib", "lightgbm", "mpi", "pytorch", "sklearn", "tensorflow", "trainer", "xgboost")


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return _import_module(f"couler.steps.{name}")
    if name not in _EXPORTS:
        from couler.ir.diagnostics import did_you_mean

        raise AttributeError(
            f"module {__name__!r} has no attribute {name!r}"
            f"{did_you_mean(name, (*_EXPORTS, *_MODULES))}"
        )
    return getattr(_import_module(_EXPORTS[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_EXPORTS, *_MODULES})
