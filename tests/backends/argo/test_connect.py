"""The way to a cluster: fields of a target, kubeconfig files, programs that give tokens."""

from __future__ import annotations

import json
import stat
import typing as t
from contextlib import suppress
from pathlib import Path

import pytest

from couler.backends.argo import ArgoBackend
from couler.backends.argo.cluster_api import ClusterApi
from couler.backends.base import Target
from couler.backends.remote import Connection
from couler.errors import ConfigurationError, LostRunError
from couler.rest.client import RestError
from tests.fakes.kubernetes.faults import RequestFault
from tests.support.argo_cluster import EmulatedCluster

Json = dict[str, t.Any]


def _connect(
    fields: Json | None = None,
    environment: dict[str, str] | None = None,
    *,
    namespace: str | None = None,
    name: str | None = None,
) -> ClusterApi:
    connection = Connection("argo", Target(namespace=namespace), fields or {}, name)
    return t.cast("ClusterApi", ArgoBackend().connect(connection, environment or {}).api)


def _config(file: Path, address: str, **user: t.Any) -> Path:
    """Write a file with two contexts: `here`, the current one, and `away`."""
    clusters = {"here": f"http://{address}", "away": "https://away.example"}
    tree = {
        "current-context": "here",
        "clusters": [{"name": key, "cluster": {"server": at}} for key, at in clusters.items()],
        "users": [{"name": "me", "user": user}],
        "contexts": [
            {"name": key, "context": {"cluster": key, "user": "me", "namespace": f"in-{key}"}}
            for key in clusters
        ],
    }
    file.write_text(json.dumps(tree))
    return file


def test_the_variable_names_files(tmp_path: Path) -> None:
    first = _config(tmp_path / "first", "127.0.0.1:1")
    second = _config(tmp_path / "second", "127.0.0.1:2")
    tree = json.loads(second.read_text())
    tree["contexts"][1]["name"] = "other"
    second.write_text(json.dumps(tree))
    environment = {"KUBECONFIG": f"{tmp_path / 'none'}:{first}:{second}"}
    assert _connect({}, environment).address == "http://127.0.0.1:1"
    assert _connect({"context": "other"}, environment).address == "https://away.example"
    # What a target says counts more.
    given = {"kubeconfig": str(second)}
    assert _connect(given, environment).address == "http://127.0.0.1:2"


def test_the_account_of_a_pod(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    variables = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"}
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("HOME", str(tmp_path))
    kube = _config(tmp_path / "config", "127.0.0.1:1")
    (tmp_path / ".kube").mkdir()
    kube.rename(tmp_path / ".kube" / "config")
    account = tmp_path / "account"
    monkeypatch.setattr("couler.backends.argo.kube_access.SERVICE_ACCOUNT", str(account))
    # A pod need not be given its account.
    assert _connect({}, variables).address == "http://127.0.0.1:1"
    account.mkdir()
    (account / "token").write_text("s3cret")
    with pytest.raises(ConfigurationError, match="the account of this pod is no configuration"):
        _connect({}, variables)
    (account / "namespace").write_text("ml")
    with pytest.raises(ConfigurationError, match='the context "default" says of certificates'):
        _connect({}, variables)


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"kubeconfg": "x"}, 'the target "prod": .*"kubeconfg".*Did you mean "kubeconfig"'),
        ({"kubeconfig": 3}, 'the target "prod": kubeconfig .*must be a text'),
        ({"timeout_s": 0}, 'the target "prod": timeout_s'),
        ({"timeout_s": True}, "timeout_s .*number"),
        ({"kubeconfig": "/nowhere/config"}, "no configuration of a cluster was found.*/nowhere/c"),
    ],
)
def test_wrong_fields_are_told_of(fields: Json, told: str) -> None:
    with pytest.raises(ConfigurationError, match=told):
        _connect(fields, name="prod")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "is no configuration of a cluster that can be used: it is empty$"),
        ("{", "is no configuration of a cluster"),
        ("[]", "that can be used: it is not made up as a kubeconfig file is$"),
        ('{"clusters": []}', "is no configuration of a cluster that can be used: it lacks 'contex"),
        ('{"clusters": [], "contexts": []}', "No current context set"),
    ],
)
def test_files_that_are_no_configuration(tmp_path: Path, text: str, told: str) -> None:
    file = tmp_path / "config"
    file.write_text(text)
    with pytest.raises(ConfigurationError, match=told):
        _connect({"kubeconfig": str(file)})


