"""The key of what a step does: equal keys, equal work (docs/semantics.md, section 14)."""

from __future__ import annotations

from collections.abc import Iterable
from types import MappingProxyType

from couler.backends.local.locations.exchange import Files, bind_targets
from couler.ir.cachekey import cache_key, step_digests, text_digest
from couler.ir.semantics.keys import key_texts
from couler.ir.semantics.values import View
from couler.ir.storage import Volume
from couler.ir.workflow import Container, Script, Step
from couler.store import content_of, is_reference

NO_FILES: Files = MappingProxyType({})


class StepKeys:
    """The keys of the instances of steps that run something."""

    def __init__(self, volumes: Iterable[Volume], *, in_images: bool) -> None:
        self._digest = step_digests(volumes)
        self._in_images = in_images

    def of(self, step: Step, view: View, files: Files = NO_FILES) -> str:
        """Return the key of one instance, in hexadecimal."""
        bind_targets(step, view)  # what cannot be put fails here
        key = cache_key(
            self._digest(step),
            key_texts(
                step,
                view,
                sources={name: fetched.content for name, fetched in files.items()},
                content=_content,
            ),
        )
        if not self._in_images and isinstance(step.action, Container | Script):
            key = text_digest(f"process/{key}")
        name = None if step.cache is None else step.cache.name
        return key if name is None else text_digest(f"{name}/{key}")


def _content(text: str) -> str:
    # A parameter may name a file in any way.
    return content_of(text) if is_reference(text) else text
