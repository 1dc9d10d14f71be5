"""What verification accepts, Argo accepts: workflows that hypothesis makes, under Argo's linter."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings, strategies as st

from couler import stages
from couler.backends.base import Target
from couler.errors import InvalidWorkflowError, UnsupportedFeatureError
from couler.ir.workflow import Workflow
from tests.support import argo_oracle, argo_schema
from tests.support.strategies import workflows

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(
        argo_oracle.lint_available() is not None, reason=str(argo_oracle.lint_available())
    ),
]


@pytest.mark.nightly
@settings(max_examples=150, suppress_health_check=list(HealthCheck))
@given(workflow=workflows(), kind=st.sampled_from([None, "WorkflowTemplate"]))
def test_argo_takes_what_verification_accepts(workflow: Workflow, kind: str | None) -> None:
    target = Target(options={"kind": kind})
    try:
        text = stages.compile(workflow, "argo", target=target, format="json").to_text()
    except (InvalidWorkflowError, UnsupportedFeatureError):
        assume(False)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "workflow.json"
        file.write_text(text, encoding="utf-8")
        [verdict] = argo_oracle.lint([file])
    assert verdict.errors == (), text
    if argo_schema.available():
        assert argo_schema.problems(json.loads(text)) == [], text
