"""Write JSON-like trees as YAML that readers of YAML 1.1, of YAML 1.2 and Go take alike."""

from __future__ import annotations

import functools
import json
import math
import re
import typing as t
from collections.abc import Iterable
from json.encoder import encode_basestring

JsonTree: t.TypeAlias = dict[str, t.Any] | list[t.Any] | tuple[t.Any, ...] | str | float | None
"""What JSON can hold, all the way down (an int or a bool is a float to a type checker)."""

_FLOW_WIDTH = 90  # characters of a list or a map on one line, with its indentation
_FLOW_DEPTH = 4  # those of the indentation of the outermost map that can be on one line
_LONG = 200  # characters; a longer block is written once, and has an anchor if it is repeated

# Numbers and times begin with a digit, sign or point: of these only options and ./paths are plain.
_is_plain = re.compile(
    r"(?:-{0,2}[A-Za-z_]|\.{0,2}/)[\w./+=@%~-]*(?:[: ](?=[\w/])[\w./+=@%~-]*)*", re.ASCII
).fullmatch
_WORDS = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf"})

# Control characters; line breaks of YAML 1.1 alone; marks that turn the direction of writing and
# so show a reader other text than the program gets; surrogates; byte order marks; non-characters.
_hidden = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff\ufffe\uffff]"
)


def dump(tree: JsonTree) -> str:
    r"""Write a tree as one YAML document, which ends with a line break."""
    try:
        return _Writer().document(tree)
    except _NoFormError as error:
        *path, reason = error.args
        raise ValueError(f"cannot write as YAML what is at {path or 'root'}: {reason}") from None
    except RecursionError:
        raise ValueError("cannot write as YAML: the tree holds itself, or is too deep") from None


def dump_all(documents: Iterable[JsonTree]) -> str:
    """Write several documents, with a line `---` between them; see `dump`."""
    return "---\n".join(map(dump, documents))


def dump_as_json(tree: object) -> str:
    """Write a tree as JSON on one line that is YAML as well, as which Kubernetes applies it."""
    # Readers of YAML refuse these, or take them for ends of lines. All others stay as they are:
    # two escapes, which JSON has for an emoji, are no character there.
    odd = (*range(0x7F, 0xA0), 0x2028, 0x2029, 0xFEFF, 0xFFFE, 0xFFFF)
    written = json.dumps(tree, ensure_ascii=False, separators=(",", ":"))
    return written.translate({one: f"\\u{one:04x}" for one in odd})


class _NoFormError(Exception):
    """The arguments are the keys from the root to what cannot be written, then the reason."""


