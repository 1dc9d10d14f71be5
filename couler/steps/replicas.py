"""Training jobs of Kubeflow that are made of replicas: one description for each kind."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from dataclasses import dataclass

from couler.dsl.handles import ProcessHandle
from couler.ir.base import FrozenDict
from couler.steps.pods import JobDraft, Tree, first_given, pod_template
from couler.steps.training import make_job, run_policy, single_process


class Role(t.NamedTuple):
    """Pods of one type; the arguments `<type>_image`, `_command` and so on are theirs alone."""

    type: str
    """As the operator calls it, such as `Worker`."""
    number: str | None = None
    """The argument that says how many there are; one without."""
    takes_args: bool = True


@dataclass(frozen=True, kw_only=True)
class TrainingJob:
    """A kind of training job: what is created, and by which replicas it has ended."""

    kind: str
    api_version: str = "kubeflow.org/v1"
    specs: str
    """The field of the job's specification that has the replicas."""
    container: str
    """Name of the container that the operator looks for."""
    roles: tuple[Role, ...]
    deciding: tuple[str, ...]
    """Types with whose success the job has succeeded: the first that has replicas."""
    alone: str = ""
    """The type whose command runs by itself on an engine without a cluster."""
    alone_env: Mapping[str, str] = FrozenDict()

    def make(
        self,
        draft: JobDraft,
        *,
        first: Mapping[str, object] | None = None,
        last: Mapping[str, object] | None = None,
        policy: Mapping[str, object] | None = None,
        may_fail: Mapping[str, int] | None = None,
    ) -> ProcessHandle:
        """Make the step of a job; what is given by name is its specification's own."""
        counts = {
            role.type: 1 if role.number is None else draft.given[role.number] for role in self.roles
        }
        ends = self._ends(draft, counts, may_fail)
        spec = {
            **(first or {}),
            "runPolicy": run_policy(draft, **(policy or {})),
            self.specs: self._replicas(draft, counts),
            **(last or {}),
        }
        local = None
        if self.alone:
            own = draft.given[f"{self.alone.lower()}_command"]
            command = first_given(own, draft.given["command"])
            local = single_process(draft, command, self.alone_env)
        head = {"apiVersion": self.api_version, "kind": self.kind}
        return make_job(draft, head, spec, ends, local=local)

    def _replicas(self, draft: JobDraft, counts: Mapping[str, int]) -> Tree:
        """Return the specification of each type that has pods."""
        found: Tree = {}
        for role in self.roles:
            if counts[role.type] > 0:
                name = role.type.lower()
                found[role.type] = {
                    "replicas": counts[role.type],
                    "restartPolicy": draft.given[f"{name}_restart_policy"],
                    "template": pod_template(
                        draft, self.container, name, takes_args=role.takes_args
                    ),
                }
        return found

    def _ends(
        self, draft: JobDraft, counts: Mapping[str, int], may_fail: Mapping[str, int] | None
    ) -> tuple[str, str]:
        """Return when it has succeeded and failed; report one without pods that decide."""
        for name, count in counts.items():
            if count < 0:
                draft.report(f"{count} {name} replicas")
        decides = next((one for one in self.deciding if counts[one] > 0), None)
        if decides is None and not any(counts[one] for one in self.deciding):
            draft.report(
                f"the job has no {' and no '.join(self.deciding)}, so it would never end. "
                "Say how many there are"
            )
        decides = decides or self.deciding[-1]
        bounds = may_fail or {name: 0 for name, count in counts.items() if count > 0}
        failure = ",".join(
            f"status.replicaStatuses.{name}.failed > {bound}" for name, bound in bounds.items()
        )
        return (
            f"status.replicaStatuses.{decides}.succeeded == {max(0, counts[decides])}",
            failure,
        )
