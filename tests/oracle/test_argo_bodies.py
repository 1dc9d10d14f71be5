"""Maps and loops of one step give under Argo's controller what those of two steps give."""

from __future__ import annotations

import pytest

from couler.backends.argo import ArgoBackend
from couler.backends.base import Target
from couler.ir.defaults import resolve_defaults
from tests.support import argo_oracle
from tests.support.argo_outcome import Outcome
from tests.support.body_cases import RESULTS, RUN_HERE, RUN_ON_ARGO, SOURCES, body_case

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1800),  # the first use builds Argo's programs
    pytest.mark.skipif(argo_oracle.available() is not None, reason=str(argo_oracle.available())),
    pytest.mark.sampled(6),
]

HOOKS = {"item": {"hook p", "hook q"}, "outer": {"hook out"}, "carried": {"hook out", "hook out+"}}


@pytest.mark.parametrize("steps", [1, 2])
@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("location", RUN_HERE | RUN_ON_ARGO)
def test_value(location: str, source: str, steps: int, argo: argo_oracle.Session) -> None:
    workflow = resolve_defaults(body_case(location, source, steps).to_ir())
    run = argo.run(ArgoBackend().compile(workflow, Target()).to_text())
    outcome = Outcome(workflow, run)
    assert (outcome.status, outcome.run_outputs) == ("succeeded", {"r": RESULTS[source]})
    if location == "hook":
        printed = {line for pod in run.pods for line in pod.stdout.splitlines()}
        assert {line for line in printed if line.startswith("hook")} == HOOKS[source]
