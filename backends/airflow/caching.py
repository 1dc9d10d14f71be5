"""Caches of steps: the keys of their entries, and what looks for these in the pod."""

from __future__ import annotations

import math
from collections.abc import Iterator

from couler.backends.airflow.files import Writer, has_files
from couler.backends.airflow.module import Module
from couler.backends.airflow.options import Options
from couler.backends.airflow.outputs import as_written
from couler.backends.airflow.python import Call, Code, Expression, call, value_of
from couler.backends.airflow.reading import Read, Scope, of_text
from couler.ir.cachekey import definition_digest, key_fields, text_digest, texts_of
from couler.ir.code_files import own_inputs
from couler.ir.policies import Cache
from couler.ir.values import TEXTS, Text, is_file
from couler.ir.workflow import Step, Workflow

MARK = ".cached"
"""What the wrapper hands on besides if it took an entry: its key. No output has such a name."""


class Caches:
    """Writes what the wrapper of a cached step is told."""

    def __init__(
        self, workflow: Workflow, options: Options, module: Module, writer: Writer
    ) -> None:
        self._volumes = {volume.name: volume for volume in workflow.volumes}
        self._module, self._writer = module, writer
        self._own_name = workflow.name
        self._claim = options.files_claim
        root = options.files_path.strip("/")
        self._folder = f"{root}/cache" if root else "cache"

    def cached(self, step: Step, cache: Cache, scope: Scope, made: Call) -> Call:
        """Return what a pod needs to run a process that has a cache."""
        mounts = self._claim is not None and not has_files(step)
        return call(
            self._module.use("with_cache"),
            made,
            self._writer.text(f"{self._folder}/{cache.name or self._own_name}", scope),
            list(self._digests(step, scope)),
            max_age_s=None if cache.max_age_s is None else math.ceil(cache.max_age_s),
            files=[f"{one.type}:{one.name}" for one in step.outputs if is_file(one.type)] or None,
            claim=Code(self._module.refer("FILES_CLAIM")) if mounts else None,
        )

    def _digests(self, step: Step, scope: Scope) -> Iterator[Expression]:
        """Yield what the digest of is the key, that of `couler.ir.cachekey.cache_key`."""
        yield value_of(definition_digest(as_written(step), self._volumes))
        for read in self._texts(step, scope):
            if read.constant is None:
                yield self._writer.value(Read(f"sha256({read.code})", is_plain=True))
            else:
                yield value_of(text_digest(read.constant))

    def _texts(self, step: Step, scope: Scope) -> Iterator[Read]:
        """Yield what an instance reads, in the order of `couler.ir.semantics.keys.key_texts`."""

        def read(text: Text) -> Read:
            return of_text(text) if isinstance(text, str) else scope.read(text).to("str")

        for name in key_fields(step):
            if name != "inputs":
                yield from map(read, texts_of(step, name))
                continue
            for given in own_inputs(step):
                if given.at is not None:
                    yield from (read(text) for _, text in TEXTS.visit(given.at))
                elif given.value is not None:
                    yield scope.input(given.value, given.type)
