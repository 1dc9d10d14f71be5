r"""Manifests of resources, with values of the workflow in them."""

from __future__ import annotations

import json
import re
import typing as t
from collections.abc import Mapping

from couler.backends.argo.processes import way_of_manifest
from couler.backends.argo.tags import Tagged, foreign_tags, has_tag, quote, tag
from couler.backends.argo.templates import Places
from couler.ir.kubernetes_pods import protect_dollars
from couler.ir.values import JsonType, Value, filled
from couler.ir.workflow import Job
from couler.ir.yaml_writer import dump, quote as quote_yaml

MARK = "couler-value"


_LOST = re.compile(r"[\x7f-\x9f\ufffe\uffff]")


def lost_character(text: str) -> str | None:
    """Return a character that does not survive where Argo reads a manifest and writes it anew."""
    found = _LOST.search(text)
    return None if found is None else found[0]


def value_names(job: Job) -> list[str]:
    """Return for each value of a manifest the name of its parameter; equal values share one."""
    names: dict[tuple[Value, JsonType], str] = {}
    return [
        names.setdefault((given.value, given.type), f"value_{len(names)}") for given in job.values
    ]


def resource_manifest(job: Job, places: Places) -> str:
    """Return the manifest of a job as YAML, with tags where values go."""
    is_read = way_of_manifest(job) != "plain"
    known: list[tuple[tuple[str | int, ...], object]] = []
    unknown: list[tuple[tuple[str | int, ...], str]] = []
    for given, name in zip(job.values, value_names(job), strict=True):
        text = places[name].text
        if text is None:
            parameter = places.expression(name)
            expression = value_expression(parameter, given.type, is_read=is_read)
            unknown.append((given.path, tag(expression)))
        else:
            known.append((given.path, text if given.type == "str" else json.loads(text)))
    tree: t.Any = filled(job.manifest, known)
    if is_read:
        tree = _protected(tree)
    plain = dump(tree)
    marks = _Marks(plain)
    if "{{" in plain and not job.set_owner_reference:
        tree = _without_tags(tree, marks)
    text = dump(filled(tree, [(path, marks.mark(written)) for path, written in unknown]))
    is_foreign = "{{" in text and any(foreign_tags(tree))
    text = marks.put_in(text)
    return text if is_foreign else Tagged(text)


class _Marks:
    """Words that stand for what is written into a manifest as it is."""

    def __init__(self, text: str) -> None:
        self._word = MARK
        while self._word in text:
            self._word += "-"
        self._written: list[str] = []

    def mark(self, written: str) -> str:
        """Return the word that stands for a text."""
        self._written.append(written)
        return f"{self._word}-{len(self._written) - 1}-"

    def put_in(self, text: str) -> str:
        """Return a text with what was written in place of the words."""
        if not self._written:
            return text
        word = f"{re.escape(self._word)}-([0-9]+)-"
        return re.sub(word, lambda found: self._written[int(found[1])], text)


def _without_tags(tree: t.Any, marks: _Marks) -> t.Any:
    """Write the texts that hold tags of Argo with an escape of YAML, which Argo does not read."""
    if isinstance(tree, str):
        if not has_tag(tree):
            return tree
        return marks.mark(quote_yaml(tree).replace("{{", "{\\x7b"))
    if isinstance(tree, dict):
        return {key: _without_tags(value, marks) for key, value in tree.items()}
    if isinstance(tree, list):
        return [_without_tags(value, marks) for value in tree]
    return tree


def value_expression(parameter: str, value_type: JsonType, *, is_read: bool = True) -> str:
    r"""Return an expression for a value as YAML, on one line."""
    if value_type == "int":
        return f"int({parameter})"
    if value_type in ("float", "bool"):
        return f"toJson(fromJSON({parameter}))"
    text = parameter if value_type == "str" else f"toJson(fromJSON({parameter}))"
    quoted = f"sprig.quote(replace({text}, '$', '$$'))" if is_read else f"sprig.quote({text})"
    if value_type != "str":
        # Of the quoted JSON, without what quoting did to JSON's own quotes and backslashes, there
        # remain escapes of characters that YAML does not take as they are.
        bare = rf"{quoted}[1:-1]"
        quoted = rf"""replace(replace({bare}, '\\\\', '\\'), '\\"', '"')"""
    return f"replace({quoted}, {quote('{{')}, {quote('{' + chr(92) + 'x7b')})"


def _protected(tree: t.Any) -> t.Any:
    if isinstance(tree, str):
        return protect_dollars(tree)
    if isinstance(tree, Mapping):
        return {protect_dollars(key): _protected(value) for key, value in tree.items()}
    if isinstance(tree, list | tuple):
        return [_protected(value) for value in tree]
    return tree
