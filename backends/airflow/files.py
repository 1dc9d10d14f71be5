"""Files of steps: what the wrapper of a process puts in its place before, and keeps after."""

from __future__ import annotations

import json
import re
import typing as t
from collections.abc import Iterable, Iterator, Sequence

from couler.backends.airflow.module import Module
from couler.backends.airflow.options import Options
from couler.backends.airflow.python import Call, Code, Expression, Listing, call, quoted, value_of
from couler.backends.airflow.reading import Read, Scope
from couler.ir.artifacts import (
    Archive,
    Location,
    RawLocation,
    is_in_repository,
    repository_key,
)
from couler.ir.storage import ENTRIES, SecretKey
from couler.ir.values import TEXTS, Literal, Template, Text, is_file
from couler.ir.workflow import WORK_DIR, Input, Output, Step
from couler.locations.secrets import variable_name

VOLUME = "/couler/files"
"""Where pods have the volume."""


class Writer(t.Protocol):
    """What writes texts and values for pods."""

    def text(self, text: Text, scope: Scope) -> Expression:
        """Return a text for a pod."""
        ...

    def value(self, read: Read) -> Expression:
        """Return the text of a value for a pod."""
        ...

    def template(self, code: str) -> Expression:
        """Return a text that Jinja makes, of which the kubelet takes nothing for its own."""
        ...


def files_of(step: Step) -> list[Input | Output]:
    """Return the files that a step takes and gives."""
    found: list[Input | Output] = [*step.inputs, *step.outputs]
    return [one for one in found if is_file(one.type)]


def has_files(step: Step) -> bool:
    """Return whether a step takes or gives files."""
    return bool(files_of(step))


def needs_place(step: Step) -> bool:
    """Return whether the pod of a step reaches the place where files are kept."""
    return step.cache is not None or has_files_kept(step)


def has_files_kept(step: Step) -> bool:
    """Return whether a step takes files from where they are kept, or keeps some there."""
    return any(is_file(one.type) for one in step.outputs) or any(
        is_file(one.type) and (one.at is None or is_in_repository(one.at)) for one in step.inputs
    )


def is_elsewhere(one: Input | Output) -> bool:
    """Return whether only the helper reaches what a file is taken from, or put at besides."""
    if one.at is None or (isinstance(one.at, RawLocation) and one.archive is None):
        return False
    return one.archive is not None or not is_in_repository(one.at)


def are_copied(step: Step) -> bool:
    """Return whether a function can copy all its files from and to the volume itself."""
    return not any(
        is_elsewhere(one)
        or one.optional
        or (isinstance(one, Input) and (one.value is None or one.mode is not None))
        or (one.at is not None and not isinstance(repository_key(one.at), str))
        for one in files_of(step)
    )


def input_path(given: Input) -> str:
    """Return where a process finds a file."""
    path = given.path or f"inputs/{given.name}"
    return path if path.startswith("/") else f"{WORK_DIR}/{path}"


