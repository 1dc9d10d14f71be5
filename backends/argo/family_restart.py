"""Restart of a run whose parts have runs of their own: the parent, and each child."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from functools import partial
from graphlib import TopologicalSorter

from couler.backends.argo.child_runs import BODY, ENTRYPOINT
from couler.backends.argo.family import Joined, PartRun, children_of, joined, with_joined
from couler.backends.argo.observe import Observer
from couler.backends.argo.parts import PART_TEMPLATE
from couler.backends.argo.reset import PutBack, Reset, effective_spec, has_ended, held, reset_by
from couler.backends.argo.restart import Fates, cannot_wait, decide
from couler.backends.argo.restart_tasks import enclosing, role_of, stages_of
from couler.backends.argo.status_nodes import read_nodes, with_nodes
from couler.backends.argo.submission import Objects, with_mark
from couler.backends.argo.workflow_api import PART_LABEL, WorkflowApi
from couler.backends.remote import Json, Restart, UnbegunInterrupt
from couler.errors import RefusedError
from couler.ir.serialize import run_digest
from couler.ir.walk import StepPath
from couler.ir.workflow import Workflow

_OF_SPEC = ("arguments", "workflowTemplateRef")
"""What a child's spec has when it is made."""


class FamilyRestart:
    """Begins the wanted parts of an ended run with children again."""

    def __init__(
        self,
        api: WorkflowApi,
        observer: Observer,
        before: Workflow,
        wanted: Objects,
        restart: Restart,
    ) -> None:
        if not api.puts_back:
            raise RefusedError(
                "argo: parts of this workflow have runs of their own, and the Argo Server cannot "
                "restart these together. Reach Argo by the Kubernetes API for it: a target without "
                "server, and with a kubeconfig; or submit the workflow as a new run"
            )
        self._api = api
        self._observer = observer
        self._before = before
        self._wanted = wanted
        self._restart = restart
        self._digest = run_digest(restart.workflow, restart.parameters)
        self._held: dict[str, PutBack] = {}

    def put_back(self, found: Json) -> Reset:
        """Return what begins parts of the parent again, once `hold` is done."""
        children = sorted(children_of(self._api, found), key=_name)
        for child in children:
            _refuse_running(found, child)
        whole = _lost_marked(joined(found, children, read_nodes))
        before, after = self._specs(found, children)
        look = self._observer.look(with_joined(found, whole.nodes))
        places = look.places
        unseen = [path for path in self._restart.again if path not in places]
        missing = list(_missing(found, whole.parts))
        for node in missing:
            if self._asks_for(_part_of(node), unseen):
                raise _gone(found, node)
        again = {places[path].id for path in self._restart.again if path in places}
        paths = {node.id: path for path, node in look.nodes.items()}
        # What is read of a part is known without its Workflow, as long as it need not open.
        paths |= {node["id"]: f"all of {_part_of(node)}" for node in missing}
        remade = [part.place["name"] for part in whole.parts]
        fates = decide(_name(found), whole.nodes, before, after, paths, again, remade)
        for node in missing:
            if _goes_on(node["name"], fates):
                raise _gone(found, node)
        self._held = {
            _name(part.child): partial(_held, fates=_of_child(part, fates))
            for part in whole.parts
            if _goes_on(part.place["name"], fates)
        }
        own = _of_parent(found, after, whole.parts, fates)
        decided = reset_by(own, found, self._wanted.workflow["spec"])
        waiting = {part.place["id"] for part in whole.parts}
        workflow = _not_begun(decided.workflow, waiting)
        return replace(decided, workflow=with_mark(workflow, self._digest), family=dict(self._held))

    def hold(self) -> None:
        """Put the children back that go on, and hold them until the parent takes them up."""
        for name, put_back in self._held.items():
            try:
                self._api.restart(name, put_back, is_changed=True)
            except UnbegunInterrupt:  # of the whole something is changed by now
                raise KeyboardInterrupt from None

    def _specs(self, found: Json, children: Iterable[Json]) -> tuple[Json, Json]:
        """The spec that the run has had, and that which it goes on with, with all parts in them."""
        had = effective_spec(found)
        wanted = self._wanted.workflow["spec"]
        definitions = [
            one["spec"]
            for one in self._wanted.others
            if PART_LABEL in (one["metadata"].get("labels") or {})
        ]
        stored = [effective_spec(child) for child in children]
        before = _whole_spec(had, [one for one in stored if "templates" in one])
        if "workflowTemplateRef" in wanted:
            return before, before
        _refuse_moved(had, wanted)
        return before, _whole_spec(wanted, definitions)

    def _asks_for(self, part: str, unseen: Iterable[str]) -> bool:
        """Whether steps of a part are to run again that are nowhere to be seen."""
        steps = {
            step.name
            for step in self._before.steps
            if step.part is not None and step.part.run == part
        }
        return any(StepPath.parse(path)[0].name in steps for path in unseen)


