"""What of an ended run's nodes stays, opens again, or goes, so that some of its steps run again."""

from __future__ import annotations

import re
import typing as t
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from graphlib import TopologicalSorter

from couler.backends.argo.restart_tasks import (
    Task,
    enclosing,
    expands,
    item_count,
    role_of,
    stages_of,
)
from couler.backends.argo.status_nodes import Node, attempt_number
from couler.backends.remote import Json
from couler.errors import RefusedError

State: t.TypeAlias = t.Literal["kept", "idle", "open", "gone", "new"]
"""`idle` is a node that was skipped or omitted: it may stay, and nothing is lost if it goes."""

_UNSETTLED: frozenset[State] = frozenset({"open", "gone", "new"})
_ITEM = re.compile(r"\((\d+):")
_GROUPS = ("DAG", "Steps", "TaskGroup", "StepGroup")


class _Verdict(t.NamedTuple):
    """What becomes of a node and all that is in it."""

    state: State
    keeps: str | None = None
    """The path of an instance in it that keeps its end; None if there is none."""
    failed: bool = False
    """Whether something in it has failed and stays so."""


class _Given(t.NamedTuple):
    """What is known of a task before it is looked at."""

    may_open: bool
    """Whether what is new in it may run: nothing that follows is kept."""
    is_same: bool
    """Whether it is written as it was."""
    anew: bool
    """Whether the template that it is in may be given something else than before."""
    stays: bool
    """Whether something behind it is kept."""


@dataclass(frozen=True, slots=True)
class Fates:
    """What becomes of the nodes of a run; all that is in neither stays as it is."""

    gone: frozenset[str]
    opened: frozenset[str]
    first: frozenset[str]

    def goes(self, name: str) -> bool:
        """Return whether a node goes."""
        return any(part in self.gone for part in enclosing(name))


def decide(
    name: str,
    nodes: Mapping[str, Json],
    before: Json,
    spec: Json,
    paths: Mapping[str, str],
    again: Collection[str],
    remade: Collection[str] = (),
) -> Fates:
    """Return what becomes of the nodes of a run."""
    decision = _Decision(name, nodes, before, spec, paths, frozenset(again), frozenset(remade))
    decision.decide()
    # Groups of which nothing is kept go as a whole, though they were found open before.
    gone = frozenset(decision.gone)
    opened = {one for one in decision.opened if not any(p in gone for p in enclosing(one))}
    first = {one for one in decision.first if not any(p in gone for p in enclosing(one))}
    return Fates(gone, frozenset(opened), frozenset(first))


