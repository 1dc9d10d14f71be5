"""Handing workflows over: submitters, the command line, and what stays behind."""

from __future__ import annotations

import sys
import threading
import typing as t
from collections.abc import Iterator
from pathlib import Path

import pytest

import couler
import couler.argo
from couler.dsl._context import collect, current
from couler.errors import ConfigurationError, EngineError, EngineOptionError
from tests.dsl.look import box, steps
from tests.fakes.kubernetes.faults import Faults, RequestFault
from tests.fakes.kubernetes.server import Server, kubeconfig
from tests.fakes.kubernetes.store import Json, Resource, Store
from tests.support.airflow_api import FakeAirflow


class Recorder:
    def __init__(self) -> None:
        self.seen: list[couler.Workflow] = []

    def submit(self, workflow: couler.Workflow) -> str:
        self.seen.append(workflow)
        return "done"


class Failing:
    def submit(self, workflow: couler.Workflow) -> None:
        raise ConnectionError


def test_run_hands_over_and_begins_anew() -> None:
    recorder = Recorder()
    box("a")
    assert couler.run(submitter=recorder) == "done"
    box("b")
    assert couler.run(recorder) == "done"
    assert [list(steps(one)) for one in recorder.seen] == [["a"], ["b"]]
    assert current().scope is None


def test_a_submitter_may_be_a_class_and_a_subclass() -> None:
    class Own(couler.ArgoSubmitter):
        def submit(self, workflow: couler.Workflow) -> dict[str, t.Any]:
            return {"own": self.namespace}

    box("a")
    assert couler.run(submitter=Own) == {"own": "default"}


def test_a_failed_submission_leaves_nothing_behind() -> None:
    box("a")
    with pytest.raises(ConnectionError):
        couler.run(submitter=Failing())
    assert current().scope is None


def test_without_a_submitter_it_runs_here(monkeypatch: pytest.MonkeyPatch) -> None:
    started = []
    monkeypatch.setattr("couler.stages.run", lambda workflow: started.append(workflow.name))
    couler.config_workflow(name="w")
    box("a")
    couler.run()
    assert started == ["w"]


def test_nothing_to_run() -> None:
    with pytest.raises(couler.DefinitionError, match="CLR135"):
        couler.run(submitter=Recorder())
    with couler.Workflow("w"):
        box("a")
    with pytest.raises(couler.DefinitionError, match="CLR135"):
        couler.run(submitter=Recorder())


def test_what_cannot_submit_is_refused() -> None:
    box("a")
    with pytest.raises(couler.DefinitionError, match="CLR135"):
        couler.run(submitter=3)


def test_collect_records_in_order_and_runs_nothing() -> None:
    with collect() as found:
        box("a")
        assert couler.run(submitter=Failing()) is None
        with couler.Workflow("w") as wf:
            box("b")
        assert wf.run() is None
        couler.create_secret({"x": "y"})
        box("c")
        assert len(found) == 3
    assert [list(steps(one)) for one in found] == [["a"], ["b"], ["c"]]
    assert current().scope is None


