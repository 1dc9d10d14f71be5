"""`couler schedule`: on a cluster that is emulated, and on an Airflow whose API is."""

from __future__ import annotations

import re
import typing as t
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Outcome
from tests.fakes.kubernetes.faults import RequestFault
from tests.fakes.kubernetes.store import PODS
from tests.support.airflow_api import TIME, FakeAirflow
from tests.support.argo_cluster import NAMESPACE, PLURALS, EmulatedCluster, emulated_cluster

Call: t.TypeAlias = Callable[..., Outcome]

PROD = '[tool.couler]\ntarget = "prod"\n[tool.couler.targets.prod]\n'

NIGHTLY = """
import couler

with couler.Workflow("nightly", schedule="0 3 * * *", depth=1, who=str) as flow:
    couler.run_container("busybox", ["echo", flow.params.who], step_name="hello")
"""


@pytest.fixture
def nightly(write: Callable[[str, str], str]) -> str:
    return write("nightly.py", NIGHTLY)


@pytest.fixture
def cluster(folder: Path) -> Iterator[EmulatedCluster]:
    with emulated_cluster(folder) as found:
        (folder / "pyproject.toml").write_text(
            f'{PROD}engine = "argo"\nkubeconfig = "kubeconfig"\n'
        )
        yield found


@pytest.fixture
def airflow(folder: Path) -> Iterator[FakeAirflow]:
    (folder / "dags").mkdir()
    with FakeAirflow(folder / "dags", dag_id="nightly").running() as found:
        (folder / "pyproject.toml").write_text(
            f'{PROD}engine = "airflow"\naddress = "{found.address}"\ndags = "dags"\npoll_s = 0.01\n'
        )
        yield found


@pytest.fixture(params=["cluster", "airflow"])
def engine_of_prod(request: pytest.FixtureRequest) -> str:
    """The engine of the target `prod`: each that keeps schedules."""
    request.getfixturevalue(request.param)
    return {"cluster": "argo", "airflow": "airflow"}[request.param]


def listed(couler: Call) -> list[dict[str, t.Any]]:
    told = couler("schedule", "ls", "--target", "prod", "--format", "json")
    assert told.code == 0, told.err
    found: list[dict[str, t.Any]] = told.json["schedules"]
    return found


def test_from_its_begin_to_its_end(couler: Call, nightly: str, engine_of_prod: str) -> None:
    assert listed(couler) == []
    told = couler("schedule", "put", nightly, "--target", "prod", "-p", "who=me")
    assert (told.code, told.out) == (0, "nightly\n")
    assert f"nightly is in place at prod ({engine_of_prod}): 0 3 * * *" in told.err
    [one] = listed(couler)
    assert (one["schedule"], one["cron"], one["paused"]) == ("nightly", ["0 3 * * *"], False)

    told = couler("schedule", "pause", "nightly", "--target", "prod")
    assert (told.code, told.out, told.err) == (0, "", "paused nightly\n")
    told = couler("schedule", "put", nightly, "-e", engine_of_prod, "-p", "who=you")
    again = f"couler schedule resume nightly -e {engine_of_prod}"
    assert f"paused; `{again}` lets it begin runs\n" in told.err
    [one] = listed(couler)
    assert (one["paused"], one["next"]) == (True, None)
    assert couler("schedule", "resume", "nightly", "-q").err == ""
    assert listed(couler)[0]["paused"] is False

    told = couler("schedule", "rm", "nightly", "nightly")
    assert (told.code, told.err) == (0, "removed nightly\n")
    assert listed(couler) == []
    told = couler("schedule", "rm", "nightly")
    assert told.code == 2
    # It is new again, not the paused one that was there.
    assert couler("schedule", "put", nightly, "-p", "who=me").code == 0
    assert listed(couler)[0]["paused"] is False


@pytest.mark.usefixtures("engine_of_prod")
def test_what_the_program_pauses_is_paused(couler: Call, nightly: str, folder: Path) -> None:
    assert couler("schedule", "put", nightly, "-p", "who=me").code == 0
    text = NIGHTLY.replace('"0 3 * * *"', 'couler.Schedule("0 3 * * *", suspended=True)')
    (folder / nightly).write_text(text)
    told = couler("schedule", "put", nightly, "-p", "who=me", "--format", "json")
    assert (told.json["schedule"], told.json["paused"]) == ("nightly", True)
    assert told.json["place"]


