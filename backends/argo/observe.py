"""Status of a run under Argo, at the paths of the user's steps, with their attempts and outputs."""

from __future__ import annotations

import json
import re
import typing as t
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from couler.backends.argo.lower import lower
from couler.backends.argo.manifest import COPY, with_copies
from couler.backends.argo.names import Names
from couler.backends.argo.output_checks import CHECK_TASK
from couler.backends.argo.parts import PartOf, divide, is_divided, task_names
from couler.backends.argo.scope import is_stdout
from couler.backends.argo.scope_order import ScopeOrders
from couler.backends.argo.status_nodes import Node, NodeTree, read_time
from couler.backends.argo.workflow_api import CANCELLED_LABEL
from couler.backends.remote import (
    ENDS,
    AttemptState,
    CutOff,
    Json,
    Observation,
    Observed,
    ObservedAttempt,
    RunState,
    StepState,
)
from couler.errors import WireError
from couler.ir.defaults import leave_out_local_forms
from couler.ir.semantics import find_output
from couler.ir.semantics.status import CANCELLED, FAILED, State, refuse_start
from couler.ir.semantics.wire import decode, dump_json
from couler.ir.values import is_file, thawed
from couler.ir.walk import HANDLER_PREFIX, StepPath, predecessors
from couler.ir.workflow import Group, Output, Step, Workflow

_ITEM = re.compile(r"\((\d+):")
_EMPTY = "Skipped, empty params"
_STARTING = ("ContainerCreating", "PodInitializing")
"""What Argo says of every pod that starts."""
_SAME_ENDS = (("succeeded", "cached"), ("failed", "cancelled"), ("failed", "omitted"))
"""Ends of a group that was made here, and what these are of the step inside."""


class Observer:
    """Tells how runs of a workflow stand."""

    def __init__(self, workflow: Workflow) -> None:
        self._workflow = workflow
        self._lowered = lower(with_copies(leave_out_local_forms(workflow)))
        self._orders = ScopeOrders()

    def observe(self, run: Json) -> Observation:
        """Return how a run stands, from its Workflow as the cluster has it."""
        found = self.look(run)
        status = run.get("status") or {}
        state = run_state(run)
        outputs: Mapping[str, Json] = {}
        message = _run_message(run)
        if message is None and state == "failed" and found.tree.root is not None:
            message = found.why_no_outputs(found.tree.root)
        if state == "succeeded" and found.tree.root is not None:
            outputs = run_outputs(self._workflow, found.tree.root)
        if state == "running" and message is None:
            message = _waiting(found.steps.values())
        return Observation(
            status=state,
            steps=tuple(sorted(found.steps.values(), key=_by_end)),
            outputs=outputs,
            message=message,
            started=read_time(status.get("startedAt")),
            finished=read_time(status.get("finishedAt")),
        )

    def look(self, run: Json) -> Look:
        """Return what is at each path."""
        look = Look(run, self._orders)
        root = look.tree.root
        if root is not None:
            look.scope(self._lowered.steps, StepPath(), root)
        on_exit = look.tree.on_exit
        if on_exit is not None:
            names = Names()
            children = look.tree.inside(on_exit)
            for handler in self._lowered.exit_handlers:
                node = children.get(names.take(handler.name))
                if node is not None:
                    look.handler(handler.name, handler.steps, node)
        return look


def run_state(run: Json) -> RunState:
    """Return how a run as a whole stands."""
    phase = (run.get("status") or {}).get("phase")
    if phase == "Succeeded":
        return "succeeded"
    if phase in ("Failed", "Error"):
        return "cancelled" if was_shut_down(run) else "failed"
    return "running"


def was_shut_down(run: Json) -> bool:
    """Whether somebody has asked for the end of a run."""
    labels = (run.get("metadata") or {}).get("labels") or {}
    return bool((run.get("spec") or {}).get("shutdown")) or CANCELLED_LABEL in labels


def _run_message(run: Json) -> str | None:
    status = run.get("status") or {}
    if not status.get("phase"):
        return "Argo's controller has not taken it up yet"
    message = status.get("message")
    if status["phase"] == "Running" and (run.get("spec") or {}).get("suspend"):
        return message or "it is suspended, and begins no more steps until it is resumed"
    if run_state(run) == "cancelled":
        return CANCELLED
    if not message or is_child_message(message):
        return None
    return str(message)


def _by_end(observed: Observed) -> tuple[bool, str, int, bool]:
    """Those that ended come first, in the order of their ends; of one second, what is inside."""
    has_ended = observed.status in ENDS
    time = observed.finished if has_ended else observed.started
    last = observed.path[-1]
    is_whole = last.item is None and last.round is None
    return not has_ended, time.isoformat() if time else "", -len(observed.path), is_whole


