"""Submitting to Argo Workflows on a Kubernetes cluster."""

from __future__ import annotations

import json
import os
import typing as t
from collections.abc import Mapping
from pathlib import Path

from couler.backends import get_backend
from couler.backends.base import Target
from couler.backends.remote import Connection
from couler.dsl.workflow import Workflow
from couler.errors import ConfigurationError, EngineError, EngineOptionError
from couler.ir.defaults import Storages
from couler.ir.uses import needs
from couler.rest.client import RestError
from couler.submitters import (
    SubmittedRun,
    SubmittedSchedule,
    absolute,
    schedule_at,
    schedules_at,
    submit_to,
)

if t.TYPE_CHECKING:
    from couler.backends.argo import ArgoBackend
    from couler.backends.argo.cluster_api import ClusterApi
    from couler.backends.argo.remote import ArgoRemote

__all__ = ["ArgoSubmitter", "delete"]


def __getattr__(name: str) -> object:
    from couler.dsl.absent import missing

    raise missing(__name__, name)


Kind: t.TypeAlias = t.Literal["Workflow", "CronWorkflow", "WorkflowTemplate"]


class ArgoSubmitter:
    """Submits workflows to the Argo Workflows of a cluster; for `couler.run`.

    The cluster is first asked when a workflow is submitted.

    Parameters
    ----------
    namespace
        Where the workflow runs.
    config_file
        Kubernetes' configuration file; None for the usual places, or that of the pod.
    context
        Context of that file; None for its current one.
    client_configuration
        Kept for programs of the ancestor; has no effect.
    persist_config
        Kept for programs of the ancestor; has no effect.
    create_secrets
        Make or renew the secrets whose values `couler.create_secret` was given, as the ancestor
        does. One of the same name that was not made from here is refused, and left as it is.
    kind
        What to make of workflows: a `Workflow`, a `CronWorkflow`, or a `WorkflowTemplate` that is
        stored on the cluster under its name; by default what the schedule says. Those with a name
        of their own replace what the cluster has under it.
    parameters
        Values of the workflow's parameters, for a run or for those of a schedule; text is read as
        the declared type.
    storages
        What programs need not say of where files are, by the kind of storage.
    fields
        What else a target of the settings says of how Argo is reached, such as `timeout_s`.
    name
        Name of the run; None for a new one. A run of that name which is there is not doubled.
    home
        The folder in which runs are kept; None for the usual one.

    Examples
    --------
    >>> import couler
    >>> submitter = couler.ArgoSubmitter(namespace="ml")
    """

    def __init__(
        self,
        namespace: str = "default",
        config_file: str | None = None,
        context: str | None = None,
        client_configuration: object = None,
        persist_config: bool = True,
        *,
        create_secrets: bool = True,
        kind: Kind | None = None,
        parameters: Mapping[str, object] | None = None,
        storages: Storages | None = None,
        fields: Mapping[str, t.Any] | None = None,
        name: str | None = None,
        home: Path | str | None = None,
    ) -> None:
        self.kind = kind
        self.parameters = dict(parameters or {})
        self.storages = dict(storages or {})
        self.fields = dict(fields or {})
        self.name = name
        self.home = home
        self.namespace = namespace
        self.config_file = config_file
        self.context = context
        self.create_secrets = create_secrets

    def submit(self, workflow: Workflow) -> SubmittedRun | dict[str, t.Any]:
        """Compile a workflow and create it on the cluster.

        Returns
        -------
        SubmittedRun or dict
            The run, which is recorded as `couler submit` records it and goes on by itself; of a
            CronWorkflow or a WorkflowTemplate, the last object that was made, as the cluster gives
            it back.

        Raises
        ------
        InvalidWorkflowError
            The workflow has errors.
        ConfigurationError
            The extra `argo` is missing, there is no configuration of a cluster, or a secret is in
            another namespace.
        EngineError
            The cluster refused.
        """
        if self._makes_a_run(workflow):
            return self._begin(workflow)
        if self.kind == "WorkflowTemplate":
            return self._store(workflow)
        made = self.schedule(workflow)
        found = self._remote().api.cron_workflow(made.state().place["name"])
        return dict(found or {})

    def schedule(self, workflow: Workflow) -> SubmittedSchedule:
        """Put a workflow that has a schedule in place as a CronWorkflow, or renew it.

        One that is paused stays so. The parameters are what its runs have in the place of the
        defaults.

        Raises
        ------
        DefinitionError
            The workflow has no schedule.
        InvalidWorkflowError, ParameterError, ConfigurationError, EngineError
            As `submit`.
        """
        self._check_secrets(workflow)
        return schedule_at(
            self._connection(),
            workflow,
            parameters=self.parameters,
            before_put=lambda: self._make_secrets(workflow),
        )

    def schedules(self) -> list[SubmittedSchedule]:
        """Return what was put in place from here and is still there."""
        return schedules_at(self._connection())

    def _store(self, workflow: Workflow) -> dict[str, t.Any]:
        """Put a template in place."""
        self._check_secrets(workflow)
        made = self.manifests(workflow)
        self._make_secrets(workflow)
        return dict(self._remote().put(made))

    def _makes_a_run(self, workflow: Workflow) -> bool:
        is_scheduled = workflow.to_ir().schedule is not None
        return self.kind == "Workflow" or (self.kind is None and not is_scheduled)

    def _begin(self, workflow: Workflow) -> SubmittedRun:
        self._check_secrets(workflow)
        connection = self._connection()
        if self._has_secrets(workflow):
            workflow.plan("argo", target=connection.target)  # a wrong workflow makes no secrets
            self._make_secrets(workflow)
        return submit_to(
            connection, workflow, parameters=self.parameters, name=self.name, home=self.home
        )

    def _has_secrets(self, workflow: Workflow) -> bool:
        """Whether secrets of the workflow are to be made."""
        secrets = workflow._builder.secrets.values()
        return self.create_secrets and any(one.is_new for one in secrets)

    def _make_secrets(self, workflow: Workflow) -> None:
        if self._has_secrets(workflow):
            self._apply_secrets(self._cluster(), workflow)

    def manifests(self, workflow: Workflow) -> list[dict[str, t.Any]]:
        """Return the objects that `submit` would create."""
        options = {} if self.kind is None else {"kind": self.kind}
        target = Target(options=options, storages=self.storages)
        artifact = workflow.compile("argo", target=target, format="json")
        found: list[dict[str, t.Any]] = []
        for file in artifact.files:
            tree = json.loads(file.text)
            found += tree["items"] if tree.get("kind") == "List" else [tree]
        return found

    def _check_secrets(self, workflow: Workflow) -> None:
        """Refuse secrets that the pods of the run could not read."""
        named = workflow._builder.secrets
        for need in needs(workflow.to_ir()):
            secret = named.get(need.name) if need.kind == "secret" else None
            if secret is not None and secret.namespace not in (None, self.namespace):
                raise ConfigurationError(
                    f"the secret {secret.name} is in the namespace {secret.namespace}, but the "
                    f"workflow runs in {self.namespace}, where pods cannot read it. Give "
                    "ArgoSubmitter and the secret the same namespace"
                )

    def _connection(self) -> Connection:
        config = None if self.config_file is None else absolute(self.config_file)
        fields = {"kubeconfig": config, "context": self.context, **self.fields}
        options = {} if self.kind is None else {"kind": self.kind}
        return Connection(
            "argo",
            Target(namespace=self.namespace, options=options, storages=self.storages),
            {name: value for name, value in fields.items() if value is not None},
        )

    def _remote(self) -> ArgoRemote:
        argo = t.cast("ArgoBackend", get_backend("argo"))
        return argo.connect(self._connection(), os.environ)

    def _cluster(self) -> ClusterApi:
        argo = t.cast("ArgoBackend", get_backend("argo"))
        return argo.cluster(self._connection(), os.environ)

    def _apply_secrets(self, cluster: ClusterApi, workflow: Workflow) -> None:
        for secret in workflow._builder.secrets.values():
            if not secret.is_new:
                continue
            namespace = secret.namespace or self.namespace
            try:
                cluster.in_namespace(namespace).put_secret(secret.name, secret.reveal())
            except RestError as error:
                raise _refused("secret", secret.name, error) from error


