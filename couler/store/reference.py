"""The text that stands for a stored file or directory, and travels between steps."""

from __future__ import annotations

import re
import typing as t
from dataclasses import dataclass
from urllib.parse import unquote_to_bytes

from couler.errors import ArtifactError

Kind: t.TypeAlias = t.Literal["file", "executable", "directory"]

_MARKS: t.Final[dict[Kind, str]] = {"file": "", "executable": "*", "directory": "/"}
_KINDS: t.Final[dict[str, Kind]] = {"*": "executable", "/": "directory"}
_TEXT = re.compile(r"([0-9a-f]{64})/([^/*\x00-\x1f\x7f-\x9f\ud800-\udfff]+)([/*]?)")
# The marks, control characters, and the bytes of a name that are no UTF-8.
_UNSAFE = re.compile(r"[%*\x00-\x1f\x7f-\x9f\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Reference:
    """A stored file or directory."""

    digest: str
    name: str
    kind: Kind = "file"

    def __str__(self) -> str:
        name = _UNSAFE.sub(_quote, self.name)
        return f"{self.digest}/{name}{_MARKS[self.kind]}"

    @property
    def content(self) -> str:
        """What the reader of the file can tell: the digest and the mark, without the name."""
        return self.digest + _MARKS[self.kind]


def parse_reference(text: str) -> Reference:
    """Return what a reference says."""
    match = _TEXT.fullmatch(text)
    if match is not None:
        digest, quoted, mark = match.groups()
        name = unquote_to_bytes(quoted).decode("utf-8", "surrogateescape")
        reference = Reference(digest, name, _KINDS.get(mark, "file"))
        is_name = name not in (".", "..") and "/" not in name and "\0" not in name
        if is_name and str(reference) == text:  # a name has one spelling
            return reference
    raise ArtifactError(f"{text[:200]!r} is no reference to a stored file")


def is_reference(text: str) -> bool:
    """Return whether a text is a reference."""
    try:
        parse_reference(text)
    except ArtifactError:
        return False
    return True


def content_of(text: str) -> str:
    """Return what stands for a file in the key of a cached step: its content, without its name."""
    return parse_reference(text).content


def _quote(match: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in match[0].encode("utf-8", "surrogateescape"))
