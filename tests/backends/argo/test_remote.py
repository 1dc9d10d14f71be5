"""Runs on a cluster that is emulated, over its API: begun once, told of, ended, taken away."""

from __future__ import annotations

import json
import typing as t
from typing import Any

import pytest

from couler.backends.argo.remote import ArgoRemote
from couler.backends.base import Artifact, ArtifactFile, Target
from couler.backends.remote import KeepsSecrets, Remote, RemoteRun, Submission
from couler.errors import EngineError, LostRunError, RefusedError, WireError
from couler.ir.policies import SourceRef
from couler.ir.walk import StepPath
from couler.ir.workflow import ExitHandler, Schedule, Step, Suspend, Workflow
from couler.rest.client import RestError
from couler.rest.patience import Patience
from tests.corpus.build import flow, out, parameter, sh
from tests.fakes.kubernetes.faults import RequestFault
from tests.fakes.kubernetes.store import PODS, WORKFLOWS, ApiError, Resource
from tests.support.argo_cluster import EmulatedCluster, submission, submitted

PLAIN = flow("plain", sh("say", 'echo "$1"'), parameters=[parameter("n", "1"), parameter("m", "2")])


@pytest.mark.parametrize("cut", [None, "before", "after", "within"])
def test_to_submit_twice_is_to_submit_once(cluster: EmulatedCluster, cut: str | None) -> None:
    remote = cluster.quick_remote()
    if cut is not None:
        cluster.faults.add(RequestFault("POST", "/workflows", times=1, cut=cut))  # type: ignore[arg-type]
    first = remote.submit(submission(PLAIN))
    assert remote.submit(submission(PLAIN)) == first
    assert len(cluster.objects("Workflow")) == 1


def test_a_workflow_of_somebody_else_is_left_alone(cluster: EmulatedCluster) -> None:
    found = {"metadata": {"name": "run-1"}, "spec": {"entrypoint": "x"}}
    cluster.store.create(WORKFLOWS, "default", found)
    with pytest.raises(RefusedError, match=r"has a Workflow run-1 already, which is not the run"):
        cluster.remote().submit(submission(PLAIN))
    assert cluster.objects("Workflow")[0]["spec"] == {"entrypoint": "x"}


def test_a_creation_whose_answer_is_an_error_is_looked_for(cluster: EmulatedCluster) -> None:
    """A server can tell of a failure and store what was sent nevertheless."""
    create = cluster.store.create

    def creating(*given: t.Any) -> t.Any:
        create(*given)
        raise ApiError(500, "InternalError", "etcdserver: request timed out")

    cluster.store.create = creating  # type: ignore[method-assign]  # what a test lets go wrong
    assert cluster.quick_remote().submit(submission(PLAIN))["name"] == "run-1"


@pytest.mark.parametrize("looked", [None, 401, 403])
def test_a_refusal_after_what_may_have_been_taken_is_no_certain_one(
    cluster: EmulatedCluster, looked: int | None
) -> None:
    cluster.faults.add(RequestFault("POST", "/workflows", times=1, cut="before"))
    cluster.faults.add(RequestFault("POST", "/workflows", code=403, message="exceeded quota"))
    if looked is not None:
        cluster.faults.add(RequestFault("GET", "/workflows", code=looked))
    with pytest.raises(EngineError, match=r"403: exceeded quota.*earlier attempt") as caught:
        cluster.quick_remote().submit(submission(PLAIN))
    assert not isinstance(caught.value, RefusedError)
    assert "\n" not in str(caught.value)


def test_no_answer_in_time_is_told_and_the_run_is_not_doubled(cluster: EmulatedCluster) -> None:
    cluster.faults.add(RequestFault("POST", "/workflows", cut="never", times=1))
    impatient = ArgoRemote(cluster.api(Patience(0.0, 0.0, 0.0), timeout_s=0.5))
    with pytest.raises(RestError, match="got no answer") as caught:
        impatient.submit(submission(PLAIN))
    assert not isinstance(caught.value, RefusedError)
    cluster.faults.add(RequestFault("POST", "/workflows", cut="after", times=1))
    with pytest.raises(RestError, match="got no answer"):
        impatient.submit(submission(PLAIN))
    assert impatient.submit(submission(PLAIN))["name"] == "run-1"
    assert len(cluster.objects("Workflow")) == 1


def _with_others(*others: dict[str, object]) -> Submission:
    whole = submission(PLAIN)
    tree = {"apiVersion": "v1", "kind": "List", "items": [*others]}
    text = f"{json.dumps(tree)}\n---\n{whole.artifact.to_text()}"
    artifact = Artifact("argo", (ArtifactFile("all.yaml", text),))
    return Submission("run-1", PLAIN, artifact, {})


