"""Templates of the steps that run something, and the shapes of steps that share one."""

from __future__ import annotations

import typing as t
from collections.abc import Iterator, Mapping

from couler.backends.argo.files import input_text, kept_holes
from couler.backends.argo.names import Names, input_place
from couler.backends.argo.pods import Tree, container_place
from couler.backends.argo.processes import way_of_arguments, way_of_script
from couler.backends.argo.scope import ScopeView, is_folder, travels_as
from couler.backends.argo.tags import Tagged, wire_text
from couler.backends.argo.templates import Filled, TemplateOptions, build_template
from couler.ir.artifacts import ListFiles
from couler.ir.cachekey import definition_digest, fixed_fields, without_texts, without_values
from couler.ir.kubernetes_pods import needs_dollars
from couler.ir.policies import Metric
from couler.ir.semantics.wire import encode
from couler.ir.storage import Volume
from couler.ir.values import TEXTS, Literal, Text, Value, ValueType, is_file
from couler.ir.walk import pod_containers
from couler.ir.workflow import (
    Container,
    ContainerSet,
    Http,
    Input,
    Job,
    Plugin,
    Script,
    Step,
    TemplateCall,
    Workflow,
)

SHARE_ALL_ABOVE = 100
"""More templates than that are not read by people, and Argo takes 200 at most."""


class Hole(t.NamedTuple):
    """A place in a template for a text."""

    name: str
    text: Text
    type: ValueType = "str"
    is_folder: bool = False
    """The text is the place of the files that a foreach made."""
    is_encoded: bool = False
    """The braces of the text are encoded on the way."""


class _Shape:
    """Steps that share one template."""

    __slots__ = (
        "count",
        "dynamic",
        "encoded",
        "gathers",
        "holes",
        "into",
        "key",
        "name",
        "step",
        "texts",
    )

    def __init__(
        self, key: t.Any, step: Step, view: ScopeView, holes: list[Hole], gathers: bool
    ) -> None:
        self.key = key
        self.step = step
        self.gathers = gathers
        self.holes = holes
        self.texts: list[str | None] = [_constant(hole) for hole in holes]
        self.dynamic = [False] * len(holes)
        self.encoded = [False] * len(holes)
        self.count = 0
        self.name = ""
        self.into: _Shape | None = None
        """The shape that took this one in."""
        self.add(step, view, holes)

    def add(self, step: Step, view: ScopeView, holes: list[Hole]) -> None:
        """Take in a step of the same shape."""
        self.count += 1
        for index, hole in enumerate(holes):
            text = _constant(hole)
            if text != self.texts[index]:
                self.texts[index] = None
            if text is None or _has_special(text):
                self.dynamic[index] |= _is_delicate(text, hole, step, view)
                self.encoded[index] |= _is_encoded(text, hole, step, view)

    def absorb(self, other: _Shape) -> None:
        """Take in all steps of another."""
        self.count += other.count
        other.into = self
        pairs = zip(self.texts, other.texts, strict=True)
        self.texts = [mine if mine == theirs else None for mine, theirs in pairs]
        self.dynamic = [a or b for a, b in zip(self.dynamic, other.dynamic, strict=True)]
        self.encoded = [a or b for a, b in zip(self.encoded, other.encoded, strict=True)]

    def final(self) -> _Shape:
        """The shape whose template it uses."""
        return self if self.into is None else self.into.final()

    def places(self) -> list[Filled]:
        """The template's places for text."""
        return [
            Filled(hole.name, text, dynamic, encoded)
            for hole, text, dynamic, encoded in zip(
                self.holes, self.texts, self.dynamic, self.encoded, strict=True
            )
        ]


def _constant(hole: Hole) -> str | None:
    text = hole.text
    if isinstance(text, str):
        return text
    if not isinstance(text, Literal):
        return None
    return encode(text.value, "json" if hole.type == "json" else "str")


def _has_special(text: str) -> bool:
    """Return whether Argo or the kubelet would change a text."""
    return "{{" in text or not text.isprintable() or needs_dollars(text)


def _is_delicate(constant: str | None, hole: Hole, step: Step, view: ScopeView) -> bool:
    if constant is not None:
        return _has_special(constant)
    return not hole.is_folder and not view.is_safe(t.cast("Value", hole.text), step)


def _is_encoded(constant: str | None, hole: Hole, step: Step, view: ScopeView) -> bool:
    if constant is not None:
        return "{{" in constant and not isinstance(step.action, Plugin)
    value = t.cast("Value", hole.text)
    return not hole.is_folder and view.is_encoded(step, value, view.type_of(value, step))


