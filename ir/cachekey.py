"""The key of a cached result: the same for the same work, on every engine."""

from __future__ import annotations

import hashlib
import typing as t
from collections.abc import Callable, Collection, Iterable, Mapping

from couler.ir.base import Node
from couler.ir.glue import is_run
from couler.ir.pods import ContainerSettings
from couler.ir.semantics.wire import dump_json
from couler.ir.storage import Mount, Volume
from couler.ir.traversal import Traversal
from couler.ir.values import TEXTS, VALUE_KINDS, Literal, Text
from couler.ir.workflow import AUTO_IMAGE, ContainerSet, Script, Step

_AROUND = {"resources", "pull_policy", "settings"}
_NOT_COUNTED: dict[str, t.Any] = {
    **dict.fromkeys(("name", "source", "origin", "profile", "part", "labels", "annotations"), True),
    **dict.fromkeys(("depends_on", "program_order", "when", "foreach", "loop", "hooks"), True),
    **dict.fromkeys(("retry", "timeout_s", "cache", "mutex", "locks", "max_parallel"), True),
    **dict.fromkeys(("resources", "placement", "pull_policy", "pod", "display_name"), True),
    **dict.fromkeys(("daemon", "metrics", "logs", "engine"), True),
    "action": {"local": True, "containers": {"__all__": _AROUND}},
    "container": ContainerSettings.model_fields.keys() - {"lifecycle", "devices"},
    "sidecars": {"__all__": _AROUND},
    "init_containers": {"__all__": _AROUND},
    "outputs": {"__all__": {"removal"}},
}
"""What changes no result: all other fields of a step are a part of its definition."""

_UNCOUNTED = frozenset(name for name, what in _NOT_COUNTED.items() if what is True)
_MOUNTS: Traversal[Mount] = Traversal(Mount)
_BLANK = Literal(value=None)


def definition_digest(step: Step, volumes: Mapping[str, Volume]) -> str:
    """Return the digest of a step's definition without its texts, in hexadecimal."""
    fixed = step.model_copy(update=fixed_fields(step, _UNCOUNTED))
    if isinstance(fixed.action, Script) and fixed.action.code:
        changed: dict[str, t.Any] = {"source": "", "files": (), "call": None}
        if is_run(fixed.action.command[-1]):
            changed["command"] = fixed.action.command[:-2]
        if fixed.action.built:  # its tag is a digest of all code
            changed |= {"image": AUTO_IMAGE, "built": False}
        action = fixed.action.model_copy(update=changed)
        fixed = fixed.model_copy(update={"action": action})
    definition = fixed.model_dump(mode="json", exclude_defaults=True, exclude=_NOT_COUNTED)
    mounted = {mount.volume: volumes[mount.volume] for _, mount in _MOUNTS.visit(step)}
    stored = {name: volume.model_dump(mode="json") for name, volume in mounted.items()}
    counted = {name: value for name, value in definition.items() if value != {}}
    return text_digest(dump_json({**counted, "volumes": stored}))


def fixed_fields(step: Step, leave_out: Collection[str]) -> dict[str, t.Any]:
    """Return the fields that a step was given, without the texts that its key holds."""
    found: dict[str, t.Any] = {}
    for name in sorted(step.model_fields_set.difference(leave_out)):
        value = getattr(step, name)
        is_beside = name in _CONTAINERS or isinstance(value, ContainerSet)
        change = without_values if is_beside else without_texts
        if type(value) in VALUE_KINDS:
            value = _BLANK
        elif isinstance(value, Node):
            value = TEXTS.map(value, change)
        elif isinstance(value, tuple):
            value = tuple([TEXTS.map(one, change) for one in value])
        found[name] = value
    return found


_CONTAINERS = ("init_containers", "sidecars")


def without_values(_: str, text: Text) -> Text:
    """Return a plain text; a blank in place of a value."""
    return text if isinstance(text, str) else _BLANK


def without_texts(field: str, text: Text) -> Text:
    """Return a blank in place of any text but a fixed word of a command."""
    return text if isinstance(text, str) and field == "command" else _BLANK


def key_fields(step: Step) -> list[str]:
    """Return the fields whose texts a key holds, in the order that all engines share."""
    known = ["action", "inputs", "env", *_CONTAINERS, "cache", "outputs"]
    if isinstance(step.action, ContainerSet):  # its containers come after the others
        known.insert(known.index("cache") - 1, known.pop(0))
    return [*known, *sorted(step.model_fields_set - _UNCOUNTED - {*known})]


def texts_of(step: Step, name: str) -> list[Text]:
    """Return the texts in a field that a key holds: those that the definition does not."""
    is_beside = name in _CONTAINERS or isinstance(step.action, ContainerSet)
    return [
        text
        for field, text in TEXTS.visit(step, fields=(name,))
        if not (isinstance(text, str) and (is_beside or field == "command"))
    ]


def step_digests(volumes: Iterable[Volume]) -> Callable[[Step], str]:
    """Return a function that gives the digest of a step's definition, which its instances share."""
    by_name = {volume.name: volume for volume in volumes}
    known: dict[int, tuple[Step, str]] = {}

    def digest(step: Step) -> str:
        found = known.get(id(step))
        if found is None:  # the step is stored, so that no other has its number
            known[id(step)] = found = (step, definition_digest(step, by_name))
        return found[1]

    return digest


def cache_key(digest: str, texts: Iterable[str]) -> str:
    """Return the key of one execution, in hexadecimal."""
    return text_digest(digest + "".join(map(text_digest, texts)))


def text_digest(text: str) -> str:
    """Return the digest of one text of a key, in hexadecimal: SHA-256 of its UTF-8."""
    return hashlib.sha256(text.encode()).hexdigest()


def repository_mark(url: str | None, chosen: str = "") -> str | None:
    """Return what tells one repository of files from others, in an entry; None if nothing does."""
    if url is None and not chosen:
        return None
    place = "" if url is None else url.removeprefix("file://").rstrip("/")
    return hashlib.sha256(f"{place}\n{chosen}".encode()).hexdigest()[:16]
