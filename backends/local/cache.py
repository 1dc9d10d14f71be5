"""Outputs of earlier runs in place of running a step (docs/semantics.md, section 14)."""

from __future__ import annotations

import typing as t
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property

from couler.backends.local.values import (
    Gathered,
    Outputs,
    Single,
    Stored,
    View,
    bind_input,
    resolve,
    to_json,
    to_text,
)
from couler.errors import ArtifactError, LostArtifactError
from couler.ir.cachekey import cache_key, definition_digest, text_digest
from couler.ir.values import Text
from couler.ir.wire import ValueType, dump_json, is_file
from couler.ir.workflow import Container, Http, Step
from couler.state.cache import add_entry, list_entries, look_up, touch_entry
from couler.state.database import Database
from couler.state.policy import AdmitAll, CachePolicy, Candidate, Entry
from couler.state.records import CacheDecision, DecisionKind, Json
from couler.store import ObjectStore, content_of, is_reference


def step_key(step: Step, view: View) -> str:
    """Return the key of one instance of a step that runs something, in hexadecimal.

    It is that of `couler.ir.cachekey`, with the contents of files in place of their references;
    entries of a cache with a name have keys of their own.

    Parameters
    ----------
    step
        A step with a `cache`.
    view
        What the instance can read.

    Raises
    ------
    EvaluationError, WireError
        As `resolve`.
    """
    key = cache_key(definition_digest(step), _texts(step, view))
    name = None if step.cache is None else step.cache.name
    return key if name is None else text_digest(f"{name}/{key}")


def _texts(step: Step, view: View) -> Iterator[str]:
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
    for text in texts:
        yield _text_of_word(text, view)
    for given in step.inputs:
        stored = bind_input(given, view)
        if isinstance(stored, Single) and not is_file(stored.type):
            # Not as an argument would show it: text that is declared `json` has its quotes here.
            yield stored.text
        else:
            yield text_for_key(stored)
    for variable in step.env:
        if variable.value is not None:
            yield _text_of_word(variable.value, view)
    if step.cache is not None and step.cache.salt is not None:
        yield _text_of_word(step.cache.salt, view)


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


def write_outputs(outputs: Outputs) -> dict[str, Json]:
    """Return outputs as the database holds them.

    Examples
    --------
    >>> write_outputs({"n": Single("1", "int")})
    {'n': {'text': '1', 'type': 'int'}}
    """
    return {
        name: [_write_item(item) for item in stored.items]
        if isinstance(stored, Gathered)
        else _write_item(stored)
        for name, stored in outputs.items()
    }


def read_outputs(tree: Mapping[str, Json]) -> Outputs:
    """Return outputs from what the database holds.

    Raises
    ------
    ValueError
        Another version wrote them in another way.

    Examples
    --------
    >>> read_outputs({"n": {"text": "1", "type": "int"}})
    {'n': Single(text='1', type='int')}
    """
    return {
        name: Gathered(tuple(None if item is None else _read_item(item) for item in stored))
        if isinstance(stored, list)
        else _read_item(stored)
        for name, stored in tree.items()
    }


def _write_item(item: Single | None) -> Json:
    return None if item is None else {"text": item.text, "type": item.type}


def _read_item(item: Json) -> Single:
    match item:
        case {"text": str(text), "type": str(value_type)} if value_type in _TYPES:
            return Single(text, t.cast("ValueType", value_type))
    raise ValueError(f"no output of a step: {item!r:.100}")


_TYPES = t.get_args(ValueType)


@dataclass(frozen=True, slots=True)
class Found:
    """What the cache has for a step.

    Attributes
    ----------
    decision
        For the journal: a hit, or a miss and why.
    outputs
        The outputs, None for a miss.
    source_run
        The run that made them.
    """

    decision: CacheDecision
    outputs: Outputs | None = None
    source_run: str | None = None


