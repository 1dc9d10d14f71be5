"""What every picture shows: boxes, arrows and nested scopes, with their texts."""

from __future__ import annotations

import json
import typing as t
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from couler.ir.artifacts import ListFiles
from couler.ir.policies import AnyOf
from couler.ir.ranges import known_items
from couler.ir.values import TEXTS, Literal, StepRef, children, walk
from couler.ir.walk import HANDLER_PREFIX, explicit_dependencies, predecessors
from couler.ir.wording import counted
from couler.ir.workflow import (
    Container,
    ContainerSet,
    Group,
    Http,
    Job,
    Parameter,
    Plugin,
    Script,
    Step,
    Suspend,
    TemplateCall,
    Workflow,
)
from couler.show.text import condition_text, shorten, value_text

SCHEMA_VERSION = 1
"""Version of the JSON of a picture."""


@dataclass(frozen=True, slots=True)
class Edge:
    """An arrow: `target` starts after `source`."""

    source: str
    target: str
    on: str = "success"
    """How the source must end: `success`, `failure` or `completion`."""
    one_of: bool = False
    """It is an alternative: one of the target's arrows of this kind must hold."""
    condition: str | None = None
    """The target's condition, if it reads this source."""

    @property
    def words(self) -> list[str]:
        """What stands beside the arrow."""
        on = "" if self.on == "success" else f"on {self.on}"
        return [*filter(None, (on, "one of" * self.one_of, shorten(self.condition or "", 60)))]


@dataclass(frozen=True, slots=True)
class Box:
    """A step, or what is drawn around several."""

    path: str
    """Unique in the picture; `exit:NAME/` leads those of exit handlers."""
    name: str
    kind: str
    detail: str
    """What it runs: an image, a function, an address."""
    when: str | None = None
    foreach: str | None = None
    """What the step is repeated for, such as `model in 4 items`."""
    count: int | None = None
    """How many items, where that is known."""
    loop: str | None = None
    """The condition under which the step runs again."""
    rounds: int | None = None
    """How often at most."""
    body: Layer | None = None
    """For groups: what is inside."""
    free_condition: bool = False
    """The condition reads no step, so no arrow carries it."""
    is_step: bool = True
    """Whether it is a step itself, and counts as one."""

    @property
    def most_rounds(self) -> str:
        """How often a loop runs, as a text."""
        return "" if self.rounds is None else f"at most {counted(self.rounds, 'round')}"


@dataclass(frozen=True, slots=True)
class Layer:
    """The boxes of one scope, and the arrows between them."""

    boxes: tuple[Box, ...]
    edges: tuple[Edge, ...]

    def __len__(self) -> int:
        return sum(1 + (len(box.body) if box.body is not None else 0) for box in self.boxes)

    @property
    def steps(self) -> int:
        """How many steps there are at every level, without what is only drawn around them."""
        return sum(box.is_step + (0 if box.body is None else box.body.steps) for box in self.boxes)


@dataclass(frozen=True, slots=True)
class Handler:
    """Steps that run at the end of the run."""

    name: str
    on: str
    layer: Layer

    @property
    def title(self) -> str:
        """What the picture writes above the handler."""
        when = {"success": "after success", "failure": "after a failure"}.get(self.on, "always")
        return f"on exit, {when}: {self.name}"


@dataclass(frozen=True, slots=True)
class Scene:
    """A whole workflow."""

    title: str
    parameters: tuple[str, ...]
    """Each as `name: type = default`."""
    layer: Layer
    handlers: tuple[Handler, ...]


def scene_of(workflow: Workflow) -> Scene:
    """Return what a picture of a workflow shows; the workflow need not be valid."""
    parameters = tuple(
        f"{parameter.name}: {parameter.type}{_given_text(parameter)}"
        for parameter in workflow.parameters
    )
    handlers = tuple(
        Handler(handler.name, handler.on, _layer(handler.steps, f"{HANDLER_PREFIX}{handler.name}/"))
        for handler in workflow.exit_handlers
    )
    return Scene(workflow.name, parameters, _layer(workflow.steps, ""), handlers)


def _given_text(parameter: Parameter) -> str:
    """What stands for a value that a run does not give."""
    given = [] if parameter.config is None else [parameter.config.text]
    if not parameter.required and (parameter.default is not None or not given):
        given.append(value_text(Literal(value=parameter.default)))
    return f" = {' or else '.join(given)}" if given else ""


def render_json(workflow: Workflow) -> str:
    """Return the boxes and arrows of a workflow as JSON."""
    scene = scene_of(workflow)
    tree = {
        "schema_version": SCHEMA_VERSION,
        "workflow": scene.title,
        "parameters": list(scene.parameters),
        **_layer_json(scene.layer),
        "exit_handlers": [
            {"name": handler.name, "on": handler.on, **_layer_json(handler.layer)}
            for handler in scene.handlers
        ],
    }
    return json.dumps(tree, ensure_ascii=False, indent=2)


