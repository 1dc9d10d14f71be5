"""One attempt of a container or script step: a process of this machine.

The image is not used. Each attempt has a new folder, `COULER_WORK`, in which it runs.
"""

from __future__ import annotations

import shutil
import typing as t
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from couler.backends.local.leaf import (
    CANCELLED,
    OUT_OF_TIME,
    Attempt,
    Bound,
    Limits,
    Place,
    entry_texts,
)
from couler.backends.local.masking import Masker
from couler.backends.local.outputs import KEEP_BYTES, default_of, read_output
from couler.backends.local.process import ProcessEnd, run_process
from couler.backends.local.store import Store
from couler.backends.local.values import VALUE_ERRORS, Outputs, Single, Stored, to_text
from couler.errors import EvaluationError
from couler.ir.paths import StepPath
from couler.ir.wire import is_file
from couler.ir.workflow import WORK_DIR, Container, Input, Output, Script, Step


def attempt_process(
    bound: Bound, action: Container | Script, place: Place, attempt: int, limits: Limits
) -> Attempt:
    """Run the process of a step once and keep its outputs.

    Parameters
    ----------
    bound
        The step with its values.
    action
        What it runs.
    place
        What the attempts of the run share.
    attempt
        Number of the attempt, from 0.
    limits
        What can end it early.
    """
    folder = place.make_folder(bound.path)
    work = folder / "work"
    work.mkdir()
    try:
        inputs = put_inputs(bound, place.store, work)
        directory = _directory(bound.step.working_dir, work)
    except VALUE_ERRORS as error:
        return Attempt(False, message=str(error))
    except OSError as error:
        return Attempt(False, message=f"its inputs cannot be put in place: {error}", kind="error")
    words = tuple(_moved(word, bound.step, work) for word in bound.words)
    if isinstance(action, Script):
        script = folder / "script"
        script.write_bytes(action.source.encode())
        words = (*action.command, str(script))
    environ = {**place.environ, "COULER_WORK": str(work), **inputs}
    for source in bound.step.env_from:
        environ.update(place.entries.all_of(source))
    environ.update({**bound.texts, **entry_texts(bound.step.env, place.entries)})
    try:
        end = _run(words, environ, directory, place, bound.path, attempt, limits)
    except (OSError, ValueError) as error:
        return Attempt(False, message=_explain_start(words[0], error), kind="error")
    failed = _failure(end)
    if failed is not None:
        return failed
    try:
        outputs = keep_outputs(bound, place.store, work, end.stdout)
    except VALUE_ERRORS as error:
        return Attempt(False, message=str(error), exit_code=0, kind="error")
    except OSError as error:
        told = f"its outputs cannot be kept: {error}"
        return Attempt(False, message=told, exit_code=0, kind="error")
    shutil.rmtree(folder, ignore_errors=True)  # what a process has made read-only stays
    return Attempt(True, outputs, exit_code=0)


def put_inputs(bound: Bound, store: Store, work: Path) -> dict[str, str]:
    """Put the files of a step's inputs where it expects them.

    Returns
    -------
    dict of str to str
        `COULER_INPUT_<name>` for each input: its text, or the path of its file.

    Raises
    ------
    EvaluationError
        A file is not in the store, or its path leads out of `COULER_WORK`.
    """
    variables = {}
    for given in bound.step.inputs:
        stored = bound.inputs[given.name]
        # Not as an argument would show it: text that is declared `json` has its quotes here.
        text = stored.text if isinstance(stored, Single) else to_text(stored)
        if is_file(given.type):
            path = work_path(work, given.path or f"inputs/{given.name}")
            _put_files(given, stored, store, path)
            text = str(path)
        variables[f"COULER_INPUT_{given.name}"] = text
    return variables


def keep_outputs(bound: Bound, store: Store, work: Path, stdout: bytes) -> Outputs:
    """Read and store what a process gave.

    Raises
    ------
    EvaluationError
        It did not write a file, and the output has no default.
    WireError
        A value is too large to travel, or no text.
    """
    return {output.name: _keep(output, bound.path, store, work, stdout) for output in bound.outputs}


