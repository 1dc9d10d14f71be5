"""Rules for files: where they come from, where they are kept, and what can be read of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from couler.ir.artifacts import (
    ArtifactoryLocation,
    FileRemoval,
    FileSettings,
    GitLocation,
    HdfsLocation,
    HttpLocation,
    Location,
    LogSettings,
    PluginLocation,
    RawLocation,
    S3Location,
    is_in_repository,
    storage_field,
)
from couler.ir.values import TEXTS, ItemRef, StepRef, Text, Value, is_file, walk
from couler.ir.verify.names import Add, check_annotations, check_labels, check_object_name
from couler.ir.verify.scope import ScopeView
from couler.ir.verify.values import Reader
from couler.ir.walk import step_values
from couler.ir.workflow import Action, Group, Input, Output, Plugin, Step, TemplateCall

_ONE_FILE = (HttpLocation, ArtifactoryLocation, RawLocation)
"""Locations of which each is one file."""

_READ_ONLY = (GitLocation, RawLocation)

_KEPT_FOR_EVER = (HttpLocation, ArtifactoryLocation, HdfsLocation)
"""Locations at which engines remove nothing."""


def check_files(reader: Reader, step: Step) -> None:
    """Check the files that a step takes in and gives out, and where its log is kept."""
    from couler.ir.verify.places import add_use

    for given in step.inputs:
        _report(reader, f"inputs.{given.name}", _input_problems(given, step.action))
        if given.path is not None:
            _check_path(reader, given.path, f"inputs.{given.name}")
        if given.at is not None:
            field = f"inputs.{given.name}"
            _check_place(reader, given.at, f"{field}.at")
            is_folder = given.type == "directory" and given.archive is None
            add_use(reader.view, step, field, given.at, is_folder=is_folder, writes=False)
    for output in step.outputs:
        field = f"outputs.{output.name}"
        _report(reader, field, output_problems(output))
        if output.path is not None:
            _check_path(reader, output.path, field)
        if output.removal is not None:
            check_removal(output.removal, reader.add)
        if output.at is not None:
            _check_place(reader, output.at, f"{field}.at")
            _check_items(reader, step, output.at, field)
            is_folder = output.type == "directory" and output.archive is None
            add_use(reader.view, step, field, output.at, is_folder=is_folder, writes=True)
    if step.logs is not None:
        _check_logs(reader, step.logs)


def _check_path(reader: Reader, path: str, field: str) -> None:
    """Refuse a path that leads up, which each engine would follow to another place."""
    if ".." in path and ".." in path.split("/"):
        reader.add("CLR415", f'{field}: the path "{path}" leads up by "..". Name the place itself.')
    elif not path.strip("/"):
        reader.add("CLR415", f'{field}: "{path}" is no path of a file. Name one.')


def output_problems(output: Output) -> Iterator[str]:
    """Yield what does not fit together in an output."""
    settings = {
        "at": output.at,
        "archive": output.archive,
        "optional": output.optional,
        "removal": output.removal,
    }
    given = [name for name, value in settings.items() if value]
    if given and not is_file(output.type):
        yield f"has {given[0]}, which is for files. Declare its type as file or directory"
    elif given and output.value is not None:
        yield f"has {given[0]}, which is for files of processes. Say it of the step inside"
    if output.archive is not None and output.at is None:
        yield (
            "has an archive, but no location: files travel between steps as they are. "
            "Name a location"
        )
    if output.at is None:
        return
    if isinstance(output.at, _READ_ONLY):
        yield f"cannot be put at a {output.at.kind} location, which is only read. Name another"
    elif isinstance(output.at, _ONE_FILE) and output.type == "directory" and not output.archive:
        yield f"is a directory, but its {output.at.kind} location takes one file. Give an archive"
    removed = None if output.removal is None else output.removal.on
    if isinstance(output.at, _KEPT_FOR_EVER) and removed in ("completion", "deletion"):
        yield f"cannot be removed from a {output.at.kind} location. Leave out the removal"


def _input_problems(given: Input, action: Action) -> Iterator[str]:
    if isinstance(action, Plugin) and is_file(given.type):
        yield f"is a {given.type}, but a plugin finds values only. Give it the key as a text"
        return
    settings = {
        "at": given.at,
        "archive": given.archive,
        "optional": given.optional,
        "mode": given.mode is not None,
        "recurse_mode": given.recurse_mode,
    }
    said = [name for name, value in settings.items() if value]
    if said and not is_file(given.type):
        yield f"has {said[0]}, which is for files. Declare its type as file or directory"
    elif said and isinstance(action, Group):
        yield f"has {said[0]}, which is for processes. Say it of the steps inside"
    elif said and isinstance(action, TemplateCall):
        yield f"has {said[0]}, which is for processes. Read the file in a step, and pass it on"
    if given.recurse_mode and given.mode is None:
        yield "has recurse_mode, but no mode. Give the mode, or leave both out"
    if given.at is None:
        if given.archive is not None:
            yield "has an archive, but files of other steps come as those wrote them. Remove it"
        return
    if given.many:
        yield "has many, which is for files of a foreach. Remove it"
    if isinstance(given.at, GitLocation):
        if given.type != "directory" or given.archive is not None:
            yield "is a working tree of Git, which is a directory. Declare it so"
    elif isinstance(given.at, _ONE_FILE) and given.type == "directory" and not given.archive:
        yield f"is a directory, but its {given.at.kind} location gives one file. Give an archive"


def _report(reader: Reader, field: str, problems: Iterable[str]) -> None:
    for problem in problems:
        reader.add("CLR462", f"{field} {problem}.")


def _check_place(reader: Reader, location: Location, field: str) -> None:
    from couler.ir.verify.locations import check_location

    check_location(location, field, reader.add)
    if is_in_repository(location) and not isinstance(location, S3Location | PluginLocation):
        what = storage_field(location)
        reader.view.add(
            "CLR469",
            reader.step,
            f"{field}: it names no {what}, so it is a key in the target's own repository, which "
            f"need not be {location.kind}. Name the {what}, or state the {location.kind} storage "
            "once for the target.",
            "warning",
        )


def _check_items(reader: Reader, step: Step, location: Location, field: str) -> None:
    """Refuse a place that all items of a step's own foreach would write to."""
    texts = [text for _, text in TEXTS.visit(location)]
    if step.foreach is not None and not _reads(texts, ItemRef):
        reader.add(
            "CLR464",
            f"{field}.at: all items are put at one place, where only the last one stays. Let the "
            "location depend on the item.",
        )


