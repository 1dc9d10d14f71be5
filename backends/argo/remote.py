"""Runs and schedules under Argo: submitted, observed, restarted and ended from here."""

from __future__ import annotations

import threading
import time
import typing as t
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from couler.backends.argo.argo_retry import PROCESSES, deleted_by_retry
from couler.backends.argo.family import Family, home_of, stop_children
from couler.backends.argo.family_restart import FamilyRestart
from couler.backends.argo.following import AWAY, POLLING, changes
from couler.backends.argo.observe import Look, Observer
from couler.backends.argo.parts import has_runs
from couler.backends.argo.pod_logs import containers_of, gone, pod_lines, pod_name, without_executor
from couler.backends.argo.reset import PutBack, Reset, reset
from couler.backends.argo.status_nodes import Node, is_over, read_nodes
from couler.backends.argo.submission import (
    label_value,
    objects,
    read_objects,
    refuse_other,
    with_mark,
)
from couler.backends.argo.workflow_api import PART_LABEL, WORKFLOW_LABEL, WorkflowApi
from couler.backends.base import Artifact
from couler.backends.remote import Json, Observation, RemoteRun, Restart, Scheduled, Submission
from couler.errors import (
    ConfigurationError,
    EngineError,
    EngineOptionError,
    LostRunError,
    RefusedError,
)
from couler.ir.parameters import check_entered
from couler.ir.serialize import run_digest
from couler.ir.walk import StepPath
from couler.ir.workflow import Step, Workflow
from couler.rest.client import RestError
from couler.rest.latest import Latest
from couler.rest.patience import Patience

_INVALID, _FORBIDDEN, _ABSENT, _CONFLICT = (400, 422), 403, 404, 409

TEMPLATE_HEARD_S = 2.0
"""How long Argo's controller may take to hear of a template that was put there just now.

A run that begins before has no template, and fails, or has the one that was there before.
"""


