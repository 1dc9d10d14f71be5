"""From the fields of a target to Argo, connected."""

from __future__ import annotations

import typing as t
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from couler.backends.argo.following import AWAY
from couler.backends.argo.remote import ArgoRemote
from couler.backends.remote import Connection, refuse_unknown_fields
from couler.errors import ConfigurationError
from couler.rest.credentials import Credential
from couler.rest.patience import Patience

if t.TYPE_CHECKING:
    from couler.backends.argo.cluster_api import ClusterApi
    from couler.backends.argo.memo_entries import MemoEntries
    from couler.backends.argo.server_api import ServerApi

CLUSTER_FIELDS = ("kubeconfig", "context", "timeout_s", "patience_s")
"""What a target may say of how the Kubernetes API is reached."""

SERVER_FIELDS = ("server", "token", "ca", "insecure", "timeout_s", "patience_s")
"""What a target may say of how an Argo Server is reached."""

FIELDS = tuple(dict.fromkeys((*SERVER_FIELDS, *CLUSTER_FIELDS)))

_TIMEOUT_S = 30.0


def connect(connection: Connection, environment: Mapping[str, str]) -> ArgoRemote:
    """Return Argo; the cluster is first asked when a method of it is called."""
    refuse_unknown_fields(connection, FIELDS)
    if "server" in connection.fields:
        return ArgoRemote(server_api(connection, environment), away=_away(connection))
    _refuse_others(connection, CLUSTER_FIELDS, "that names no server")
    return ArgoRemote(cluster_api(connection, environment), away=_away(connection))


def memo_entries(connection: Connection, environment: Mapping[str, str]) -> MemoEntries:
    """Return the entries of cached steps of a cluster."""
    from couler.backends.argo.memo_entries import MemoEntries

    refuse_unknown_fields(connection, FIELDS)
    if "server" in connection.fields:
        raise ConfigurationError(
            "argo: entries of cached steps are in config maps, which an Argo Server does not give. "
            "Use a target without `server`, which asks the cluster itself"
        )
    return MemoEntries(cluster_api(connection, environment))


def cluster_nodes(
    connection: Connection, environment: Mapping[str, str]
) -> Sequence[Mapping[str, t.Any]]:
    """Return the nodes of a cluster."""
    refuse_unknown_fields(connection, FIELDS)
    if "server" in connection.fields:
        raise ConfigurationError(
            f"{_target(connection)}: an Argo Server does not tell of nodes. Use a target without "
            "`server`, which asks the cluster itself"
        )
    _refuse_others(connection, CLUSTER_FIELDS, "that names no server")
    return cluster_api(connection, environment).nodes()


def _away(connection: Connection) -> Patience:
    """Return how long a server may be away while a run is followed."""
    return replace(AWAY, total_s=seconds(connection, "patience_s", AWAY.total_s))


def cluster_api(connection: Connection, environment: Mapping[str, str]) -> ClusterApi:
    """Return the Kubernetes API of a cluster."""
    kubeconfig = _text(connection, "kubeconfig")
    context = _text(connection, "context")
    timeout_s = seconds(connection, "timeout_s", _TIMEOUT_S)
    try:
        from couler.backends.argo import kube_access
    except ImportError as error:
        raise ConfigurationError(
            "submitting to Argo needs an extra: pip install 'couler[argo]'"
        ) from error
    from couler.backends.argo.cluster_api import ClusterApi
    from couler.rest.client import RestClient

    config = kube_access.find_config(kubeconfig, context, environment)
    client = RestClient(
        "argo",
        config.cluster.server,
        extra="argo",
        timeout_s=timeout_s,
        patience=Patience.of_calls(_away(connection).total_s),
        http=kube_access.http_client(config, environment, timeout_s),
        hints={401: kube_access.renewal(config)},
    )
    return ClusterApi(client, connection.target.namespace or config.namespace)


def server_api(connection: Connection, environment: Mapping[str, str]) -> ServerApi:
    """Return an Argo Server."""
    from couler.backends.argo.server_api import ServerApi
    from couler.rest.client import RestClient

    _refuse_others(connection, SERVER_FIELDS, "of an Argo Server")
    token = None
    if connection.fields.get("token") is not None:
        what = f"the token of {_target(connection)}"
        token = ServerToken(Credential(what, connection.fields["token"], environment))
    insecure = connection.fields.get("insecure", False)
    if not isinstance(insecure, bool):
        raise ConfigurationError(
            f"{_target(connection)}: insecure must be true or false, not {insecure!r}"
        )
    client = RestClient(
        "argo",
        _text(connection, "server") or "",
        extra="argo",
        token=token,
        ca=_text(connection, "ca"),
        insecure=insecure,
        timeout_s=seconds(connection, "timeout_s", _TIMEOUT_S),
        patience=Patience.of_calls(_away(connection).total_s),
    )
    return ServerApi(client, connection.target.namespace or "default")


def _refuse_others(connection: Connection, allowed: Collection[str], kind: str) -> None:
    """Refuse fields that belong to the other way to reach Argo."""
    others = [name for name in connection.fields if name not in allowed]
    if others:
        raise ConfigurationError(
            f"{_target(connection)}: {others[0]} is no setting of a target {kind}; these are "
            f"{', '.join(allowed)}"
        )


def _text(connection: Connection, name: str) -> str | None:
    value = connection.fields.get(name)
    if value is None or (isinstance(value, str) and value):
        return value
    raise ConfigurationError(f"{_target(connection)}: {name} must be a text, not {value!r}")


def seconds(connection: Connection, name: str, default: float) -> float:
    """Return a field that is a number of seconds."""
    value = connection.fields.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 86400:
        raise ConfigurationError(
            f"{_target(connection)}: {name} must be a number of seconds, not {value!r}"
        )
    return float(value)


def _target(connection: Connection) -> str:
    return f'the target "{connection.name}"' if connection.name else "the target"


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
        """Return it."""
        return self.credential.read().removeprefix(_BEARER)

    def forget(self) -> None:
        """Read it anew next time."""
        self.credential.forget()
