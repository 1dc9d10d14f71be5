"""Values and conditions under Argo's controller are those of this machine."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest

import couler
from couler.backends.argo import ArgoBackend
from couler.backends.base import Target
from tests.support import argo_oracle
from tests.support.argo_compare import assert_same_outcome
from tests.support.value_cases import VALUE_CASES, ValueCase

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1800),  # the first use builds Argo's programs
    pytest.mark.skipif(argo_oracle.available() is not None, reason=str(argo_oracle.available())),
    pytest.mark.sampled(8),
]


@pytest.mark.parametrize("case", VALUE_CASES.values(), ids=VALUE_CASES)
def test_outcome(case: ValueCase, argo: argo_oracle.Session, tmp_path: Path) -> None:
    assert_same_outcome(case.workflow(), argo, tmp_path)


def test_items_reach_stored_templates(argo: argo_oracle.Session) -> None:
    @couler.step
    def greetings() -> list[str]:
        return ["Hi {{who}}!", "{{"]

    with couler.Workflow("calls") as wf:
        say = functools.partial(couler.call_template, "shared", "echo")
        couler.map(lambda item: say({"text": item}), greetings())
    shared = (Path(__file__).parent / "templates" / "shared.yaml").read_text().split("\n---")[0]
    manifest = ArgoBackend().compile(wf.to_ir(), Target()).to_text()
    run = argo.run(f"{shared}\n---\n{manifest}")
    assert [pod.stdout for pod in run.pods if pod.stdout] == ["Hi {{who}}!\n", "{{\n"]