class ArgoRemote:
    """Argo, by whichever of its interfaces."""

    def __init__(self, api: WorkflowApi, *, away: Patience = AWAY) -> None:
        self.api = api
        self._away = away
        self._last: tuple[Workflow, Observer] | None = None
        self._latest: Latest[Seen] = Latest(POLLING.first_s, lasts=lambda seen: seen.is_over)

    def submit(self, submission: Submission) -> Mapping[str, Json]:
        """Begin a run and return where it is, as JSON without secrets."""
        found = objects(
            submission.artifact,
            run_id=submission.run_id,
            workflow=submission.workflow.name,
            parameters=submission.parameters,
        )
        wanted = with_mark(found.workflow, run_digest(submission.workflow, submission.parameters))
        if found.others and not self._is_there(wanted):
            # All of it or nothing: a refusal of one must not leave the others behind.
            self._create(wanted, dry_run=True)
            self.put(found.others)
            if "workflowTemplateRef" in wanted["spec"]:
                time.sleep(TEMPLATE_HEARD_S)
        created = self._create(wanted)
        self._own(found.others, created)
        return {
            "name": created["metadata"]["name"],
            "namespace": self.api.namespace,
            "uid": created["metadata"].get("uid"),
        }

    def _is_there(self, wanted: Json) -> bool:
        """Return whether the run is there already; then nothing that it needs is changed."""
        try:
            found = self.api.get(wanted["metadata"]["name"])
        except LostRunError:
            return False
        refuse_other(found, wanted, self.api.namespace)
        return True

    def _create(self, workflow: Json, *, dry_run: bool = False) -> Json:
        name = workflow["metadata"]["name"]
        try:
            return self.api.create(workflow, dry_run=dry_run)
        except RestError as error:
            is_certain = isinstance(error, RefusedError) and error.code != _CONFLICT
            if is_certain or error.code is None:
                raise self._refused("Workflow", name, error) from error
            # It has the name already, or an earlier attempt may have been heard.
            found = self._found_after(error, name)
            refuse_other(found, workflow, self.api.namespace)
            return found

    def _own(self, manifests: Sequence[Json], owner: Json) -> None:
        """Let the definitions of runs of parts go with the last Workflow that needs them."""
        reference = {
            "apiVersion": "argoproj.io/v1alpha1",
            "kind": owner.get("kind") or "Workflow",
            "name": owner["metadata"]["name"],
            "uid": owner["metadata"].get("uid"),
        }
        for manifest in manifests:
            if PART_LABEL in (manifest["metadata"].get("labels") or {}):
                try:
                    self.api.own(manifest, reference)
                except RestError as error:
                    if error.code != _FORBIDDEN:  # then it stays, and does no harm
                        raise

    def _found_after(self, error: RestError, name: str) -> Json:
        """Return the Workflow that may have been created though an error was answered."""
        try:
            return self.api.get(name)
        except LostRunError:  # it was not created, or it is another conflict, or it has just gone
            raise error from None
        except (RestError, ConfigurationError) as unseen:
            # A refusal to be looked at is no refusal to be created.
            raise EngineError(
                f"{error}. Whether the cluster has it now is not known: {unseen}"
            ) from unseen

    def _apply(self, manifest: Json, *, dry_run: bool = False) -> Json:
        try:
            return self.api.apply(manifest, dry_run=dry_run)
        except RestError as error:
            name = manifest.get("metadata", {}).get("name", "")
            raise self._refused(manifest.get("kind", "object"), name, error) from error

    def put_secrets(self, secrets: Mapping[str, Mapping[str, str]]) -> None:
        """Make or renew secrets in the namespace of the runs; values are shown nowhere."""
        for name, entries in secrets.items():
            try:
                self.api.put_secret(name, entries)
            except RestError as error:
                raise self._refused("Secret", name, error) from error

    def observe(self, run: RemoteRun) -> Observation:
        """Return how a run stands now."""
        seen = self._ask(run)
        self._latest.note(self._key(run), seen)
        return seen.observer.observe(seen.workflow)

    def follow(self, run: RemoteRun) -> Iterator[Observation]:
        """Yield how a run stands, now and whenever something has changed, until it is over."""
        observer = self._observer(run.workflow)
        last: Observation | None = None
        for workflow in changes(self._source(run), _name(run), away=self._away):
            self._latest.note(self._key(run), Seen(workflow, observer))
            now = observer.observe(workflow)
            if now != last:
                yield now
            last = now

    def _observer(self, workflow: Workflow) -> Observer:
        """Return what reads the runs of a workflow; kept, as it is the same for a whole run."""
        last = self._last
        if last is None or last[0] is not workflow:
            self._last = last = workflow, Observer(workflow)
        return last[1]

    def _key(self, run: RemoteRun) -> Hashable:
        """Return what tells a run, and how it is read, from others."""
        return _name(run), run.place.get("uid"), self._observer(run.workflow)

    def _ask(self, run: RemoteRun) -> Seen:
        return Seen(self._source(run).get(_name(run)), self._observer(run.workflow))

    def _source(self, run: RemoteRun) -> WorkflowApi | Family:
        """Return what tells of a run as a whole: of one whose parts have runs, of these as well."""
        return Family(self.api) if has_runs(run.workflow) else self.api

    def logs(
        self, run: RemoteRun, path: StepPath, *, attempt: int | None = None, follow: bool = False
    ) -> Iterator[str]:
        """Yield the lines that an instance has written, of its last attempt or a numbered one."""
        key, text = self._key(run), str(path)

        def seen(suits: Callable[[Seen], bool] = bool) -> Seen:
            return self._latest.of(key, lambda _: self._ask(run), suits)

        found = seen(lambda one: one.tries(text) >= (attempt or 1))
        node, step = found.instance(path)
        tries = [one for one in found.look.tree.attempts(node) if one.has_run]
        if attempt is not None and not 1 <= attempt <= len(tries):
            raise EngineError(f"argo: {path} has {len(tries)} attempts, not {attempt}")
        if not tries:
            return
        chosen = tries[-1 if attempt is None else attempt - 1]
        if chosen.type != "Pod":
            raise EngineError(f"argo: {path} runs in no pod of its own, and writes no log")
        if chosen.is_cached:
            raise EngineError(f"argo: {path} did not run: its outputs come from the cache")

        def is_ended() -> bool:
            now = seen().look.tree.find(chosen.id)
            return now is None or now.has_ended

        home, _ = home_of(found.workflow, chosen)
        place, pod = home["metadata"]["name"], pod_name(found.workflow, chosen)
        for container in containers_of(step):
            lines = pod_lines(self.api, place, pod, container, follow=follow, is_over=is_ended)
            try:
                yield from without_executor(lines)
            except RestError as error:
                if error.code == 404:
                    raise gone(str(path), chosen) from error
                raise

    def cancel(self, run: RemoteRun) -> None:
        """End a run; its exit handlers run. Nothing happens to one that has ended."""
        name = _name(run)
        with self._latest.changing():
            found = self.api.get(name)
            if not is_over(found):
                self.api.stop(name)
            if has_runs(run.workflow):
                stop_children(self.api, found)

    def restart(self, run: RemoteRun, restart: Restart) -> Mapping[str, Json]:
        """Run parts of a run that has ended again, and return where it is from now on."""
        name = _name(run)
        found = objects(
            restart.artifact,
            run_id=run.run_id,
            workflow=restart.workflow.name,
            parameters=restart.parameters,
        )
        observer = self._observer(run.workflow)
        family: FamilyRestart | None = None
        if has_runs(run.workflow) or has_runs(restart.workflow):
            family = FamilyRestart(self.api, observer, run.workflow, found, restart)
        put_back = (
            putting_back(observer, found.workflow, restart) if family is None else (family.put_back)
        )

        def first() -> None:
            self.put(found.others)
            if family is not None:
                family.hold()

        is_changed = not is_same(run.workflow, restart.workflow)
        try:
            with self._latest.changing():
                begun = self.api.restart(name, put_back, is_changed=is_changed, first=first)
        except RestError as error:
            raise self._refused("Workflow", name, error) from error
        self._own(found.others, begun)
        return run.place

    def resume(
        self, run: RemoteRun, path: StepPath, entered: Mapping[str, str] | None = None
    ) -> None:
        """Let a step go on that waits for a person; no path stands for a run that is suspended."""
        if not path:
            with self._latest.changing():
                self.api.resume(_name(run), None, {})
            return
        seen = self._ask(run)
        look, (node, step) = seen.look, seen.instance(path)
        if look.steps[str(path)].status != "suspended":
            raise EngineError(f"argo: {path} does not wait to be resumed")
        check_entered(step.outputs, entered or {})
        waiting = look.tree.attempts(node)[-1]
        home, _ = home_of(seen.workflow, waiting)
        with self._latest.changing():
            self.api.resume(home["metadata"]["name"], waiting.id, entered or {})

    def delete(self, run: RemoteRun) -> None:
        """Take a run away from the engine; nothing happens if it has it no more."""
        with self._latest.changing():
            self.api.delete(_name(run))

    def _refused(self, kind: str, name: str, error: RestError) -> EngineError:
        if not isinstance(error, RefusedError):
            return error
        if error.code == _ABSENT:
            place = self.api.namespace
            return RefusedError(
                f"{error}. Is there a namespace {place}, and is Argo installed there?"
            )
        if error.code not in _INVALID:
            return error
        return RefusedError(f"argo: the {kind} {name} was refused: {error.reason}")

    # schedules -------------------------------------------------------------------------------

    def schedule(self, workflow: Workflow, artifact: Artifact) -> Mapping[str, Json]:
        """Put a scheduled workflow in place, or renew it, and return where it is."""
        before, cron = cron_of(workflow, artifact)
        name = cron["metadata"]["name"]
        cron = kept_paused(cron, self.api.cron_workflow(name))
        self._own(before, {"kind": "CronWorkflow", **self.put([*before, cron])})
        return {"name": name, "namespace": self.api.namespace}

    def put(self, manifests: Sequence[Json]) -> Json:
        """Create or change objects that are no Workflows, and return the last as it is then."""
        answer: Json = {}
        for dry_run in (True, False):
            for manifest in manifests:
                answer = self._apply(manifest, dry_run=dry_run)
        return answer

    def schedules(self) -> Sequence[Scheduled]:
        """Return what was put in place from here and is still there, by its names."""
        return self._schedules(WORKFLOW_LABEL)

    def find_schedule(self, name: str) -> Scheduled | None:
        """Return the schedule of a workflow, if there is one that was put from here."""
        found = self._schedules(f"{WORKFLOW_LABEL}={label_value(name)}")
        return next((one for one in found if one.name == name), None)

    def _schedules(self, label: str) -> list[Scheduled]:
        found = (scheduled(one, self.api.namespace) for one in self.api.cron_workflows(label))
        return sorted((one for one in found if one is not None), key=lambda one: one.name)

    def unschedule(self, place: Mapping[str, Json], *, with_runs: bool = False) -> None:
        """Take a schedule away; nothing happens if there is none."""
        policy = "Background" if with_runs else "Orphan"
        self.api.remove_cron_workflow(place["name"], policy=policy)

    def pause(self, place: Mapping[str, Json]) -> None:
        """Let the schedule begin no more runs."""
        self.api.set_suspended(place["name"], True)

    def unpause(self, place: Mapping[str, Json]) -> None:
        """Let the schedule begin runs again."""
        self.api.set_suspended(place["name"], False)


