"""Named targets: what they state, which one is chosen, and what is refused."""

from __future__ import annotations

import re
import typing as t
from pathlib import Path

import click
import pytest

from couler.backends.base import Target
from couler.backends.remote import Connection
from couler.cli._targets import choose_target, connect_to
from couler.cli.session import Session
from couler.errors import ConfigurationError, EngineOptionError

TWO = """
[tool.couler.targets.prod]
engine = "argo"
namespace = "ml"
profile = "argo-minimal-crd"
engine_version = "4.0"
options = { kind = "Workflow" }
server = "https://argo.example:2746"
token = { env = "ARGO_TOKEN" }
ca = { file = "certificates/ca.pem" }

[tool.couler.targets.prod.storage.s3]
bucket = "prod"

[tool.couler.targets.nightly]
engine = "airflow"

[tool.couler.storage.s3]
bucket = "all"
endpoint = "minio:9000"
"""


@pytest.fixture
def project(folder: Path) -> Path:
    (folder / "pyproject.toml").write_text(TWO)
    return folder


def session(**environment: str) -> Session:
    return Session(environment=environment)


def test_paths_start_at_the_folder_of_the_file(folder: Path) -> None:
    (folder / "pyproject.toml").write_text(
        '[tool.couler.targets.a]\nengine = "argo"\nkubeconfig = "clusters/dev"\ncontext = "dev"\n'
        '[tool.couler.targets.b]\nengine = "airflow"\ndags = "dags"\n'
        '[tool.couler.targets.c]\nengine = "airflow"\ndags = "s3://bucket/dags"\n'
        '[tool.couler.targets.d]\nengine = "airflow"\ndags = "/opt/dags"\n'
    )
    fields = [connect_to(session(), None, name).fields for name in "abcd"]
    assert fields[0] == {"kubeconfig": str(folder / "clusters/dev"), "context": "dev"}
    assert [one["dags"] for one in fields[1:]] == [
        str(folder / "dags"),
        "s3://bucket/dags",
        "/opt/dags",
    ]


def test_flags_go_before_the_target(project: Path) -> None:
    made = connect_to(
        session(),
        "argo",
        "prod",
        profile="argo",
        engine_version="3.6",
        namespace="mine",
        options=("kind=CronWorkflow", "extra=1"),
        storages=("s3.bucket=given",),
    )
    assert made.target == Target(
        "argo",
        "3.6",
        "mine",
        {"kind": "CronWorkflow", "extra": "1"},
        {"s3": {"bucket": "given", "endpoint": "minio:9000"}},
    )


@pytest.mark.parametrize(
    ("engine", "name", "environment", "chosen"),
    [
        (None, "prod", {}, ("prod", "argo")),
        ("argo", None, {}, ("prod", "argo")),  # the only one
        ("airflow", None, {"COULER_TARGET": "prod"}, ("nightly", "airflow")),
        (None, None, {"COULER_TARGET": "nightly"}, ("nightly", "airflow")),
        (None, None, {"COULER_TARGET": "nightly", "COULER_ENGINE": "argo"}, ("nightly", "airflow")),
        (None, None, {"COULER_ENGINE": "argo"}, ("prod", "argo")),
        ("local", None, {}, (None, "local")),
    ],
)
def test_choice(
    project: Path,
    engine: str | None,
    name: str | None,
    environment: dict[str, str],
    chosen: tuple[str | None, str],
) -> None:
    found, of = choose_target(session(**environment), engine, name)
    assert (None if found is None else found.name, of) == chosen


def test_engine_without_targets_is_a_connection_of_defaults(folder: Path) -> None:
    assert connect_to(session(), "argo", None) == Connection("argo")


def test_two_of_an_engine_are_no_choice(project: Path) -> None:
    (project / "pyproject.toml").write_text(TWO + '[tool.couler.targets.test]\nengine = "argo"\n')
    with pytest.raises(click.UsageError, match=r"several targets are of argo: prod, test\. Give"):
        choose_target(session(), "argo", None)


def test_nothing_chosen(project: Path) -> None:
    with pytest.raises(click.UsageError, match=r"-e ENGINE, or --target NAME \(prod, nightly\)"):
        choose_target(session(), None, None)
    (project / "pyproject.toml").unlink()
    with pytest.raises(click.UsageError, match=r"a target in \[tool\.couler\.targets\.NAME\]"):
        choose_target(session(), None, None)


def test_unknown_names_suggest_the_nearest(project: Path) -> None:
    with pytest.raises(ConfigurationError, match=r'there is no target "prdo".*Did you mean "prod"'):
        choose_target(session(), None, "prdo")
    with pytest.raises(ConfigurationError, match='COULER_TARGET: there is no target "x"'):
        choose_target(session(COULER_TARGET="x"), None, None)
    (project / "pyproject.toml").write_text('[tool.couler.targets.prod]\nengine = "agro"\n')
    with pytest.raises(EngineOptionError, match=r'there is no engine "agro".*Did you mean "argo"'):
        connect_to(session(), None, "prod")


def test_project_takes_the_place_of_the_users_target_as_a_whole(project: Path) -> None:
    user = project / "home/couler/config.toml"
    user.parent.mkdir(parents=True)
    user.write_text(
        '[targets.prod]\nengine = "argo"\nserver = "https://other"\npath = "x"\n'
        '[targets.mine]\nengine = "argo"\ntoken = { file = "token" }\n'
    )
    environment = {"XDG_CONFIG_HOME": str(project / "home")}
    assert "path" not in connect_to(session(**environment), None, "prod").fields
    mine = connect_to(session(**environment), None, "mine")
    assert mine.fields == {"token": {"file": str(user.parent / "token")}}


