"""The key of what a step does: equal keys, equal work (docs/semantics.md, section 14)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import MappingProxyType

from couler.backends.local.ends import bind_inputs
from couler.backends.local.locations.exchange import Files, bind_targets
from couler.backends.local.values import (
    Single,
    Stored,
    View,
    resolve,
    to_json,
    to_text,
)
from couler.ir.artifacts import location_texts
from couler.ir.cachekey import cache_key, definition_digest, text_digest
from couler.ir.listing import ListFiles
from couler.ir.pods import container_texts
from couler.ir.storage import Volume
from couler.ir.values import Text
from couler.ir.walk import pod_containers
from couler.ir.wire import dump_json, is_file
from couler.ir.workflow import Container, Http, Input, Script, Step
from couler.store import content_of, is_reference

NO_FILES: Files = MappingProxyType({})


class StepKeys:
    """The keys of the instances of steps that run something.

    A key is that of `couler.ir.cachekey`, with the contents of files in place of their references;
    entries of a cache with a name have keys of their own. So have steps that run without their
    image, since what this machine has in its place may give other results.

    Parameters
    ----------
    volumes
        Of the workflow.
    in_images
        Whether steps run in containers of their images.
    """

    def __init__(self, volumes: Iterable[Volume], *, in_images: bool) -> None:
        self._volumes = {volume.name: volume for volume in volumes}
        self._in_images = in_images
        self._digests: dict[int, tuple[Step, str]] = {}

    def of(self, step: Step, view: View, files: Files = NO_FILES) -> str:
        """Return the key of one instance, in hexadecimal.

        Parameters
        ----------
        step
            The step.
        view
            What the instance can read.
        files
            What has come from outside of the workflow; where an input lacks, its location
            stands for it.

        Raises
        ------
        EvaluationError, WireError
            As `resolve`.
        """
        key = cache_key(self._digest(step), _texts(step, view, files))
        if not self._in_images and isinstance(step.action, Container | Script):
            key = text_digest(f"process/{key}")
        name = None if step.cache is None else step.cache.name
        return key if name is None else text_digest(f"{name}/{key}")

    def _digest(self, step: Step) -> str:
        """Return the digest of a step's definition, which its instances share."""
        known = self._digests.get(id(step))
        if known is None:  # the step is kept, so that no other has its number
            self._digests[id(step)] = known = (step, definition_digest(step, self._volumes))
        return known[1]


def _texts(step: Step, view: View, files: Files) -> Iterator[str]:
    """Yield what a step reads, in the order that all engines share."""
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
    elif isinstance(action, ListFiles):
        texts += [text for _, text in location_texts(action.at)]
    for text in texts:
        yield _text_of_word(text, view)
    inputs = bind_inputs(step, view) if step.inputs else {}
    for given in step.inputs:
        if given.at is not None:
            yield from _texts_of_source(given, view, files)
            continue
        stored = inputs.get(given.name)
        if stored is None:
            yield ""
            continue
        if isinstance(stored, Single) and not is_file(stored.type):
            # Not as an argument would show it: text that is declared `json` has its quotes here.
            yield stored.text
        else:
            yield text_for_key(stored)
    for variable in step.env:
        if variable.value is not None:
            yield _text_of_word(variable.value, view)
    for container in pod_containers(step):
        for _, text in container_texts(container):
            if not isinstance(text, str):  # fixed texts are a part of the definition
                yield _text_of_word(text, view)
    if step.cache is not None and step.cache.salt is not None:
        yield _text_of_word(step.cache.salt, view)
    for location in bind_targets(step, view).values():
        for _, text in location_texts(location):
            yield str(text)


def _texts_of_source(given: Input, view: View, files: Files) -> Iterator[str]:
    if given.name in files:
        yield files[given.name].content
    elif given.at is not None:
        for _, text in location_texts(given.at):
            yield _text_of_word(text, view)


def _text_of_word(text: Text, view: View) -> str:
    return text if isinstance(text, str) else text_for_key(resolve(text, view))


def text_for_key(stored: Stored) -> str:
    """Return the text of a value in a key: of a file its content, without its name.

    Examples
    --------
    >>> text_for_key(Single("ab" * 32 + "/report.html", "file")) == "ab" * 32
    True
    """
    if isinstance(stored, Single):
        return _content(stored.text) if is_file(stored.type) else to_text(stored)
    return dump_json(
        [
            None if item is None else _content(item.text) if is_file(item.type) else to_json(item)
            for item in stored.items
        ]
    )


def _content(text: str) -> str:
    # A parameter may name a file in any way.
    return content_of(text) if is_reference(text) else text
