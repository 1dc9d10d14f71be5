"""Secrets that are connections of Airflow."""

from __future__ import annotations

import pytest

from couler.backends.airflow import AirflowBackend, runtime
from couler.backends.airflow.connections import connection_value
from couler.backends.base import Target
from couler.ir.artifacts import S3Location
from couler.ir.pods import PodContainer, PodSettings
from couler.ir.storage import EnvFrom, EnvVar, Mount, SecretKey, SecretVolume
from couler.ir.workflow import Http, Input, Step, Workflow
from tests.backends.airflow.files import calls_of
from tests.support.sample_flows import echo, flow

BACKEND = AirflowBackend()
TARGET = Target(options={"connections": "db, hub"})


def secret(name: str, of: str, key: str, *, optional: bool = False) -> EnvVar:
    return EnvVar(name=name, secret=SecretKey(secret=of, key=key, optional=optional))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("login", 'there(conn["db"].login, "login of db") | replace("$", "$$")'),
        ("password", 'hidden(there(conn["db"].password, "password of db"))'),
        ("uri", 'hidden(conn["db"].get_uri())'),
        ("token", 'hidden(there(conn["db"].extra_dejson.get("token"), "token of db"))'),
    ],
)
def test_entries_are_fields_of_a_connection(key: str, value: str) -> None:
    assert connection_value(SecretKey(secret="db", key=key)) == value


def test_airflow_hides_both_forms_of_a_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    known: list[str] = []
    monkeypatch.setattr(runtime, "mask_secret", known.append, raising=False)
    assert runtime.hidden("pa$word") == "pa$$word"
    assert known == ["pa$word", "pa$$word"]


def test_an_entry_that_a_connection_has_not_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime, "AirflowFailException", LookupError, raising=False)
    with pytest.raises(LookupError, match="login of db"):
        runtime.there(None, "login of db")
    assert runtime.there("", "schema of db") == ""
    assert runtime.there(5432, "port of db") == "5432"
    assert runtime.there({"a": True}, "options of db") == '{"a":true}'


def test_only_secrets_that_the_option_names_are_connections() -> None:
    beside = PodContainer(
        name="b",
        image="x",
        command=("y",),
        env=(secret("A", "hub", "login"), secret("B", "s", "k")),
    )
    step = echo(
        "a",
        env=(secret("DSN", "db", "uri"), secret("TOKEN", "other", "token")),
        init_containers=(beside,),
    )
    found = calls_of(BACKEND.compile(flow(step), TARGET).to_text())["a"]
    assert found["env_vars"] == {"DSN": '{{ hidden(conn["db"].get_uri()) }}'}
    assert found["secrets"] == [("Secret", "env", "TOKEN", "other", "token")]
    login = 'there(conn["hub"].login, "login of hub") | replace("$", "$$")'
    (container,) = found["pod_template_dict"]["spec"]["initContainers"]
    assert container["env"] == [
        {"name": "A", "value": f"{{{{ {login} }}}}"},
        {"name": "B", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
    ]


def errors_of(workflow: Workflow, target: Target) -> list[str]:
    """Return the codes of errors: a name that the workflow has not is only a warning."""
    return [one.code for one in BACKEND.check(workflow, target) if one.severity == "error"]


@pytest.mark.parametrize(
    "step",
    [
        echo("a", env_from=(EnvFrom(secret="db"),)),
        echo("a", env=(secret("A", "db", "login", optional=True),)),
    ],
    ids=["all entries", "optional"],
)
def test_other_uses_of_a_connection_are_refused(step: Step) -> None:
    assert errors_of(flow(step), TARGET) == ["CLR378"]
    assert [*BACKEND.check(flow(step), Target())] == []


KEY = SecretKey(secret="db", key="login")


@pytest.mark.parametrize(
    "workflow",
    [
        flow(
            echo("a", mounts=(Mount(volume="v", path="/v"),)),
            volumes=(SecretVolume(name="v", secret="db"),),
        ),
        flow(echo("a"), pod=PodSettings(image_pull_secrets=("db",))),
        flow(
            Step(
                name="a",
                action=Http(url="http://a", headers=(EnvVar(name="A", secret=KEY),)),
            )
        ),
        flow(
            echo(
                "a",
                inputs=(
                    Input(
                        name="f", type="file", at=S3Location(key="k", bucket="b", access_key=KEY)
                    ),
                ),
            )
        ),
    ],
    ids=["volume", "pull", "header", "location"],
)
def test_only_variables_come_from_connections(workflow: Workflow) -> None:
    files = {"files_claim": "files", "io_image": "couler"}
    target = Target(options={**TARGET.options, **files})
    assert errors_of(workflow, target) == ["CLR378"]
    assert [*BACKEND.check(workflow, Target(options=files))] == []
