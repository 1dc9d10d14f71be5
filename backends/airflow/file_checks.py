"""What the files of a workflow need that the target has not."""

from __future__ import annotations

from collections.abc import Iterator

from couler.backends.airflow.files import (
    files_of,
    has_files,
    has_files_kept,
    input_path,
    is_elsewhere,
)
from couler.backends.airflow.options import Options
from couler.ir.artifacts import is_in_repository
from couler.ir.diagnostics import Diagnostic
from couler.ir.listing import ListFiles
from couler.ir.walk import steps_by_path
from couler.ir.wire import is_file
from couler.ir.workflow import Container, Script, Step, Workflow

_NO_PLACE = "CLR350"
_OUT_OF_REACH = "CLR351"
_NO_WORD = "CLR352"
_TOO_LATE = "CLR353"


def check_files(workflow: Workflow, options: Options) -> Iterator[Diagnostic]:
    """Yield a diagnostic for each file that could not be kept, taken or put."""
    for path, step in steps_by_path(workflow):
        if isinstance(step.action, ListFiles):
            yield from _unlisted(path, step, step.action, options)
        if not isinstance(step.action, Container | Script) or not has_files(step):
            continue
        has_place = options.files_claim is not None or options.files_store is not None
        if has_files_kept(step) and not has_place:
            yield Diagnostic(
                _NO_PLACE,
                f'airflow: step "{path}" takes or gives files, but the target has no place for '
                "them. Give the option files_claim=NAME, a persistent volume claim that pods of "
                "all nodes can write, or a storage and io_image=IMAGE",
                step=path,
                source=step.source,
                of_target=True,
            )
        if options.io_image is None:
            yield from _out_of_reach(path, step, options)
        yield from _no_words(path, step)
        yield from _too_late(path, step)


def _out_of_reach(path: str, step: Step, options: Options) -> Iterator[Diagnostic]:
    in_store = options.files_claim is None and options.files_store is not None
    files = files_of(step)
    elsewhere = [one for one in files if is_elsewhere(one)]
    if in_store and has_files_kept(step) and not elsewhere:
        elsewhere = files
    for one in elsewhere:
        yield Diagnostic(
            _OUT_OF_REACH,
            f'airflow: step "{path}": the file "{one.name}" lies where only the helper of '
            "processes reaches it. Give the option io_image=IMAGE, an image with Couler",
            step=path,
            source=step.source,
            of_target=True,
        )


def _too_late(path: str, step: Step) -> Iterator[Diagnostic]:
    """Yield what would look for files before they are there: the wrapper takes them."""
    paths = [input_path(given) for given in step.inputs if is_file(given.type)]
    holding = {
        mount.volume
        for mount in step.mounts
        if any(path.startswith(f"{mount.path.rstrip('/')}/") for path in paths)
    }
    early = [
        one.name
        for one in step.init_containers
        if one.mirror_mounts or any(mount.volume in holding for mount in one.mounts)
    ]
    if paths and early:
        yield Diagnostic(
            _TOO_LATE,
            f'airflow: step "{path}": its files are in their places when its process starts, after '
            f'the init container "{early[0]}", which can look for them. Do in a step before '
            "what that container does",
            step=path,
            source=step.source,
        )


def _unlisted(path: str, step: Step, action: ListFiles, options: Options) -> Iterator[Diagnostic]:
    """Yield what keeps files from being listed."""
    missing = []
    if options.io_image is None:
        missing.append("io_image=IMAGE, an image with Couler")
    if is_in_repository(action.at) and options.files_claim is None:
        missing.append("files_claim=NAME, or name the storage")
    if missing:
        yield Diagnostic(
            _OUT_OF_REACH,
            f'airflow: step "{path}" lists files, which takes a pod of its own. Give the option '
            f"{' and '.join(missing)}",
            step=path,
            source=step.source,
            of_target=True,
        )


def _no_words(path: str, step: Step) -> Iterator[Diagnostic]:
    """Yield what the wrapper would read as two: it keeps its words by lines."""
    for one in files_of(step):
        if one.path is not None and "\n" in one.path:
            yield Diagnostic(
                _NO_WORD,
                f'airflow: step "{path}": the path of "{one.name}" has a line break in it, which '
                "the wrapper of a process would take for its end. Name another path",
                step=path,
                source=step.source,
            )
