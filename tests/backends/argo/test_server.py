"""Runs on Argo through an Argo Server: all that `ArgoRemote` does, over real HTTP."""

from __future__ import annotations

import itertools
import threading
import time
import typing as t
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from couler.backends.argo import ArgoBackend
from couler.backends.argo.remote import ArgoRemote
from couler.backends.base import Target
from couler.backends.remote import Connection, Observation, RemoteRun, Restart
from couler.errors import ConfigurationError, EngineError, LostRunError, RefusedError
from couler.ir.defaults import resolve_defaults
from couler.ir.walk import StepPath
from couler.ir.workflow import Schedule, Workflow
from tests.corpus.build import flow, sh
from tests.fakes.argo.faults import Fault
from tests.fakes.argo.server import ArgoServer
from tests.fakes.argo.service import CRON_WORKFLOWS
from tests.support.argo_recordings import AGAIN, ASK, CHAIN, ask, chain, recorded, submission

TOKEN = "s3cret-of-the-server"
ENVIRONMENT = {"THE_TOKEN": f"Bearer {TOKEN}"}


@pytest.fixture
def server() -> Iterator[ArgoServer]:
    with ArgoServer(token=TOKEN) as server:
        yield server


def connected(server: ArgoServer, **fields: object) -> ArgoRemote:
    given = {"server": server.address, "token": {"env": "THE_TOKEN"}, **fields}
    return ArgoBackend().connect(Connection("argo", fields=given, name="prod"), ENVIRONMENT)


@pytest.fixture
def remote(server: ArgoServer) -> ArgoRemote:
    return connected(server)


def begun(remote: ArgoRemote, workflow: Workflow | None = None, name: str = CHAIN) -> RemoteRun:
    workflow = workflow or chain()
    return RemoteRun(name, workflow, remote.submit(submission(workflow, name)))


def names(server: ArgoServer) -> list[str]:
    """Return the names of all Workflows that the server has."""
    found = server.service.list("default", {})["items"] or []
    return [one["metadata"]["name"] for one in found]


def states(seen: Observation) -> dict[str, str]:
    return {str(one.path): one.status for one in seen.steps}


ENDED = {
    "first": "succeeded",
    "each": "succeeded",
    "each[0]": "succeeded",
    "each[1]": "succeeded",
    "bad": "failed",
    "after": "omitted",
    "exit:tell": "succeeded",
    "exit:tell/say": "succeeded",
}


# submitting ---------------------------------------------------------------------------------------


def test_a_run_is_created_once(server: ArgoServer, remote: ArgoRemote) -> None:
    one = submission(chain(), CHAIN)
    place = remote.submit(one)
    assert place["name"] == CHAIN
    assert remote.submit(one) == place
    assert server.service.asked.count(("POST", "/api/v1/workflows/default")) == 1
    assert TOKEN not in repr(place)
    found = remote.api.get(CHAIN)
    assert found["spec"]["entrypoint"] == "main"
    assert names(server) == [CHAIN]


def test_the_name_of_another_workflow_is_not_taken(server: ArgoServer, remote: ArgoRemote) -> None:
    server.service.create("default", {"workflow": {"metadata": {"name": CHAIN}, "spec": {}}})
    with pytest.raises(EngineError, match="has a Workflow chain-1 already, which is not the run"):
        begun(remote)


# observing ----------------------------------------------------------------------------------------


def test_a_run_is_observed(server: ArgoServer, remote: ArgoRemote) -> None:
    run = begun(remote)
    assert remote.observe(run).status == "running"
    server.service.play(CHAIN, *recorded("chain"))
    seen = remote.observe(run)
    assert seen.status == "failed"
    assert states(seen) == ENDED


def followed(
    server: ArgoServer, remote: ArgoRemote, run: RemoteRun, between: Callable[[int], None]
) -> list[Observation]:
    """Play a run step by step, each once the one before was seen, and return what was seen."""
    statuses = recorded("chain")
    seen: list[Observation] = []
    done = threading.Event()

    def follow() -> None:
        seen.extend(remote.follow(run))
        done.set()

    watcher = threading.Thread(target=follow)
    watcher.start()
    _until(lambda: server.streams >= 1)
    for number, status in enumerate(statuses):
        server.service.play(CHAIN, status)
        between(number)
    assert done.wait(60), "it is not seen that the run has ended"
    watcher.join()
    return seen


def test_a_run_is_followed_to_its_end(server: ArgoServer, remote: ArgoRemote) -> None:
    seen = followed(server, remote, begun(remote), lambda number: None)
    assert seen[-1].status == "failed"
    assert states(seen[-1]) == ENDED
    assert server.streams == 1


