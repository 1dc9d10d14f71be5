"""How Go reads YAML: a model of sigs.k8s.io/yaml 1.6, through which kubectl and Argo read.

That package decodes with go.yaml.in/yaml/v2 2.4. The syntax is left to PyYAML, of whose C library
the Go scanner is a translation; `resolve` is its resolve.go, which decides what a plain scalar is.
One difference is meant: Go then turns keys that are numbers or bools into text of its own making,
while here they stay what they are, so that a comparison sees them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

import yaml

_TRUE = "y Y yes Yes YES true True TRUE on On ON"
_FALSE = "n N no No NO false False FALSE off Off OFF"
_WORDS: dict[str, object] = {
    **dict.fromkeys(_TRUE.split(), True),
    **dict.fromkeys(_FALSE.split(), False),
    **dict.fromkeys(["", "~", "null", "Null", "NULL"], None),
    **dict.fromkeys([".nan", ".NaN", ".NAN"], math.nan),
    **dict.fromkeys([".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"], math.inf),
    **dict.fromkeys(["-.inf", "-.Inf", "-.INF"], -math.inf),
}
_INTEGER = re.compile(
    r"(?P<sign>[-+]?)(?:0[bB](?P<b2>[01]+)|0[xX](?P<b16>[0-9a-fA-F]+)|0[oO]?(?P<b8>[0-7]+)"
    r"|(?P<b10>0|[1-9][0-9]*))"
)
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")


def resolve(text: str) -> object:
    """Return the value that Go takes a plain scalar for."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] == ".":
        return _float(text)
    if text[0] not in "+-0123456789":
        return text
    # Timestamps are recognised here, and then handed out as the text that they were.
    digits = text.replace("_", "")
    integer = _integer(digits)
    if integer is not None:
        return integer
    return _float(digits, text) if _FLOAT.fullmatch(digits) else text


def load(text: str) -> object:
    """Read one document."""
    return yaml.load(text, Loader=_Loader)


def load_all(text: str) -> Iterator[object]:
    """Read all documents."""
    return yaml.load_all(text, Loader=_Loader)


def _integer(digits: str) -> int | None:
    """Return what ParseInt or ParseUint with base 0 makes of it; they stop at 64 bits."""
    match = _INTEGER.fullmatch(digits)
    if match is None:
        return None
    base = match.lastgroup
    assert base is not None
    value = int(match["sign"] + match[base], int(base[1:]))
    in_range = -(2**63) <= value < (2**63 if match["sign"] else 2**64)
    return value if in_range else None


def _float(digits: str, otherwise: str | None = None) -> float | str:
    """Return what ParseFloat makes of it, or else the text; out of range is an error there."""
    try:
        value = float(digits)
    except ValueError:
        value = math.inf
    return value if math.isfinite(value) else (otherwise or digits)


class _Loader(yaml.SafeLoader):
    """Leaves plain scalars to `resolve`; PyYAML merges what has the tag of a merge key."""

    def resolve(
        self, kind: type[yaml.Node], value: str | None, implicit: tuple[bool, bool] | bool
    ) -> str:
        if kind is yaml.ScalarNode and isinstance(implicit, tuple) and implicit[0]:
            return "tag:yaml.org,2002:merge" if value == "<<" else "!go"
        return {
            yaml.ScalarNode: "tag:yaml.org,2002:str",
            yaml.SequenceNode: "tag:yaml.org,2002:seq",
            yaml.MappingNode: "tag:yaml.org,2002:map",
        }[kind]


_Loader.add_constructor("!go", lambda _loader, node: resolve(node.value))
