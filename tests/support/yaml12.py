"""How YAML 1.2 reads plain scalars: the core schema of its specification (1.2.2, section 10.3.2).

The syntax is left to PyYAML: what 1.2 changed in it are the characters that break lines and those
that may stand unescaped, and a test of the writer checks that it uses none of them. ruamel.yaml
would bring a parser of its own, but its schema is not the core one (it knows timestamps, merge
keys and underscores in numbers).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable

import yaml

_SCHEMA: tuple[tuple[str, Callable[[str], object]], ...] = (
    (r"null|Null|NULL|~|", lambda _: None),
    (r"true|True|TRUE", lambda _: True),
    (r"false|False|FALSE", lambda _: False),
    (r"[-+]?[0-9]+", int),
    (r"0o[0-7]+", lambda text: int(text[2:], 8)),
    (r"0x[0-9a-fA-F]+", lambda text: int(text[2:], 16)),
    (r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", float),
    (r"[-+]?(\.inf|\.Inf|\.INF)", lambda text: float(text.replace(".", ""))),
    (r"\.nan|\.NaN|\.NAN", lambda _: math.nan),
)


def resolve(text: str) -> object:
    """Return the value that the core schema gives a plain scalar."""
    for pattern, construct in _SCHEMA:
        if re.fullmatch(pattern, text):
            return construct(text)
    return text


def load(text: str) -> object:
    """Read one document."""
    return yaml.load(text, Loader=_Loader)


class _Loader(yaml.SafeLoader):
    """Leaves plain scalars to `resolve`; 1.2 has no merge keys."""

    def resolve(
        self, kind: type[yaml.Node], value: str | None, implicit: tuple[bool, bool] | bool
    ) -> str:
        if kind is yaml.ScalarNode and isinstance(implicit, tuple) and implicit[0]:
            return "!core"
        return {
            yaml.ScalarNode: "tag:yaml.org,2002:str",
            yaml.SequenceNode: "tag:yaml.org,2002:seq",
            yaml.MappingNode: "tag:yaml.org,2002:map",
        }[kind]


_Loader.add_constructor("!core", lambda _loader, node: resolve(node.value))
