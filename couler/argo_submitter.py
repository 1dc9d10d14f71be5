"""Submitting to Argo Workflows on a Kubernetes cluster."""

from __future__ import annotations

import json
import typing as t
from importlib import import_module

from couler.dsl.workflow import Workflow
from couler.errors import ConfigurationError, EngineError

__all__ = ["ArgoSubmitter"]

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
    ) -> None:
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
            The extra `argo` is missing, or there is no configuration of a cluster.
        EngineError
            The cluster refused.
        """
        made = self.manifests(workflow)
        client = self._client()
        if self.create_secrets:
            self._apply_secrets(client, workflow)
        answer: dict[str, t.Any] = {}
        for manifest in made:
            answer = self._create(client, manifest)
        return answer

    def manifests(self, workflow: Workflow) -> list[dict[str, t.Any]]:
        """Return the objects that `submit` would create."""
        artifact = workflow.compile("argo", format="json")
        found: list[dict[str, t.Any]] = []
        for file in artifact.files:
            tree = json.loads(file.text)
            found += tree["items"] if tree.get("kind") == "List" else [tree]
        return found

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
                    "metadata": {"name": secret.name, "namespace": secret.namespace},
                    "stringData": secret.reveal(),
                }
            )
            try:
                client.apply(resource, field_manager="couler", force=True)
            except lightkube.ApiError as error:
                raise EngineError(f"argo: the secret {secret.name} was refused: {error}") from error

    def _create(self, client: t.Any, manifest: dict[str, t.Any]) -> dict[str, t.Any]:
        lightkube = import_module("lightkube")
        generic = import_module("lightkube.generic_resource")
        kind = manifest["kind"]
        resource = generic.create_namespaced_resource(_GROUP, _VERSION, kind, _PLURALS[kind])
        try:
            answer = client.create(resource(manifest), namespace=self.namespace)
        except lightkube.ApiError as error:
            name = manifest["metadata"].get("name") or manifest["metadata"].get("generateName")
            raise EngineError(f"argo: the {kind} {name} was refused: {error}") from error
        return dict(answer)