CONFIG_MAP = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "settings"},
    "data": {"n": "1"},
}
TEMPLATE = {
    "apiVersion": "argoproj.io/v1alpha1",
    "kind": "WorkflowTemplate",
    "metadata": {"name": "shared"},
    "spec": {},
}


def test_other_objects_are_put_in_place_before(cluster: EmulatedCluster) -> None:
    remote = cluster.remote()
    for _ in range(2):
        remote.submit(_with_others(CONFIG_MAP, TEMPLATE))
    assert [one["data"] for one in cluster.objects("ConfigMap")] == [{"n": "1"}]
    assert len(cluster.objects("WorkflowTemplate")) == len(cluster.objects("Workflow")) == 1


def test_a_refusal_of_one_object_leaves_none_behind(cluster: EmulatedCluster) -> None:
    cluster.faults.add(RequestFault("PATCH", "/workflowtemplates", code=422, message="bad field"))
    with pytest.raises(EngineError, match="argo: the WorkflowTemplate shared was refused: bad fie"):
        cluster.remote().submit(_with_others(CONFIG_MAP, TEMPLATE))
    kinds = ("ConfigMap", "WorkflowTemplate", "Workflow")
    assert [cluster.objects(kind) for kind in kinds] == [[], [], []]


ODD_TEXT = "\x7f\x85\x9f \u2028\u2029 \ufeff\ufffe\uffff \U0001f600 \U0010ffff é"
"""Characters that readers of YAML refuse or take for ends of lines, and some that they take."""


def test_what_is_applied_arrives_character_by_character(cluster: EmulatedCluster) -> None:
    cluster.api().apply({**CONFIG_MAP, "data": {"n": ODD_TEXT}})
    cluster.remote().put_secrets({"registry": {"token": ODD_TEXT}})
    [config_map], [secret] = cluster.objects("ConfigMap"), cluster.store.list(SECRETS, bool)[1]
    assert config_map["data"] == {"n": ODD_TEXT}
    assert secret["stringData"] == {"token": ODD_TEXT}


def test_an_object_that_is_none_of_argos_is_refused(cluster: EmulatedCluster) -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}}
    with pytest.raises(RefusedError, match="Pod of v1 is none that is put on a cluster from here"):
        cluster.remote().submit(_with_others(pod))
    assert cluster.objects("Workflow") == []


def test_secrets_are_made_and_renewed(cluster: EmulatedCluster) -> None:
    remote = cluster.remote()
    assert isinstance(remote, KeepsSecrets)
    for value in ("old", "new"):
        remote.put_secrets({"registry": {"token": value}})
    [secret] = cluster.store.list(SECRETS, lambda _: True)[1]
    assert (secret["metadata"]["name"], secret["stringData"]) == ("registry", {"token": "new"})
    cluster.faults.add(RequestFault("PATCH", "/secrets", code=403, message="may not"))
    with pytest.raises(EngineError, match=r"registry was refused.*: may not") as caught:
        remote.put_secrets({"registry": {"token": "hush-hush"}})
    assert "hush" not in str(caught.value)


SECRETS = Resource("", "v1", "secrets")


@pytest.mark.parametrize("may_look", [True, False])
def test_a_secret_of_somebody_else_is_left_alone(cluster: EmulatedCluster, may_look: bool) -> None:
    theirs = {"metadata": {"name": "registry"}, "stringData": {"token": "theirs"}}
    cluster.store.create(SECRETS, "default", theirs)
    if not may_look:
        cluster.faults.add(RequestFault("GET", "/secrets", code=403, message="may not"))
    told = "has a secret registry already, which .* is left as it is.*--create-secrets"
    with pytest.raises(RefusedError, match=told) as caught:
        cluster.remote().put_secrets({"registry": {"token": "hush-hush"}})
    assert "hush" not in str(caught.value)
    [secret] = cluster.store.list(SECRETS, lambda _: True)[1]
    assert secret["stringData"] == {"token": "theirs"}


def test_a_secret_is_made_by_an_account_that_may_not_look(cluster: EmulatedCluster) -> None:
    cluster.faults.add(RequestFault("GET", "/secrets", code=403, message="may not"))
    cluster.remote().put_secrets({"registry": {"token": "x"}})
    [secret] = cluster.store.list(SECRETS, lambda _: True)[1]
    assert secret["stringData"] == {"token": "x"}


def test_a_template_is_put_in_place_and_run(cluster: EmulatedCluster) -> None:
    target = Target(options={"kind": "WorkflowTemplate"})
    cluster.remote().submit(submission(PLAIN, target=target, n="7"))
    [template], [found] = cluster.objects("WorkflowTemplate"), cluster.objects("Workflow")
    assert found["spec"]["workflowTemplateRef"] == {"name": template["metadata"]["name"]}
    assert found["spec"]["arguments"]["parameters"] == [{"name": "n", "value": "7"}]