@dataclass
class _Decision:
    name: str
    nodes: Mapping[str, Json]
    before: Json
    spec: Json
    paths: Mapping[str, str]
    again: frozenset[str]
    remade: frozenset[str]
    gone: set[str] = field(default_factory=set)
    opened: set[str] = field(default_factory=set)
    first: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        every = [Node(tree) for tree in self.nodes.values()]
        self._by_name = {node.name: node for node in every}
        self._keeping = self._find_keeping(every)
        self._templates = _templates(self.spec)
        self._old_templates = _templates(self.before)
        self._has_other_arguments = self.before.get("arguments") != self.spec.get("arguments")
        self._attempts: dict[str, list[Node]] = {}
        for node in every:
            if node.type == "Retry":
                found = [Node(self.nodes[one]) for one in node.children if one in self.nodes]
                tries = [one for one in found if not one.is_hook]
                self._attempts[node.id] = sorted(tries, key=attempt_number)
        tried = {one.id for tries in self._attempts.values() for one in tries}
        self._made_by: dict[str, list[Node]] = {}
        for node in every:
            if node.id not in tried and not node.is_hook:
                self._made_by.setdefault(node.boundary_id, []).append(node)

    def _find_keeping(self, every: Sequence[Node]) -> dict[str, str]:
        """Return the names of nodes in which something is to keep its end, each with its path."""
        unwanted = {node.name for node in every if node.id in self.again}
        found: dict[str, str] = {}
        for node in every:
            path = self.paths.get(node.id)
            around = list(enclosing(node.name))
            if path is not None and node.has_run and unwanted.isdisjoint(around):
                found.update(dict.fromkeys(around, path))
        return found

    def decide(self) -> None:
        """Decide on the entrypoint, then on the exit handlers."""
        main = {"template": self.spec.get("entrypoint")}
        verdict = self._instance(self.name, main, may_open=True)
        on_exit = f"{self.name}.onExit"
        if verdict.state in _UNSETTLED:
            self.gone |= {on_exit, f"{self.name}.hooks"}
        elif on_exit in self._by_name:
            self._instance(on_exit, {"template": self.spec.get("onExit")}, may_open=True)

    # scopes ----------------------------------------------------------------------------------

    def _scope(
        self, boundary: Node, template: Json, *, may_open: bool, anew: bool = False
    ) -> _Verdict:
        """Decide on what a template has made; `open` tells that something in it is not settled."""
        verdicts: dict[str, _Verdict] = {}
        stages = stages_of(boundary.name, template)
        for stage in stages:
            found = self._stage(boundary, stage.tasks, verdicts, may_open=may_open, anew=anew)
            verdicts.update(found)
            if stage.node is not None:
                self._step_group(stage.node, list(found.values()))
        is_changed = any(one.state in _UNSETTLED for one in verdicts.values())
        is_changed |= self._drop_removed(boundary, verdicts)
        return _all_of(verdicts.values(), "open" if is_changed else "kept")

    def _stage(
        self,
        boundary: Node,
        tasks: Sequence[Task],
        before: Mapping[str, _Verdict],
        *,
        may_open: bool,
        anew: bool,
    ) -> dict[str, _Verdict]:
        """Decide on tasks in an order in which each comes after those it waits for."""
        by_name = {task.name: task for task in tasks}
        graph = {task.name: task.waits_for for task in tasks}
        order = [by_name[one] for one in TopologicalSorter(graph).static_order() if one in by_name]
        followers: dict[str, list[str]] = {}
        for task in tasks:
            for one in task.waits_for:
                followers.setdefault(one, []).append(task.name)
        old = self._old_tasks(boundary)
        found = dict(before)
        stays: set[str] = set()
        for task in reversed(order):
            after = followers.get(task.name, ())
            if any(one in self._keeping or one in stays for one in after):
                stays.add(task.name)
        for task in order:
            # What follows it runs again whenever it does.
            is_free = all(one not in self._keeping for one in followers.get(task.name, ()))
            is_same = not self._has_other_arguments and old.get(task.name) == task.tree
            given = _Given(may_open and is_free, is_same, anew, task.name in stays)
            found[task.name] = self._task(boundary, task, found, by_name, given)
        own = {name: found[name] for name in by_name}
        opens = any(one.state in _UNSETTLED for one in own.values())
        for task in reversed(order):
            is_same = not self._has_other_arguments and old.get(task.name) == task.tree
            may_go = opens or anew or (may_open and not is_same)
            if own[task.name].state != "idle" or not may_go:
                continue
            # Its condition may be another one now; if it is not, it ends as it did.
            if all(own[one].state in ("gone", "new") for one in followers.get(task.name, ())):
                own[task.name] = self._let_go(task.name)
        return own

    def _old_tasks(self, boundary: Node) -> dict[str, Json]:
        template = self._old_templates.get(boundary.tree.get("templateName") or "") or {}
        stages = stages_of(boundary.name, template)
        return {task.name: task.tree for stage in stages for task in stage.tasks}

    def _step_group(self, name: str, found: Sequence[_Verdict]) -> None:
        """Open the node of parallel steps, or let it go with them."""
        node = self._by_name.get(name)
        if node is None:
            return
        is_lost = node.has_failed and not any(one.failed for one in found)
        if not is_lost and not any(one.state in _UNSETTLED for one in found):
            return
        if any(one.keeps is not None for one in found):
            self.opened.add(name)
        else:
            self.gone.add(name)

    def _drop_removed(self, boundary: Node, known: Collection[str]) -> bool:
        """Let nodes go whose tasks are no more."""
        dropped = False
        for node in self._made_by.get(boundary.id, ()):
            if node.type == "StepGroup" or any(part in known for part in enclosing(node.name)):
                continue
            self._replaced(node)
            dropped = True
        return dropped

    # tasks -----------------------------------------------------------------------------------

    def _task(
        self,
        boundary: Node,
        task: Task,
        found: Mapping[str, _Verdict],
        tasks: Mapping[str, Task],
        given: _Given,
    ) -> _Verdict:
        unsettled = [one for one in task.waits_for if found[one].state in _UNSETTLED]
        role = role_of(task.tree)
        if role == "part":
            loose = [one for one in unsettled if one not in tasks or not _is_part(tasks[one])]
            return self._part(
                task, given._replace(anew=given.anew or bool(unsettled)), next(iter(loose), None)
            )
        if role == "helper":
            verdict = self._helper(task.name)
        elif expands(task.tree):
            verdict = self._expanded(boundary, task, may_open=given.may_open, is_same=given.is_same)
        else:
            verdict = self._instance(task.name, task.tree, may_open=given.may_open)
        if not unsettled or verdict.state in ("new", "gone"):
            return verdict
        # A part opens for the sake of others too; the steps in it that this waits for have ended.
        blocking = [
            one
            for one in unsettled
            if found[one].state != "open" or one not in tasks or not _is_part(tasks[one])
        ]
        if not blocking and (given.stays or verdict.keeps is not None):
            return verdict
        if verdict.keeps is not None:
            raise RefusedError(
                f'argo: "{verdict.keeps}" cannot keep its end, since it waits for '
                f'"{self._shown(blocking[0])}", which runs again or is new. Let it run again, too'
            )
        return self._let_go(task.name)

    def _helper(self, name: str) -> _Verdict:
        """Decide on a task that runs nothing."""
        node = self._by_name.get(name)
        return _Verdict("new") if node is None else _Verdict("idle", failed=node.has_failed)

    def _part(self, task: Task, given: _Given, loose: str | None = None) -> _Verdict:
        """Decide on a part of a scope: a task whose end says nothing of what is in it."""
        node = self._by_name.get(task.name)
        template = self._template(task.tree)
        if node is None or template is None:
            return _Verdict("new")
        if node.type not in _GROUPS:  # it could not begin, or what was in it is known no more
            if node.has_failed or given.anew:
                return self._let_go(node.name)
            path = self.paths.get(node.id)
            return _Verdict("idle") if path is None else _Verdict("kept", path)
        inside = self._scope(node, template, may_open=given.may_open, anew=given.anew)
        is_lost = not node.has_ended or node.has_failed or given.anew
        if inside.state == "kept" and not is_lost:
            return _Verdict("kept", inside.keeps, inside.failed)
        if inside.keeps is None and not given.stays:
            return self._let_go(node.name)
        if loose is not None and task.name not in self.remade:
            raise cannot_wait(self._shown(task.name), self._shown(loose))
        return self._open(node, inside)

    def _expanded(self, boundary: Node, task: Task, *, may_open: bool, is_same: bool) -> _Verdict:
        """Decide on the items of a foreach and on the node that stands for all of them."""
        node = self._by_name.get(task.name)
        if node is not None and node.id in self.again:
            return self._let_go(task.name)
        if node is not None and node.type != "TaskGroup":
            # There was no item, or Argo made another kind of node.
            is_idle = node.type == "Skipped"
            if not is_idle:
                return self._replaced(node)
            return self._instance(task.name, task.tree, may_open=may_open)
        items = list(self._items(task.name, boundary))
        if node is None and not items:
            return _Verdict("new")
        count = item_count(task.tree)
        verdicts = []
        for index, item in items:
            is_surplus = count is not None and index >= count  # the list has become shorter
            verdicts.append(
                self._let_go(item.name)
                if is_surplus
                else self._instance(item.name, task.tree, may_open=may_open)
            )
        is_changed = any(one.state in _UNSETTLED for one in verdicts)
        # Of a list that is known at run time only, there may be more now.
        is_changed |= may_open and not is_same if count is None else len(items) != count
        whole = _all_of(verdicts, "open" if is_changed else "kept")
        if node is None:  # parallel steps have no node for all items
            return whole
        is_lost = not node.has_ended or (node.has_failed and not whole.failed)
        if not is_changed and not is_lost:
            return whole
        if whole.keeps is None:
            return self._let_go(task.name)
        self.gone.update(
            item.name
            for (_, item), verdict in zip(items, verdicts, strict=True)
            if verdict.state == "idle"
        )
        return self._open(node, whole)

    def _items(self, name: str, boundary: Node) -> Iterator[tuple[int, Node]]:
        for node in self._made_by.get(boundary.id, ()):
            if node.name.startswith(name) and (match := _ITEM.match(node.name, len(name))):
                yield int(match[1]), node

    def _instance(self, name: str, task: Json, *, may_open: bool) -> _Verdict:
        """Decide on one node and what is in it."""
        node = self._by_name.get(name)
        if node is None:
            return _Verdict("new")
        if node.id in self.again:
            return self._let_go(name)
        if node.type == "Skipped":
            # One that failed could not even be begun.
            return self._let_go(name) if node.has_failed else _Verdict("idle")
        template = self._template(task)
        if template is not None and stages_of(name, template):
            return self._group(node, template, may_open=may_open)
        if template is not None and self._is_group(node):
            return self._replaced(node)
        if not node.has_ended:
            return self._let_go(name)
        path = self.paths.get(node.id)
        if path is None and node.has_failed:  # such as the task that ends a loop at its bound
            return _Verdict("idle", failed=True)
        return _Verdict("kept", path, node.has_failed)

    def _group(self, node: Node, template: Json, *, may_open: bool) -> _Verdict:
        tries = self._attempts.get(node.id)
        body = tries[-1] if tries else node
        if body.type not in _GROUPS:
            return self._replaced(node)
        inside = self._scope(body, template, may_open=may_open)
        is_lost = not node.has_ended or (node.has_failed and not inside.failed)
        if inside.state == "kept" and not is_lost:
            return _Verdict("kept", inside.keeps, node.has_failed)
        if inside.keeps is None:
            return self._let_go(node.name)
        if (node.type == "Retry") != ("retryStrategy" in template):
            raise self._reshaped(inside.keeps)
        if tries:
            # The last attempt becomes the first, since attempts count anew.
            self.gone.update(one.name for one in tries[:-1])
            self.opened.add(body.name)
            self.first.add(body.name)
        return self._open(node, inside)

    def _template(self, task: Json) -> Json | None:
        """Return the template of a task; None for one that is stored elsewhere."""
        inline = task.get("inline")
        return inline if inline is not None else self._templates.get(task.get("template") or "")

    def _is_group(self, node: Node) -> bool:
        tries = self._attempts.get(node.id) or [node]
        return tries[-1].type in _GROUPS

    # ends ------------------------------------------------------------------------------------

    def _let_go(self, name: str) -> _Verdict:
        self.gone.add(name)
        return _Verdict("gone")

    def _open(self, node: Node, inside: _Verdict) -> _Verdict:
        self.opened.add(node.name)
        # What looks at it looks anew.
        self.gone |= {f"{node.name}.onExit", f"{node.name}.hooks"}
        return inside._replace(state="open")

    def _replaced(self, node: Node) -> _Verdict:
        """Let a node go where Argo now makes another kind of node."""
        kept = self._keeping.get(node.name)
        if kept is not None:
            raise self._reshaped(kept)
        return self._let_go(node.name)

    def _reshaped(self, path: str) -> RefusedError:
        return RefusedError(
            f'argo: "{path}" cannot keep its end, since the workflow as it is now makes another '
            "template of what it is in. Submit the workflow as a new run, or restart it unchanged"
        )

    def _shown(self, name: str) -> str:
        node = self._by_name.get(name)
        path = None if node is None else self.paths.get(node.id)
        return path or name.removeprefix(f"{self.name}.")


def cannot_wait(part: str, loose: str) -> RefusedError:
    """Return why a part cannot open that waits for a step which is in none."""
    return RefusedError(
        f'argo: the part {part} cannot keep the ends of its steps, since it waits for "{loose}", '
        "which is in no part and runs again or is new. Submit the workflow as a new run; steps "
        "with a cache are not repeated"
    )


def _is_part(task: Task) -> bool:
    return role_of(task.tree) == "part"


def _all_of(verdicts: Collection[_Verdict], state: State) -> _Verdict:
    """Return the verdict on what several others are in."""
    keeps = next((one.keeps for one in verdicts if one.keeps is not None), None)
    return _Verdict(state, keeps, any(one.failed for one in verdicts))


def _templates(spec: Json) -> dict[str, Json]:
    return {template["name"]: template for template in spec.get("templates") or ()}
