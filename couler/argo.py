"""The ancestor's way in: `import couler.argo as couler` gives the names of `couler`."""

from __future__ import annotations

import typing as _t

import couler as _couler
from couler.dsl.absent import missing as _missing

if _t.TYPE_CHECKING:
    from couler import *  # noqa: F403

__all__ = _couler.__all__  # a list, taken from there


def __getattr__(name: str) -> object:
    try:
        return getattr(_couler, name)
    except AttributeError:
        raise _missing(__name__, name) from None


def __dir__() -> list[str]:
    return dir(_couler)