SCHEDULED = PLAIN.model_copy(
    update={"schedule": Schedule(cron=("0 3 * * *",)), "labels": {"team": "ml"}}
)


def test_a_scheduled_workflow_is_run_once_now(cluster: EmulatedCluster) -> None:
    cluster.remote().submit(submission(SCHEDULED))
    assert cluster.objects("CronWorkflow") == []
    [found] = cluster.objects("Workflow")
    assert found["spec"]["entrypoint"] == "main"


def test_a_schedule_is_put_in_place_paused_and_begun_again(cluster: EmulatedCluster) -> None:
    remote = cluster.remote()
    made = submission(SCHEDULED)
    place = remote.schedule(SCHEDULED, made.artifact)
    assert remote.schedule(SCHEDULED, made.artifact) == place
    [found] = cluster.objects("CronWorkflow")
    assert place == {"name": "plain", "namespace": "default"}
    assert not found["spec"].get("suspend")
    remote.pause(place)
    assert cluster.objects("CronWorkflow")[0]["spec"]["suspend"] is True
    remote.unpause(place)
    [found] = cluster.objects("CronWorkflow")
    assert (found["spec"]["suspend"], found["spec"]["schedules"]) == (False, ["0 3 * * *"])
    with pytest.raises(LostRunError, match="there is no CronWorkflow gone"):
        remote.pause({"name": "gone"})
    with pytest.raises(EngineError, match='"plain" has no schedule'):
        remote.schedule(PLAIN, submission(PLAIN).artifact)


def test_cancel_leaves_exit_handlers_the_time_to_run(cluster: EmulatedCluster) -> None:
    remote = cluster.remote()
    handler = ExitHandler(name="tell", on="any", steps=(sh("say", "true"),))
    run = submitted(remote, PLAIN.model_copy(update={"exit_handlers": (handler,)}))
    cluster.set_status("run-1", {"phase": "Running", "startedAt": "2026-01-31T08:00:00Z"})
    remote.cancel(run)
    spec = cluster.objects("Workflow")[0]["spec"]
    assert (spec["activeDeadlineSeconds"], "shutdown" in spec) == (0, False)
    cluster.set_status("run-1", {"phase": "Failed", "message": "Step exceeded its deadline"})
    seen = remote.observe(run)
    assert (seen.status, seen.message) == ("cancelled", "the run was cancelled")


def test_delete_takes_it_away_once(cluster: EmulatedCluster) -> None:
    remote = cluster.remote()
    run = submitted(remote, PLAIN)
    remote.delete(run)
    remote.delete(run)
    assert cluster.objects("Workflow") == []
    for ask in (remote.observe, remote.cancel, lambda run: list(remote.follow(run))):
        with pytest.raises(LostRunError, match="there is no Workflow run-1 in the namespace"):
            ask(run)


def test_a_run_that_was_never_taken_is_lost(cluster: EmulatedCluster) -> None:
    with pytest.raises(LostRunError, match="was never taken"):
        cluster.remote().observe(RemoteRun("run-1", PLAIN, {}))


# people -------------------------------------------------------------------------------------------

ASK = Step(
    name="ask",
    action=Suspend(),
    outputs=(out("rate", "float"), out("note", default="none")),
)
ASKING = flow("asking", ASK)


def _waiting(cluster: EmulatedCluster, remote: Remote, *, packed: bool = False) -> RemoteRun:
    run = submitted(remote, ASKING)  # type: ignore[arg-type]
    supplied = [
        {"name": "rate", "valueFrom": {"supplied": {}}},
        {"name": "note", "valueFrom": {"supplied": {}, "default": "none"}},
    ]
    root = {"id": "run-1", "name": "run-1", "type": "DAG", "phase": "Running"}
    node = {
        "id": "run-1-7",
        "name": "run-1.ask",
        "type": "Suspend",
        "phase": "Running",
        "boundaryID": "run-1",
        "outputs": {"parameters": supplied},
    }
    nodes = {one["id"]: one for one in (root, node)}
    cluster.set_status("run-1", {"phase": "Running", "nodes": nodes})
    return run


def _node(cluster: EmulatedCluster) -> dict[str, object]:
    found: dict[str, object] = cluster.objects("Workflow")[0]["status"]["nodes"]["run-1-7"]
    return found