class StepCache:
    """The cache as one run uses it.

    May be used by several threads at once. Reading and hashing files takes its time: an engine
    calls it beside its loop.

    Parameters
    ----------
    database
        Holds the entries.
    store
        Holds their files.
    run_id, workflow
        The run, and the name of its workflow.
    policy
        Decides what is kept.
    """

    def __init__(
        self,
        database: Database,
        store: ObjectStore,
        *,
        run_id: str,
        workflow: str,
        policy: CachePolicy | None = None,
    ) -> None:
        self._database = database
        self._store = store
        self._run_id = run_id
        self._workflow = workflow
        self._policy: CachePolicy = AdmitAll() if policy is None else policy

    def find(
        self, key: str, path: str, outputs: Collection[str], *, max_age_s: float | None = None
    ) -> Found:
        """Look for the outputs of a step, and check that all of their files are whole.

        What is found cannot be collected as garbage before the step is recorded, if that is done
        within the grace period.

        Parameters
        ----------
        key
            `step_key` of the instance.
        path
            Text of the instance's path.
        outputs
            Names of the outputs that are needed.
        max_age_s
            How old they may be, in seconds.
        """
        now = datetime.now(UTC)
        entry = look_up(self._database, key)
        if entry is None:
            return Found(_decision(path, key, "miss", "there is no entry", now))
        try:
            if max_age_s is not None and (now - entry.created).total_seconds() > max_age_s:
                raise _UnusableError(f"the entry is too old, {_made(entry)}")
            found = self._take(entry, outputs)
        except _UnusableError as error:
            return Found(_decision(path, key, "miss", str(error), now))
        touch_entry(self._database, key, now)
        reason = f"the entry was {_made(entry)}"
        return Found(_decision(path, key, "hit", reason, now), found, entry.run_id)

    def offer(
        self, key: str, path: str, step: str, outputs: Outputs, *, cost_s: float
    ) -> list[CacheDecision]:
        """Let the policy decide about outputs that a step has just made, and do as it says.

        Parameters
        ----------
        key, path
            As in `find`.
        step
            Name of the step.
        outputs
            What it made; the files are in the store.
        cost_s
            What it took, in seconds.

        Returns
        -------
        list of CacheDecision
            For the journal: what was done with the outputs, then what was evicted for them.
        """
        now = datetime.now(UTC)
        try:
            size_bytes, digests = self._measure(outputs)
        except (ArtifactError, OSError) as error:
            return [_decision(path, key, "rejected", str(error), now)]
        candidate = Candidate(
            key=key,
            workflow=self._workflow,
            step=step,
            size_bytes=size_bytes,
            cost_s=cost_s,
            run_id=self._run_id,
            path=path,
        )
        told = self._policy.decide(candidate, _Entries(self._database))
        if not told.admit:
            return [_decision(path, key, "rejected", told.reason, now)]
        entry = Entry(
            key=key,
            workflow=self._workflow,
            step=step,
            size_bytes=size_bytes,
            cost_s=cost_s,
            run_id=self._run_id,
            path=path,
            outputs=write_outputs(outputs),
            created=now,
            last_used=now,
        )
        evicted = add_entry(self._database, entry, digests, evict=told.evict)
        return [
            _decision(path, key, "stored", told.reason, now),
            *(
                _decision(path, gone, "evicted", f"for {path}: {told.reason}", now)
                for gone in evicted
            ),
        ]

    def _take(self, entry: Entry, names: Collection[str]) -> Outputs:
        try:
            outputs = read_outputs(entry.outputs)
        except ValueError:
            raise _UnusableError("the entry was written by another version") from None
        missing = [name for name in names if name not in outputs]
        if missing:
            raise _UnusableError(f'the entry has no output "{missing[0]}"')
        for text in references(outputs):
            try:
                # First made young, then checked: nobody collects it in between.
                self._store.touch(text)
                self._store.verify(text)
            except LostArtifactError as error:
                raise _UnusableError(str(error).partition(":")[0]) from None
            except (ArtifactError, OSError) as error:
                raise _UnusableError(str(error)) from None
        return {name: outputs[name] for name in names}

    def _measure(self, outputs: Outputs) -> tuple[int, list[str]]:
        """Return how many bytes outputs take, and the objects that hold their files."""
        size_bytes = sum(len(item.text.encode()) for item in _items(outputs))
        digests: list[str] = []
        for text in references(outputs):
            size_bytes += self._store.size(text)
            digests += self._store.digests(text)
        return size_bytes, digests


class _UnusableError(Exception):
    """An entry cannot stand for a step, and why."""


class _Entries(Sequence[Entry]):
    """The entries of a database, read when they are first looked at."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @cached_property
    def _entries(self) -> list[Entry]:
        return list_entries(self._database)

    @t.overload
    def __getitem__(self, index: int) -> Entry: ...
    @t.overload
    def __getitem__(self, index: slice) -> Sequence[Entry]: ...
    def __getitem__(self, index: int | slice) -> Entry | Sequence[Entry]:
        return self._entries[index]

    def __len__(self) -> int:
        return len(self._entries)


def _decision(
    path: str, key: str, decision: DecisionKind, reason: str, at: datetime
) -> CacheDecision:
    return CacheDecision(path=path, key=key, decision=decision, reason=reason, at=at)


def _items(outputs: Outputs) -> Iterator[Single]:
    for stored in outputs.values():
        for item in stored.items if isinstance(stored, Gathered) else (stored,):
            if item is not None:
                yield item


def references(outputs: Outputs) -> Iterator[str]:
    """Yield what the store holds; the default of a file that was not written is no reference."""
    return (item.text for item in _items(outputs) if is_file(item.type) and is_reference(item.text))


def _made(entry: Entry) -> str:
    return f"made by {entry.run_id} on {entry.created:%Y-%m-%d %H:%M} UTC"