def _refused(kind: str, name: str, error: RestError) -> EngineError:
    if error.code is None:
        return error  # it was not refused, but not reached, and says so
    return EngineError(f"argo: the {kind} {name} was refused: {error.reason}")


def delete(
    name: str,
    namespace: str = "default",
    config_file: str | None = None,
    context: str | None = None,
    client_configuration: object = None,
    persist_config: bool = True,
    grace_period_seconds: int = 5,
    propagation_policy: str = "Background",
    *,
    kind: Kind = "Workflow",
) -> None:
    """Delete a workflow from the Argo Workflows of a cluster."""
    kinds = t.get_args(Kind)
    if kind not in kinds:
        raise EngineOptionError(f"argo has no kind {kind!r}; it has: {', '.join(kinds)}")
    policies = ("Background", "Foreground", "Orphan")
    if propagation_policy not in policies:
        raise EngineOptionError(
            f"propagation_policy={propagation_policy!r} is none of {', '.join(policies)}"
        )
    cluster = ArgoSubmitter(namespace, config_file, context)._cluster()
    try:
        is_there = cluster.remove(
            kind, name, policy=propagation_policy, grace_s=grace_period_seconds
        )
    except RestError as error:
        if error.code is None:
            raise
        raise EngineError(f"argo: the {kind} {name} was not deleted: {error.reason}") from error
    if not is_there:
        raise EngineError(
            f"argo: the {kind} {name} was not deleted: the namespace {namespace} has none"
        )