def test_two_threads_build_two_workflows() -> None:
    built: dict[str, list[str]] = {}
    barrier = threading.Barrier(2)

    def program(name: str) -> None:
        for index in range(20):
            box(f"{name}{index}")
            if index == 0:
                barrier.wait()
        recorder = Recorder()
        couler.run(recorder)
        built[name] = list(steps(recorder.seen[0]))

    threads = [threading.Thread(target=program, args=(name,)) for name in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert built == {name: [f"{name}{index}" for index in range(20)] for name in "ab"}
    assert current().scope is None


def test_cleanup_forgets_the_program_and_no_open_block() -> None:
    box("a")
    couler._cleanup()
    assert current().scope is None
    with couler.Workflow("w") as wf:
        couler._cleanup()
        box("b")
    assert list(steps(wf)) == ["b"]


def test_the_ancestors_ways_in() -> None:
    from couler.argo_submitter import ArgoSubmitter
    from couler.core.syntax.loop import map as mapped
    from couler.core.syntax.volume import add_volume
    from couler.core.templates.volume import Volume
    from couler.core.templates.volume_claim import VolumeClaimTemplate

    assert couler.argo.map is couler.map is mapped
    assert (couler.argo.ArgoSubmitter, couler.argo.Volume) == (ArgoSubmitter, Volume)
    assert couler.argo.add_volume is add_volume
    assert couler.argo.VolumeClaimTemplate is VolumeClaimTemplate
    assert couler.argo._cleanup is couler._cleanup
    assert couler.argo.__all__ == couler.__all__
    assert "run_container" in dir(couler.argo)
    with pytest.raises(AttributeError, match=r"module 'couler\.argo' has no attribute 'nothing'"):
        _ = couler.argo.nothing
    namespace: dict[str, t.Any] = {}
    exec("from couler.argo import *", namespace)
    assert namespace["run_script"] is couler.run_script


class Cluster(t.NamedTuple):
    """An emulated cluster without a controller."""

    store: Store
    faults: Faults
    config: str

    def objects(self, plural: str, namespace: str | None = None) -> list[Json]:
        group, version = ("", "v1") if plural == "secrets" else ("argoproj.io", "v1alpha1")
        found = self.store.list(Resource(group, version, plural), lambda _: True)[1]
        return [one for one in found if namespace in (None, one["metadata"]["namespace"])]

    def refuse(self) -> None:
        """Refuse everything from now on."""
        for method in ("POST", "PATCH", "DELETE"):
            self.faults.add(RequestFault(method, "/", code=403, message="forbidden"))


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    faults = Faults()
    with Server(Store(), faults=faults) as server:
        config = tmp_path / "kubeconfig"
        config.write_text(kubeconfig(server.address))
        monkeypatch.setenv("KUBECONFIG", str(config))
        monkeypatch.setenv("COULER_HOME", str(tmp_path / "home"))
        yield Cluster(server.store, faults, str(config))


def test_argo_submitter_creates_the_workflow_and_its_secrets(cluster: Cluster) -> None:
    couler.create_secret({"token": "x"}, name="new", namespace="ml")
    couler.obtain_secret(["token"], name="there")
    couler.create_secret({"token": "x"}, name="dry", dry_run=True)
    box("a", secret="new")
    submitter = couler.ArgoSubmitter(namespace="ml", config_file=cluster.config, context="emulated")
    run = couler.run(submitter)
    [manifest] = cluster.objects("workflows", "ml")
    assert manifest["metadata"]["name"] == run.run_id == run["metadata"]["name"]
    assert couler.SubmittedRun(run.run_id).status() == "running"
    [secret] = cluster.objects("secrets")
    assert (secret["metadata"]["name"], secret["metadata"]["namespace"]) == ("new", "ml")
    assert secret["stringData"] == {"token": "x"}


@pytest.mark.parametrize("with_secret", [True, False])
def test_a_refusal_is_an_error_of_the_engine(cluster: Cluster, with_secret: bool) -> None:
    cluster.refuse()
    if with_secret:
        couler.create_secret({"token": "x"}, name="new")
    box("a")
    with pytest.raises(EngineError, match=r"argo: .* was refused.*: forbidden"):
        couler.run(couler.ArgoSubmitter())


def test_argo_submitter_names_the_extra_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    # As if it had not been imported before.
    monkeypatch.delitem(sys.modules, "couler.backends.argo.kube_access", raising=False)
    monkeypatch.delattr("couler.backends.argo.kube_access", raising=False)
    for name in ("lightkube", "lightkube.config.client_adapter"):
        monkeypatch.setitem(sys.modules, name, None)  # type: ignore[arg-type]  # says it is missing
    box("a")
    with pytest.raises(ConfigurationError, match=r"pip install 'couler\[argo\]'"):
        couler.run(couler.ArgoSubmitter())


@pytest.mark.parametrize(
    ("kind", "schedule", "made"),
    [
        ("WorkflowTemplate", None, "WorkflowTemplate"),
        (None, "0 3 * * *", "CronWorkflow"),
    ],
)
def test_objects_with_a_name_of_their_own_are_replaced(
    cluster: Cluster, kind: t.Any, schedule: str | None, made: str
) -> None:
    for _ in range(2):
        couler.config_workflow(name="saved", cron_config=schedule)
        box("a")
        answer = couler.run(couler.ArgoSubmitter(namespace="ml", kind=kind))
        assert (answer["kind"], answer["metadata"]["name"]) == (made, "saved")
    assert len(cluster.objects(f"{made.lower()}s", "ml")) == 1
    assert cluster.objects("workflows") == []


def test_argo_submitter_puts_schedules_where_the_commands_do(cluster: Cluster) -> None:
    submitter = couler.ArgoSubmitter(namespace="ml", parameters={"rate": "0.5"})
    assert submitter.schedules() == []
    with couler.Workflow("nightly", schedule="0 3 * * *", rate=float) as wf:
        couler.create_secret({"token": "x"}, name="new")
        box("a", secret="new")
    made = submitter.schedule(wf)
    assert (made.name, repr(made)) == ("nightly", "<couler schedule nightly>")
    assert (made.state().cron, made.state().is_paused) == (("0 3 * * *",), False)
    [found] = cluster.objects("cronworkflows", "ml")
    [given] = found["spec"]["workflowSpec"]["arguments"]["parameters"]
    assert (given["name"], given["value"]) == ("rate", "0.5")
    assert [one["metadata"]["name"] for one in cluster.objects("secrets", "ml")] == ["new"]
    made.pause()
    answer = submitter.submit(wf)  # which renews it, and leaves it as it is
    assert isinstance(answer, dict)
    assert (answer["spec"]["suspend"], answer["metadata"]["name"]) == (True, "nightly")
    [known] = submitter.schedules()
    known.resume()
    assert not made.state().is_paused
    known.delete()
    assert cluster.objects("cronworkflows") == []
    for verb in (made.pause, made.resume, made.delete, made.state):
        with pytest.raises(
            couler.CoulerError, match='there is no schedule "nightly"; there are: n'
        ):
            verb()


def test_a_schedule_that_is_wrong_makes_no_secrets(cluster: Cluster) -> None:
    with couler.Workflow("plain") as wf:
        couler.create_secret({"token": "x"}, name="new")
        box("a", secret="new")
    with pytest.raises(couler.DefinitionError, match='"plain" has no schedule'):
        couler.ArgoSubmitter().schedule(wf)
    assert cluster.objects("secrets") == []


def test_airflow_submitter_puts_schedules(tmp_path: Path) -> None:
    with couler.Workflow("nightly", schedule="0 3 * * *") as wf:
        box("a")
    with FakeAirflow(tmp_path, dag_id="nightly").running() as airflow:
        submitter = couler.AirflowSubmitter(airflow.address, tmp_path)
        made = submitter.schedule(wf)
        assert (made.state().is_paused, airflow.runs) == (False, {})
        [known] = submitter.schedules()
        known.pause()
        assert made.state().is_paused
        made.delete(with_runs=True)
        assert submitter.schedules() == []


@pytest.mark.parametrize("given", [{}, {"namespace": "ml"}])
def test_a_secret_is_made_where_the_workflow_runs(cluster: Cluster, given: dict[str, str]) -> None:
    couler.create_secret({"token": "x"}, name="new", **given)
    couler.obtain_secret(["user"], name="there", **given)
    box("a", secret=["new", "there"])
    couler.run(couler.ArgoSubmitter(namespace="ml"))
    [secret] = cluster.objects("secrets")
    assert secret["metadata"]["namespace"] == "ml"
    assert len(cluster.objects("workflows", "ml")) == 1


def test_a_secret_that_pods_could_not_read_is_refused(cluster: Cluster) -> None:
    couler.obtain_secret(["token"], namespace="other", name="there")
    box("a", secret="there")
    with pytest.raises(
        ConfigurationError, match=r"the secret there is in the namespace other, .* runs in ml"
    ):
        couler.run(couler.ArgoSubmitter(namespace="ml"))
    assert cluster.objects("workflows") == []


def test_deleting_from_a_cluster(cluster: Cluster) -> None:
    for kind in ("Workflow", "CronWorkflow"):
        couler.config_workflow(name="x", cron_config="0 3 * * *")
        box("a")
        made = couler.run(couler.ArgoSubmitter(namespace="ml", kind=kind))  # type: ignore[arg-type]
        name = made.run_id if kind == "Workflow" else made["metadata"]["name"]
        couler.argo.delete(name, "ml", grace_period_seconds=0, kind=kind)  # type: ignore[arg-type]
        with pytest.raises(EngineError, match=f"the {kind} {name} was not deleted: .* has none"):
            couler.argo.delete(name, namespace="ml", kind=kind)  # type: ignore[arg-type]
    assert cluster.objects("workflows") == cluster.objects("cronworkflows") == []
    with pytest.raises(EngineOptionError, match="argo has no kind 'Pod'"):
        couler.argo.delete("x", kind="Pod")
    with pytest.raises(EngineOptionError, match="propagation_policy='Now' is none of Background"):
        couler.argo.delete("x", propagation_policy="Now")
    cluster.refuse()
    with pytest.raises(EngineError, match="argo: the Workflow x was not deleted: forbidden"):
        couler.argo.delete("x")
