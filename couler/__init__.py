"""Write a workflow once in Python; run it on this machine, Argo Workflows or Airflow.

Importing this package is cheap: a public name loads its module at first use.
"""

from importlib import import_module

__version__ = "0.1.0"

# Public name -> the module that defines it. Names are listed a second time, under
# TYPE_CHECKING as `from module import X as X`, for type checkers and editors;
# tests/test_layout.py holds the two lists equal.
_EXPORTS: dict[str, str] = {}

__all__ = ["__version__", *sorted(_EXPORTS)]


def __getattr__(name: str) -> object:
    if name not in _EXPORTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_EXPORTS[name]), name)
    globals()[name] = value  # the next access does not come back here
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_EXPORTS})