def _name(run: RemoteRun) -> str:
    name = run.place.get("name")
    if not name:
        raise LostRunError(f"argo: the run {run.run_id} was never taken by the cluster")
    return str(name)


def putting_back(observer: Observer, wanted: Json, restart: Restart) -> PutBack:
    """Return what begins the wanted parts of an ended run again."""
    digest = run_digest(restart.workflow, restart.parameters)

    def put_back(found: Json) -> Reset:
        decided = decide(found)
        return replace(decided, workflow=with_mark(decided.workflow, digest))

    def decide(found: Json) -> Reset:
        if restart.workflow.stored is not None:
            return _stored_again(found, wanted["spec"])
        look = observer.look(found)
        paths = {node.id: path for path, node in look.nodes.items()}
        again = {look.places[path].id for path in restart.again if path in look.places}
        return reset(found, wanted["spec"], paths, again)

    return put_back


def _stored_again(found: Json, spec: Json) -> Reset:
    """Return a run of a stored template, whose steps nobody knows here, as Argo retries it."""
    deleted = deleted_by_retry(found)
    paths = {
        key: str(tree["name"])
        for key, tree in read_nodes(found).items()
        if tree["type"] in PROCESSES
    }
    return reset(found, spec, paths, deleted & paths.keys())


def is_same(one: Workflow, other: Workflow) -> bool:
    """Return whether two workflows are the same but for where they stand in the source."""
    return one == other or _without_source(one.model_dump()) == _without_source(other.model_dump())