def test_what_stands_in_the_table(couler: Call, nightly: str, cluster: EmulatedCluster) -> None:
    assert couler("schedule", "ls").err == "there is no schedule at prod (argo)\n"
    couler("schedule", "put", nightly, "-p", "who=me")

    def ran(found: dict[str, t.Any]) -> None:
        fault = {"type": "SubmissionError", "status": "True", "message": "quota\nexceeded"}
        found["status"] = {"lastScheduledTime": "2026-03-01T03:00:00Z", "conditions": [fault]}

    cluster.store.change(PLURALS["CronWorkflow"], NAMESPACE, "nightly", ran)
    header, row = couler("schedule", "ls").out.splitlines()
    assert header.split() == [
        *("schedule", "when", "timezone", "state", "last", "(UTC)", "next", "(UTC)")
    ]
    assert " ".join(row.split()) == "nightly 0 3 * * * UTC active 2026-03-01 03:00 quota exceeded"


REFUSED = (
    (["put", "nightly.py"], 1, r"CLR186.*nobody gives a value.*\n-p NAME=VALUE gives"),
    (["put", "nightly.py", "-p", "depth=2"], 2, 'parameter "who": a value is required'),
    (["put", "nightly.py", "-p", "who=x", "-p", "deep=2"], 2, 'Did you mean "depth"'),
    (["put", "greet.yaml"], 1, 'the workflow "greet" has no schedule. Give it one'),
    (
        ["put", "nightly.py", "-e", "local", "-pwho=x"],
        2,
        "local keeps no schedules; argo and airflow do",
    ),
    (["put", "nightly.py", "-e", "tekton"], 2, "tekton"),
    (["ls", "-e", "local"], 2, "local keeps no schedules"),
    (["rm", "nightly", "-e", "tekton"], 2, "tekton"),
    (["ls", "--target", "prd"], 3, 'there is no target "prd".*Did you mean "prod"'),
    (["pause", "nighty"], 2, 'no schedule "nighty"; there are: nightly. Did you mean "night'),
    (["resume", "nightly", "nighty"], 2, 'no schedule "nighty"; there are: nightly'),
    (["rm", "Nightly/../x"], 2, r'no schedule "Nightly/../x"; there are: nightly'),
    (["pause"], 2, "NAME"),
)


def test_what_is_refused(couler: Call, nightly: str, greet: str, engine_of_prod: str) -> None:
    assert couler("schedule", "put", nightly, "-p", "who=me").code == 0
    couler("schedule", "pause", "nightly")
    for arguments, code, words in REFUSED:
        told = couler("schedule", *arguments)
        assert (told.code, told.out) == (code, ""), (arguments, told.err)
        assert re.search(words, told.err), arguments
        assert "Traceback" not in told.err
        assert listed(couler)[0]["paused"] is True, arguments  # nothing was done to any


def test_an_engine_without_schedules(couler: Call, greet: str, engine) -> None:
    told = couler("schedule", "ls", "--target", "away")
    assert (told.code, told.out) == (2, "")
    assert "scripted keeps no schedules" in told.err
    assert engine.calls() == []


@pytest.mark.parametrize("verb", [["ls"], ["pause", "nightly"], ["put", "nightly.py", "-pwho=x"]])
def test_an_engine_that_cannot_be_reached(
    couler: Call, nightly: str, folder: Path, verb: list[str]
) -> None:
    (folder / "pyproject.toml").write_text(
        f'{PROD}engine = "argo"\nserver = "http://127.0.0.1:9"\npatience_s = 0.1\n'
    )
    told = couler("schedule", *verb)
    assert (told.code, told.out) == (4, "")
    *notes, error = told.err.splitlines()
    assert error.startswith("error: argo: ")
    # Within a tenth of a second it may have been asked often enough for that to be told.
    assert all("no answer: [Errno 111] Connection refused; asking again" in one for one in notes)


def test_an_answer_that_is_lost_doubles_nothing(
    couler: Call, nightly: str, cluster: EmulatedCluster
) -> None:
    cluster.faults.add(RequestFault("PATCH", "/cronworkflows", times=2, cut="after"))
    assert couler("schedule", "put", nightly, "-p", "who=me").code == 0
    assert len(cluster.objects("CronWorkflow")) == 1
    cluster.faults.add(RequestFault("DELETE", "/cronworkflows", times=1, cut="after"))
    assert couler("schedule", "rm", "nightly").code == 0
    assert cluster.objects("CronWorkflow") == []


def test_a_refusal_of_the_cluster_is_one_error(
    couler: Call, nightly: str, cluster: EmulatedCluster
) -> None:
    cluster.faults.add(RequestFault("PATCH", "/cronworkflows", code=403, message="forbidden"))
    told = couler("schedule", "put", nightly, "-p", "who=me")
    assert (told.code, told.out) == (4, "")
    assert re.match(r"error: argo: .* refused with 403: forbidden", told.err)
    assert cluster.objects("CronWorkflow") == []


