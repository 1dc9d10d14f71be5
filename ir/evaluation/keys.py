"""What a step reads, as it stands in the key of what it does (docs/semantics.md, section 14)."""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from couler.ir.artifacts import ListFiles
from couler.ir.evaluation.instances import bind_inputs
from couler.ir.evaluation.values import Single, Stored, View, resolve, to_json, to_text
from couler.ir.values import TEXTS, Text, dump_json, is_file
from couler.ir.walk import pod_containers
from couler.ir.workflow import Container, Http, Input, Job, Step

Content: t.TypeAlias = Callable[[str], str]
"""Gives what stands in a key for the text of a file."""

NO_CONTENTS: t.Final[Mapping[str, str]] = MappingProxyType({})


def _location(text: str) -> str:
    return text


def key_texts(
    step: Step,
    view: View,
    *,
    sources: Mapping[str, str] = NO_CONTENTS,
    content: Content = _location,
) -> Iterator[str]:
    """Yield what an instance reads, in the order that all engines share, for `cache_key`."""
    for text in _action_texts(step):
        yield _text_of_word(text, view, content)
    inputs = bind_inputs(step, view) if step.inputs else {}
    for given in step.inputs:
        if given.at is not None:
            yield from _texts_of_source(given, view, sources, content)
            continue
        stored = inputs.get(given.name)
        if stored is None:
            yield ""
            continue
        if isinstance(stored, Single) and not is_file(stored.type):
            # Not as an argument would show it: text that is declared `json` has its quotes here.
            yield stored.text
        else:
            yield text_for_key(stored, content)
    for variable in step.env:
        if variable.value is not None:
            yield _text_of_word(variable.value, view, content)
    for container in pod_containers(step):
        for _, text in TEXTS.visit(container):
            if not isinstance(text, str):  # fixed texts are a part of the definition
                yield _text_of_word(text, view, content)
    if step.cache is not None and step.cache.salt is not None:
        yield _text_of_word(step.cache.salt, view, content)
    for output in step.outputs:
        if output.at is not None:
            for _, text in TEXTS.visit(output.at):
                yield text if isinstance(text, str) else to_text(resolve(text, view))


def text_for_key(stored: Stored, content: Content = _location) -> str:
    """Return the text of a value in a key: of a file what stands for its content."""
    if isinstance(stored, Single):
        return content(stored.text) if is_file(stored.type) else to_text(stored)
    return dump_json(
        [
            None if item is None else content(item.text) if is_file(item.type) else to_json(item)
            for item in stored.items
        ]
    )


def _action_texts(step: Step) -> list[Text]:
    action = step.action
    texts: list[Text] = []
    if isinstance(action, Container):
        texts += [word for word in action.command if not isinstance(word, str)]
        texts += action.args
    elif isinstance(action, Http):
        texts.append(action.url)
        texts += [header.value for header in action.headers if header.value is not None]
        if action.body is not None:
            texts.append(action.body)
    elif isinstance(action, Job):
        texts += [given.value for given in action.values]
    elif isinstance(action, ListFiles):
        texts += [text for _, text in TEXTS.visit(action.at)]
    return texts


def _texts_of_source(
    given: Input, view: View, sources: Mapping[str, str], content: Content
) -> Iterator[str]:
    if given.name in sources:
        yield sources[given.name]
    elif given.at is not None:
        for _, text in TEXTS.visit(given.at):
            yield _text_of_word(text, view, content)


def _text_of_word(text: Text, view: View, content: Content) -> str:
    return text if isinstance(text, str) else text_for_key(resolve(text, view), content)