class Look:
    """What was seen of a run: an instance of a step, and its node, by path."""

    def __init__(self, run: Json, orders: ScopeOrders) -> None:
        self.tree = NodeTree.of(run)
        self.steps: dict[str, Observed] = {}
        self.nodes: dict[str, Node] = {}
        """The node of an instance that runs something; `NodeTree.attempts` has its attempts."""
        self.places: dict[str, Node] = {}
        """The node at a path, of groups, foreachs and loops as well."""
        self.actions: dict[str, Step] = {}
        """The step of such an instance, as Argo runs it."""
        self._orders = orders
        self._stopped = was_shut_down(run)
        self._cut_off = CutOff()

    def handler(self, name: str, steps: tuple[Step, ...], node: Node) -> None:
        """See an exit handler and what is in it."""
        path = StepPath() / f"{HANDLER_PREFIX}{name}"
        if node.has_run:
            self.scope(steps, path, node)
        self._note(path, node, _state(node))

    def scope(self, steps: tuple[Step, ...], path: StepPath, boundary: Node) -> None:
        """See the steps of a scope."""
        children = self.tree.inside(boundary)
        if is_divided(steps):
            _, names = task_names(steps)
            for part in divide(steps, names).parts:
                self._look_into(part, children)
        items = _Items(children)
        states: dict[str, StepState] = dict.fromkeys((step.name for step in steps), "waiting")
        for step, task in self._orders.of(steps):  # its state may depend on what it waits for
            node = children.get(task)
            if node is not None:
                is_several = step.foreach is not None or node.type == "TaskGroup"
                found = items.of(task) if is_several else {}
                states[step.name] = self._step(step, path / step.name, node, found, states)

    def _look_into(self, part: PartOf, children: dict[str, Node]) -> None:
        """Add what is in a part: names of tasks are unique in all of a scope."""
        node = children.get(part.task)
        if node is not None:
            children.update(self.tree.inside(node))
            for inner in part.inside.parts:
                self._look_into(inner, children)

    def _step(
        self,
        step: Step,
        path: StepPath,
        node: Node,
        items: Mapping[int, Node],
        states: Mapping[str, StepState],
    ) -> StepState:
        state = _state(node)
        message: str | None = None
        if node.phase == "Omitted":
            state, message = _not_begun(step, states)
        is_group = node.type == "TaskGroup" and node.has_ended
        if is_group and all(item.phase == "Skipped" for item in items.values()):
            state = "skipped"
        if node.phase == "Skipped" and node.message == _EMPTY and step.when is None:
            state = "succeeded"
        if not node.has_run or state == "skipped":
            return self._note(path, node, state, message=message)
        if step.foreach is None:
            return self._instance(step, path, node)
        return self._each(step, path, node, items, state)

    def _each(
        self, step: Step, path: StepPath, node: Node, items: Mapping[int, Node], state: StepState
    ) -> StepState:
        """See the items of a foreach, then it as a whole."""
        places = []
        for index, item in items.items():
            place = path.at_item(index)
            places.append(place)
            if item.has_run:
                self._instance(step, place, item, gathers=True)
            else:
                self._note(place, item, _state(item))
        outputs = {}
        if state in ENDS:
            outputs = gather([self.steps[str(place)].outputs for place in places])
        return self._note(path, node, state, outputs=outputs, is_each=True)

    def _instance(
        self, step: Step, path: StepPath, node: Node, *, gathers: bool = False
    ) -> StepState:
        """See one instance of a step that has begun: a process, a group, or a round of a loop."""
        outputs = own_outputs(step, self._last(node), gathered=gathers)
        group = step.action
        if not isinstance(group, Group):
            return self._leaf(step, path, node, outputs)
        inner = self._last(node)
        if step.loop is not None:
            self._rounds(step, group, path, inner, first=0)
            return self._note(path, node, _state(node), outputs=outputs)
        return self._body(step, group, path, node, outputs)

    def _leaf(
        self, step: Step, path: StepPath, node: Node, outputs: Mapping[str, Json]
    ) -> StepState:
        self.nodes[str(path)], self.actions[str(path)] = node, step
        state = _state(node)
        tries = self.tree.attempts(node)
        if state in ("running", "waiting") and tries:
            state = _state(tries[-1])
            if state not in ("running", "suspended") and tries[0].has_ended:
                state = "retrying"
        elif state == "succeeded" and tries and tries[-1].is_cached:
            state = "cached"
        is_pending = bool(tries) and tries[-1].phase == "Pending"
        why = told(tries[-1], self._stopped) if is_pending else None
        return self._note(path, node, state, outputs=outputs, tries=tries, message=why)

    def _body(
        self, step: Step, group: Group, path: StepPath, node: Node, outputs: Mapping[str, Json]
    ) -> StepState:
        """See what is in a group; of one that was made here, the step at the path of the group."""
        boundary, state = self._last(node), _state(node)
        if not group.transparent:
            self.scope(group.steps, path, boundary)
            why = self.why_no_outputs(boundary)
            return self._note(path, node, state, outputs=outputs, message=why)
        [inner] = group.steps
        children = self.tree.inside(boundary)
        task = Names().take(inner.name)
        child = children.get(task)
        if inner.foreach is not None:
            return self._each(inner, path, child or node, _Items(children).of(task), state)
        if child is None or not child.has_run:
            return self._note(path, node, state, outputs=outputs)
        inside = self._instance(inner, path, child)
        if state != "running" and (state, inside) not in _SAME_ENDS:
            inside = state
        seen = self.steps[str(path)]
        is_each = _holds_items(inner)
        outputs = seen.outputs if is_each else {**seen.outputs, **outputs}
        return self._note(path, node, inside, outputs=outputs, inner=seen, is_each=is_each)

    def why_no_outputs(self, boundary: Node) -> str | None:
        """Return why the outputs of a scope could not be evaluated, None if they could."""
        check = self.tree.inside(boundary).get(CHECK_TASK)
        return told(check, self._stopped) if check is not None and check.has_failed else None

    def _rounds(self, step: Step, group: Group, path: StepPath, node: Node, *, first: int) -> None:
        children = self.tree.inside(node)
        number = first
        while (child := children.get(f"round-{number - first + 1}")) is not None:
            if child.has_run:
                place = path.at_round(number)
                outputs = own_outputs(step, self._last(child), gathered=False)
                self._body(step, group, place, child, outputs)
            number += 1
        again = children.get("again")
        if again is not None and again.has_run:
            self._rounds(step, group, path, again, first=number)

    def _last(self, node: Node) -> Node:
        """The node of the attempt that counts."""
        tries = self.tree.attempts(node)
        return tries[-1] if tries else node

    def _note(
        self,
        path: StepPath,
        node: Node,
        state: StepState,
        *,
        outputs: Mapping[str, Json] | None = None,
        tries: tuple[Node, ...] = (),
        message: str | None = None,
        inner: Observed | None = None,
        is_each: bool = False,
    ) -> StepState:
        """Keep how an instance stands; `inner` is the one that a group of ours stands for."""
        attempts = inner.attempts if inner is not None else attempts_of(tries, self._stopped)
        if state == "failed" and self._stopped:
            last = attempts[-1].status if attempts else None
            if self._cut_off.ended(path, last, runs=str(path) in self.nodes):
                state, message = "cancelled", CANCELLED
                if tries and all(one.type == "Pod" and one.host is None for one in tries):
                    state, attempts = "omitted", ()  # its pod had no node yet
        exit_code = attempts[-1].exit_code if attempts else None
        if message is None and state != "succeeded":
            of_attempt = attempts[-1].message if attempts else None
            message = of_attempt or told(node, self._stopped)
            if message is None and inner is not None:
                message = inner.message
        runs = node.has_run and state not in ("waiting", "omitted")
        self.places[str(path)] = node
        self.steps[str(path)] = Observed(
            path=path,
            status=state,
            started=node.started if runs else None,
            finished=node.finished if state in ENDS else None,
            attempts=attempts,
            message=message,
            exit_code=exit_code,
            # A foreach that failed has those of the items that did not.
            outputs=outputs if outputs and (state not in FAILED or is_each) else {},
        )
        return state


