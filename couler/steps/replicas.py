"""The replicas of a job: how many there are of each type, and when the job has ended by them."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping, Sequence

from couler.dsl.builder import Builder
from couler.steps.pods import PodOptions, ResourceForm, Tree, pod_template


class Replica(t.NamedTuple):
    """The pods of one type."""

    type: str
    """As the operator calls it, such as `Worker`."""
    number: int
    image: object = None
    command: object = None
    resources: ResourceForm | None = None
    restart_policy: str = "Never"
    takes_args: bool = True


def replica_specs(
    builder: Builder, options: PodOptions, container: str, replicas: Sequence[Replica]
) -> Tree:
    """Return the specification of each type that has pods."""
    return {
        replica.type: {
            "replicas": replica.number,
            "restartPolicy": replica.restart_policy,
            "template": pod_template(
                builder,
                options,
                container,
                image=replica.image,
                command=replica.command,
                resources=replica.resources,
                takes_args=replica.takes_args,
            ),
        }
        for replica in replicas
        if replica.number > 0
    }


def ended(
    builder: Builder,
    step: str,
    replicas: Sequence[Replica],
    *,
    deciding: Sequence[str],
    may_fail: Mapping[str, int] | None = None,
) -> tuple[str, str]:
    """When a job has succeeded and when it has failed; report one without pods that decide."""
    counts = {replica.type: replica.number for replica in replicas}
    for name, count in counts.items():
        if count < 0:
            builder.report("CLR105", f'step "{step}": {count} {name} replicas', step=step)
    type_ = next((one for one in deciding if counts[one] > 0), None)
    if type_ is None and all(counts[one] == 0 for one in deciding):
        builder.report(
            "CLR105",
            f'step "{step}": the job has no {" and no ".join(deciding)}, so it would never end. '
            "Say how many there are",
            step=step,
        )
    type_ = type_ or deciding[-1]
    bounds = may_fail or {name: 0 for name, count in counts.items() if count > 0}
    failure = ",".join(
        f"status.replicaStatuses.{name}.failed > {bound}" for name, bound in bounds.items()
    )
    return f"status.replicaStatuses.{type_}.succeeded == {max(0, counts[type_])}", failure
