"""The key of a cached result: the same for the same work, on every engine."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping

from couler.ir.artifacts import ListFiles, Location, without_texts
from couler.ir.pods import PodContainer
from couler.ir.semantics.wire import dump_json
from couler.ir.storage import EnvVar, Mount, Volume
from couler.ir.walk import pod_containers
from couler.ir.workflow import Container, ContainerSet, Http, Input, Job, Output, Step


def definition_digest(step: Step, volumes: Mapping[str, Volume]) -> str:
    """Return the digest of a step's definition without its texts, in hexadecimal."""
    action = step.action.model_dump(mode="json", exclude_defaults=True)
    if isinstance(step.action, Container):
        action["args"] = len(step.action.args)
        action["command"] = [
            word if isinstance(word, str) else None for word in step.action.command
        ]
    elif isinstance(step.action, Job) and step.action.values:
        action["values"] = [[list(given.path), given.type] for given in step.action.values]
    elif isinstance(step.action, ListFiles):
        action["at"] = _location(step.action.at)
    elif isinstance(step.action, ContainerSet):
        del action["containers"]  # they are among those of the pod
    elif isinstance(step.action, Http):
        for name in ("url", "headers", "body"):
            action.pop(name, None)
        if step.action.headers:
            action["headers"] = [_given_by(header) for header in step.action.headers]
    definition = {
        "action": action,
        "inputs": [_input(given) for given in step.inputs],
        "outputs": [_output(output) for output in step.outputs],
        "env": [_given_by(variable) for variable in step.env],
        "env_from": [source.model_dump(mode="json") for source in step.env_from],
        "mounts": _mounted(step.mounts, volumes),
        "working_dir": step.working_dir,
    }
    containers = pod_containers(step)
    if containers:
        definition["containers"] = [_container(one, volumes) for one in containers]
    settings = step.container
    if settings is not None and (settings.lifecycle or settings.devices):
        fields = {"lifecycle", "devices"}
        definition["container"] = settings.model_dump(mode="json", include=fields)
    return text_digest(dump_json(definition))


def step_digests(volumes: Iterable[Volume]) -> Callable[[Step], str]:
    """Return a function that gives the digest of a step's definition, which its instances share."""
    by_name = {volume.name: volume for volume in volumes}
    known: dict[int, tuple[Step, str]] = {}

    def digest(step: Step) -> str:
        found = known.get(id(step))
        if found is None:  # the step is stored, so that no other has its number
            known[id(step)] = found = (step, definition_digest(step, by_name))
        return found[1]

    return digest


def _mounted(mounts: Iterable[Mount], volumes: Mapping[str, Volume]) -> list[object]:
    return [
        [mount.model_dump(mode="json"), volumes[mount.volume].model_dump(mode="json")]
        for mount in mounts
    ]


def _container(container: PodContainer, volumes: Mapping[str, Volume]) -> object:
    """Return what a container of the pod is, with its fixed texts and without its values."""
    return {
        "name": container.name,
        "image": container.image,
        "command": [word if isinstance(word, str) else None for word in container.command],
        "args": [word if isinstance(word, str) else None for word in container.args],
        "env": [
            [variable.name, variable.value]
            if isinstance(variable.value, str)
            else _given_by(variable)
            for variable in container.env
        ],
        "env_from": [source.model_dump(mode="json") for source in container.env_from],
        "mounts": _mounted(container.mounts, volumes),
        "mirror_mounts": container.mirror_mounts,
        "working_dir": container.working_dir,
        **({"depends_on": container.depends_on} if container.depends_on else {}),
    }


def _input(given: Input) -> list[object]:
    files = given.model_dump(
        mode="json",
        exclude_defaults=True,
        include={"archive", "optional", "mode", "recurse_mode"},
    )
    if given.at is not None:
        files["at"] = _location(given.at)
    definition: list[object] = [given.name, given.type, given.path, given.many]
    return [*definition, files] if files else definition


def _output(output: Output) -> dict[str, object]:
    definition = output.model_dump(mode="json", exclude_defaults=True, exclude={"at", "removal"})
    if output.at is not None:
        definition["at"] = _location(output.at)
    return definition


def _location(location: Location) -> object:
    fixed = without_texts(location)
    return None if fixed is None else fixed.model_dump(mode="json", exclude_defaults=True)


def _given_by(variable: EnvVar) -> object:
    """Return the name of a variable, and the entry that it is where it is no text of the key."""
    if variable.value is not None:
        return variable.name
    return variable.model_dump(mode="json", exclude_defaults=True)


def cache_key(digest: str, texts: Iterable[str]) -> str:
    """Return the key of one execution, in hexadecimal."""
    return text_digest(digest + "".join(map(text_digest, texts)))


def text_digest(text: str) -> str:
    """Return the digest of one text of a key, in hexadecimal: SHA-256 of its UTF-8."""
    return hashlib.sha256(text.encode()).hexdigest()


def repository_mark(url: str | None, chosen: str = "") -> str | None:
    """Return what tells one repository of files from others, in an entry; None if nothing does."""
    if url is None and not chosen:
        return None
    place = "" if url is None else url.removeprefix("file://").rstrip("/")
    return hashlib.sha256(f"{place}\n{chosen}".encode()).hexdigest()[:16]
