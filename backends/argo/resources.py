r"""Manifests of resources, with values of the workflow in them.

A manifest is YAML in a field of the template. On its way to the cluster it is read by

- Argo, which puts values in: a tag stands for the whole of a scalar, and what it gives is written
  as YAML reads it back: text with Go's quotes, whose escapes are those of YAML, other values as
  JSON. So a value can hold quotes, line breaks and braces, and never becomes a part of the
  manifest's own structure;
- the kubelet, as the template is in the environment of a container: `$$` and `$(NAME)`;
- Argo once more where the run owns the resource: it reads and writes the YAML anew. Escapes of YAML
  are gone then, so dollars are doubled in the text itself.
"""

from __future__ import annotations

import json
import re
import typing as t
from collections.abc import Mapping

from couler.backends.argo.expressions import quote, tag
from couler.backends.argo.text import protect_dollars
from couler.ir.manifests import JsonType, filled
from couler.ir.values import Value
from couler.ir.workflow import Job
from couler.ir.yaml_writer import dump

MARK = "couler-value"


class Place(t.Protocol):
    """A place for a text in a template, and what fills it."""

    @property
    def name(self) -> str:
        """Name of the parameter."""

    @property
    def text(self) -> str | None:
        """The text, or None where it is a parameter."""


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


def resource_manifest(job: Job, places: Mapping[str, Place]) -> str:
    """Return the manifest of a job as YAML, with tags where values go.

    Parameters
    ----------
    job
        The job.
    places
        What fills the parameters of its values, by their names.
    """
    plain = dump(_protected(job.manifest))
    mark = MARK
    while mark in plain:
        mark += "-"
    values: list[tuple[tuple[str | int, ...], object]] = []
    tags: dict[str, str] = {}
    for index, (given, name) in enumerate(zip(job.values, value_names(job), strict=True)):
        place = places[name]
        if place.text is not None:
            text = protect_dollars(place.text)
            values.append((given.path, text if given.type == "str" else json.loads(text)))
        else:
            word = f"{mark}-{index}-"
            tags[word] = tag(value_expression(f"inputs.parameters.{place.name}", given.type))
            values.append((given.path, word))
    text = dump(filled(t.cast("dict[str, t.Any]", _protected(job.manifest)), values))
    return re.sub(f"{re.escape(mark)}-[0-9]+-", lambda found: tags[found[0]], text)


def value_expression(parameter: str, value_type: JsonType) -> str:
    r"""Return an expression for a value as YAML, on one line and with its dollars doubled.

    Examples
    --------
    >>> value_expression("x", "int")
    'int(x)'
    >>> print(value_expression("x", "str"))
    replace(sprig.quote(replace(x, '$', '$$')), '{\u007b', '{\\x7b')
    """
    if value_type == "int":
        return f"int({parameter})"
    if value_type in ("float", "bool"):
        return f"toJson(fromJSON({parameter}))"
    text = parameter if value_type == "str" else f"toJson(fromJSON({parameter}))"
    quoted = f"sprig.quote(replace({text}, '$', '$$'))"
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
