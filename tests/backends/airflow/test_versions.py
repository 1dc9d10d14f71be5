"""Which versions files are written for, and where each has its names."""

from __future__ import annotations

import ast

import pytest

from couler.backends.airflow import AirflowBackend
from couler.backends.base import Target
from couler.errors import EngineOptionError
from couler.ir.conditions import Compare
from couler.ir.values import Literal, ParamRef
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


def places(version: str | None) -> dict[str, str]:
    """Return the names that a file imports, and the modules that it takes them from."""
    text = BACKEND.compile(FLOW, Target(engine_version=version)).to_text()
    statements = [one for one in ast.parse(text).body if isinstance(one, ast.ImportFrom)]
    return {alias.name: one.module or "" for one in statements for alias in one.names}


@pytest.mark.parametrize("version", [None, "3.3", "3.3.2", "v3.2"])
def test_newer_versions_have_all_names_in_the_sdk(version: str | None) -> None:
    found = places(version)
    assert found["DAG"] == found["Param"] == "airflow.sdk"
    assert found["AirflowSkipException"] == "airflow.sdk.exceptions"


@pytest.mark.parametrize("version", ["3.1", "3.1.8", "3.0"])
def test_older_versions_have_them_in_the_package_for_all_versions(version: str) -> None:
    found = places(version)
    compat = "airflow.providers.common.compat.sdk"
    assert {found[name] for name in ("DAG", "Param", "AirflowSkipException", "literal")} == {compat}
    operators = "airflow.providers.cncf.kubernetes.operators.pod"
    assert found["KubernetesPodOperator"] == operators


@pytest.mark.parametrize("version", ["2.11", "3.4", "4", "three", "3.3x", ""])
def test_other_versions_are_refused(version: str) -> None:
    with pytest.raises(EngineOptionError, match=r"3\.0 to 3\.3"):
        BACKEND.compile(FLOW, Target(engine_version=version))