def _without_source(tree: Json) -> Json:
    if isinstance(tree, dict):
        return {
            key: _without_source(each)
            for key, each in tree.items()
            if key != "source" or isinstance(each, str)  # that of a script is its program
        }
    if isinstance(tree, list | tuple):
        return [_without_source(each) for each in tree]
    return tree


class Seen:
    """A Workflow that was seen."""

    def __init__(self, workflow: Json, observer: Observer) -> None:
        self.workflow = workflow
        self.observer = observer
        self._look: Look | None = None
        self._lock = threading.Lock()

    @property
    def is_over(self) -> bool:
        """Whether nothing of it changes any more."""
        return is_over(self.workflow)

    @property
    def look(self) -> Look:
        """What is at each path; looked for once, when it is first needed."""
        with self._lock:
            if self._look is None:
                self._look = self.observer.look(self.workflow)
            return self._look

    def tries(self, path: str) -> int:
        """Return how many tries an instance has had that are known of."""
        node = self.look.nodes.get(path)
        return 0 if node is None else sum(one.has_run for one in self.look.tree.attempts(node))

    def instance(self, path: StepPath) -> tuple[Node, Step]:
        """Return the node of an instance that runs something, and its step as Argo runs it."""
        look, text = self.look, str(path)
        if text in look.nodes:
            return look.nodes[text], look.actions[text]
        seen = look.steps.get(text)
        if seen is None:
            raise EngineError(f"argo: {path} has not begun")
        if seen.status in ("skipped", "omitted"):
            raise EngineError(f"argo: {path} did not run: it was {seen.status}")
        inside = sorted(
            one for one in look.nodes if one.startswith((f"{text}[", f"{text}@", f"{text}/"))
        )
        hint = f", such as {inside[0]}" if inside else ""
        raise EngineError(f"argo: {path} runs nothing itself. Name a step in it{hint}")