def work_path(work: Path, path: str) -> Path:
    """Return the place of a declared path in the folder of an attempt.

    Raises
    ------
    EvaluationError
        The path leads out of the folder.
    """
    path = path.removeprefix(f"{WORK_DIR}/")
    if leads_out(path):
        raise EvaluationError(
            f"the path {path!r} lies outside COULER_WORK, where a process of this machine may "
            "not write. Make it relative"
        )
    return work / path


def _moved(word: str, step: Step, work: Path) -> str:
    """A word with the paths that the step declares below `WORK_DIR` where they are here."""
    paths = [given.path for given in step.inputs] + [output.path for output in step.outputs]
    for path in paths:
        if path is not None and path.startswith(f"{WORK_DIR}/"):
            word = word.replace(path, str(work_path(work, path)))
    return word


def leads_out(path: str) -> bool:
    """Return whether a declared path is not inside `COULER_WORK`."""
    parts = PurePosixPath(path.removeprefix(f"{WORK_DIR}/"))
    return parts.is_absolute() or ".." in parts.parts


def _put_files(given: Input, stored: Stored, store: Store, path: Path) -> None:
    if isinstance(stored, Single):
        store.fetch(stored.text, path)
        return
    path.mkdir(parents=True, exist_ok=True)
    for index, item in enumerate(stored.items):
        if item is not None:
            store.fetch(item.text, path / str(index))


def _keep(output: Output, path: StepPath, store: Store, work: Path, stdout: bytes) -> Single:
    if output.path is None:
        return read_output(stdout, output, what="standard output", cut_newline=True)
    source = work_path(work, output.path)
    is_there = source.is_dir() if output.type == "directory" else source.is_file()
    if not is_there:
        if output.default is not None:
            return default_of(output)
        kind = "directory" if output.type == "directory" else "file"
        raise EvaluationError(
            f'the output "{output.name}": the process did not write the {kind} {output.path}'
        )
    if is_file(output.type):
        location = f"{path}/{output.name}"
        store.keep(source, location)
        return Single(location, output.type)
    with source.open("rb") as file:
        content = file.read(KEEP_BYTES + 1)
    return read_output(content, output, what=output.path, cut_newline=True)


def _directory(wanted: str | None, work: Path) -> Path:
    directory = work / (wanted or ".")  # an absolute path takes the place of the folder
    if not directory.is_dir():
        if leads_out(wanted or "."):
            raise EvaluationError(f"the working directory {wanted} does not exist here")
        directory.mkdir(parents=True)
    return directory


def _run(
    words: tuple[str, ...],
    environ: Mapping[str, str],
    directory: Path,
    place: Place,
    path: StepPath,
    attempt: int,
    limits: Limits,
) -> ProcessEnd:
    log = place.log(path)
    log.parent.mkdir(parents=True, exist_ok=True)
    maskers = {name: Masker(place.secrets) for name in ("stdout", "stderr")}
    with log.open("ab" if attempt else "wb", buffering=0) as file:
        if attempt:
            file.write(b"--- attempt %d ---\n" % (attempt + 1))
        try:
            return run_process(
                words,
                environ=environ,
                directory=directory,
                on_output=lambda name, chunk: _write(file, maskers[name].feed(chunk)),
                deadline=limits.deadline,
                stop=limits.stop,
                keep_bytes=KEEP_BYTES,
            )
        finally:
            for masker in maskers.values():
                file.write(masker.flush())


def _write(file: t.BinaryIO, text: bytes) -> None:
    file.write(text)


def _failure(end: ProcessEnd) -> Attempt | None:
    match end.reason:
        case "stopped":
            return Attempt(False, message=CANCELLED, exit_code=end.exit_code)
        case "timeout":
            return Attempt(False, message=OUT_OF_TIME, kind="failure")
        case "exit" if end.exit_code != 0:
            told = f"it ended with exit code {end.exit_code}"
            return Attempt(False, message=told, exit_code=end.exit_code, kind="failure")
    return None


def _explain_start(program: str, error: OSError | ValueError) -> str:
    if isinstance(error, FileNotFoundError):
        return (
            f'there is no program "{program}" on this machine. Install it, or run the workflow '
            "where its image is used"
        )
    if isinstance(error, PermissionError):
        return f'"{program}" may not be run: {error.strerror}'
    return f'"{program}" cannot be started: {error}'
