"""Cases of the corpus that an engine does not do, as strict expected failures.

They are declared beside the engine's tests. A case that the engine comes to do fails its tests
until the declaration is removed.
"""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

import pytest

from tests.corpus import Case, cases


class Absence(t.NamedTuple):
    """Why a case is not done."""

    raises: type[Exception] | tuple[type[Exception], ...]
    """What its tests raise."""
    reason: str


_NEVER_LEFT_OUT = frozenset(("functions",))
"""Cases that are the only ones of their kind, which samples have too."""


def corpus(absences: Mapping[str, Absence]) -> list[t.Any]:
    """Return all cases as parameters, those with an absence as strict expected failures."""
    known = {case.name for case in cases()}
    assert absences.keys() <= known, f"no such cases: {sorted(absences.keys() - known)}"
    return [_parameter(case, absences.get(case.name)) for case in cases()]


def _parameter(case: Case, absence: Absence | None) -> object:
    if absence is None:
        marks = pytest.mark.sampled(1) if case.name in _NEVER_LEFT_OUT else ()
        return pytest.param(case, id=case.name, marks=marks)
    expected = pytest.mark.xfail(raises=absence.raises, reason=absence.reason, strict=True)
    return pytest.param(case, id=case.name, marks=expected)
