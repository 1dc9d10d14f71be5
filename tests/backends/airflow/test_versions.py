"""Which versions files are written for, and where each has its names."""

from __future__ import annotations

import pytest

from couler.backends.airflow import AirflowBackend
from couler.backends.base import Target
from couler.errors import EngineOptionError
from couler.ir.values import Compare, Literal, ParamRef
from couler.ir.workflow import Container, Parameter, Step, Workflow

BACKEND = AirflowBackend()
FLOW = Workflow(
    name="flow",
    parameters=(Parameter(name="loud", type="bool", default=True),),
    steps=(
        Step(
            name="say",
            action=Container(image="busybox", command=("echo", "{{ braces }}")),
            when=Compare(left=ParamRef(name="loud"), op="==", right=Literal(value=True)),
        ),
    ),
)


@pytest.mark.parametrize("version", ["2.11", "3.4", "4", "three", "3.3x", ""])
def test_other_versions_are_refused(version: str) -> None:
    with pytest.raises(EngineOptionError, match=r"3\.0 to 3\.3"):
        BACKEND.compile(FLOW, Target(engine_version=version))
