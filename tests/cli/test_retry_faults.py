"""What goes wrong on the way of a restart to a cluster, and what is recorded of it."""

from __future__ import annotations

import copy
import typing as t
from collections.abc import Callable

import pytest

from couler.backends.argo.reset import has_ended
from couler.ir.serialize import write_json
from tests.cli.conftest import Outcome
from tests.fakes.kubernetes.faults import RequestFault
from tests.fakes.kubernetes.store import WORKFLOWS
from tests.support.argo_cluster import NAMESPACE, EmulatedCluster
from tests.support.argo_recordings import CHAIN, chain, recorded

Cli = Callable[..., Outcome]


@pytest.fixture
def failed(couler: Cli, write: Callable[[str, str], str], cluster: EmulatedCluster) -> str:
    """A run that has failed."""
    settings = f'engine = "argo"\nkubeconfig = "{cluster.kubeconfig}"\npatience_s = 5\n'
    write("pyproject.toml", f"[tool.couler.targets.there]\n{settings}")
    file = write("chain.json", write_json(chain()))
    assert couler("submit", file, "--target", "there", "--name", CHAIN).code == 0

    def end(found: t.Any) -> None:
        found["status"] = copy.deepcopy(recorded("chain")[-1])
        found["metadata"]["labels"]["workflows.argoproj.io/completed"] = "true"

    cluster.store.change(WORKFLOWS, NAMESPACE, CHAIN, end)
    assert couler("status", CHAIN).code == 0
    assert _status(couler) == "failed"
    return CHAIN


def _status(couler: Cli) -> str:
    [run] = couler("list", "--format", "json").json["runs"]
    return str(run["status"])


def _is_over(cluster: EmulatedCluster) -> bool:
    return has_ended(cluster.store.get(WORKFLOWS, NAMESPACE, CHAIN))


@pytest.mark.parametrize("cut", ["before", "after", "within"])
def test_a_restart_whose_answer_is_lost_goes_on(
    couler: Cli, failed: str, cluster: EmulatedCluster, cut: t.Literal["before", "after", "within"]
) -> None:
    cluster.faults.add(RequestFault("PUT", "/workflows/", times=1, cut=cut))
    told = couler("retry", failed)
    assert (told.code, told.out) == (0, f"{failed}\n"), told.err
    assert _status(couler) == "running"
    assert not _is_over(cluster)


def test_a_restart_that_is_refused_leaves_the_run_failed(
    couler: Cli, failed: str, cluster: EmulatedCluster
) -> None:
    cluster.faults.add(RequestFault("PUT", "/workflows/", code=403, message="no"))
    told = couler("retry", failed)
    assert told.code == 4
    assert "refused with 403: no" in told.err
    assert _status(couler) == "failed"
    assert _is_over(cluster)


def test_a_restart_that_may_be_done_is_not_recorded_as_failed(
    couler: Cli, failed: str, cluster: EmulatedCluster
) -> None:
    cluster.faults.add(RequestFault("PUT", "/workflows/", times=1, cut="before"))
    cluster.faults.add(RequestFault("PUT", "/workflows/", code=403, message="no"))
    told = couler("retry", failed)
    assert told.code == 4
    assert "An earlier attempt may have been heard" in told.err
    assert _status(couler) == "running"  # as far as is known