def test_a_step_that_waits_goes_on_with_what_is_entered(cluster: EmulatedCluster) -> None:
    remote = cluster.remote()
    run, path = _waiting(cluster, remote), StepPath.parse("ask")  # type: ignore[arg-type]
    assert [seen.status for seen in remote.observe(run).steps] == ["suspended"]
    # Somebody else changes it at the same time.
    cluster.faults.add(RequestFault("PUT", "/workflows", code=409, times=2))
    remote.resume(run, path, {"rate": "0.5"})
    node = _node(cluster)
    assert node["phase"] == "Succeeded"
    assert node["outputs"] == {
        "parameters": [{"name": "rate", "value": "0.5"}, {"name": "note", "value": "none"}]
    }
    [seen] = remote.observe(run).steps
    assert seen.outputs == {
        "rate": {"text": "0.5", "type": "float"},
        "note": {"text": "none", "type": "str"},
    }
    with pytest.raises(EngineError, match="ask does not wait to be resumed"):
        remote.resume(run, path, {"rate": "0.5"})


@pytest.mark.parametrize("cut", ["before", "after", "within"])
def test_a_step_goes_on_once_though_the_answer_is_lost(cluster: EmulatedCluster, cut: str) -> None:
    remote = cluster.quick_remote()
    run = _waiting(cluster, remote)  # type: ignore[arg-type]
    cluster.faults.add(RequestFault("PUT", "/workflows", times=1, cut=cut))  # type: ignore[arg-type]
    remote.resume(run, StepPath.parse("ask"), {"rate": "0.5"})
    assert _node(cluster)["phase"] == "Succeeded"


def test_what_is_entered_is_checked(cluster: EmulatedCluster) -> None:
    remote = cluster.remote()
    run, path = _waiting(cluster, remote), StepPath.parse("ask")  # type: ignore[arg-type]
    for entered in ({}, {"rate": "fast"}, {"rate": "1.0", "speed": "2"}):
        with pytest.raises(WireError):
            remote.resume(run, path, entered)
    assert _node(cluster)["phase"] == "Running"


def test_a_run_that_is_suspended_goes_on(cluster: EmulatedCluster) -> None:
    remote = cluster.remote()
    suspended: Workflow = PLAIN.model_copy(update={"suspended": True})
    run = submitted(remote, suspended)
    cluster.set_status("run-1", {"phase": "Running"})
    assert "is suspended" in (remote.observe(run).message or "")
    remote.resume(run, StepPath())
    assert "suspend" not in cluster.objects("Workflow")[0]["spec"]
    assert remote.observe(run).message is None


OTHERS = {
    "another workflow": submission(flow("plain", sh("quite_different", "rm -rf /data"))),
    "other parameters": submission(PLAIN, n="8"),
}


@pytest.mark.parametrize("what", OTHERS)
def test_a_run_of_another_submission_is_not_taken_for_it(
    cluster: EmulatedCluster, what: str
) -> None:
    remote = cluster.remote()
    remote.submit(submission(PLAIN, n="7"))
    told = r"has a run run-1 already, of another workflow or with other parameters.*\(--name\)"
    with pytest.raises(RefusedError, match=told):
        remote.submit(OTHERS[what])
    [found] = cluster.objects("Workflow")
    assert found["spec"]["arguments"]["parameters"][0] == {"name": "n", "value": "7"}


def test_where_the_program_lies_and_given_defaults_are_no_difference(
    cluster: EmulatedCluster,
) -> None:
    remote = cluster.remote()
    first = remote.submit(submission(PLAIN))
    moved = PLAIN.model_copy(update={"source": SourceRef(file="/elsewhere/plain.py", line=9)})
    assert remote.submit(submission(moved, n="1")) == first


def test_a_run_that_is_being_deleted_is_not_taken_for_a_new_one(cluster: EmulatedCluster) -> None:
    remote = cluster.remote()
    remote.submit(submission(PLAIN))

    def hold(found: dict[str, Any]) -> None:
        found["metadata"]["finalizers"] = ["workflows.argoproj.io/artifact-gc"]

    cluster.store.change(WORKFLOWS, "default", "run-1", hold)
    cluster.store.delete(WORKFLOWS, "default", "run-1")
    with pytest.raises(RefusedError, match=r"is being deleted. Submit it again when it is gone"):
        remote.submit(submission(PLAIN))


def test_a_list_that_is_too_old_to_go_on_is_begun_again(cluster: EmulatedCluster) -> None:
    for number in range(250):
        cluster.store.create(
            WORKFLOWS, "default", {"metadata": {"name": f"w-{number}"}, "spec": {}}
        )
    of_request, asked = cluster.faults.of_request, list[str]()

    def compacting(method: str, path: str, *, watch: bool = False) -> Any:
        asked.append(path)
        cluster.store.create(PODS, "default", {"metadata": {"name": f"p-{len(asked)}"}, "spec": {}})
        if len(asked) == 3:  # before the last page
            cluster.store.compact()
        return of_request(method, path, watch=watch)

    cluster.faults.of_request = compacting  # type: ignore[method-assign]  # between two pages
    names = [one["metadata"]["name"] for one in cluster.api().workflows()]
    assert (len(names), len(set(names)), len(asked)) == (250, 250, 4)