@pytest.mark.parametrize(
    ("line", "place"),
    [
        ('token = "hush-hush"', "token"),
        ("admin_password = 1234", "admin_password"),
        ('Access-Key = "hush-hush"', "Access-Key"),
        ('basic = { user = "me", password = "hush-hush" }', "basic.password"),
        ('headers = { Authorization = "Bearer hush-hush" }', "headers.Authorization"),
        ('server = "https://me:hush-hush@argo.example"', "server"),
    ],
)
def test_secret_in_plain_is_refused_and_not_shown(folder: Path, line: str, place: str) -> None:
    text = f'[tool.couler.targets.prod]\nengine = "argo"\n{line}\n'
    (folder / "pyproject.toml").write_text(text)
    with pytest.raises(ConfigurationError) as caught:
        choose_target(session(), None, "prod")
    said = str(caught.value)
    assert f'target "prod": {place} holds a secret itself. Write where it is: {{env = ' in said
    assert "hush" not in said
    assert "1234" not in said


@pytest.mark.parametrize(
    "line",
    [
        'token = { command = "aws get-token --password x" }',
        'token = { env = "TOKEN" }',
        'token_url = "https://login.example"',
        'server = "https://argo.example:2746"',
    ],
)
def test_references_and_addresses_are_no_secrets(folder: Path, line: str) -> None:
    text = f'[tool.couler.targets.prod]\nengine = "argo"\n{line}\n'
    (folder / "pyproject.toml").write_text(text)
    assert connect_to(session(), None, "prod").name == "prod"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('targets = "argo"', ["targets", "a table", "argo"]),
        ('[tool.couler.targets]\nprod = "argo"', ["targets", "a table", "argo"]),
        (
            '[tool.couler.targets.prod]\nengin = "argo"',
            [
                'targets.prod.engine is missing. Add the engine\'s name, such as engine = "argo"',
                'Is it what you call "engin"?',
            ],
        ),
        (
            "[tool.couler.targets.prod]\nengine = 3",
            [":3: targets.prod.engine is 3; it must be a text"],
        ),
        ('[tool.couler.targets.prod]\nengine="a"\nnamespace = 3', ["namespace", "a text"]),
        (
            '[tool.couler.targets.prod]\nengine="a"\nx = [  # [\n "#",\n]  # ]\nprofile = 3',
            [":7: targets.prod.profile is 3"],
        ),
        ('[tool.couler.targets.prod]\nengine="a"\noptions = "x"', ["options", "a table"]),
        ('[tool.couler.targets.prod]\nengine="a"\nstorage = { s3 = 1 }', ["storage", "a table"]),
        ('[tool.couler.targets.prod]\nengine="a"\ncache_budget = "9Q"', ["cache_budget", "9Q"]),
    ],
)
def test_wrong_tables_say_where(folder: Path, text: str, words: list[str]) -> None:
    (folder / "pyproject.toml").write_text(f"[tool.couler]\n{text}\n")
    with pytest.raises(ConfigurationError) as caught:
        choose_target(session(), None, "prod")
    message = str(caught.value)
    assert all(one in message for one in words), message
    assert "pyproject.toml" in message


TARGETS = """
[tool.couler]
engine = "local"

[tool.couler.targets.cluster]
engine = "argo"
profile = "argo-minimal-crd"
namespace = "ml"
storage.s3.bucket = "b"

[tool.couler.targets.old]
engine = "argo"
engine_version = "3.6"

[tool.couler.targets.odd]
engine = "argo"
options = { kin = "Workflow" }
"""


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--target", "cluster"], 0, ""),
        (["--target", "cluster", "-e", "argo"], 0, ""),
        (["--target", "cluster", "-e", "airflow"], 2, '"cluster" is of argo, not of airflow'),
        (["--target", "clustr"], 3, 'there is no target "clustr".* Did you mean "cluster"'),
        (["--target", "old"], 2, "written for Argo 4, not for '3.6'"),
        (["--target", "old", "--engine-version", "4.0"], 0, ""),
        (["--target", "odd"], 2, "argo has no option 'kin'.*Did you mean \"kind\""),
        (["--target", "cluster", "--profile", "none"], 2, "none"),
    ],
)
def test_checks_of_a_target_are_seen_before_it_is_submitted_to(
    couler: t.Any,
    greet: str,
    folder: Path,
    arguments: list[str],
    code: int,
    words: str,
) -> None:
    (folder / "pyproject.toml").write_text(TARGETS)
    for command in ("validate", "plan", "compile"):
        told = couler(command, greet, *arguments)
        assert told.code == code, told.err
        assert re.search(words, told.err, re.DOTALL)


def test_the_plan_of_a_target_is_for_its_engine(couler: t.Any, greet: str, folder: Path) -> None:
    (folder / "pyproject.toml").write_text(TARGETS)
    assert couler("plan", greet, "--target", "cluster", "--format", "json").json["engine"] == "argo"
    told = couler("validate", greet, "--target", "cluster", "--format", "json")
    assert told.json["engines"] == ["argo"]
    told = couler("validate", greet, "--target", "cluster", "-e", "argo", "-e", "local")
    assert (told.code, "--target is of one engine" in told.err) == (2, True)