def test_following_survives_a_server_that_restarts(server: ArgoServer, remote: ArgoRemote) -> None:
    run = begun(remote)
    port = server.address

    def restart(number: int) -> None:
        if number == 6:
            server.stop()
        if number == 9:
            server.start()
            assert server.address == port
            _until(lambda: server.streams >= 2)

    seen = followed(server, remote, run, restart)
    assert states(seen[-1]) == ENDED
    finished = [
        {one for one, state in states(each).items() if state == "succeeded"} for each in seen
    ]
    assert all(early <= late for early, late in itertools.pairwise(finished))


def test_changes_that_are_too_old_are_looked_at_anew(
    server: ArgoServer, remote: ArgoRemote
) -> None:
    message = "too old resource version: 3 (99)"
    server.faults.add(Fault("/workflow-events/", code=400, message=message, times=1))
    seen = followed(server, remote, begun(remote), lambda number: None)
    assert states(seen[-1]) == ENDED


def _until(holds: Callable[[], bool]) -> None:
    limit = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < limit
        time.sleep(0.01)


def test_a_run_that_is_deleted_while_it_is_followed_is_lost(
    server: ArgoServer, remote: ArgoRemote
) -> None:
    run = begun(remote)
    following = remote.follow(run)
    next(following)
    deleter = threading.Thread(
        target=lambda: (_until(lambda: server.streams >= 1), remote.delete(run))
    )
    deleter.start()
    with pytest.raises(LostRunError, match="there is no Workflow chain-1"):
        list(following)
    deleter.join()


# logs ---------------------------------------------------------------------------------------------


def _pod(server: ArgoServer, remote: ArgoRemote, run: RemoteRun, path: str) -> str:
    from couler.backends.argo.observe import Observer
    from couler.backends.argo.pod_logs import pod_name

    workflow = remote.api.get(run.run_id)
    return pod_name(workflow, Observer(run.workflow).look(workflow).nodes[path])


def test_logs_are_read_and_followed(server: ArgoServer, remote: ArgoRemote) -> None:
    run = begun(remote)
    server.service.play(CHAIN, *recorded("chain"))
    path = StepPath.parse("each[1]")
    log = server.service.log(_pod(server, remote, run, "each[1]"))
    log.write("one", "zwölf \u2028 is one line")
    assert list(remote.logs(run, path)) == ["one", "zwölf \u2028 is one line"]
    lines = remote.logs(run, path, follow=True)
    assert next(lines) == "one"
    log.write("two")
    log.end()
    assert list(lines) == ["zwölf \u2028 is one line", "two"]


def test_a_log_that_breaks_off_is_taken_up(server: ArgoServer, remote: ArgoRemote) -> None:
    run = begun(remote)
    server.service.play(CHAIN, *recorded("chain"))
    log = server.service.log(_pod(server, remote, run, "first"))
    log.write("one", "two", "three")
    log.end()
    server.faults.add(Fault("/log$", after_events=2, times=1))
    assert list(remote.logs(run, StepPath.parse("first"), follow=True)) == ["one", "two", "three"]


# ending, letting go on ----------------------------------------------------------------------------


def test_a_run_is_cancelled(server: ArgoServer, remote: ArgoRemote) -> None:
    run = begun(remote)
    server.service.play(CHAIN, recorded("chain")[3])
    remote.cancel(run)
    assert [action for action, *_ in server.service.done] == ["stop"]
    server.service.play(CHAIN, recorded("chain")[-1])
    assert remote.observe(run).status == "cancelled"
    remote.cancel(run)
    assert [action for action, *_ in server.service.done] == ["stop"]


def test_a_run_that_ends_while_it_is_cancelled_is_no_error(
    server: ArgoServer, remote: ArgoRemote
) -> None:
    begun(remote)
    server.service.play(CHAIN, recorded("chain")[-1])
    remote.api.stop(CHAIN)
    assert server.service.done == []


def test_a_suspended_run_is_let_go_on_to_end(server: ArgoServer, remote: ArgoRemote) -> None:
    run = begun(remote)
    server.service.act("default", CHAIN, "suspend", {})
    remote.cancel(run)
    assert [action for action, *_ in server.service.done] == ["suspend", "stop", "resume"]
    assert "suspend" not in remote.api.get(CHAIN)["spec"]