class Files:
    """Writes what the wrapper of files and its helper are told."""

    def __init__(
        self, options: Options, module: Module, writer: Writer, *, by_try: bool = False
    ) -> None:
        self._options = options
        self._module = module
        self._root = options.files_path.strip("/")
        self._writer = writer
        self._by_try = by_try
        self._place = "place_of_try" if by_try else "place"
        self._below_root = f", {quoted(self._root)}" if self._root else ""

    def process(
        self,
        step: Step,
        scope: Scope,
        command: Sequence[Expression] | Call,
        outputs: list[Expression],
        beside: list[str] | None,
    ) -> Call:
        """Return what a pod needs to run a process with its files, the helper left out."""
        module = self._module
        return call(
            module.use("process_with_files"),
            command,
            before=self._takes(step, scope),
            after=self._keeps(step, scope),
            outputs=outputs or None,
            beside=beside,
            claim=Code(module.refer("FILES_CLAIM")) if self._needs_volume(step) else None,
        )

    def variables(self, step: Step, scope: Scope) -> dict[str, Expression]:
        """Return the variables by which a function copies its files itself."""
        found: dict[str, Expression] = {}
        for one in files_of(step):
            if isinstance(one, Input):
                found[f"COULER_FILE_{one.name}"] = self._location_of(one, scope)
                continue
            found[f"COULER_OUTPUT_{one.name}"] = self._output_location(one, step, scope)
            if one.at is not None:
                found[f"COULER_COPY_{one.name}"] = self._copy(one.at, scope)
        return found

    def _output_location(self, output: Output, step: Step, scope: Scope) -> Expression:
        """Return the location of an output: below the root by DAG, run, task and item."""
        if not re.fullmatch(r"[\w./-]*", self._root):
            code = f"{self._place}(ti, {quoted(output.name)}{self._below_root})"
            return self._writer.template(code)
        is_mapped = scope.within_mapped or scope.spot(step).items == "mapped"
        parts = ["dag_id", "run_id", "task_id", *["map_index"] * is_mapped]
        words = [self._root, *(f"{{{{ ti.{one} }}}}" for one in parts), output.name]
        words += ["{{ ti.try_number }}"] * self._by_try
        return value_of("/".join(filter(None, words)))

    def volume(self) -> Code:
        """Return the arguments of an operator whose pod has the volume."""
        k8s = f"{self._module.take('kubernetes.client', 'models as k8s')}."
        claim = Code(self._module.refer("FILES_CLAIM"))
        source = call(f"{k8s}V1PersistentVolumeClaimVolumeSource", claim_name=claim)
        volume = call(f"{k8s}V1Volume", name="files", persistent_volume_claim=source)
        mount = call(f"{k8s}V1VolumeMount", name="files", mount_path=VOLUME)
        fields = {"volumes": [volume], "volume_mounts": [mount]}
        return Code(self._module.shared_table("FILES_VOLUME", fields))

    def with_helper(self, step: Step, made: Call) -> Call:
        """Return what the pod of a step needs besides to reach its files, if it does."""
        if not self._needs_helper(step):
            return made
        module = self._module
        repository: object = self._repository(step)
        if isinstance(repository, dict):
            repository = Code(module.shared_table("REPOSITORY", repository))
        secrets = self._secrets(step) or None
        return call(module.use("with_helper"), made, repository=repository, secrets=secrets)

    def _takes(self, step: Step, scope: Scope) -> Expression | None:
        """Return what is done before the process starts; None for nothing."""
        return _listing(
            line
            for given in step.inputs
            if is_file(given.type)
            for line in (self._take(given, scope), self._mode(given, scope))
        )

    def _keeps(self, step: Step, scope: Scope) -> Expression | None:
        """Return what is done when the process has ended well; None for nothing."""
        return _listing(
            line
            for output in step.outputs
            if is_file(output.type)
            for line in (self._keep(output, scope), self._put(output, scope))
        )

    def _needs_volume(self, step: Step) -> bool:
        """Return whether the pod has the volume."""
        return self._options.files_claim is not None and (
            needs_place(step) or self._has_keys_elsewhere(step)
        )

    def _needs_helper(self, step: Step) -> bool:
        """Return whether the pod has the helper."""
        in_store = self._options.files_claim is None and needs_place(step)
        return in_store or any(map(is_elsewhere, files_of(step)))

    def _repository(self, step: Step) -> dict[str, t.Any] | str | None:
        """Return what the helper is told of where files are kept."""
        if self._options.files_claim is not None:
            return VOLUME if self._has_keys_elsewhere(step) else None
        store = self._options.files_store
        return location_json(store) if store is not None and needs_place(step) else None

    def _secrets(self, step: Step) -> list[list[t.Any]]:
        """Return the variables by which the helper gets entries of secrets."""
        locations = [one.at for one in files_of(step) if one.at is not None and is_elsewhere(one)]
        store = self._options.files_store
        if self._options.files_claim is None and store is not None and needs_place(step):
            locations.append(store)
        return secret_variables(locations)

    def _has_keys_elsewhere(self, step: Step) -> bool:
        return any(
            is_elsewhere(one) and one.at is not None and is_in_repository(one.at)
            for one in files_of(step)
        )

    def _take(self, given: Input, scope: Scope) -> Listing:
        path = self._path(given, scope)
        kind = _kind(given)
        if is_elsewhere(given):
            assert given.at is not None, "what has no location is not elsewhere"
            return _words("get", kind, path, *self._elsewhere(given.at, given.archive, scope))
        if isinstance(given.at, RawLocation):
            return _words("text", path, self._writer.text(given.at.content, scope))
        if given.at is not None:
            key = self._writer.text(self._key(repository_key(given.at)), scope)
            return _words("take", kind, path, key)
        verb = "each" if given.many else "take"
        return _words(verb, kind, path, self._location_of(given, scope))

    def _location_of(self, given: Input, scope: Scope) -> Expression:
        """Return the location of a file that another step gives, or those of many."""
        assert given.value is not None, "an input has a value or a location"
        read = scope.input(given.value, given.type)
        if given.many:
            return self._location(read, "lines({})")
        if given.optional and read.constant is None:
            return self._location(read, 'first_of({}, "")')
        return self._location(read)

    def _location(self, read: Read, way: str = "{}") -> Expression:
        """Return the text of a location."""
        if way == "{}":
            return self._writer.value(read)
        return self._writer.value(Read(way.format(read.code), is_plain=read.is_clean))

    def _path(self, one: Input | Output, scope: Scope) -> Expression:
        assert one.path is not None or isinstance(one, Input), "verification asks for the path"
        return self._writer.text(one.path or f"inputs/{one.name}", scope)

    def _mode(self, given: Input, scope: Scope) -> Listing | None:
        if given.mode is None:
            return None
        words = ("mode", self._path(given, scope), f"{given.mode:o}")
        return _words(*words, "-R" if given.recurse_mode else "")

    def _keep(self, output: Output, scope: Scope) -> Listing:
        words = ("keep", _kind(output), output.name, self._path(output, scope))
        code = f"{self._place}(ti, {quoted(output.name)}{self._below_root})"
        if not self._root and self._place == "place" and re.fullmatch(r"[\w-]+", output.name):
            self._module.use_in_templates(code)  # the function writes it
            return _words(*words)
        return _words(*words, self._writer.template(code))

    def _put(self, output: Output, scope: Scope) -> Listing | None:
        if output.at is None:
            return None
        path = self._path(output, scope)
        if is_elsewhere(output):
            words = self._elsewhere(output.at, output.archive, scope)
            return _words("put", _kind(output), path, *words)
        return _words("keep", _kind(output), "", path, self._copy(output.at, scope))

    def _copy(self, location: Location, scope: Scope) -> Expression:
        """Return where in the repository an output is put besides."""
        return self._writer.text(self._key(repository_key(location)), scope)

    def _elsewhere(
        self, location: Location, archive: Archive | None, scope: Scope
    ) -> Iterator[str | Expression]:
        """Yield what the helper is told of a location."""
        yield "" if archive is None else _archive(archive)
        if is_in_repository(location):
            location = TEXTS.map(location, lambda _, text: self._key(text))
        yield value_of(location_json(location))
        for field, text in TEXTS.visit(location):
            yield field
            yield self._writer.text(text, scope)

    def _key(self, key: Text) -> Text:
        """Return a key of the repository, below the root."""
        if not self._root:
            return key
        if isinstance(key, str):
            return f"{self._root}/{key}"
        return Template(parts=(f"{self._root}/", key))