class _Writer:
    def __init__(self) -> None:
        self._parts: list[str] = []  # each begins with its line break
        self._key, self._text = functools.cache(_key), functools.cache(_text)
        self._blocks: dict[str, tuple[int, int]] = {}
        """Of long blocks: the index of the part by the text, and where it begins in that part."""
        self._anchors: dict[str, str] = {}

    def document(self, tree: JsonTree) -> str:
        if (line := self._line(tree, "")) is None:
            self._lines(tree, "\n")
        return (line or "".join(self._parts)[1:]) + "\n"

    def _lines(self, tree: t.Any, pad: str, lead: str = "") -> None:
        """Write pairs or items: `pad` goes before each, but `lead`, if given, before the first."""
        key_of, line_of, put, deeper = self._key, self._line, self._parts.append, pad + "  "
        keyed = isinstance(tree, dict)
        for key, value in tree.items() if keyed else enumerate(tree):
            try:
                head = (lead or pad) + (key_of(key) if keyed else "-")
                lead = ""
                line = line_of(value, deeper)
                if line is not None and len(line) > _LONG and line[0] == "|":
                    put(f"{head} {self._alias(value, len(head) + 1) or line}")
                elif line is not None:
                    put(f"{head} {line}")
                elif keyed:
                    put(head)
                    self._lines(value, deeper if isinstance(value, dict) else pad)
                else:
                    self._lines(value, deeper, head + " ")
            except _NoFormError as error:
                error.args = (key, *error.args)
                raise

    def _alias(self, text: str, begin: int) -> str | None:
        """Return the alias of a text that is repeated; None the first time."""
        index, at = self._blocks.setdefault(text, (len(self._parts), begin))
        if index == len(self._parts):
            return None
        if text not in self._anchors:
            self._anchors[text] = name = f"text-{len(self._anchors) + 1}"
            part = self._parts[index]
            self._parts[index] = f"{part[:at]}&{name} {part[at:]}"
        return f"*{self._anchors[text]}"

    def _line(self, value: t.Any, pad: str) -> str | None:
        """Return what stands after a key or dash; None if lines of its own are needed."""
        if isinstance(value, str):
            return self._text(value) or (_block(value, pad) if pad else quote(value))
        if not isinstance(value, (dict, list, tuple)):
            return _scalar(value)
        if not value:
            return "{}" if isinstance(value, dict) else "[]"
        is_map = isinstance(value, dict)
        if is_map and (len(pad) < _FLOW_DEPTH or _is_deep(value)):
            return None
        words: list[str] = []
        room = _FLOW_WIDTH - len(pad)
        pairs: t.Any = value.items() if isinstance(value, dict) else enumerate(value)
        for key, item in pairs:
            word = self._text(item) if isinstance(item, str) else self._line(item, pad)
            if not word:
                return None
            words.append(f"{self._key(key)} {word}" if is_map else word)
            room -= len(words[-1]) + 2
            if room < 0:
                return None
        line = ", ".join(words)
        return f"{{{line}}}" if is_map else f"[{line}]"


def _is_deep(tree: t.Any) -> bool:
    """Whether a map is written on several lines, however short, for what it holds."""
    for value in tree.values():
        if value.__class__ is str:  # most are, and an isinstance that says no takes longer
            continue
        if isinstance(value, dict):
            if len(value) > 2 or _is_deep(value):
                return True
        elif isinstance(value, (list, tuple)) and value and isinstance(value[0], dict):
            return True
    return False


def _key(key: object) -> str:
    text = (_text(key) or quote(key)) if isinstance(key, str) else ""
    if not 0 < len(text) <= 1024:  # readers look no further for the colon
        raise _NoFormError("the key is too long" if text else "the key is no text")
    return text + ":"


def _text(text: str) -> str:
    """Return text on one line; empty for a block, whose indentation depends on its place."""
    if _is_plain(text) and text.lower() not in _WORDS:
        return str.__str__(text)  # a member of an enumeration would show its name
    return "" if "\n" in text and not (text.isspace() or _hidden.search(text)) else quote(text)


def quote(text: str) -> str:
    r"""Return text in double quotes, as `dump` writes what cannot be plain."""
    if text.isprintable():
        return encode_basestring(text)
    if re.search(r"[\ud800-\udfff]", text):
        raise _NoFormError("the text holds half a surrogate pair")
    return _hidden.sub(lambda match: f"\\u{ord(match[0]):04x}", encode_basestring(text))


def _scalar(value: object) -> str:
    if value is None or (isinstance(value, int) and -(2**63) <= value < 2**64):
        return json.dumps(value)
    if isinstance(value, float) and math.isfinite(value):
        digits, e, exponent = float.__repr__(value).partition("e")
        return digits + ("" if "." in digits else ".0") + e + exponent  # YAML 1.1 wants the point
    raise _NoFormError(f"{type(value).__name__} is not of JSON, or the number is out of range")


def _block(text: str, pad: str) -> str:
    body = text.rstrip("\n")
    end = ("-", "", "+")[min(len(text) - len(body), 2)]
    lines = "".join(pad + line if line else "\n" for line in body.split("\n"))
    # Readers guess the indentation from the first line with text, and trip over a blank there.
    return f"|{'2' * text[0].isspace()}{end}{lines}" + text[len(body) + 1 :]