def test_a_step_is_let_go_on_with_what_is_entered(server: ArgoServer, remote: ArgoRemote) -> None:
    run = begun(remote, ask(), ASK)
    server.service.play(ASK, *recorded("ask"))
    assert states(remote.observe(run)) == {"wait": "suspended"}
    remote.resume(run, StepPath.parse("wait"), {"answer": "42"})
    [(action, _, sent)] = server.service.done
    assert (action, sent["outputParameters"]) == ("set", '{"answer": "42"}')
    assert states(remote.observe(run)) == {"wait": "succeeded"}
    server.service.play(ASK, *recorded("ask entered"))
    assert remote.observe(run).status == "succeeded"
    with pytest.raises(EngineError, match="wait does not wait to be resumed"):
        remote.resume(run, StepPath.parse("wait"), {"answer": "43"})


@pytest.mark.parametrize("cut", ["after", "within"])
@pytest.mark.parametrize("entered", [{}, {"answer": "42"}], ids=["resume", "set"])
def test_a_step_is_let_go_on_once_though_the_answer_is_lost(
    server: ArgoServer,
    remote: ArgoRemote,
    cut: t.Literal["after", "within"],
    entered: dict[str, str],
) -> None:
    run = begun(remote, ask(), ASK)
    server.service.play(ASK, *recorded("ask"))
    action = "set" if entered else "resume"
    server.faults.add(Fault(f"/{action}$", cut=cut, times=1))
    node = next(
        one["id"]
        for one in remote.api.get(ASK)["status"]["nodes"].values()
        if one["type"] == "Suspend"
    )
    remote.api.resume(ASK, node, entered)
    assert [action for action, *_ in server.service.done] == [action]
    assert states(remote.observe(run)) == {"wait": "succeeded"}
    with pytest.raises(EngineError, match="no suspend nodes matching"):
        remote.api.resume(ASK, node, {"answer": "43"})  # somebody else was before


def test_a_step_that_does_not_go_on_is_no_success(server: ArgoServer, remote: ArgoRemote) -> None:
    begun(remote, ask(), ASK)
    server.service.play(ASK, *recorded("ask"))
    server.faults.add(Fault("/resume$", code=500))
    with pytest.raises(EngineError, match="500: refused by the test"):
        remote.api.resume(ASK, f"{ASK}-0", {})


# restarting ---------------------------------------------------------------------------------------


def restart(
    remote: ArgoRemote, run: RemoteRun, *again: str, workflow: Workflow | None = None, **more: str
) -> object:
    after = workflow or run.workflow
    artifact = submission(after, run.run_id).artifact
    return remote.restart(run, Restart(after, artifact, more, frozenset(again)))


@pytest.fixture
def failed(server: ArgoServer, remote: ArgoRemote) -> RemoteRun:
    run = begun(remote)
    server.service.play(CHAIN, *recorded("chain"))
    return run


def test_a_restart_that_argo_itself_can_do(
    server: ArgoServer, remote: ArgoRemote, failed: RemoteRun
) -> None:
    assert restart(remote, failed, *AGAIN) == failed.place
    assert [action for action, *_ in server.service.done] == ["retry"]
    assert remote.observe(failed).status == "running"
    server.service.play(CHAIN, *recorded("chain again"))
    seen = remote.observe(failed)
    assert seen.status == "succeeded"
    assert seen.outputs == {"said": "after bad 1\n2"}


@pytest.mark.parametrize("cut", ["after", "within"])
def test_a_restart_whose_answer_is_lost_is_done_once(
    server: ArgoServer, remote: ArgoRemote, failed: RemoteRun, cut: t.Literal["after", "within"]
) -> None:
    server.faults.add(Fault("/retry$", cut=cut, times=1))
    restart(remote, failed, *AGAIN)
    assert [action for action, *_ in server.service.done] == ["retry"]