def test_others_are_left_alone(couler: Call, nightly: str, cluster: EmulatedCluster) -> None:
    """What was not put in place from here is neither shown nor touched."""
    made = {
        "metadata": {"name": "theirs"},
        "spec": {"schedules": ["* * * * *"], "workflowSpec": {}},
    }
    cluster.store.create(PLURALS["CronWorkflow"], NAMESPACE, made)
    assert listed(couler) == []
    assert couler("schedule", "rm", "theirs").code == 2
    assert len(cluster.objects("CronWorkflow")) == 1


def test_other_dags_are_left_alone(couler: Call, nightly: str, airflow: FakeAirflow) -> None:
    airflow.others = [
        {"dag_id": "plain", "relative_fileloc": "plain.py", "timetable_summary": None},
        {"dag_id": "theirs", "relative_fileloc": "many.py", "timetable_summary": "@daily"},
        {"dag_id": "gone", "relative_fileloc": "gone.py", "timetable_summary": "@daily"},
    ]
    assert listed(couler) == []
    (airflow.folder / "nightly.py").write_text('DAG(CronTriggerTimetable("1 * * * *", timezone=1))')
    assert listed(couler) == []
    assert couler("schedule", "rm", "nightly").code == 2
    assert (airflow.folder / "nightly.py").exists()


@pytest.mark.parametrize("with_runs", [False, True])
def test_argo_lets_runs_go_on(
    couler: Call, nightly: str, cluster: EmulatedCluster, with_runs: bool
) -> None:
    couler("schedule", "put", nightly, "-p", "who=me")
    [found] = cluster.objects("CronWorkflow")
    # The emulated cluster knows of pods alone that they belong to something.
    owned = {"name": "run", "ownerReferences": [{"uid": found["metadata"]["uid"]}]}
    cluster.store.create(PODS, NAMESPACE, {"metadata": owned, "spec": {"containers": []}})
    assert couler("schedule", "rm", "nightly", *(["--with-runs"] if with_runs else [])).code == 0
    left = cluster.store.list(PODS, lambda _: True)[1]
    assert len(left) == (0 if with_runs else 1)
    assert cluster.objects("CronWorkflow") == []


def test_a_kind_that_keeps_no_schedule(
    couler: Call, nightly: str, cluster: EmulatedCluster
) -> None:
    told = couler("schedule", "put", nightly, "-p", "who=me", "--option", "kind=WorkflowTemplate")
    assert (told.code, told.out) == (2, "")
    assert "the option kind of the target makes no CronWorkflow" in told.err
    assert cluster.objects("WorkflowTemplate") == []


def test_runs_under_way_keep_a_dag(couler: Call, nightly: str, airflow: FakeAirflow) -> None:
    couler("schedule", "put", nightly, "-p", "who=me")
    airflow.begin("r1", run_after=TIME, run_type="scheduled")
    told = couler("schedule", "rm", "nightly")
    assert told.code == 4
    assert "runs of nightly are under way, which cannot go on without its file: r1" in told.err
    assert not airflow.is_paused  # it is as it was
    airflow.runs["r1"]["state"] = "success"
    assert couler("schedule", "rm", "nightly").code == 0
    assert (list(airflow.runs), airflow.is_paused) == (["r1"], True)
    assert not (airflow.folder / "nightly.py").exists()


def test_a_dag_goes_with_its_runs(couler: Call, nightly: str, airflow: FakeAirflow) -> None:
    couler("schedule", "put", nightly, "-p", "who=me")
    airflow.begin("r1", run_after=TIME, run_type="scheduled")
    told = couler("schedule", "rm", "nightly", "--with-runs")
    assert (told.code, told.err) == (0, "removed nightly\n")
    assert airflow.runs == {}
    assert airflow.read is None


def test_a_run_sets_no_schedule_going(
    couler: Call, write: Callable[[str, str], str], airflow: FakeAirflow
) -> None:
    nightly = write("nightly.py", NIGHTLY.replace("who=str", 'who="you"'))
    assert couler("submit", nightly, "--name", "first").code == 0
    assert couler("schedule", "ls").out == ""
    couler("schedule", "put", nightly, "-p", "who=all")
    assert couler("submit", nightly, "-p", "who=me", "--name", "second").code == 0
    couler("schedule", "pause", "nightly")
    refused = couler("submit", nightly, "-p", "who=me", "--name", "third")
    assert refused.code == 4
    assert "`couler schedule resume nightly` lets it go on" in refused.err
    assert airflow.is_paused
    assert sorted(airflow.runs) == ["first", "second"]