def _missing(found: Json, parts: Iterable[PartRun]) -> Iterator[Json]:
    """Yield the nodes that have waited for children which are there no more."""
    there = {part.place["id"] for part in parts}
    for node in read_nodes(found).values():
        is_waiting = node["type"] == "Retry" and _template_of(node).startswith(PART_TEMPLATE)
        if is_waiting and node["id"] not in there and node.get("phase") == "Succeeded":
            yield node


def _gone(found: Json, node: Json) -> RefusedError:
    return RefusedError(
        f"argo: the Workflow of the part {_part_of(node)} of {_name(found)} is there no more, so "
        "it is not known what of it can be kept. Submit the workflow as a new run; steps with a "
        "cache are not repeated"
    )


def _template_of(node: Json) -> str:
    return node.get("templateName") or ""


def _part_of(node: Json) -> str:
    return _template_of(node).removeprefix(PART_TEMPLATE)


def _refuse_running(parent: Json, child: Json) -> None:
    if has_ended(child):
        return
    part = (child["metadata"].get("labels") or {}).get(PART_LABEL)
    raise RefusedError(
        f"argo: the run of the part {part} of {_name(parent)}, the workflow {_name(child)}, has "
        "not ended, so nothing can be restarted. Wait for its end, or cancel the run"
    )


def _refuse_moved(before: Json, after: Json) -> None:
    """Refuse what would take a part out of its own run, or into one."""
    had, has = _part_templates(before), _part_templates(after)
    for name in had.keys() & has.keys():
        if had[name] != has[name]:
            part = name.removeprefix(PART_TEMPLATE)
            raise RefusedError(
                f"argo: the part {part} had {'a' if had[name] else 'no'} run of its own and has "
                f"{'one' if has[name] else 'none'} in the workflow as it is now, so its steps "
                "cannot keep their ends. Submit the workflow as a new run, or restart it unchanged"
            )


def _part_templates(spec: Json) -> dict[str, bool]:
    """The templates of parts, and whether these have runs of their own."""
    return {
        template["name"]: "resource" in template
        for template in spec.get("templates") or ()
        if template["name"].startswith(PART_TEMPLATE)
    }


def _whole_spec(parent: Json, children: Iterable[Json]) -> Json:
    """Return a spec in which templates of parts hold their steps."""
    templates = {template["name"]: template for template in parent.get("templates") or ()}
    for child in children:
        own = {template["name"]: template for template in child["templates"]}
        part = own[BODY]["steps"][0][0]["template"]
        templates[part] = own[part]
        for name, template in own.items():
            if name not in (ENTRYPOINT, BODY):
                templates.setdefault(name, template)
    return {**parent, "templates": [*templates.values()]}


def _lost_marked(whole: Joined) -> Joined:
    """Return nodes in which a part has failed that nobody has waited for to its end."""
    nodes = dict(whole.nodes)
    for one in whole.parts:
        if one.part is None:
            nodes[one.place["id"]] = {**one.place, "phase": "Error"}
        elif one.place.get("phase") != "Succeeded":
            nodes[one.part["id"]] = {**nodes[one.part["id"]], "phase": "Error"}
    return whole._replace(nodes=nodes)