def test_a_restart_that_may_be_done_and_cannot_be_looked_at_is_not_refused(
    server: ArgoServer, remote: ArgoRemote, failed: RemoteRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    act = server.service.act

    def acting(*given: t.Any) -> t.Any:
        server.faults.add(Fault("/workflows/", "GET", code=401, message="expired"))
        return act(*given)

    monkeypatch.setattr(server.service, "act", acting)
    server.faults.add(Fault("/retry$", cut="after", times=1))
    with pytest.raises(EngineError, match=r"PUT .* got no answer") as caught:
        restart(remote, failed, *AGAIN)
    assert not isinstance(caught.value, RefusedError)


def test_a_restart_of_other_steps_needs_the_cluster(
    server: ArgoServer, remote: ArgoRemote, failed: RemoteRun
) -> None:
    with pytest.raises(RefusedError, match="runs other steps again than a retry of Argo's own"):
        restart(remote, failed, "each[1]", *AGAIN)
    assert server.service.done == []


def test_a_restart_of_a_changed_workflow_needs_the_cluster(
    server: ArgoServer, remote: ArgoRemote, failed: RemoteRun
) -> None:
    with pytest.raises(RefusedError, match=r"runs a changed workflow.*Kubernetes API"):
        restart(remote, failed, *AGAIN, workflow=chain("/elsewhere"))
    assert server.service.done == []


# schedules, and other objects ---------------------------------------------------------------------


def test_a_schedule_is_put_in_place_paused_and_renewed(
    server: ArgoServer, remote: ArgoRemote
) -> None:
    workflow = flow("nightly", sh("a", "true"), schedule=Schedule(cron=("0 1 * * *",)))
    artifact = ArgoBackend().compile(resolve_defaults(workflow), Target())
    place = remote.schedule(workflow, artifact)
    assert place["name"] == "nightly"
    remote.pause(place)
    remote.unpause(place)
    assert [action for action, *_ in server.service.done] == ["suspend", "resume"]
    assert remote.schedule(workflow, artifact) == place
    methods = [method for method, path in server.service.asked if path.endswith("/nightly")]
    assert methods == ["GET", "GET", "PUT"]
    with pytest.raises(LostRunError, match="there is no CronWorkflow other"):
        remote.pause({"name": "other"})


def test_a_schedule_that_is_renewed_keeps_what_argo_knows_of_it(
    server: ArgoServer, remote: ArgoRemote
) -> None:
    workflow = flow("nightly", sh("a", "true"), schedule=Schedule(cron=("0 1 * * *",)))
    artifact = ArgoBackend().compile(resolve_defaults(workflow), Target())
    remote.schedule(workflow, artifact)
    instance = {"workflows.argoproj.io/controller-instanceid": "one"}

    def ran(found: dict[str, t.Any]) -> None:
        found["status"] = {"lastScheduledTime": "2026-03-01T01:00:00Z", "active": []}
        found["metadata"]["labels"] |= {**instance, "team": "ml"}

    server.service.store.change(CRON_WORKFLOWS, "default", "nightly", ran)
    remote.schedule(workflow, artifact)
    found = server.service.store.get(CRON_WORKFLOWS, "default", "nightly")
    assert found["metadata"]["labels"] == {"couler/workflow": "nightly", **instance}
    seen = remote.find_schedule("nightly")
    assert seen is not None
    assert seen.last == datetime(2026, 3, 1, 1, tzinfo=UTC)


def test_schedules_of_a_server_are_listed_and_taken_away(
    server: ArgoServer, remote: ArgoRemote
) -> None:
    for name in ("nightly", "hourly"):
        workflow = flow(name, sh("a", "true"), schedule=Schedule(cron=("0 1 * * *",)))
        remote.schedule(workflow, ArgoBackend().compile(resolve_defaults(workflow), Target()))
    assert [one.name for one in remote.schedules()] == ["hourly", "nightly"]
    found = remote.find_schedule("nightly")
    assert found is not None
    remote.pause(found.place)
    paused = remote.find_schedule("nightly")
    assert paused == replace(found, is_paused=True)
    remote.unschedule(found.place)
    remote.unschedule(found.place)  # it is away
    assert [one.name for one in remote.schedules()] == ["hourly"]
    remote.unschedule({"name": "hourly"}, with_runs=True)
    policies = [(name, *query.values()) for what, name, query in server.service.done[1:]]
    assert policies == [("nightly", "Orphan"), ("hourly", "Background")]
    assert remote.find_schedule("nightly") is None


def test_kinds_that_the_server_does_not_take(remote: ArgoRemote) -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}
    with pytest.raises(RefusedError, match="the Argo Server puts no Secret on a cluster"):
        remote.api.apply(secret)


# what a target says -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"server": "ftp://x"}, "is no address such as"),
        ({"server": ""}, "server"),
        ({"server": "http://a:b@x"}, "must not have a user or a password"),
        ({"server": "http://x", "token": "abc"}, "the token of the target"),
        ({"server": "http://x", "insecure": "yes"}, "insecure .*must be true or false"),
        ({"server": "http://x", "ca": "/no/such/file"}, "cannot be read"),
        ({"server": "http://x", "kubeconfig": "/x"}, "kubeconfig"),
        ({"token": {"env": "T"}}, "token"),
        ({"servr": "http://x"}, 'Did you mean "server"'),
    ],
)
def test_wrong_fields(fields: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message) as caught:
        ArgoBackend().connect(Connection("argo", fields=fields, name="prod"), {})
    assert "abc" not in str(caught.value)
