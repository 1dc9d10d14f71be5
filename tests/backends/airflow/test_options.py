"""Options and overrides that cannot be meant: each is refused, none is dropped."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from click.testing import CliRunner

from couler.backends.airflow import AirflowBackend
from couler.backends.base import Target
from couler.cli import app
from couler.errors import EngineOptionError
from couler.ir.base import FrozenDict
from couler.ir.storage import EnvVar, SecretKey
from couler.ir.workflow import Step, Workflow
from tests.support.sample_flows import echo, flow

BACKEND = AirflowBackend()


def compiled(workflow: Workflow, **options: str) -> str:
    return BACKEND.compile(workflow, Target(options=options)).to_text()


def found_in(owner: Step | Workflow, **options: str) -> list[tuple[str, str]]:
    workflow = owner if isinstance(owner, Workflow) else flow(owner)
    found = BACKEND.check(workflow, Target(options=options))
    return [(one.code, one.message) for one in found]


def overrides(**given: t.Any) -> dict[str, t.Any]:
    return {"engine": FrozenDict(airflow=FrozenDict(given))}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *((name, "") for name in ("helper_image", "files_claim", "io_image", "gpu_type_label")),
        ("helper_image", "busybox 1"),
        ("files_claim", "Bad Claim"),
        ("files_path", "../x"),
        ("gpu_type_label", "a b"),
    ],
)
def test_options_that_cannot_be_meant(name: str, value: str) -> None:
    with pytest.raises(EngineOptionError, match=name):
        compiled(flow(echo("a")), **{name: value})


def test_a_namespace_is_a_name_of_kubernetes() -> None:
    with pytest.raises(EngineOptionError, match="Bad_NS"):
        BACKEND.compile(flow(echo("a")), Target(namespace="Bad_NS"))


def test_a_connection_that_no_secret_is() -> None:
    secret = SecretKey(secret="warehouse", key="password")
    step = echo("a", env=(EnvVar(name="A", secret=secret),))
    assert found_in(step, connections="warehouse") == []
    [(code, message)] = found_in(step, connections="warehose")
    assert code == "CLR378"
    assert 'Did you mean "warehouse"?' in message
    [one] = BACKEND.check(flow(step), Target(options={"connections": "warehose"}))
    assert one.severity == "warning"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("retries", "many"),
        ("retries", True),
        ("pool", 3),
        ("deferrable", "yes"),
        ("node_selector", "gpu"),
    ],
)
def test_overrides_of_another_type(name: str, value: t.Any) -> None:
    [(code, message)] = found_in(echo("a", **overrides(**{name: value})))
    assert code == "CLR377"
    assert f'for "{name}"' in message


def test_overrides_of_the_right_type() -> None:
    given = overrides(retries=2, pool="p", deferrable=True, node_selector={"a": "b"}, queue=None)
    assert found_in(echo("a", **given)) == []


def test_a_pool_does_not_replace_a_mutex() -> None:
    [(code, message)] = found_in(echo("a", mutex="m", **overrides(pool="mine")))
    assert code == "CLR377"
    assert '"m"' in message
    assert '"mine"' in message
    assert found_in(echo("a", mutex="m", **overrides(pool="m"))) == []


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    program = tmp_path / "flow.py"
    program.write_text(
        "import couler\nwith couler.Workflow('w'):\n    couler.run_container('a', ['b'])\n"
    )
    place = tmp_path / "none" / "a.py"
    done = CliRunner().invoke(app, ["compile", str(program), "-e", "airflow", "-o", str(place)])
    assert done.exit_code != 0
    assert f"{place} cannot be written: No such file or directory" in done.output
