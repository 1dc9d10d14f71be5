"""Secrets that are connections of Airflow."""

from __future__ import annotations

import typing as t
from collections.abc import Iterator

from couler.backends.airflow.options import Options
from couler.backends.airflow.python import quoted
from couler.ir.diagnostics import Diagnostic, did_you_mean
from couler.ir.pods import PodContainer
from couler.ir.storage import ENTRIES, CsiVolume, EnvVar, SecretKey, SecretVolume
from couler.ir.uses import needs
from couler.ir.walk import locations, pod_containers, scopes
from couler.ir.workflow import Http, Step, Workflow

CONNECTION_CODE = "CLR378"
_SHOWN = ("host", "login", "port", "schema")
_HIDDEN = ("extra", "password")


def connections(options: Options) -> frozenset[str]:
    """Return the names of the secrets that are connections."""
    return frozenset(name.strip() for name in options.connections.split(",") if name.strip())


def is_connection(variable: EnvVar, names: frozenset[str]) -> bool:
    """Return whether a variable comes from a connection."""
    return variable.secret is not None and variable.secret.secret in names


def connection_value(entry: SecretKey) -> str:
    """Return the expression for an entry of a connection, as a template of a pod has it."""
    of = f"conn[{quoted(entry.secret)}]"  # unlike `conn.get`, it fails if there is none
    if entry.key == "uri":
        return f"hidden({of}.get_uri())"
    is_field = entry.key in (*_SHOWN, *_HIDDEN)
    field = entry.key if is_field else f"extra_dejson.get({quoted(entry.key)})"
    value = f"there({of}.{field}, {quoted(f'{entry.key} of {entry.secret}')})"
    return f'{value} | replace("$", "$$")' if entry.key in _SHOWN else f"hidden({value})"


def check_connections(workflow: Workflow, options: Options) -> Iterator[Diagnostic]:
    """Yield the uses of secrets that are no use of a connection."""
    names = connections(options)
    if not names:
        return
    secrets = {need.name for need in needs(workflow) if need.kind == "secret"}
    for name in sorted(names - secrets):  # which may be for other workflows
        meant = did_you_mean(name, secrets - names)
        if meant:
            yield Diagnostic(
                CONNECTION_CODE,
                f'airflow: the option `connections` names "{name}", and the workflow has no secret '
                f"of this name.{meant}",
                source=workflow.source,
                severity="warning",
            )
    for what in _bad_uses_of_all(workflow, names):
        yield _refused("the workflow", what, source=workflow.source)
    for scope in scopes(workflow):
        for step in scope.steps:
            path = scope.path_of(step)
            for what in _bad_uses(step, names):
                yield _refused(f'step "{path}"', what, step=path, source=step.source)


def _refused(who: str, use: _Use, **where: t.Any) -> Diagnostic:
    return Diagnostic(
        CONNECTION_CODE,
        f'airflow: {who} takes {use.what} from the secret "{use.secret}", which the option '
        "`connections` makes a connection of Airflow. A connection gives environment variables "
        f"single entries, and nothing else. {use.mend}",
        **where,
    )


class _Use(t.NamedTuple):
    """What takes from a secret what a connection does not give."""

    what: str
    secret: str
    mend: str = "Take it out of the option, or name another secret here, one of Kubernetes."


def _bad_uses_of_all(workflow: Workflow, names: frozenset[str]) -> Iterator[_Use]:
    for volume in workflow.volumes:
        if isinstance(volume, SecretVolume | CsiVolume) and volume.secret in names:
            yield _Use(f'the volume "{volume.name}"', volume.secret)
    pulls = () if workflow.pod is None else workflow.pod.image_pull_secrets
    for name in pulls:
        if name in names:
            yield _Use("the right to pull images", name)


def _bad_uses(step: Step, names: frozenset[str]) -> Iterator[_Use]:
    owners: tuple[Step | PodContainer, ...] = (step, *pod_containers(step))
    for owner in owners:
        for source in owner.env_from:
            if source.secret is not None and source.secret in names:
                mend = "Name them one by one, each for a variable."
                yield _Use("all entries", source.secret, mend)
        for variable in owner.env:
            secret = variable.secret
            if secret is not None and secret.secret in names and secret.optional:
                mend = "Leave `optional` out: the entry must be there."
                yield _Use(f'the optional entry "{secret.key}"', secret.secret, mend)
    headers = step.action.headers if isinstance(step.action, Http) else ()
    for header in headers:
        if header.secret is not None and header.secret.secret in names:
            yield _Use(f'the header "{header.name}"', header.secret.secret)
    for location in locations(step):
        for _, key in ENTRIES.visit(location):
            if isinstance(key, SecretKey) and key.secret in names:
                yield _Use("the credentials of a location", key.secret)
