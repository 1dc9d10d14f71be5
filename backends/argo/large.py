"""Texts so large that Argo hands them on in another way, past the kubelet."""

from __future__ import annotations

import json
import re
import typing as t
from collections.abc import Iterable, Sequence

from couler.backends.argo.scope import wire_text
from couler.backends.argo.tags import has_tag, protect
from couler.ir.kubernetes_pods import needs_dollars
from couler.ir.values import Literal, Text
from couler.ir.walk import step_values
from couler.ir.wire import ValueType, dump_json
from couler.ir.workflow import Job, Script, Step
from couler.ir.yaml_writer import dump as dump_yaml

OFFLOAD_BYTES = 131_072
"""Most bytes of a template, or of the arguments of a container, that the kubelet reads."""

_SURELY_KEPT = OFFLOAD_BYTES - 16 * 1024
"""A template whose known texts take less is below `OFFLOAD_BYTES` with all else in it."""

ArgumentsWay: t.TypeAlias = t.Literal["kubelet", "config_map", "none"]
"""How arguments travel; `none` if they would be changed either way."""

ScriptWay: t.TypeAlias = t.Literal["plain", "protected", "argument", "none"]
"""How a script travels: as it is, protected from the kubelet, as an argument of the interpreter."""

_BOUNDED: tuple[ValueType, ...] = ("int", "float", "bool", "file", "directory")
"""Types of values that are short, whatever they are."""

ManifestWay: t.TypeAlias = t.Literal["plain", "protected", "none"]
"""How a manifest travels: past the kubelet or protected from it; `none` if nobody can tell."""

_FLAGS = {
    **dict.fromkeys(("python", "sh", "bash", "dash", "ash", "zsh", "ksh"), "-c"),
    **dict.fromkeys(("perl", "ruby", "node"), "-e"),
}
_GO_ESCAPES = re.compile("[<>&\u2028\u2029]")
_CHANGED_IN_SCRIPT = re.compile(r"\$\$|\$\((?=[^)]*[A-Z_])[-.\w]+\)", re.ASCII)


def json_bytes(text: str) -> int:
    r"""Return how many bytes a text takes as JSON of Go."""
    written = json.dumps(text, ensure_ascii=False)
    return len(written.encode()) + sum(
        6 - len(found[0].encode()) for found in _GO_ESCAPES.finditer(text)
    )


def words_bytes(words: Iterable[str]) -> int:
    """Return how many bytes a list of texts takes as JSON."""
    sizes = [json_bytes(word) + 1 for word in words]
    return 1 + max(1, sum(sizes))


def constant_text(text: Text) -> str | None:
    """Return a text that is known before the run, or None."""
    if isinstance(text, str):
        return text
    return wire_text(text.value) if isinstance(text, Literal) else None


def way_of_arguments(args: Sequence[Text]) -> ArgumentsWay:
    """Return how the arguments of a container travel, as far as they are known before the run."""
    known = [text if isinstance(text, str) else constant_text(text) for text in args]
    texts = [text for text in known if text is not None]
    if sum(map(len, texts)) * 6 < OFFLOAD_BYTES // 2:  # all of them escaped and protected
        return "kubelet"
    if words_bytes(text or "" for text in known) > OFFLOAD_BYTES:
        return "none" if any(map(has_tag, texts)) else "config_map"
    if None in known or words_bytes(map(protect, texts)) <= OFFLOAD_BYTES:
        return "kubelet"
    return "none"


def argument_flag(command: Sequence[str]) -> str | None:
    """Return the option by which an interpreter takes a script as an argument, if it is known."""
    return _FLAGS.get(command[0].rsplit("/", 1)[-1].rstrip("0123456789."))


def way_of_script(step: Step, action: Script) -> ScriptWay:
    """Return how the script of a step travels."""
    source = action.source
    if has_tag(source):
        return _as_argument(action)
    if _CHANGED_IN_SCRIPT.search(source) is None or json_bytes(source) > OFFLOAD_BYTES:
        return "plain"
    if _is_surely_kept(step, source):
        return "protected"
    return _as_argument(action)


def way_of_manifest(job: Job) -> ManifestWay:
    """Return how the manifest of a resource travels, as far as it is known before the run."""
    text = dump_json(job.manifest)
    if len(text) * 12 < _SURELY_KEPT:  # all of it escaped and protected
        return "protected"
    size = json_bytes(dump_yaml(job.manifest))
    if size > OFFLOAD_BYTES:
        return "plain"
    is_read = needs_dollars(text) or any(given.type not in _BOUNDED for given in job.values)
    return "none" if is_read and size * 2 >= _SURELY_KEPT else "protected"


def _as_argument(action: Script) -> ScriptWay:
    if argument_flag(action.command) is None:
        return "none"
    return "argument" if way_of_arguments([action.source]) == "kubelet" else "none"


def _is_surely_kept(step: Step, source: str) -> bool:
    """Whether the kubelet reads the template, whatever the values are at run time."""
    bounded = {f"inputs.{given.name}" for given in step.inputs if given.type in _BOUNDED}
    for field, value in step_values(step):
        of_task = field in ("when", "loop") or field.startswith("foreach.")
        if not of_task and field not in bounded and constant_text(value) is None:
            return False
    protection = 2 if needs_dollars(source) else 1
    rest = step.model_dump_json(exclude={"action": {"source"}}, exclude_defaults=True)
    return json_bytes(source) * protection + json_bytes(rest) * 2 < _SURELY_KEPT
