"""Submitting to Argo Workflows on a Kubernetes cluster."""

from __future__ import annotations

import json
import typing as t
from importlib import import_module

from couler.backends.base import Target
from couler.dsl.workflow import Workflow
from couler.errors import ConfigurationError, EngineError, EngineOptionError
from couler.ir.needs import needs

__all__ = ["ArgoSubmitter", "delete"]

Kind: t.TypeAlias = t.Literal["Workflow", "CronWorkflow", "WorkflowTemplate"]

_GROUP, _VERSION = "argoproj.io", "v1alpha1"
_PLURALS = {
    "Workflow": "workflows",
    "CronWorkflow": "cronworkflows",
    "WorkflowTemplate": "workflowtemplates",
}


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
        Make or renew the secrets whose values `couler.create_secret` was given.
    kind
        What to make of workflows: a `Workflow`, a `CronWorkflow`, or a `WorkflowTemplate` that is
        stored on the cluster under its name; by default what the schedule says. Those with a name
        of their own replace what the cluster has under it.

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
    ) -> None:
        self.kind = kind
        self.namespace = namespace
        self.config_file = config_file
        self.context = context
        self.create_secrets = create_secrets

    def submit(self, workflow: Workflow) -> dict[str, t.Any]:
        """Compile a workflow and create it on the cluster.

        Returns
        -------
        dict
            The last object that was made, as the cluster gives it back.

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
        made = self.manifests(workflow)
        self._check_secrets(workflow)
        client = self._client()
        if self.create_secrets:
            self._apply_secrets(client, workflow)
        answer: dict[str, t.Any] = {}
        for manifest in made:
            answer = self._create(client, manifest)
        return answer

    def manifests(self, workflow: Workflow) -> list[dict[str, t.Any]]:
        """Return the objects that `submit` would create."""
        target = None if self.kind is None else Target(options={"kind": self.kind})
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

    def _client(self) -> t.Any:
        try:
            lightkube = import_module("lightkube")
            problems = import_module("lightkube.core.exceptions")
        except ImportError as error:
            raise ConfigurationError(
                "submitting to Argo needs an extra: pip install 'couler[argo]'"
            ) from error
        read = lightkube.KubeConfig
        try:
            config = (
                read.from_env() if self.config_file is None else read.from_file(self.config_file)
            )
            return lightkube.Client(config=config.get(self.context), namespace=self.namespace)
        except problems.ConfigError as error:
            raise ConfigurationError(f"no configuration of a cluster was found: {error}") from error

    def _apply_secrets(self, client: t.Any, workflow: Workflow) -> None:
        lightkube = import_module("lightkube")
        secret_class = import_module("lightkube.resources.core_v1").Secret
        for secret in workflow._builder.secrets.values():
            if not secret.is_new:
                continue
            resource = secret_class.from_dict(
                {
                    "apiVersion": "v1",
                    "kind": "Secret",
                    "metadata": {
                        "name": secret.name,
                        "namespace": secret.namespace or self.namespace,
                    },
                    "stringData": secret.reveal(),
                }
            )
            try:
                client.apply(resource, field_manager="couler", force=True)
            except lightkube.ApiError as error:
                raise EngineError(f"argo: the secret {secret.name} was refused: {error}") from error

    def _create(self, client: t.Any, manifest: dict[str, t.Any]) -> dict[str, t.Any]:
        lightkube = import_module("lightkube")
        kind = manifest["kind"]
        resource = _resource(kind)
        name = manifest["metadata"].get("name")
        try:
            if kind == "Workflow":  # every one is a run of its own
                answer = client.create(resource(manifest), namespace=self.namespace)
            else:
                answer = client.apply(
                    resource(manifest), namespace=self.namespace, field_manager="couler", force=True
                )
        except lightkube.ApiError as error:
            name = name or manifest["metadata"].get("generateName")
            raise EngineError(f"argo: the {kind} {name} was refused: {error}") from error
        return dict(answer)


def _resource(kind: str) -> t.Any:
    generic = import_module("lightkube.generic_resource")
    return generic.create_namespaced_resource(_GROUP, _VERSION, kind, _PLURALS[kind])


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
    """Delete a workflow from the Argo Workflows of a cluster.

    Runs of this machine are deleted by the command `couler delete`.

    Parameters
    ----------
    name
        Name of the workflow on the cluster.
    namespace, config_file, context, client_configuration, persist_config
        As for `ArgoSubmitter`.
    grace_period_seconds
        How long what runs has to end.
    propagation_policy
        Whether what belongs to the workflow is deleted after it (`Background`), before it
        (`Foreground`) or not at all (`Orphan`).
    kind
        `Workflow`, `CronWorkflow` or `WorkflowTemplate`.

    Raises
    ------
    EngineOptionError
        There is no such kind or policy.
    ConfigurationError
        The extra `argo` is missing, or there is no configuration of a cluster.
    EngineError
        The cluster refused, or has no such workflow.
    """
    if kind not in _PLURALS:
        raise EngineOptionError(f"argo has no kind {kind!r}; it has: {', '.join(_PLURALS)}")
    policies = ("Background", "Foreground", "Orphan")
    if propagation_policy not in policies:
        raise EngineOptionError(
            f"propagation_policy={propagation_policy!r} is none of {', '.join(policies)}"
        )
    client = ArgoSubmitter(namespace, config_file, context)._client()
    lightkube = import_module("lightkube")
    cascade = import_module("lightkube.types").CascadeType(propagation_policy)
    try:
        client.delete(
            _resource(kind),
            name,
            namespace=namespace,
            grace_period=grace_period_seconds,
            cascade=cascade,
        )
    except lightkube.ApiError as error:
        raise EngineError(f"argo: the {kind} {name} was not deleted: {error}") from error
