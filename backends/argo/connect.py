"""From the fields of a target to Argo, connected, with the token of an Argo Server."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pydantic import model_validator

from couler.backends.argo.following import AWAY
from couler.backends.argo.remote import ArgoRemote
from couler.backends.remote import Connection, GivenText, Seconds
from couler.config_files import Table
from couler.errors import ConfigurationError
from couler.rest.credentials import Credential
from couler.rest.patience import Patience

if t.TYPE_CHECKING:
    from couler.backends.argo.cluster_api import ClusterApi
    from couler.backends.argo.memo_entries import MemoEntries
    from couler.backends.argo.server_api import ServerApi
    from couler.cluster.objects import ClusterObjects
    from couler.rest.client import RestClient


class Fields(Table):
    """What a target may say of how Argo is reached: by the Kubernetes API, or an Argo Server."""

    kubeconfig: GivenText | None = None
    context: GivenText | None = None
    server: GivenText | None = None
    token: t.Any = None
    ca: GivenText | None = None
    insecure: bool = False
    timeout_s: Seconds = 30.0
    patience_s: Seconds = AWAY.total_s

    @model_validator(mode="after")
    def _check_way(self) -> t.Self:
        if self.server is None:
            others = {"token", "ca", "insecure"} & self.model_fields_set
            kind = "that names no server"
        else:
            others = {"kubeconfig", "context"} & self.model_fields_set
            kind = "of an Argo Server"
        if others:
            raise ValueError(f"{min(others)} is no setting of a target {kind}")
        return self

    @property
    def away(self) -> Patience:
        """How long a server may be away while a run is followed."""
        return replace(AWAY, total_s=self.patience_s)


def connect(connection: Connection, environment: Mapping[str, str]) -> ArgoRemote:
    """Return Argo; the cluster is first asked when a method of it is called."""
    fields = connection.read(Fields)
    if fields.server is not None:
        return ArgoRemote(_server_api(connection, fields, environment), away=fields.away)
    return ArgoRemote(cluster_api(connection, environment), away=fields.away)


def memo_entries(connection: Connection, environment: Mapping[str, str]) -> MemoEntries:
    """Return the entries of cached steps of a cluster."""
    from couler.backends.argo.memo_entries import MemoEntries

    if connection.read(Fields).server is not None:
        raise ConfigurationError(
            "argo: entries of cached steps are in config maps, which an Argo Server does not give. "
            "Use a target without `server`, which asks the cluster itself"
        )
    return MemoEntries(cluster_api(connection, environment))


def cluster_nodes(
    connection: Connection, environment: Mapping[str, str]
) -> Sequence[Mapping[str, t.Any]]:
    """Return the nodes of a cluster."""
    _check_no_server(connection, "tell of nodes")
    return cluster_api(connection, environment).nodes()


def cluster_objects(connection: Connection, environment: Mapping[str, str]) -> ClusterObjects:
    """Return the objects of a namespace."""
    from couler.backends.argo.cluster_api import KubernetesObjects

    _check_no_server(connection, "give the objects of a cluster")
    return KubernetesObjects(*_cluster_client(connection, environment))


def _check_no_server(connection: Connection, what: str) -> None:
    if connection.read(Fields).server is not None:
        raise ConfigurationError(
            f"{connection.place}: an Argo Server does not {what}. Use a target without `server`, "
            "which asks the cluster itself"
        )


def cluster_api(connection: Connection, environment: Mapping[str, str]) -> ClusterApi:
    """Return the Kubernetes API of a cluster."""
    from couler.backends.argo.cluster_api import ClusterApi

    return ClusterApi(*_cluster_client(connection, environment))


def _cluster_client(
    connection: Connection, environment: Mapping[str, str]
) -> tuple[RestClient, str]:
    """Return what asks a cluster, and the namespace."""
    fields = connection.read(Fields)
    try:
        from couler.backends.argo import kube_access
    except ImportError as error:
        raise ConfigurationError(
            "submitting to Argo needs an extra: pip install 'couler[argo]'"
        ) from error
    from couler.rest.client import RestClient

    config = kube_access.find_config(fields.kubeconfig, fields.context, environment)
    client = RestClient(
        "argo",
        config.cluster.server,
        extra="argo",
        timeout_s=fields.timeout_s,
        patience=Patience.of_calls(fields.patience_s),
        http=kube_access.http_client(config, environment, fields.timeout_s),
        hints={401: kube_access.renewal(config)},
    )
    return client, connection.target.namespace or config.namespace


def _server_api(
    connection: Connection, fields: Fields, environment: Mapping[str, str]
) -> ServerApi:
    from couler.backends.argo.server_api import ServerApi
    from couler.rest.client import RestClient

    token = None
    if fields.token is not None:
        what = f"the token of {connection.place}"
        token = ServerToken(Credential(what, fields.token, environment))
    client = RestClient(
        "argo",
        fields.server or "",
        extra="argo",
        token=token,
        ca=fields.ca,
        insecure=fields.insecure,
        timeout_s=fields.timeout_s,
        patience=Patience.of_calls(fields.patience_s),
    )
    return ServerApi(client, connection.target.namespace or "default")


_BEARER = "Bearer "


@dataclass(frozen=True, slots=True)
class ServerToken:
    """A token, less the word `Bearer` that `argo auth token` and `ARGO_TOKEN` have before it."""

    credential: Credential

    @property
    def can_change(self) -> bool:
        """Whether reading again may give another one."""
        return self.credential.can_change

    def read(self) -> str:
        """Return the token."""
        return self.credential.read().removeprefix(_BEARER)

    def forget(self) -> None:
        """Read it anew next time."""
        self.credential.forget()