def secret_variables(locations: Iterable[Location]) -> list[list[t.Any]]:
    """Return the variables by which couler.io gets the entries of secrets of locations."""
    keys = dict.fromkeys(key for one in locations for _, key in ENTRIES.visit(one))
    return [
        [variable_name(key), key.secret, key.key, *([True] if key.optional else [])]
        for key in keys
        if isinstance(key, SecretKey)
    ]


def _kind(one: Input | Output) -> str:
    return f"{one.type}?" if one.optional else one.type


def _archive(archive: Archive) -> str:
    said = archive.model_dump(mode="json", exclude_defaults=True)
    return json.dumps({"kind": archive.kind, **said}) if said else archive.kind


def location_json(location: Location) -> dict[str, t.Any]:
    """Return a location without its texts, which stand beside it."""

    def blank(field: str, _: Text) -> Text:
        return Literal(value="") if field == "security_token" else ""

    said = TEXTS.map(location, blank).model_dump(mode="json", exclude_defaults=True)
    return {"kind": location.kind, **said}


def _words(*words: str | Expression) -> Listing:
    return Listing(tuple(map(value_of, words)))


def _listing(lines: Iterable[Listing | None]) -> Listing | None:
    given = tuple(line for line in lines if line is not None)
    return Listing(given) if given else None
