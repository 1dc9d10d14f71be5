"""`couler.workflow` and `couler.workflow_yaml`: the workflow of the program, as it stands."""

from __future__ import annotations

import json
import typing as t
from collections.abc import Mapping

from couler.dsl import assembly, settings
from couler.dsl._context import current
from couler.dsl.builder import current_scope
from couler.dsl.workflow import Workflow


class CurrentWorkflow:
    """The workflow that the program is building, whichever that is when it is asked."""

    def _workflow(self) -> Workflow:
        return t.cast(Workflow, current_scope().builder.workflow)

    @property
    def name(self) -> str:
        """Name of the workflow."""
        return self._workflow().name

    @property
    def steps(self) -> tuple[str, ...]:
        """Names of its steps, in program order."""
        scope = current().scope
        return () if scope is None else scope.builder.root.names()

    @property
    def service_account(self) -> str | None:
        """Account of the cluster that the steps run as."""
        return t.cast("str | None", current_scope().builder.pod.get("service_account"))

    @service_account.setter
    def service_account(self, name: str | None) -> None:
        builder = current_scope().builder
        builder.pod.pop("service_account", None)
        assembly.set_pod(builder, service_account=name)

    @property
    def security_context(self) -> Mapping[str, t.Any] | None:
        """The pods' security context."""
        return t.cast(
            "Mapping[str, t.Any] | None", current_scope().builder.pod.get("security_context")
        )

    def set_security_context(self, security_context: Mapping[str, t.Any]) -> None:
        """Set the pods' security context."""
        assembly.set_pod(current_scope().builder, security_context=security_context)

    def to_dict(self) -> dict[str, t.Any]:
        """Return the workflow as Argo reads it."""
        return workflow_yaml()

    def cleanup(self) -> None:
        """Forget the workflow."""
        settings._cleanup()

    def __getattr__(self, name: str) -> t.NoReturn:
        what = f"couler.workflow has no attribute {name!r}"
        if name in ("dag_tasks", "get_steps_dict", "get_template", "templates"):
            what = (
                f"couler.workflow.{name} is gone: couler.workflow_yaml() is the manifest with its "
                "templates and tasks, and couler.workflow.steps are the names of the steps"
            )
        raise AttributeError(what)


workflow = CurrentWorkflow()


def workflow_yaml() -> dict[str, t.Any]:
    """Return the current workflow as Argo reads it: a dict of the first object that is made.

    Raises
    ------
    InvalidWorkflowError
        The workflow has errors.
    """
    built = t.cast(Workflow, current_scope().builder.workflow)
    made = json.loads(built.compile("argo", format="json").to_text())
    return t.cast("dict[str, t.Any]", made)