def _goes_on(place: str, fates: Fates) -> bool:
    return fates.goes(place) or place in fates.opened


def _of_parent(found: Json, spec: Json, parts: Iterable[PartRun], fates: Fates) -> Fates:
    """What becomes of the parent's own nodes."""
    places = {part.place["name"]: part.place for part in parts}
    start = len(_name(found)) + 1

    def is_own(name: str) -> bool:
        # Parts with runs of their own are right below the run.
        task = re.split(r"[.(\[]", name[start:], maxsplit=1)[0]
        place = name[:start] + task
        return place not in places or name == place

    nodes = read_nodes(found)
    waiting = fates.opened & places.keys()
    staying = _staying(found, spec, waiting, fates)
    opened = {one for one in fates.opened if is_own(one)} - (waiting - staying)
    tries = {
        nodes[key]["name"]
        for name in waiting & staying
        for key in places[name].get("children") or ()
        if key in nodes and nodes[key]["name"].startswith(f"{name}(")
    }
    gone = {one for one in fates.gone if is_own(one)} | (waiting - staying) | tries
    first = {one for one in fates.first if is_own(one)}
    return Fates(frozenset(gone), frozenset(opened), frozenset(first))


def _staying(found: Json, spec: Json, waiting: Collection[str], fates: Fates) -> set[str]:
    """Return the names of nodes of the run's own tasks that stay, or must; see `_of_parent`."""
    there = {node["name"] for node in read_nodes(found).values()}
    [template] = [one for one in spec["templates"] if one["name"] == spec["entrypoint"]]
    tasks = [task for stage in stages_of(_name(found), template) for task in stage.tasks]
    graph = {task.name: task.waits_for for task in tasks}
    parts = {task.name for task in tasks if role_of(task.tree) == "part"}
    staying: set[str] = set()
    followed: set[str] = set()
    for name in reversed([*TopologicalSorter(graph).static_order()]):
        stays = name in there and not fates.goes(name)
        if stays and (name not in waiting or name in followed):
            staying.add(name)
        if name in staying and name in waiting:
            start = len(_name(found)) + 1
            for one in set(graph[name]) - parts:
                if one not in there or fates.goes(one):
                    raise cannot_wait(name[start:], one[start:])
        if name in staying or name in followed:
            followed.update(graph.get(name, ()))
    return staying


def _not_begun(workflow: Json, places: Collection[str]) -> Json:
    """Return a Workflow in which nodes that wait for children without a try are yet to begin."""
    nodes = read_nodes(workflow)
    waiting = {
        key: {**nodes[key], "phase": "Pending"}
        for key in nodes.keys() & places
        if not nodes[key].get("children")
    }
    return with_nodes(workflow, {**nodes, **waiting}) if waiting else workflow


def _of_child(part: PartRun, fates: Fates) -> Fates | None:
    """What becomes of a child's nodes; None if all of them go."""
    place = part.place["name"]
    if part.part is None or fates.goes(place):
        return None
    inner: str = part.part["name"]
    run = _name(part.child)

    def moved(names: Iterable[str]) -> Iterator[str]:
        for name in names:
            if name == place or name.startswith((f"{place}.", f"{place}(", f"{place}[")):
                yield inner + name[len(place) :]

    # The first step of the run is the part with what is around it, the second its verdict.
    return Fates(
        frozenset((*moved(fates.gone), f"{run}[1]")),
        frozenset((*moved(fates.opened), *enclosing(inner))),
        frozenset(moved(fates.first)),
    )


def _held(found: Json, *, fates: Fates | None) -> Reset:
    """Return a child that is put back, and held."""
    spec = {key: found["spec"][key] for key in _OF_SPEC if key in found["spec"]}
    if fates is None:
        fates = Fates(frozenset({_name(found)}), frozenset(), frozenset())
    return held(reset_by(fates, found, spec))


def _name(workflow: Json) -> str:
    return str(workflow["metadata"]["name"])
