"""Secrets made on a cluster from values that a program has; those of others are left alone."""

from __future__ import annotations

from collections.abc import Mapping

from couler.backends.remote import Json
from couler.errors import RefusedError
from couler.rest.client import RestClient, RestError

_OWNER, _COULER = "app.kubernetes.io/managed-by", "couler"
_APPLY = "application/apply-patch+yaml"


def secret(name: str, entries: Mapping[str, str]) -> Json:
    """Return a secret as Kubernetes takes it, marked as one from here."""
    metadata = {"name": name, "labels": {_OWNER: _COULER}}
    kinds = {"apiVersion": "v1", "kind": "Secret", "type": "Opaque"}
    return {**kinds, "metadata": metadata, "stringData": dict(entries)}


def put_secret(
    client: RestClient, namespace: str, manager: str, name: str, entries: Mapping[str, str]
) -> None:
    """Make a secret, or renew one that was made from here."""
    path = f"/api/v1/namespaces/{namespace}/secrets"
    params: dict[str, str | int | bool] = {"fieldManager": manager}
    try:
        found = client.call("GET", f"{path}/{name}", absent=(404,))
    except RestError as error:
        if error.code != 403:
            raise
        _create_unseen(client, path, params, namespace, secret(name, entries))
        return
    labels = ((found or {}).get("metadata") or {}).get("labels") or {}
    if found is not None and labels.get(_OWNER) != _COULER:
        raise _taken(namespace, name, "which was not made from here")
    client.call(
        "PATCH",
        f"{path}/{name}",
        send=secret(name, entries),
        content_type=_APPLY,
        params={**params, "force": "true"},
        repeat=True,
    )


def _create_unseen(
    client: RestClient,
    path: str,
    params: Mapping[str, str | int | bool],
    namespace: str,
    wanted: Json,
) -> None:
    """Make a secret where the account may not look whether there is one."""
    try:
        client.call("POST", path, send=wanted, params=params)
    except RestError as error:
        if error.code != 409:
            raise
        raise _taken(
            namespace, wanted["metadata"]["name"], "which this account may not look at"
        ) from error


def _taken(namespace: str, name: str, why: str) -> RefusedError:
    return RefusedError(
        f"argo: the namespace {namespace} has a secret {name} already, {why}: it is left as it is. "
        "Submit without creating secrets (no --create-secrets; ArgoSubmitter(create_secrets=False))"
        " to use it, or give the program's another name"
    )
