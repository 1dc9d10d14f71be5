"""The statuses that the fake of the Argo Server plays back are those of Argo's controller."""

from __future__ import annotations

import typing as t

import pytest

from tests.support import argo_oracle
from tests.support.argo_recordings import record, recorded

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1800),  # the first use builds Argo's programs
    pytest.mark.skipif(argo_oracle.available() is not None, reason=str(argo_oracle.available())),
]


def test_what_is_recorded_is_what_the_controller_writes() -> None:
    now = record()
    for name, statuses in now.items():
        assert _nodes(statuses[-1]) == _nodes(recorded(name)[-1]), name


def _nodes(status: t.Any) -> dict[str, object]:
    shown = {
        node["name"]: (node["type"], node["phase"], (node.get("outputs") or {}).get("parameters"))
        for node in status["nodes"].values()
    }
    return {"run": status["phase"], **shown}
