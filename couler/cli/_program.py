"""Running a user's program up to its workflow, and saying what stopped it."""

from __future__ import annotations

import contextlib
import os
import sys
import traceback
import types
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import couler
from couler.errors import DefinitionError, NoWorkflowError, SeveralWorkflowsError
from couler.ir.diagnostics import Diagnostic, did_you_mean
from couler.ir.policies import SourceRef
from couler.ir.workflow import Workflow
from couler.stages import AnyWorkflow, ProgramWorkflow

RAISED = "CLR001"
NO_WORKFLOW = "CLR002"
SEVERAL_WORKFLOWS = "CLR003"
NO_SUCH_WORKFLOW = "CLR004"


class LoadError(DefinitionError):
    """FILE gives no workflow; `diagnostic` says why."""

    exit_code = 1

    def __init__(self, diagnostic: Diagnostic, details: str = "") -> None:
        self.diagnostic = diagnostic
        super().__init__(f"{diagnostic}\n{details}".rstrip())


class _NoWorkflowLoadError(LoadError, NoWorkflowError):
    pass


class _SeveralWorkflowsLoadError(LoadError, SeveralWorkflowsError):
    pass


@dataclass(frozen=True, slots=True)
class Loaded:
    """A workflow as IR, with what building it reported; a `ProgramWorkflow`."""

    workflow: Workflow
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def name(self) -> str:
        """Name of the workflow."""
        return self.workflow.name

    def to_ir(self) -> Workflow:
        """Return the workflow."""
        return self.workflow


def load_program(path: str, name: str | None = None) -> Loaded:
    """Run a program as `python path` does, and return the workflow that it defines.

    Parameters
    ----------
    path
        The program. What it prints goes to standard error.
    name
        The workflow to take: the variable that holds it, or its own name. None if the program
        defines but one.

    Raises
    ------
    LoadError
        The program raised, or defines no workflow, none of that name, or several.
    """
    from couler.dsl.submit import collect  # a workflow that is read from a file needs no DSL

    with _as_main(path) as module, _standard_output_to_error(), collect() as submitted:
        _execute(path, module)
        found = _workflows(module, submitted)
        chosen = _choose(path, name, found)
        # Within the program's environment: it looks at source files and at __main__.
        workflow = chosen if isinstance(chosen, Workflow) else chosen.to_ir()
        diagnostics = () if isinstance(chosen, Workflow) else tuple(chosen.diagnostics)
    return Loaded(workflow, diagnostics)


@contextlib.contextmanager
def _as_main(path: str) -> Iterator[types.ModuleType]:
    """Make a module for a program as the interpreter does, and undo it afterwards."""
    module = types.ModuleType("__main__")
    module.__file__ = str(Path(path).absolute())
    module.__dict__["__builtins__"] = __builtins__
    saved_main, saved_argv, saved_path = sys.modules["__main__"], sys.argv, sys.path
    sys.modules["__main__"] = module
    sys.argv = [path]
    sys.path = [str(Path(path).absolute().parent), *saved_path]
    try:
        yield module
    finally:
        sys.modules["__main__"], sys.argv, sys.path = saved_main, saved_argv, saved_path


@contextlib.contextmanager
def _standard_output_to_error() -> Iterator[None]:
    """Send what a program and its children print to standard error: ours holds the artifact."""
    sys.stdout.flush()
    try:
        saved = os.dup(1)
    except OSError:  # the caller has closed it; there is nothing to keep clean
        saved = None
    try:
        if saved is not None:
            os.dup2(2, 1)
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        if saved is not None:
            os.dup2(saved, 1)
            os.close(saved)


def _execute(path: str, module: types.ModuleType) -> None:
    try:
        code = compile(Path(path).read_bytes(), path, "exec")
        exec(code, module.__dict__)  # the user's own program, as `python path` runs it
    except SystemExit as error:
        if error.code not in (None, 0):
            raise _raised(path, error, f"the program ended with {error.code!r}") from error
    except Exception as error:  # a program can raise anything; the cause is kept
        what = f"the program raised {type(error).__name__}"
        raise _raised(path, error, f"{what}: {error}" if str(error) else what) from error


def _raised(path: str, error: BaseException, message: str) -> LoadError:
    frames = _their_frames(traceback.extract_tb(error.__traceback__))
    if isinstance(error, SyntaxError) and error.filename and error.lineno:
        place = SourceRef(file=error.filename, line=error.lineno)
    elif frames:
        place = SourceRef(file=frames[-1].filename, line=frames[-1].lineno or 1)
    else:
        place = SourceRef(file=path, line=1)
    report = traceback.TracebackException.from_exception(error)
    _leave_out_ours(report)
    return LoadError(Diagnostic(RAISED, message, source=place), "".join(report.format()))


def _leave_out_ours(report: traceback.TracebackException) -> None:
    report.stack = traceback.StackSummary.from_list(_their_frames(report.stack))
    for cause in (report.__cause__, report.__context__):
        if cause is not None:
            _leave_out_ours(cause)


def _their_frames(frames: Sequence[traceback.FrameSummary]) -> list[traceback.FrameSummary]:
    ours = str(Path(couler.__file__).parent) + os.sep
    return [
        frame
        for frame in frames
        if not frame.filename.startswith(ours) and not frame.filename.startswith("<frozen ")
    ]


def _workflows(
    module: types.ModuleType, submitted: Sequence[AnyWorkflow]
) -> dict[str, AnyWorkflow]:
    """Return each workflow once, by the variable that holds it or else by its own name."""
    found: dict[str, AnyWorkflow] = {}
    seen: set[int] = set()
    for name, value in list(vars(module).items()):
        is_workflow = isinstance(value, Workflow | ProgramWorkflow) and not isinstance(value, type)
        if is_workflow and id(value) not in seen:
            seen.add(id(value))
            found[name] = value
    for workflow in submitted:
        if id(workflow) not in seen:
            seen.add(id(workflow))
            found[_name_of(workflow)] = workflow
    return found


def _choose(path: str, name: str | None, found: dict[str, AnyWorkflow]) -> AnyWorkflow:
    start = SourceRef(file=path, line=1)
    if not found:
        message = (
            "the program defines no workflow. Write steps in `with couler.Workflow(...):`, "
            "or call couler.run() at its end"
        )
        raise _NoWorkflowLoadError(Diagnostic(NO_WORKFLOW, message, source=start))
    if name is None:
        if len(found) == 1:
            return next(iter(found.values()))
        names = ", ".join(f"{path}:{one}" for one in found)
        message = f"the program defines {len(found)} workflows. Say which: {names}"
        raise _SeveralWorkflowsLoadError(Diagnostic(SEVERAL_WORKFLOWS, message, source=start))
    if name in found:
        return found[name]
    same = [workflow for workflow in found.values() if _name_of(workflow) == name]
    if len(same) == 1:
        return same[0]
    known = [*found, *map(_name_of, found.values())]
    message = (
        f'the program defines no workflow "{name}"; it defines: {", ".join(found)}.'
        f"{did_you_mean(name, known)}"
    )
    raise _NoWorkflowLoadError(Diagnostic(NO_SUCH_WORKFLOW, message, source=start))


def _name_of(workflow: AnyWorkflow) -> str:
    return workflow.name
