"""Files and folders reach their readers as they were made, under Argo's controller."""

from __future__ import annotations

import pytest

from couler.backends.argo import ArgoBackend
from couler.backends.base import Target
from couler.ir.defaults import resolve_defaults
from tests.support import argo_oracle
from tests.support.argo_outcome import Outcome
from tests.support.file_travel import WANTED, file_travel

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1800),  # the first use builds Argo's programs
    pytest.mark.skipif(argo_oracle.available() is not None, reason=str(argo_oracle.available())),
]


def test_outcome(argo: argo_oracle.Session) -> None:
    workflow = resolve_defaults(file_travel())
    there = Outcome(workflow, argo.run(ArgoBackend().compile(workflow, Target()).to_text()))
    assert there.status == "succeeded"
    assert {name: str(one) for name, one in there.run_outputs.items()} == WANTED