def _waiting(steps: Iterable[Observed]) -> str | None:
    """Return why steps wait that could run: for room on a node, for an image, for a quota."""
    told = [
        f'step "{step.path}" waits: {step.message}'
        for step in steps
        if step.status == "waiting" and step.message
    ]
    return "; ".join(told[:3]) or None


def _state(node: Node) -> StepState:
    match node.phase:
        case "Pending":
            return "waiting"
        case "Running":
            return "suspended" if node.type == "Suspend" else "running"
        case "Succeeded":
            return "cached" if node.is_cached else "succeeded"
        case "Skipped":
            return "skipped"
        case "Omitted":
            return "omitted"
    return "failed"


def _holds_items(step: Step) -> bool:
    """Whether a group that was made here stands for a foreach."""
    while isinstance(step.action, Group) and step.action.transparent:
        [step] = step.action.steps
        if step.foreach is not None:
            return True
    return False


def _not_begun(step: Step, states: Mapping[str, StepState]) -> tuple[StepState, str | None]:
    """Return how a step ended that Argo left out; Argo knows one word for two ends."""
    # An exit handler's step may read from steps of another scope, which it does not wait for.
    if any(states[before] not in ENDS for before in predecessors(step) if before in states):
        return "omitted", None  # the run was ended before it was its turn
    refusal = refuse_start(step, t.cast("Mapping[str, State]", states))
    return ("omitted", None) if refusal is None else (refusal.state, refusal.reason)