_FAULTS = ("SpecError", "SubmissionError")


def cron_of(workflow: Workflow, artifact: Artifact) -> tuple[list[Json], Json]:
    """Return what must be there before the CronWorkflow of an artifact, and that itself."""
    found = read_objects(artifact)
    crons = [one for one in found if one.get("kind") == "CronWorkflow"]
    if len(crons) == 1:
        return [one for one in found if one is not crons[0]], marked(crons[0], workflow.name)
    if workflow.schedule is None:
        raise EngineError(
            f'argo: the workflow "{workflow.name}" has no schedule, so no CronWorkflow was made'
        )
    raise EngineOptionError(
        "argo: the option kind of the target makes no CronWorkflow, which keeps a schedule. Leave "
        "it out, or say kind=CronWorkflow"
    )


def marked(manifest: Json, workflow: str) -> Json:
    """Return an object with the marks of a workflow, by which it is found."""
    metadata = manifest["metadata"]
    labels = {**(metadata.get("labels") or {}), WORKFLOW_LABEL: label_value(workflow)}
    marks = {**(metadata.get("annotations") or {}), WORKFLOW_LABEL: workflow}
    return {**manifest, "metadata": {**metadata, "labels": labels, "annotations": marks}}


def kept_paused(manifest: Json, known: Json | None) -> Json:
    """Return a CronWorkflow that is paused if the one that it renews is."""
    if known is None or not known["spec"].get("suspend") or manifest["spec"].get("suspend"):
        return manifest
    return {**manifest, "spec": {**manifest["spec"], "suspend": True}}


def scheduled(found: Json, namespace: str) -> Scheduled | None:
    """Return the schedule that a CronWorkflow is, if it was put in place from here."""
    metadata, spec, status = found["metadata"], found["spec"], found.get("status") or {}
    name = (metadata.get("annotations") or {}).get(WORKFLOW_LABEL)
    if name is None:
        return None
    return Scheduled(
        name,
        tuple(spec.get("schedules") or ()),
        {"name": metadata["name"], "namespace": namespace},
        timezone=spec.get("timezone"),
        is_paused=bool(spec.get("suspend")),
        last=_time(status.get("lastScheduledTime")),
        message=_message(status),
    )


def _message(status: Mapping[str, Json]) -> str | None:
    told = [
        str(one.get("message") or one["type"])
        for one in status.get("conditions") or ()
        if one.get("type") in _FAULTS and one.get("status") == "True"
    ]
    if status.get("phase") == "Stopped":
        told.append("it has stopped: enough of its runs have ended")
    return "; ".join(told) or None


def _time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


if t.TYPE_CHECKING:
    from couler.backends.remote import Scheduling

    def _is_one(remote: ArgoRemote) -> Scheduling:
        return remote
