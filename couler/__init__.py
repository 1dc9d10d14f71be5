"""Write a workflow once in Python; run it on this machine, Argo Workflows or Airflow.

Importing this package is cheap: a public name loads its module at first use.
"""

from importlib import import_module

__version__ = "0.1.0"

__all__ = ["__version__"]

# Public name -> the module that defines it. Type checkers read the same names as
# `from module import X as X` under TYPE_CHECKING; tests/test_import.py holds the lists equal.
_EXPORTS: dict[str, str] = {}


def __getattr__(name: str) -> object:
    if name not in _EXPORTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_EXPORTS[name]), name)
    globals()[name] = value  # the next access does not come back here
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_EXPORTS})
