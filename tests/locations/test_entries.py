"""Where the entries of secrets and config maps come from."""

from __future__ import annotations

from pathlib import Path

import pytest

from couler.backends.base import RunOptions
from couler.backends.local import LocalBackend
from couler.ir.storage import EnvFrom, EnvVar, SecretKey
from couler.ir.workflow import Workflow
from couler.locations.secrets import Entries
from tests.corpus.build import flow, sh

DB, ADMIN = EnvFrom(secret="db"), SecretKey(secret="db-admin", key="password")
BOTH = {"COULER_SECRET_db_password": "a", "COULER_SECRET_db_admin_password": "b"}


def test_a_secret_has_not_what_is_anothers_whose_name_begins_the_same() -> None:
    admin = sh("admin", "true", env=[EnvVar(name="PASSWORD", secret=ADMIN)])
    workflow = flow("w", sh("read", "true", env_from=[DB]), admin)
    entries = Entries(BOTH, workflow=workflow)
    assert entries.all_of(DB) == {"password": "a"}
    assert entries.find(ADMIN) == "b"
    alone = flow("w", sh("read", "true", env_from=[DB]))
    assert Entries(BOTH, workflow=alone).all_of(DB) == {"password": "a", "admin_password": "b"}


def test_a_folder_and_a_program_name_secrets_too(tmp_path: Path) -> None:
    (tmp_path / "db-admin").mkdir()
    environ = {**BOTH, "COULER_SECRETS_DIR": str(tmp_path)}
    assert Entries(environ).all_of(DB) == {"password": "a"}
    assert Entries(BOTH, {"db-admin": {"user": "u"}}).all_of(DB) == {"password": "a"}


def test_a_config_map_is_no_secret() -> None:
    settings = EnvFrom(config_map="db")
    environ = {"COULER_CONFIG_db_admin_size": "1", **BOTH}
    workflow = flow("w", sh("admin", "true", env=[EnvVar(name="PASSWORD", secret=ADMIN)]))
    assert Entries(environ, workflow=workflow).all_of(settings) == {"admin_size": "1"}


def test_the_environment_and_the_folder_stand_before_the_program(tmp_path: Path) -> None:
    given = {"db": {"user": "program", "password": "program", "port": "program"}}
    folder = tmp_path / "db"
    folder.mkdir()
    (folder / "user").write_text("folder")
    (folder / "password").write_text("folder")
    environ = {"COULER_SECRETS_DIR": str(tmp_path), "COULER_SECRET_db_user": "environment"}
    entries = Entries(environ, given)
    expected = {"user": "environment", "password": "folder", "port": "program"}
    assert {key: entries.find(SecretKey(secret="db", key=key)) for key in expected} == expected
    assert entries.all_of(DB) == expected


@pytest.fixture
def workflow() -> Workflow:
    secret = SecretKey(secret="db", key="password")
    script = 'echo "$PASSWORD ${#PASSWORD}"'
    return flow("w", sh("read", script, result=None, env=[EnvVar(name="PASSWORD", secret=secret)]))


def test_what_a_program_gives_is_masked_and_kept_nowhere(
    workflow: Workflow, tmp_path: Path
) -> None:
    given, options = {"db": {"password": "swordfish"}}, RunOptions(home=tmp_path)
    ended = LocalBackend().run(workflow, options=options, secrets=given)
    assert ended.status == "succeeded"
    assert Path(str(ended.steps["read"].log)).read_text() == "*** 9\n"
    again = LocalBackend().retry(ended.run_id, workflow=workflow, options=options, secrets=given)
    assert again.status == "succeeded"
    for file in tmp_path.rglob("*"):
        assert not file.is_file() or b"swordfish" not in file.read_bytes(), file