def test_a_context_that_is_not_there(tmp_path: Path) -> None:
    file = _config(tmp_path / "config", "127.0.0.1:1")
    with pytest.raises(ConfigurationError, match='has no context "prod"; it has: away, here'):
        _connect({"kubeconfig": str(file), "context": "prod"})


def test_certificates_that_are_not_there(tmp_path: Path) -> None:
    file = _config(tmp_path / "config", "127.0.0.1:1")
    tree = json.loads(file.read_text())
    tree["clusters"][0]["cluster"]["certificate-authority"] = "ca.crt"
    file.write_text(json.dumps(tree))
    with pytest.raises(ConfigurationError, match='the context "here" says of certificates'):
        _connect({"kubeconfig": str(file)})


# tokens from programs -----------------------------------------------------------------------------

V1 = "client.authentication.k8s.io/v1"


def _program(folder: Path, script: str) -> dict[str, t.Any]:
    file = folder / "give-token"
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(file.stat().st_mode | stat.S_IXUSR)
    return {"apiVersion": V1, "command": "./give-token", "env": [{"name": "WHO", "value": "me"}]}


def _ask(api: ClusterApi) -> None:
    """Ask for a Workflow that is not there."""
    with suppress(LostRunError):
        api.snapshot("none")


def _count(folder: Path) -> int:
    return len((folder / "asked").read_text().splitlines())


def _answer(folder: Path, status: str) -> str:
    return f"echo asked >> {folder}/asked; echo '{{\"status\": {status}}}'"


def test_a_program_gives_the_token_and_another_when_it_is_no_longer_taken(
    cluster: EmulatedCluster, tmp_path: Path
) -> None:
    program = _program(tmp_path, _answer(tmp_path, '{"token": "\'$WHO\'-1"}'))
    file = _config(tmp_path / "config", cluster.server.address, exec=program)
    api = _connect({"kubeconfig": str(file)}, {"PATH": "/usr/bin:/bin"})
    assert not (tmp_path / "asked").exists()  # nothing is asked before it is needed
    _ask(api)
    _ask(api)
    assert _count(tmp_path) == 1
    cluster.faults.add(RequestFault("GET", "/workflows", code=401, times=1))
    _ask(api)
    assert _count(tmp_path) == 2


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("echo no login >&2; exit 3", "give-token, which gives the token.* ended with 3: no login"),
        ("echo s3cret", "give-token was asked for the token of the cluster and gave none"),
        ("echo '{}'", "gave none"),
    ],
)
def test_a_program_that_gives_none_is_told_of(
    cluster: EmulatedCluster, tmp_path: Path, script: str, told: str
) -> None:
    file = _config(tmp_path / "config", cluster.server.address, exec=_program(tmp_path, script))
    api = _connect({"kubeconfig": str(file)}, {"PATH": "/usr/bin:/bin"})
    with pytest.raises(ConfigurationError, match=told) as caught:
        _ask(api)
    assert "s3cret" not in str(caught.value)


def test_a_program_that_is_missing_is_told_of(cluster: EmulatedCluster, tmp_path: Path) -> None:
    program = {"apiVersion": V1, "command": "./none", "installHint": "Install it"}
    file = _config(tmp_path / "config", cluster.server.address, exec=program)
    with pytest.raises(ConfigurationError, match=r"none, which .* cannot be started: .*Install it"):
        _ask(_connect({"kubeconfig": str(file)}))


def test_tokens_are_in_no_message(cluster: EmulatedCluster, tmp_path: Path) -> None:
    file = _config(tmp_path / "config", cluster.server.address, token="s3cret")
    cluster.faults.add(RequestFault("GET", "/workflows", code=401, message="Unauthorized"))
    with pytest.raises(RestError, match="refused with 401") as caught:
        _ask(_connect({"kubeconfig": str(file)}))
    assert "s3cret" not in repr(caught.value)
