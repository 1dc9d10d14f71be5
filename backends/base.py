"""What a backend is: a declared set of abilities, and a compiler to files.

A backend is a folder of `backends/` (or a package of a third party) and a line in the entry
points `couler.backends`. It declares for every feature of the IR whether the engine does it
itself, whether the compiler lowers it to something else, why the engine ignores it, or why it
cannot be had.
"""

from __future__ import annotations

import typing as t
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path

from couler.errors import EngineOptionError
from couler.ir.defaults import Storages
from couler.ir.diagnostics import Diagnostic, did_you_mean
from couler.ir.features import Feature
from couler.ir.sizes import Footprint, Limits
from couler.ir.uses import features, find_uses
from couler.ir.workflow import Workflow

UNSUPPORTED_CODE = "CLR301"

RuntimeName: t.TypeAlias = t.Literal["process", "docker", "podman"]
RUNTIMES: tuple[RuntimeName, ...] = t.get_args(RuntimeName)


@dataclass(frozen=True, slots=True)
class Native:
    """The engine does it itself."""


@dataclass(frozen=True, slots=True)
class Lowered:
    """The compiler makes it from other things that the engine does."""

    by: str
    """How, in a few words."""


@dataclass(frozen=True, slots=True)
class Ignored:
    """The engine does nothing with it, and runs come to the same end; it is reported once a run."""

    why: str
    """Why, in a few words."""


@dataclass(frozen=True, slots=True)
class Unsupported:
    """It cannot be had on this engine; the workflow is refused."""

    reason: str
    """Why, and what to do instead; ends the sentence 'ENGINE cannot do FEATURE: ...'."""


Support: t.TypeAlias = Native | Lowered | Ignored | Unsupported
Capabilities: t.TypeAlias = Mapping[Feature, Support]

NATIVE = Native()


@dataclass(frozen=True, slots=True)
class Target:
    """What to compile for: a profile of an engine and its settings.

    Attributes
    ----------
    profile
        Name of the profile, one of the backend's `profiles`; None for its first.
    engine_version
        Version of the engine, such as `4.0`; None for the newest that the backend knows.
    namespace
        Where the run will live; None leaves it to the engine.
    options
        Further settings by name; a backend refuses names that it does not know.
    storages
        What programs need not say of where files are: fields of locations by their kind, such as
        `{"s3": {"bucket": "data", "endpoint": "minio:9000", "access_key": "minio/accesskey"}}`.
    """

    profile: str | None = None
    engine_version: str | None = None
    namespace: str | None = None
    options: Mapping[str, t.Any] = field(default_factory=dict)
    storages: Storages = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ArtifactFile:
    """One file that a backend made."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Artifact:
    """What a backend made of a workflow: files ready to use, the same for the same input.

    Attributes
    ----------
    engine
        Name of the backend.
    files
        The files, the main one first.
    notes
        What must exist where it runs (secrets, claims, a helper image) and what the engine
        ignores, one sentence each.
    """

    engine: str
    files: tuple[ArtifactFile, ...]
    notes: tuple[str, ...] = ()

    def to_text(self) -> str:
        """Return the main file's text."""
        return self.files[0].text


@t.runtime_checkable
class Backend(t.Protocol):
    """An engine that Couler can compile for."""

    name: str
    """As in `couler compile -e NAME`."""

    profiles: tuple[str, ...]
    """Names of its profiles, the default first."""

    formats: tuple[str, ...]
    """Names of the formats of its files, the default first."""

    def capabilities(self, target: Target) -> Capabilities:
        """Return what the engine can do; every feature has an entry."""
        ...

    def check(self, workflow: Workflow, target: Target) -> Iterator[Diagnostic]:
        """Yield what this engine would refuse beyond features: names, sizes, counts, texts."""
        ...

    def compile(self, workflow: Workflow, target: Target, *, format: str) -> Artifact:
        """Turn a verified workflow without defaults (`resolve_defaults`) into files.

        Parameters
        ----------
        workflow
            The workflow.
        target
            What to compile for.
        format
            One of `formats`.

        Raises
        ------
        EngineOptionError
            The format, or an option of the target, is unknown.
        """
        ...


@t.runtime_checkable
class Judge(t.Protocol):
    """A backend that can ask its engine, if that is installed, whether it takes its files."""

    def judge(self, artifact: Artifact) -> Iterator[Diagnostic]:
        """Yield what the engine itself refuses.

        Raises
        ------
        ConfigurationError
            The engine is not installed.
        EngineError
            It gives no answer.
        """
        ...


