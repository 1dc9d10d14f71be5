"""The Code Lake: tested programs by which a model sees how things are written."""

from __future__ import annotations

import ast
import functools
import re
import typing as t
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from couler.errors import ConfigurationError

_LARGEST_BYTES = 64 * 1024
_WORD = re.compile(r"[A-Za-z][a-z]+|[A-Z]+(?![a-z])|[a-z]+|\d+")
_COMMON = (
    "a an and are as at be by do each for from has have how i if in into is it its of on one or so "
    "than that the their then this to use we what when which who with workflow you "
    "couler import step def return wf"
)
_COMMON_WORDS = frozenset(_COMMON.split())


@dataclass(frozen=True, slots=True)
class Snippet:
    """A program, and what it shows."""

    name: str
    summary: str
    code: str


# S. Robertson, H. Zaragoza: The Probabilistic Relevance Framework: BM25 and Beyond (2009).
# Couler, section III, step 2.
class CodeLake:
    """Snippets that can be searched."""

    def __init__(self, snippets: Iterable[Snippet]) -> None:
        by_name = {snippet.name: snippet for snippet in snippets}
        self.snippets = tuple(by_name[name] for name in sorted(by_name))

    def search(self, query: str, count: int = 3) -> tuple[Snippet, ...]:
        """Return the snippets that fit a text best, the best first, and no much worse ones."""
        words = [word for word in words_of(query) if word in self._vocabulary]
        if not words or count < 1:
            return ()
        scores = self._index.get_scores(list(dict.fromkeys(words)))
        ranked = sorted(range(len(self.snippets)), key=lambda one: (-scores[one], one))
        least = scores[ranked[0]] / 2
        return tuple(self.snippets[one] for one in ranked[:count] if scores[one] > least)

    @functools.cached_property
    def _documents(self) -> Sequence[list[str]]:
        return [words_of(f"{one.name} {one.summary} {one.code}") for one in self.snippets]

    @functools.cached_property
    def _vocabulary(self) -> frozenset[str]:
        return frozenset(word for words in self._documents for word in words)

    @functools.cached_property
    def _index(self) -> t.Any:
        try:
            import bm25s
        except ImportError as error:
            raise ConfigurationError(
                "searching the Code Lake needs an extra: pip install 'couler[llm]'"
            ) from error
        index = bm25s.BM25()
        index.index(list(self._documents), show_progress=False)
        return index


def words_of(text: str) -> list[str]:
    """Return the words of a text or program: in lower case, without common ones and endings."""
    words = (_stem(word.lower()) for word in _WORD.findall(text.replace("GPUs", "GPU")))
    return [word for word in words if word not in _COMMON_WORDS]


def _stem(word: str) -> str:
    for ending in ("ing", "ed", "s"):
        stem = word.removesuffix(ending)
        if stem != word and len(stem) >= 4 and not word.endswith("ss"):
            return stem
    return word


@functools.cache
def packaged_snippets() -> tuple[Snippet, ...]:
    """Return the snippets that come with Couler, those that show single names among them."""
    from couler.generation.card import api_snippets

    folder = resources.files("couler.generation") / "snippets"
    files = {file.name: file for file in folder.iterdir() if file.name.endswith(".py")}
    found = [
        _snippet(name.removesuffix(".py"), file.read_text(encoding="utf-8"), name)
        for name, file in sorted(files.items())
    ]
    return (*found, *api_snippets())


def read_folder(folder: Path) -> tuple[Snippet, ...]:
    """Return the snippets of a user's folder: its files `*.py`, which are read and never run."""
    if not folder.is_dir():
        raise ConfigurationError(f"{folder} is no folder: name one with programs for the Code Lake")
    found = []
    for path in sorted(folder.glob("*.py")):
        if path.stat().st_size > _LARGEST_BYTES:
            raise ConfigurationError(
                f"{path} is larger than {_LARGEST_BYTES // 1024} KiB: the Code Lake takes programs "
                "that show one thing"
            )
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigurationError(f"{path} cannot be read as text: {error}") from error
        found.append(_snippet(path.stem, text, str(path)))
    if not found:
        raise ConfigurationError(f"{folder} has no programs (*.py) for the Code Lake")
    return tuple(found)


def _snippet(name: str, text: str, file: str) -> Snippet:
    try:
        told = ast.get_docstring(ast.parse(text))
    except (SyntaxError, ValueError, RecursionError) as error:
        raise ConfigurationError(f"{file} is no program of Python: {error}") from error
    if not told:
        raise ConfigurationError(
            f"{file} has no docstring: say in one sentence at its top what it shows"
        )
    return Snippet(name, told.partition("\n")[0], text.strip("\n"))
