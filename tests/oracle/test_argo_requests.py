"""Requests that Argo's controller hands over to its agent."""

from __future__ import annotations

import pytest

from couler.backends.argo import ArgoBackend
from couler.backends.base import Target
from couler.ir.defaults import resolve_defaults
from tests.support import argo_oracle
from tests.support.argo_outcome import Outcome
from tests.support.request_cases import bad_ends, echoing, requests

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1800),  # the first use builds Argo's programs
    pytest.mark.skipif(argo_oracle.available() is not None, reason=str(argo_oracle.available())),
]


def test_values_of_the_run_decide(argo: argo_oracle.Session) -> None:
    with echoing() as url:
        workflow = resolve_defaults(requests(url))
        run = argo.run(ArgoBackend().compile(workflow, Target()).to_text())
    assert bad_ends(Outcome(workflow, run).states) == []
