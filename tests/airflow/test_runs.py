"""Hand-written DAG files under Airflow's own code, whose pods run in an emulated cluster."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fakes.kubernetes.cluster import FakeCluster
from tests.fakes.kubernetes.faults import PodFault
from tests.fakes.kubernetes.images import Image, Images
from tests.fakes.kubernetes.operators import train
from tests.fakes.kubernetes.store import Resource
from tests.support import airflow_runs
from tests.support.airflow_runs import AirflowError, Worker

pytestmark = [pytest.mark.airflow, pytest.mark.slow, pytest.mark.timeout(1800)]

DagFile = Callable[[str], str]

NAMES = [
    "deferred",
    "endings",
    "jobs",
    "late_jobs",
    "mapped",
    "pods",
    "teardown",
    "two_pods",
    "values",
]


@pytest.mark.parametrize("name", NAMES)
def test_a_file_loads_and_survives_the_database(
    airflow: Worker, dag_file: DagFile, name: str
) -> None:
    loaded = airflow.load(dag_file(name))
    assert loaded.errors == {}
    assert list(loaded.tasks) == [name]
    assert loaded.round_trip
    assert loaded.serialized[name]["dag"]["dag_id"] == name


def test_the_oldest_airflow_loads_a_file(tmp_path: Path, dag_file: DagFile) -> None:
    if reason := airflow_runs.obstacle(old=True):
        pytest.skip(reason)
    with Worker(tmp_path, old=True) as old:
        loaded = old.load(dag_file("two_pods"))
        assert loaded.errors == {}
        assert loaded.round_trip
        assert old.load("from airflow.sdk import nothing_such\n").tasks == {}


def test_errors_of_import_are_data(airflow: Worker) -> None:
    loaded = airflow.load("from airflow.sdk import DAG\nDAG('d')\nraise RuntimeError('on load')\n")
    [text] = loaded.errors.values()
    assert "RuntimeError: on load" in text
    with pytest.raises(AirflowError, match="on load"):
        airflow.run("from airflow.sdk import DAG\nraise RuntimeError('on load')\n", "d")


def test_a_value_goes_from_pod_to_pod(
    airflow: Worker, cluster: FakeCluster, dag_file: DagFile
) -> None:
    run = airflow.run(dag_file("two_pods"), "two_pods", cluster=cluster, conf={"word": "hi"})
    assert run.state == "success", run.log
    assert run.states == {("first", -1): "success", ("second", -1): "success"}
    assert run.xcoms == {("first", -1): {"word": "hi"}}
    assert [pod.container("base").stdout for pod in run.pods] == ["hi\n", "got hi\n"]
    assert "[base] hi" in run.logs["first", -1]
    assert "[base] got hi" in run.logs["second", -1]
    [pod] = run.pods_of("second")
    assert pod.found["spec"]["containers"][0]["env"] == [{"name": "SEEN", "value": "hi"}]


def test_a_map_over_a_value(airflow: Worker, cluster: FakeCluster, dag_file: DagFile) -> None:
    run = airflow.run(dag_file("mapped"), "mapped", cluster=cluster)
    assert run.state == "success", run.log
    assert run.states == {
        ("items", -1): "success",
        ("double", 0): "success",
        ("double", 1): "skipped",
        ("double", 2): "success",
        ("gather", -1): "success",
        ("none", -1): "success",
        ("never", -1): "skipped",
        ("after_none", -1): "success",
        ("after_none_strict", -1): "skipped",
    }
    assert run.xcoms["gather", -1] == {
        "all": ["aa", "cc"],  # shorter than the map
        "by_index": ["aa", None, "cc"],
        "states": {"double_0": "success", "double_1": "skipped", "double_2": "success"},
    }
    assert [run.map_labels["double", index] for index in range(3)] == ["a", "b", "c"]
    assert len(run.pods) == 2


def test_how_tasks_end_and_what_follows(airflow: Worker, dag_file: DagFile) -> None:
    run = airflow.run(dag_file("endings"), "endings")
    assert run.state == "failed"
    states = {task: state for (task, _), state in run.states.items()}
    tries = {task: number for (task, _), number in run.tries.items()}
    ends = ("fails_for_good", "fails", "fails_before", "fails_before_for_good", "exits", "late")
    assert {states[one] for one in ends} == {"failed"}
    assert [tries[one] for one in ends] == [1, 2, 2, 1, 1, 1]
    assert states["skipped"] == "skipped"
    # Beside a task that has succeeded, one has ended so; this is what the rule makes of it.
    expected = {
        "all_success": ("skipped", "upstream_failed", "upstream_failed"),
        "none_failed": ("success", "upstream_failed", "upstream_failed"),
        "none_failed_min_one_success": ("success", "upstream_failed", "upstream_failed"),
        "all_done": ("success", "success", "success"),
        "one_failed": ("skipped", "success", "success"),
        "none_skipped": ("skipped", "success", "success"),
    }
    found = {
        rule: tuple(states[f"{rule}.{end}"] for end in ("skipped", "failed", "upstream_failed"))
        for rule in expected
    }
    assert found == expected


def test_a_teardown_hides_no_failure(airflow: Worker, dag_file: DagFile) -> None:
    run = airflow.run(dag_file("teardown"), "teardown")
    assert run.states == {("work", -1): "failed", ("clean", -1): "success"}
    assert run.state == "failed"


def test_pods_that_wait_fail_or_are_taken_away(
    airflow: Worker, dag_file: DagFile, tmp_path: Path
) -> None:
    faults = [
        PodFault({"hit": "evicted"}, evict_after_s=0.3),
        PodFault({"hit": "vanished"}, vanish_after_s=0.3),
        PodFault({"hit": "no_node"}, unschedulable=True),
    ]
    images = Images({"alpine": Image()}, only_known=True)
    with FakeCluster(tmp_path / "cluster", faults=faults, images=images) as cluster:
        cluster.secret("keys", {"TOKEN": "geheim"})
        cluster.config_map("settings", {"LR": "0.1"})
        run = airflow.run(dag_file("pods"), "pods", cluster=cluster)
    states = {task: state for (task, _), state in run.states.items()}
    good = ("deferred", "writes_nothing", "text", "configured")
    assert {task: states[task] for task in good} == dict.fromkeys(good, "success")
    assert states.pop("skips") == "skipped"
    assert {state for task, state in states.items() if task not in good} == {"failed"}
    assert run.tries["fails", -1] == 2
    # What a pod has written is kept though it fails; nothing is the value None, which is not kept.
    assert run.xcoms == {("deferred", -1): 5, ("fails_with_value", -1): 7}
    assert "JSONDecodeError" in run.logs["writes_no_json", -1]
    assert "ImagePullBackOff" in run.logs["no_image", -1]
    assert "cannot unmarshal array" in run.logs["wrong_type", -1]
    assert "Pod took too long to be scheduled" in run.logs["no_node", -1]
    [pod] = run.pods_of("text")
    nasty = "a {{ b }} {% c %} {# d #} ${#e[@]} \r\n 'x' \"y\" \\ é \n"
    assert pod.container("base").stdout == nasty
    assert pod.container("base").env == {"TEXT": nasty, "FILLED": run.run_id}
    assert run.pods_of("configured")[0].container("base").stdout == "geheim 0.1\n"


def test_jobs_and_a_custom_resource(airflow: Worker, dag_file: DagFile, tmp_path: Path) -> None:
    kind = Resource("kubeflow.org", "v1", "pytorchjobs")
    with FakeCluster(tmp_path / "cluster", operators={kind: train}) as cluster:
        run = airflow.run(dag_file("jobs"), "jobs", cluster=cluster)
        assert cluster.objects(kind) == []
    assert run.states == {
        ("indexed", -1): "success",
        ("fails", -1): "failed",
        ("create", -1): "success",
        ("wait", -1): "success",
        ("delete", -1): "success",
    }, run.log
    said = {pod.container("base").stdout for pod in run.pods_of("indexed")}
    assert said == {f"part {index}\n" for index in range(20)}
    assert len(run.pods_of("fails")) == 2
    replicas = [pod for pod in run.pods if pod.name.startswith("train-")]
    assert "0 of 3\n" in [pod.container("pytorch").stdout for pod in replicas]


def test_pods_of_a_job_that_come_late_are_not_looked_for_long(
    airflow: Worker, dag_file: DagFile, tmp_path: Path
) -> None:
    def delay_s(name: str) -> float:
        return 3600.0 if "not-seen" in name else 0.5

    with FakeCluster(tmp_path / "cluster", job_delay_s=delay_s) as cluster:
        run = airflow.run(dag_file("late_jobs"), "late_jobs", cluster=cluster)
    assert run.states == {
        ("not_waited_for", -1): "success",
        ("not_seen", -1): "failed",
        ("seen", -1): "success",
    }
    assert "No pods running with labels" in run.logs["not_seen", -1]


def test_large_values_arrive_if_they_are_written_in_ascii(
    airflow: Worker, dag_file: DagFile, cluster: FakeCluster
) -> None:
    run = airflow.run(dag_file("values"), "values", cluster=cluster)
    # The operator decodes each message of the stream alone, which cuts letters of several bytes.
    assert run.xcoms["compare", -1] == [True, True, True]


def test_a_run_has_a_time_limit(airflow: Worker, dag_file: DagFile, tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    text = f"""
from airflow.sdk import DAG, task
import pathlib
import time
with DAG("long", schedule=None):
    @task
    def short():
        pass
    @task
    def long():
        pathlib.Path({str(begun)!r}).touch()
        time.sleep(3600)
    @task(trigger_rule="all_done")
    def after():
        pass
    short() >> long() >> after()
"""
    airflow.load(text)
    airflow.run(dag_file("teardown"), "teardown")  # the database is made
    for limit_s in (4.0, 20.0, 100.0, 500.0):
        run = airflow.run(text, "long", limit_s=limit_s)
        assert run.timed_out
        if begun.exists():  # else the machine was too busy to come so far
            break
    assert run.states["short", -1] == "success"
    assert run.states["long", -1] == "failed"
    assert run.states["after", -1] not in ("success", "failed")
    assert airflow.load(text).errors == {}, "the next request starts it anew"
