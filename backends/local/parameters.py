"""The parameters that a run is started with, and the file that hands them on."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from couler.backends.local.writing import explain_writing
from couler.errors import LostArtifactError, ParameterError, WireError
from couler.ir.base import freeze_json
from couler.ir.parameters import check_choice, read_parameter, unknown_parameter
from couler.ir.semantics.values import Single, as_type, from_json, read_outputs, write_outputs
from couler.ir.semantics.wire import MAX_VALUE_BYTES, decode
from couler.ir.values import check_size, is_file
from couler.ir.workflow import Parameter
from couler.locations.secrets import Entries, missing_entry
from couler.state.database import Database
from couler.state.holds import hold_objects
from couler.state.home import Home
from couler.state.records import Json
from couler.store import ObjectStore


@dataclass(frozen=True, slots=True)
class Parameters:
    """The parameters of a run."""

    values: dict[str, Single]
    kept: frozenset[str]
    defaults: Mapping[str, str]

    def to_record(self) -> dict[str, Json]:
        """Return them as the database holds them, for `merge_parameters`."""
        record = write_outputs(self.values)
        for name, text in self.defaults.items():
            record[name]["default"] = text
        return record


def with_entries(declared: tuple[Parameter, ...], entries: Entries) -> tuple[Parameter, ...]:
    """Return parameters whose defaults are the entries of config maps that they name."""
    if all(parameter.config is None for parameter in declared):
        return declared
    return tuple(_with_entry(parameter, entries) for parameter in declared)


def _with_entry(parameter: Parameter, entries: Entries) -> Parameter:
    text = None if parameter.config is None else entries.find(parameter.config)
    if text is None:
        is_missing = parameter.config is not None and parameter.default is None
        return parameter.model_copy(update={"required": True}) if is_missing else parameter
    try:
        check_size(text, MAX_VALUE_BYTES, "its entry of a config map")
        return parameter.model_copy(update={"default": freeze_json(decode(text, parameter.type))})
    except (RecursionError, WireError) as error:
        raise ParameterError(f'parameter "{parameter.name}": {error}') from error


def merge_parameters(
    declared: tuple[Parameter, ...],
    given: Mapping[str, object],
    recorded: Mapping[str, Json],
) -> Parameters:
    """Return the parameters of a run that may have been recorded before."""
    earlier = read_outputs(recorded)
    kept: dict[str, Single] = {}
    defaults: dict[str, str] = {}
    for parameter in declared:
        name, value = parameter.name, earlier.get(parameter.name)
        if name in given:
            continue
        default = None if parameter.required else _default(parameter).text
        had = recorded[name].get("default") if isinstance(value, Single) else None
        is_kept = isinstance(value, Single) and value.type == parameter.type
        if is_kept and (had is None or default in (None, had)):
            kept[name] = t.cast(Single, value)
        elif default is not None:
            had = default
        if had is not None:
            defaults[name] = had
    values = bind_parameters(declared, given, kept)
    return Parameters(values, frozenset(kept), defaults)


def bind_parameters(
    declared: tuple[Parameter, ...],
    given: Mapping[str, object],
    kept: Mapping[str, Single] = MappingProxyType({}),
) -> dict[str, Single]:
    """Return the value of each parameter of a run."""
    names = [parameter.name for parameter in declared]
    problems = [unknown_parameter(name, names) for name in given if name not in names]
    bound: dict[str, Single] = {}
    for parameter in declared:
        try:
            bound[parameter.name] = _bind(parameter, given, kept)
        except (ParameterError, WireError) as error:
            problems.append(f'parameter "{parameter.name}": {error}')
    if problems:
        raise ParameterError("\n".join(problems))
    return bound


def _bind(parameter: Parameter, given: Mapping[str, object], kept: Mapping[str, Single]) -> Single:
    name = parameter.name
    if name in kept and name not in given:
        if parameter.choices:  # which may be others than they were
            check_choice(parameter, decode(kept[name].text, parameter.type))
        return kept[name]
    if name not in given:
        if parameter.required:
            mend = "" if parameter.config is None else f": {missing_entry(parameter.config)}"
            raise ParameterError(f"a value is required{mend}")
        return _default(parameter)
    bound = as_type(from_json(read_parameter(parameter, given[name])), parameter.type)
    check_size(bound.text, MAX_VALUE_BYTES, "the value")
    return bound


def _default(parameter: Parameter) -> Single:
    return as_type(from_json(parameter.default), parameter.type)


def require_files(parameters: Parameters) -> None:
    """Refuse what is no file or directory."""
    for name, value in parameters.values.items():
        if name in parameters.kept:
            continue
        path = Path(value.text) if is_file(value.type) else None
        if path is not None and not (
            path.is_dir() if value.type == "directory" else path.is_file()
        ):
            raise ParameterError(f'parameter "{name}": there is no {value.type} {value.text!r}')


def store_files(parameters: Parameters, store: ObjectStore, home: Home) -> dict[str, Path]:
    """Put the files that new parameters name into the store, as the values that travel."""
    files: dict[str, Path] = {}
    for name, value in tuple(parameters.values.items()):
        if is_file(value.type) and name not in parameters.kept:
            path = Path(value.text)
            with explain_writing(home.root, f'keep the parameter "{name}"'):
                reference = store.put(path)
            parameters.values[name] = Single(reference, value.type)
            files[reference] = path
    return files


def hold_files(
    database: Database, store: ObjectStore, run_id: str, files: Mapping[str, Path]
) -> None:
    """Let a run hold the files of its parameters."""
    for reference, path in files.items():
        while not _is_held(database, store, run_id, reference):
            if store.put(path) != reference:
                raise ParameterError(f"{str(path)!r} was changed while the run began")


def _is_held(database: Database, store: ObjectStore, run_id: str, reference: str) -> bool:
    try:
        hold_objects(database, run_id, store.digests(reference), of_cache=False)
    except LostArtifactError:
        return False
    return store.exists(reference)