class Leaves:
    """All templates of steps that run something."""

    def __init__(self, options: TemplateOptions) -> None:
        self._options = options
        self._shapes: dict[t.Any, _Shape] = {}
        self._of_step: dict[int, tuple[_Shape, list[Hole]]] = {}

    def add(self, step: Step, view: ScopeView, *, gathers: bool = False) -> None:
        """Take in a step."""
        if isinstance(step.action, TemplateCall):  # its template is elsewhere
            return
        holes = holes_of(step)
        key = shape_key(step, gathers, self._options.volumes)
        place = (key, step.source or step.name)
        shape = self._shapes.get(place)
        if shape is None:
            shape = self._shapes[place] = _Shape(key, step, view, holes, gathers)
        else:
            shape.add(step, view, holes)
        self._of_step[id(step)] = shape, holes

    def name_all(self, names: Names) -> None:
        """Choose what is shared, and the names of the templates, in the order of the steps."""
        self._merge(lambda shape: None if None in shape.texts else (shape.key, *shape.texts))
        if len(self._final()) > SHARE_ALL_ABOVE:
            self._merge(lambda shape: (shape.key,))
        for shape in self._final():
            shape.name = names.take(_template_name(shape.step, shared=shape.count > 1))

    def _final(self) -> list[_Shape]:
        return [shape for shape in self._shapes.values() if shape.into is None]

    def _merge(self, key: t.Callable[[_Shape], tuple[t.Any, ...] | None]) -> None:
        """Make one of the shapes with equal keys; None keeps a shape apart."""
        first: dict[t.Any, _Shape] = {}
        for shape in self._final():
            own = key(shape)
            if own is not None and first.setdefault(own, shape) is not shape:
                first[own].absorb(shape)

    def owners(self) -> Iterator[tuple[str, Step]]:
        """Yield the names of the templates, each with the first of the steps that use it."""
        return ((shape.name, shape.step) for shape in self._final())

    def template_of(self, step: Step) -> Tree:
        """Return the field of a task that names a step's template."""
        if isinstance(step.action, TemplateCall):
            return {"templateRef": template_reference(step.action)}
        return {"template": self._of_step[id(step)][0].final().name}

    def arguments(self, step: Step) -> list[Hole]:
        """Return the places of a step's template that its task must fill."""
        if isinstance(step.action, TemplateCall):
            values = [given for given in step.inputs if not is_file(given.type)]
            return [hole for given in values for hole in _holes_of_input(given, given.name)]
        shape, holes = self._of_step[id(step)]
        final = shape.final()
        return [
            hole._replace(is_encoded=True) if encoded else hole
            for hole, text, encoded in zip(holes, final.texts, final.encoded, strict=True)
            if text is None
        ]

    def templates(self) -> Iterator[Tree]:
        """Yield all templates."""
        for shape in self._final():
            places = shape.places()
            tree = build_template(
                shape.step, shape.name, places, self._options, gathers=shape.gathers
            )
            own = overrides_of(shape.step, "template") if shape.step.engine else {}
            yield merge(tree, own) if own else tree


def holes_of(step: Step) -> list[Hole]:
    """Return the places for text in a step's template, in a fixed order."""
    action = step.action
    holes: list[Hole] = []
    if isinstance(action, Container):
        holes = [Hole(f"arg_{index}", word) for index, word in enumerate(action.args)]
        if not all_plain(action.command):
            holes = [
                Hole(f"word_{index}", word)
                for index, word in enumerate(action.command)
                if not isinstance(word, str)
            ] + holes
    elif isinstance(action, Http):
        holes.append(Hole("url", action.url))
        holes.extend(
            Hole(f"header_{index}", header.value)
            for index, header in enumerate(action.headers)
            if header.value is not None
        )
        if action.body is not None:
            body = action.body
            holes.append(Hole("body", wire_text(body.value) if isinstance(body, Literal) else body))
    elif isinstance(action, ListFiles):
        from couler.backends.argo.listing import listed_text

        holes += [Hole(listed_text(name), text) for name, text in TEXTS.visit(action.at)]
    elif isinstance(action, Job):
        from couler.backends.argo.resources import value_names

        named = dict(zip(value_names(action), action.values, strict=True))
        holes += [Hole(name, given.value, given.type) for name, given in named.items()]
    if not isinstance(action, Container) or not _PLAIN.issuperset(step.__pydantic_fields_set__):
        holes += _holes_beside_action(step)
    return holes


def _holes_beside_action(step: Step) -> Iterator[Hole]:
    for given in step.inputs:
        name = given.name if isinstance(step.action, Plugin) else input_place(given.name)
        yield from _holes_of_input(given, name)
    for variable in step.env:
        if variable.value is not None:
            yield Hole(f"env_{variable.name}", variable.value)
    for container in pod_containers(step):
        for index, (_, text) in enumerate(TEXTS.visit(container)):
            if not isinstance(text, str):
                yield Hole(container_place(container, index), text)
    if step.cache is not None and step.cache.salt is not None:
        yield Hole("cache_salt", step.cache.salt)
    yield from holes_of_metrics(step.metrics)
    if step.outputs or step.logs is not None:
        for name, text in kept_holes(step):
            yield Hole(name, text)


def _holes_of_input(given: Input, name: str) -> Iterator[Hole]:
    if given.value is not None:
        yield Hole(name, given.value, travels_as(given), is_folder(given))
    if given.at is not None:
        for field, text in TEXTS.visit(given.at):
            yield Hole(input_text(given, field), text)


