"""What a step reads, as its cache key has it (docs/semantics.md, section 14)."""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from couler.ir.cachekey import key_fields, texts_of
from couler.ir.semantics.outputs import bind_inputs
from couler.ir.semantics.values import Single, Stored, View, resolve, to_text
from couler.ir.semantics.wire import as_json, dump_json
from couler.ir.values import TEXTS, Text, is_file
from couler.ir.workflow import Step

Content: t.TypeAlias = Callable[[str], str]
"""Returns what a key has for the text of a file."""


def key_texts(
    step: Step,
    view: View,
    *,
    sources: Mapping[str, str] = MappingProxyType({}),
    content: Content = str,
) -> Iterator[str]:
    """Yield what an instance reads, in the order that all engines share, for `cache_key`."""
    for name in key_fields(step):
        if name == "inputs":
            yield from _texts_of_inputs(step, view, sources, content)
        else:
            for text in texts_of(step, name):
                yield _text_of_word(text, view, content)


def _texts_of_inputs(
    step: Step, view: View, sources: Mapping[str, str], content: Content
) -> Iterator[str]:
    inputs = bind_inputs(step, view) if step.inputs else {}
    for given in step.inputs:
        stored = inputs.get(given.name)
        if given.at is not None and given.name in sources:
            yield sources[given.name]
        elif given.at is not None:
            yield from (_text_of_word(text, view, content) for _, text in TEXTS.visit(given.at))
        elif isinstance(stored, Single) and not is_file(stored.type):
            # Not as an argument would show it: text that is declared `json` has its quotes here.
            yield stored.text
        else:
            yield "" if stored is None else _text_for_key(stored, content)


def _text_for_key(stored: Stored, content: Content) -> str:
    """Return the text of a value in a key; of a file that of its content."""
    if isinstance(stored, Single):
        return content(stored.text) if is_file(stored.type) else to_text(stored)
    texts = (
        "null"
        if item is None
        else dump_json(content(item.text))
        if is_file(item.type)
        else as_json(item.text, item.type)
        for item in stored.items
    )
    return f"[{','.join(texts)}]"


def _text_of_word(text: Text, view: View, content: Content) -> str:
    return text if isinstance(text, str) else _text_for_key(resolve(text, view), content)