def _reads(texts: Iterable[Text], kind: type[Value]) -> bool:
    return any(isinstance(value, kind) for text in texts for value in walk(text))


def _check_logs(reader: Reader, logs: LogSettings) -> None:
    if logs.at is None:
        return
    if not logs.keep:
        reader.add("CLR462", "logs has a location, but the log is not kept. Remove one.")
    if isinstance(logs.at, _READ_ONLY):
        _report(reader, "logs", [f"cannot be put at a {logs.at.kind} location. Name another"])
    _check_place(reader, logs.at, "logs.at")


def check_optional_reads(view: ScopeView, outputs: Iterable[Output]) -> None:
    """Check that files which need not be there are read by inputs that can do without."""
    optional = {
        (step.name, output.name)
        for step in view.all_steps
        for output in step.outputs
        if output.optional
    }
    if not optional:
        return
    for step in view.all_steps:
        fits = {
            f"inputs.{given.name}"
            for given in step.inputs
            if given.optional and isinstance(given.value, StepRef)
        }
        for field, text in step_values(step):
            for read in _optional_reads(text, optional):
                if field not in fits or view.steps[read.step].foreach is not None:
                    view.add("CLR463", step, f"{field} {_NEED_NOT_BE.format(read=read)}")
    for output in outputs:
        for read in _optional_reads(output.value, optional):
            text = f"outputs.{output.name} {_NEED_NOT_BE.format(read=read)}"
            view.add_to_scope("CLR463", text)


_NEED_NOT_BE = (
    "reads {read.step}.{read.output}, a file that need not be there. Read it by an optional input "
    "of a process, or let the step always write it."
)


def _optional_reads(text: Text | None, optional: set[tuple[str, str]]) -> Iterator[StepRef]:
    for value in walk(text):
        if isinstance(value, StepRef) and (value.step, value.output) in optional:
            yield value


def check_scope_outputs(view: ScopeView, outputs: Iterable[Output]) -> None:
    """Check the outputs of the workflow, which are values only."""
    for output in outputs:
        for problem in output_problems(output):
            view.add_to_scope("CLR462", f"outputs.{output.name} {problem}.")


def check_file_settings(files: FileSettings, add: Add) -> None:
    """Check where a workflow's files are kept."""
    if files.repository is not None and files.repository.config_map is not None:
        check_object_name(files.repository.config_map, "config map", add)
    if files.removal is not None:
        check_removal(files.removal, add)


def check_removal(removal: FileRemoval, add: Add) -> None:
    """Check when files are removed, and by what pod."""
    if removal.service_account is not None:
        check_object_name(removal.service_account, "service account", add)
    check_labels(removal.labels, "labels", add)
    check_annotations(removal.annotations, add)