def holes_of_metrics(metrics: tuple[Metric, ...]) -> Iterator[Hole]:
    """Yield the places for values of the workflow in metrics."""
    from couler.backends.argo.metrics import is_hole, label_hole, value_hole

    for metric in metrics:
        if is_hole(metric.value):
            yield Hole(value_hole(metric), metric.value)
        for label in metric.labels:
            if is_hole(label.value):
                yield Hole(label_hole(metric, label.name), label.value)


def template_reference(call: TemplateCall) -> Tree:
    """Return the reference to a template of a collection."""
    tree: Tree = {"name": call.collection, "template": call.template}
    if call.cluster_wide:
        tree["clusterScope"] = True
    return tree


def _template_name(step: Step, *, shared: bool) -> str:
    if isinstance(step.action, Script) and step.action.function is not None:
        return step.action.function
    return step.name.rstrip("0123456789").rstrip("-") or step.name if shared else step.name


def shape_key(step: Step, gathers: bool, volumes: Mapping[str, Volume]) -> t.Any:
    """Return what all steps have in common that can share a template."""
    action = step.action
    what: t.Any = action
    if isinstance(action, Container):
        way = way_of_arguments(action.args)
        what = (action.image, _fixed_words(action.command), len(action.args), way)
    elif isinstance(action, Script):
        what = (action, way_of_script(step, action))
    elif isinstance(action, ContainerSet):
        what = TEXTS.map(action, without_values)
    elif isinstance(action, Http | ListFiles):
        what = TEXTS.map(action, without_texts)
    elif isinstance(action, Job):
        from couler.backends.argo.resources import value_names

        names = value_names(action)
        places = tuple(
            (given.path, given.type, name) for given, name in zip(action.values, names, strict=True)
        )
        what = (action.model_copy(update={"values": ()}), places)
    return (what, gathers, _settings_key(step, volumes))


_PLAIN = frozenset(("name", "action", "depends_on", "source", "when", "origin", "program_order"))
_OF_TASK = _PLAIN | {"foreach", "loop", "part", "profile", "hooks", "max_parallel"}
"""The fields of a step that its task shows, or nothing: templates show all others."""
_NOT_FIXED = _OF_TASK | {"cache", "inputs", "metrics"}


def _settings_key(step: Step, volumes: Mapping[str, Volume]) -> tuple[t.Any, ...]:
    if _OF_TASK.issuperset(step.__pydantic_fields_set__):
        return ()
    fields = fixed_fields(step, _NOT_FIXED)
    if step.cache is not None:
        digest = definition_digest(step, volumes)
        fields["cache"] = (step.cache.name, step.cache.max_age_s, digest)
    if step.inputs:
        fields["inputs"] = tuple(map(_input_key, step.inputs))
    fields["metrics"] = step.metrics
    return tuple(field for field in fields.items() if field[1])


def _input_key(given: Input) -> t.Any:
    if given.at is None and not (given.optional or given.mode is not None):
        return (given.name, given.type, given.path, given.many)  # most are
    return TEXTS.map(given, without_texts)


def _fixed_words(words: tuple[Text, ...]) -> tuple[str | None, ...]:
    if all_plain(words):
        return t.cast("tuple[str, ...]", words)
    return tuple(word if isinstance(word, str) else None for word in words)


def all_plain(words: tuple[Text, ...]) -> bool:
    """Return whether no word is a value."""
    return {*map(type, words)} <= {str}


OF_WORKFLOW = {"metadata": "ObjectMeta", "spec": "WorkflowSpec", "cron": "CronWorkflowSpec"}
OF_STEP = {"template": "Template", "task": "DAGTask"}
"""The overrides for Argo, and the objects that they are merged into."""


def overrides_of(owner: Step | Workflow | None, part: str) -> Mapping[str, t.Any]:
    """Return what a program merges into an object of Argo, without parts that `check` refuses."""
    found = {} if owner is None else owner.engine.get("argo", {}).get(part)
    wrong: list[object] = []
    if found:
        from couler.ir.verify.objects import check_override

        check_override(
            found,
            {**OF_WORKFLOW, **OF_STEP}[part],
            part,
            lambda *one: wrong.append(one),
            lambda *_: None,
        )
    return {} if wrong else found or {}


def merge(tree: Tree, overrides: Mapping[str, t.Any]) -> Tree:
    """Return a tree with an escape hatch's content merged in: objects by key, the rest replaced."""
    merged = dict(tree)
    for key, value in overrides.items():
        old = merged.get(key)
        if isinstance(old, dict) and isinstance(value, dict):
            merged[key] = merge(old, value)
        else:
            merged[key] = _meant(value)
    return merged


def _meant(value: object) -> t.Any:
    """An override as it is; its tags are meant for Argo."""
    if isinstance(value, str):
        return Tagged(value)
    if isinstance(value, Mapping):
        return {key: _meant(inner) for key, inner in value.items()}
    if isinstance(value, tuple | list):
        return [_meant(inner) for inner in value]
    return value