def _layer(steps: tuple[Step, ...], prefix: str) -> Layer:
    known = {step.name for step in steps}
    counts: dict[str, int] = {}
    for step in steps:
        count = _item_count(step, counts)
        if count is not None:
            counts[step.name] = count
    boxes = tuple(_box(step, prefix, known, counts.get(step.name)) for step in steps)
    edges = (edge for step in steps for edge in _edges(step, prefix, known))
    return Layer(boxes, tuple(edges))


def _item_count(step: Step, counts: Mapping[str, int]) -> int | None:
    """Return the length of a foreach over a list, or over what an earlier foreach gathers."""
    for items in step.foreach.over.values() if step.foreach is not None else ():
        if (known := known_items(items)) is not None:
            return len(known)
        if isinstance(items, StepRef) and items.step in counts:
            return counts[items.step]
    return None


def _box(step: Step, prefix: str, known: set[str], count: int | None) -> Box:
    path = prefix + step.name
    body = None
    if isinstance(step.action, Group):
        body = _layer(step.action.steps, f"{path}/")
    return Box(
        path=path,
        name=step.name,
        kind=step.action.kind,
        detail=_detail(step),
        when=None if step.when is None else condition_text(step.when),
        foreach=_foreach_text(step),
        count=count,
        loop=None if step.loop is None else condition_text(step.loop.condition),
        rounds=None if step.loop is None else step.loop.max_iterations,
        body=body,
        free_condition=step.when is not None and not _read_by_condition(step) & known,
    )


def _detail(step: Step) -> str:
    action = step.action
    match action:
        case Container():
            return action.image
        case Script():
            is_told = action.function in (None, step.name, step.name.replace("-", "_"))
            return action.image if is_told else f"{action.function}()"
        case Job():
            kind = action.manifest.get("kind")
            return f"{action.action} {kind}" if isinstance(kind, str) else action.action
        case Http():
            url = action.url if isinstance(action.url, str) else value_text(action.url)
            return f"{action.method} {url}"
        case Suspend():
            return "until resumed" if action.seconds is None else f"{action.seconds:g} s"
        case ListFiles():
            [(_, where), *_] = TEXTS.visit(action.at)
            below = f"{where if isinstance(where, str) else value_text(where)}/"
            return below if action.pattern is None else f"{below}{action.pattern}"
        case ContainerSet():
            return counted(len(action.containers), "container")
        case TemplateCall():
            return f"{action.collection}/{action.template}"
        case Plugin():
            return action.name
        case Group():
            return counted(len(action.steps), "step")
    t.assert_never(action)


def _foreach_text(step: Step) -> str | None:
    if step.foreach is None:
        return None
    parts = []
    for name, items in step.foreach.over.items():
        if isinstance(items, Literal) and isinstance(items.value, tuple):
            parts.append(f"{name} in {counted(len(items.value), 'item')}")
        else:
            parts.append(f"{name} in {value_text(items)}")
    if step.foreach.max_parallel is not None:
        parts.append(f"{step.foreach.max_parallel} at a time")
    return ", ".join(parts)


def _read_by_condition(step: Step) -> set[str]:
    if step.when is None:
        return set()
    return {
        value.step
        for operand in children(step.when)
        for value in walk(operand)
        if isinstance(value, StepRef)
    }


def _edges(step: Step, prefix: str, known: set[str]) -> Iterator[Edge]:
    outcomes = dict(explicit_dependencies(step))
    alternatives = {
        option if isinstance(option, str) else option.step
        for entry in step.depends_on
        if isinstance(entry, AnyOf)
        for option in entry.options
    }
    carries = _read_by_condition(step)
    when = None if step.when is None else condition_text(step.when)
    for name in predecessors(step):
        if name in known:
            yield Edge(
                source=prefix + name,
                target=prefix + step.name,
                on=outcomes.get(name, "success"),
                one_of=name in alternatives,
                condition=when if name in carries else None,
            )


def _layer_json(layer: Layer) -> dict[str, t.Any]:
    return {
        "steps": [_box_json(box) for box in layer.boxes],
        "edges": [
            {
                "from": edge.source,
                "to": edge.target,
                "on": edge.on,
                "one_of": edge.one_of,
                "condition": edge.condition,
            }
            for edge in layer.edges
        ],
    }


def _box_json(box: Box) -> dict[str, t.Any]:
    inner = {} if box.body is None else _layer_json(box.body)
    return {
        "path": box.path,
        "name": box.name,
        "kind": box.kind,
        "detail": box.detail,
        "when": box.when,
        "foreach": box.foreach,
        "items": box.count,
        "loop": box.loop,
        "max_rounds": box.rounds,
        **inner,
    }
