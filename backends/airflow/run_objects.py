"""Objects of Kubernetes that a run makes before its steps and deletes after them."""

from __future__ import annotations

from collections.abc import Sequence

from couler.backends.airflow.containers import Tree
from couler.backends.airflow.module import Module
from couler.backends.airflow.python import INDENT, Code, call, statement, value_of
from couler.ir.kubernetes_volumes import claim_template
from couler.ir.pods import DisruptionBudget, RunSettings
from couler.ir.storage import NewClaimVolume
from couler.ir.workflow import Workflow
from couler.ir.yaml_writer import dump_all

_RESOURCE = "airflow.providers.cncf.kubernetes.operators.resource"
_GENERATOR = "airflow.providers.cncf.kubernetes.pod_generator"


class RunObjects:
    """Writes what makes the objects of a run: its claims, and its disruption budget."""

    def __init__(self, workflow: Workflow, module: Module) -> None:
        self._workflow = workflow
        self._module = module
        self._runs = workflow.runs or RunSettings()
        self.made: list[str] = []
        """The variables of the tasks for which all steps wait."""

    def lines(self, leaves: Sequence[str], *, indent: int) -> list[str]:
        """Return the lines below which all tasks stand, each a level deeper; there may be none."""
        claims = [
            self._claim(one) for one in self._workflow.volumes if isinstance(one, NewClaimVolume)
        ]
        budget = self._runs.disruption_budget
        lines: list[str] = []
        if claims:
            keeps = self._runs.claim_cleanup == "run_success"
            lines += self._around("claims", claims, indent, leaves if keeps else ())
            indent += 1
        if budget is not None:
            lines += self._around("budget", [self._budget(budget)], indent)
        return lines

    def _around(
        self, name: str, objects: list[Tree], indent: int, leaves: Sequence[str] = ()
    ) -> list[str]:
        """Return the tasks that make and delete objects; with leaves only after a success."""
        manifest = Code(self._module.constant(name, dump_all(objects)))
        make, drop = self._module.name(f"make_{name}"), self._module.name(f"delete_{name}")
        condition = None
        if leaves:
            failed = self._module.use(f"run_failed(ti, {value_of(list(leaves)).flat()})")
            when = self._module.condition("when_run_succeeded", f"not {failed}")
            condition = call(self._module.use("run_if"), Code(when))
        created = call(
            self._module.take(_RESOURCE, "KubernetesCreateResourceOperator"),
            task_id=f"make-{name}",
            yaml_conf=manifest,
        )
        deleted = call(
            self._module.take(_RESOURCE, "KubernetesDeleteResourceOperator"),
            task_id=f"delete-{name}",
            yaml_conf=manifest,
            pre_execute=condition,
        )
        self.made.append(make)
        return [
            statement(make, created, indent=indent),
            statement(drop, deleted, indent=indent),
            f"{INDENT * indent}with {drop}.as_teardown():",
        ]

    def _claim(self, wanted: NewClaimVolume) -> Tree:
        name = self._module.use_in_templates(f"run_name(ti, '{wanted.name}')")
        tree = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", **claim_template(wanted)}
        return {**tree, "metadata": {"name": "{{ " + name + " }}"}}

    def _budget(self, wanted: DisruptionBudget) -> Tree:
        name = self._module.use_in_templates("run_name(ti, 'budget')")
        safe = self._module.take(_GENERATOR, "make_safe_label_value")
        self._module.macros[safe] = None
        labels = {
            "dag_id": "{{ " + safe + "(ti.dag_id) }}",
            "run_id": "{{ " + safe + "(ti.run_id) }}",
        }
        spec = {"minAvailable": wanted.min_available, "maxUnavailable": wanted.max_unavailable}
        return {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": "{{ " + name + " }}"},
            "spec": {
                "selector": {"matchLabels": labels},
                **{name: value for name, value in spec.items() if value is not None},
            },
        }
