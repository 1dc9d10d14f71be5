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


def corpus(absences: Mapping[str, Absence]) -> list[t.Any]:
    """Return all cases as parameters, those with an absence as strict expected failures."""
    known = {case.name for case in cases()}
    assert absences.keys() <= known, f"no such cases: {sorted(absences.keys() - known)}"
    return [_parameter(case, absences.get(case.name)) for case in cases()]


def _parameter(case: Case, absence: Absence | None) -> object:
    if absence is None:
        return pytest.param(case, id=case.name)
    expected = pytest.mark.xfail(raises=absence.raises, reason=absence.reason, strict=True)
    return pytest.param(case, id=case.name, marks=expected)