class _Items:
    """The items of the foreachs among the nodes of a template, which are looked at once."""

    def __init__(self, children: Mapping[str, Node]) -> None:
        self._children = children

    @cached_property
    def _by_task(self) -> dict[str, dict[int, Node]]:
        found: dict[str, dict[int, Node]] = {}
        for name, node in self._children.items():
            task, bracket, _ = name.partition("(")  # which no name of a task has
            if bracket and (match := _ITEM.match(name, len(task))):
                found.setdefault(task, {})[int(match[1])] = node
        return found

    def of(self, task: str) -> dict[int, Node]:
        """Return the items of a foreach by their indices."""
        return dict(sorted(self._by_task.get(task, {}).items()))


def own_outputs(step: Step, node: Node, *, gathered: bool) -> dict[str, Json]:
    """Return the outputs of an instance of a step, as `Observed` has them."""
    gathered = gathered and (isinstance(step.action, Group) or step.is_function)
    found: dict[str, Json] = {}
    for name, text in node.parameters.items():
        output = find_output(step, name)
        is_json = gathered and text.startswith('"')  # numbers of functions are not
        found[name] = _single(_ungathered(text) if is_json else text, output)
    for name, where in node.artifacts.items():
        if any(output.name == name and is_file(output.type) for output in step.outputs):
            found[name] = _single(where, find_output(step, name))
    result = find_output(step, "result")
    if node.result is not None and is_stdout(step, result):
        found["result"] = _single(node.result, result)
    # A copy stands for the output that it is one of.
    return {
        name.removeprefix(COPY): value
        for name, value in sorted(found.items(), key=lambda entry: entry[0].startswith(COPY))
    }


def gather(items: Sequence[Mapping[str, Json]]) -> dict[str, Json]:
    """Return the outputs of a foreach: of each a list, with None for items that lack it."""
    names = dict.fromkeys(name for item in items for name in item)
    return {name: [item.get(name) for item in items] for name in names}


def run_outputs(workflow: Workflow, root: Node) -> dict[str, Json]:
    """Return the outputs of a run that succeeded, as JSON values."""
    texts = root.parameters
    return {
        output.name: decoded(texts[output.name], output)
        for output in workflow.outputs
        if output.name in texts
    }


def decoded(text: str, output: Output) -> Json:
    """Return the value of an output; the text itself where it is none of the declared type."""
    try:
        return thawed(decode(text, "str" if is_file(output.type) else output.type))
    except WireError:
        return text


def _single(text: str, output: Output) -> Json:
    return {"text": text, "type": output.type}


def _ungathered(text: str) -> str:
    """Return the text on the wire of what was written for Argo to gather: JSON in a JSON text."""
    value = json.loads(json.loads(text))
    return value if isinstance(value, str) else dump_json(value)


_OF_CHILD = re.compile(r"child '.*' (?:failed|errored)|children? failed.*", re.DOTALL)
_CANCELLED = re.compile(
    r"shutdown with strategy|Stopped with strategy|exceeded its deadline|exceeded workflow deadline"
)
_FALSE = re.compile(r"when '.*' evaluated false", re.DOTALL)
_SIGNALLED = (137, 143)
"""Exit codes of processes that were told to end, or killed."""


def is_child_message(message: str) -> bool:
    """Return whether a message only names a node inside, by an id that no user knows."""
    return _OF_CHILD.fullmatch(message) is not None


def attempts_of(tries: Sequence[Node], stopped: bool) -> tuple[ObservedAttempt, ...]:
    """Return the attempts that nodes stand for; those that have not begun are none."""
    begun = [
        node for node in tries if node.has_run and node.phase != "Pending" and not node.is_cached
    ]
    return tuple(
        ObservedAttempt(
            number=number,
            status=_attempt_state(node, stopped),
            started=node.started,
            finished=node.finished if node.has_ended else None,
            exit_code=node.exit_code,
            message=None if node.phase == "Succeeded" else told(node, stopped),
            node=node.host,
        )
        for number, node in enumerate(begun, start=1)
    )


def told(node: Node, stopped: bool) -> str | None:
    """Return what Argo tells people of a node, if it is of use to them."""
    message = node.message
    if message is None or message in _STARTING or is_child_message(message):
        return None
    if _FALSE.fullmatch(message):
        return "its condition is false"
    return CANCELLED if stopped and _CANCELLED.search(message) else message


def _attempt_state(node: Node, stopped: bool) -> AttemptState:
    if not node.has_ended:
        return "running"
    if node.phase == "Succeeded":
        return "succeeded"
    code = node.exit_code
    if stopped and (code in _SIGNALLED or _CANCELLED.search(node.message or "")):
        return "cancelled"
    return "failed" if node.phase == "Failed" and code is not None else "error"