@t.runtime_checkable
class Weigher(t.Protocol):
    """A backend whose engine has limits of size."""

    def limits(self, target: Target) -> Limits:
        """Return what one run takes at most.

        Raises
        ------
        EngineOptionError
            The profile, or an option of the target, is unknown. This is asked before any pass runs.
        """
        ...

    def footprint(self, workflow: Workflow, target: Target) -> Footprint:
        """Return what a workflow takes of one run, and what one run takes.

        Parameters
        ----------
        workflow
            Verified, its defaults resolved, with nothing that the engine cannot do.
        target
            What it is compiled for.
        """
        ...


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How to run a workflow on this machine.

    Attributes
    ----------
    home
        The folder in which runs, their files and what is known of them are kept; None for the
        one that the environment names (`couler.state.home.Home`).
    jobs
        How many processes at the same time; None for one a processor.
    cpus, memory_bytes, gpus
        What all of them together may ask for; None for what the machine has.
    runtime
        `process` for processes of this machine, or the program that runs the images.
    use_cache
        Whether steps that ask for it may take the outputs of an earlier run, and give theirs.
    cache_budget, cache_run_budget
        What all entries of the cache may take, and those of one run, in bytes; None for any amount.
    cache_policy
        Which of them are kept: a policy with its options, as `couler.caching.registry` reads it;
        None for the default.
    """

    home: Path | None = None
    jobs: int | None = None
    cpus: float | None = None
    memory_bytes: int | None = None
    gpus: int | None = None
    runtime: RuntimeName = "process"
    use_cache: bool = True
    cache_budget: int | None = None
    cache_run_budget: int | None = None
    cache_policy: str | None = None

    def as_json(self, *, with_defaults: bool = False) -> dict[str, t.Any]:
        """Return what was chosen, but for the home: for the record, and for a target."""
        chosen = {field.name: getattr(self, field.name) for field in fields(self)}
        del chosen["home"]
        return {name: value for name, value in chosen.items() if with_defaults or value is not None}


def unsupported_uses(
    workflow: Workflow, backend: Backend, target: Target, others: Mapping[str, Capabilities]
) -> Iterator[Diagnostic]:
    """Yield one diagnostic for each place where a workflow asks for what an engine cannot do.

    Parameters
    ----------
    workflow
        Any workflow.
    backend, target
        The engine that is asked.
    others
        The abilities of the other engines, to name those that can.
    """
    lacking = {
        feature: support
        for feature, support in backend.capabilities(target).items()
        if isinstance(support, Unsupported)
    }
    seen: set[tuple[Feature, str | None]] = set()
    for use in find_uses(workflow, frozenset(lacking)):
        support = lacking[use.feature]
        if (use.feature, use.step) in seen:
            continue
        seen.add((use.feature, use.step))
        able = sorted(
            name
            for name, theirs in others.items()
            if name != backend.name and not isinstance(theirs[use.feature], Ignored | Unsupported)
        )
        place = f'step "{use.step}"' if use.step is not None else "the workflow"
        instead = f" Engines that can: {', '.join(able)}." if able else ""
        yield Diagnostic(
            UNSUPPORTED_CODE,
            f"{backend.name} cannot do {use.feature.value}, which {place} asks for: "
            f"{support.reason}.{instead}",
            step=use.step,
            source=use.source,
        )


def ignored_features(workflow: Workflow, backend: Backend, target: Target) -> Mapping[Feature, str]:
    """Return the features of a workflow that an engine ignores, and why."""
    capabilities = backend.capabilities(target)
    ignored = {
        feature: support.why
        for feature, support in capabilities.items()
        if isinstance(support, Ignored)
    }
    if not ignored:
        return {}
    used = features(workflow, frozenset(ignored))
    return {feature: ignored[feature] for feature in Feature if feature in used}


def ignored_notes(engine: str, ignored: Mapping[Feature, str]) -> tuple[str, ...]:
    """Return in one sentence what an engine ignores and why; none if there is nothing."""
    if not ignored:
        return ()
    by_reason: dict[str, list[str]] = {}
    for feature, why in ignored.items():
        by_reason.setdefault(why, []).append(feature.value)
    told = (f"{', '.join(names)} ({why})" for why, names in by_reason.items())
    return (f"{engine} ignores {'; '.join(told)}",)


def choose_profile(backend: Backend, target: Target) -> str:
    """Return the profile that a target asks for, or the backend's first.

    Raises
    ------
    EngineOptionError
        The backend has no such profile.
    """
    if target.profile is None:
        return backend.profiles[0]
    if target.profile not in backend.profiles:
        known = ", ".join(backend.profiles)
        hint = did_you_mean(target.profile, backend.profiles)
        raise EngineOptionError(
            f"{backend.name} has no profile {target.profile!r}; it has: {known}.{hint}"
        )
    return target.profile


def choose_format(backend: Backend, wanted: str | None) -> str:
    """Return the wanted format, or the backend's first.

    Raises
    ------
    EngineOptionError
        The backend has no such format.
    """
    if wanted is None:
        return backend.formats[0]
    if wanted not in backend.formats:
        raise EngineOptionError(
            f"{backend.name} has no format {wanted!r}; it has: {', '.join(backend.formats)}."
            f"{did_you_mean(wanted, backend.formats)}"
        )
    return wanted
