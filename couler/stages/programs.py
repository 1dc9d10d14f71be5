"""Running a user's program up to its workflow, and errors with what to write instead."""

from __future__ import annotations

import ast
import contextlib
import enum
import inspect
import io
import linecache
import os
import re
import sys
import sysconfig
import traceback
import types
import typing as t
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType, ModuleType, TracebackType

import couler
from couler.errors import CoulerError, DefinitionError, NoWorkflowError, SeveralWorkflowsError
from couler.ir.diagnostics import Diagnostic, did_you_mean
from couler.ir.policies import SourceRef
from couler.ir.workflow import Workflow
from couler.stages.checks import AnyWorkflow, as_ir, secrets_of, sort_diagnostics
from couler.streams import message_stream

if t.TYPE_CHECKING:
    from couler.dsl.workflow import Workflow as ProgramWorkflow

RAISED = "CLR001"
NO_WORKFLOW = "CLR002"
SEVERAL_WORKFLOWS = "CLR003"
NO_SUCH_WORKFLOW = "CLR004"

_OURS = str(Path(couler.__file__).parent) + os.sep
_OUR_FILE = re.compile(rf" \({re.escape(_OURS)}[^()]*\)")


class LoadError(DefinitionError):
    """FILE gives no workflow; `diagnostic` says why.

    `diagnostics` has besides it what was found wrong before, in the order of the lines.
    """

    exit_code = 1

    def __init__(
        self, diagnostic: Diagnostic, details: str = "", found: Sequence[Diagnostic] = ()
    ) -> None:
        self.diagnostic = diagnostic
        self.diagnostics = sort_diagnostics((*found, diagnostic))
        super().__init__("\n".join([*map(str, self.diagnostics), details]).rstrip())


class _NoWorkflowLoadError(LoadError, NoWorkflowError):
    pass


class _SeveralWorkflowsLoadError(LoadError, SeveralWorkflowsError):
    pass


@dataclass(frozen=True, slots=True)
class Loaded:
    """A workflow as IR, with what building it reported; a `ProgramWorkflow`."""

    workflow: Workflow
    diagnostics: tuple[Diagnostic, ...] = ()
    secrets: Mapping[str, Mapping[str, str]] = field(default_factory=dict, repr=False)

    @property
    def name(self) -> str:
        """Name of the workflow."""
        return self.workflow.name

    def to_ir(self) -> Workflow:
        """Return the workflow."""
        return self.workflow

    def reveal_secrets(self) -> Mapping[str, Mapping[str, str]]:
        """Return the values of secrets that the program gives."""
        return self.secrets


def _read(path: str) -> bytes:
    return Path(path).read_bytes()


def load_program(
    path: str, name: str | None = None, *, read: Callable[[str], bytes | ast.Module] = _read
) -> Loaded:
    """Run a program as `python path` does, and return the workflow that it defines.

    Parameters
    ----------
    path
        The program. What it prints goes to standard error.
    name
        The workflow to take: the variable that holds it, or its own name. None if the program
        defines but one.
    read
        Gives what is run of the file: by default all that is in it.

    Raises
    ------
    LoadError
        The program raised, or defines no workflow, none of that name, or several.
    """
    from couler.dsl._context import collect  # a workflow that is read from a file needs no DSL

    with _as_main(path) as module, _lent_streams():
        with collect() as built:
            _execute(path, module, built, read)
        chosen = _choose(path, name, _by_variable(module, built))
        # Within the program's environment: it looks at source files and at __main__.
        workflow, diagnostics = as_ir(chosen)
    return Loaded(workflow, diagnostics, secrets_of(chosen))


@contextlib.contextmanager
def _as_main(path: str) -> Iterator[types.ModuleType]:
    """Make a module for a program as the interpreter does, and undo it afterwards."""
    module = types.ModuleType("__main__")
    module.__file__ = str(Path(path).absolute())
    module.__dict__["__builtins__"] = __builtins__
    saved_main, saved_argv, saved_path = sys.modules["__main__"], sys.argv, sys.path
    folder = Path.cwd()
    sys.modules["__main__"] = module
    sys.argv = [path]
    sys.path = [str(Path(path).absolute().parent), *saved_path]
    try:
        yield module
    finally:
        sys.modules["__main__"], sys.argv, sys.path = saved_main, saved_argv, saved_path
        os.chdir(folder)


@contextlib.contextmanager
def _lent_streams() -> Iterator[tuple[t.TextIO, t.TextIO]]:
    """Send what a program and its children print to standard error: ours holds the artifact.

    A program may close and replace the streams that it has.
    """
    sys.stdout.flush()
    streams, saved = (sys.stdout, sys.stderr), {}
    with contextlib.suppress(OSError):  # the caller has closed one; there is nothing to keep clean
        saved = {number: os.dup(number) for number in (2, 1)}
        os.dup2(2, 1)
    lent = sys.stdout, sys.stderr = _stream_like(sys.stderr), _stream_like(sys.stderr)
    try:
        yield lent  # which holds them: one that a program wraps ends with its last reference
    finally:
        sys.stdout, sys.stderr = streams
        for number, copy in saved.items():
            os.dup2(copy, number)
            os.close(copy)


def _stream_like(stream: t.TextIO) -> t.TextIO:
    """Return another stream to the same file, or this one where it has none, as in a notebook."""
    if isinstance(stream, io.TextIOWrapper):
        with contextlib.suppress(OSError):
            return message_stream(stream.fileno(), stream.encoding)
    return stream


def _execute(
    path: str,
    module: types.ModuleType,
    built: Sequence[ProgramWorkflow],
    read: Callable[[str], bytes | ast.Module],
) -> None:
    """Run the program, which adds what it builds to `built`."""
    try:
        code = compile(read(path), path, "exec", dont_inherit=True)
        exec(code, module.__dict__)  # the user's own program, as `python path` runs it
    except SystemExit as error:
        if error.code not in (None, 0):
            message = f"the program ended with {error.code!r}"
            raise _raised(path, error, message, built) from error
    except Exception as error:  # a program can raise anything; the cause is kept
        raise _raised(path, error, _summary(error), built) from error


def _summary(error: Exception) -> str:
    try:
        text = str(error)
    except (Exception, SystemExit):  # noqa: BLE001  # of the program's own `__str__`
        return f"the program raised {type(error).__name__}, which has no text: its __str__ fails"
    if isinstance(error, CoulerError):
        return text
    if isinstance(error, SyntaxError):
        return f"the program cannot be read: {type(error).__name__}: {error.msg}"
    hint = hint_for(error)
    last = traceback.extract_tb(error.__traceback__)[-1]
    is_ours = last.filename.startswith(_OURS) and last.name != "__getattr__" and not hint
    what = f"the program raised {type(error).__name__}{' inside couler' if is_ours else ''}"
    text = _OUR_FILE.sub("", text.replace(".__init__()", "()"))
    return f"{what}: {text}{hint}" if text else f"{what}{hint}"


def _raised(
    path: str, error: BaseException, message: str, built: Sequence[ProgramWorkflow]
) -> LoadError:
    """Return the error that shows of a traceback the program's own lines."""
    from couler.dsl.submit import found_so_far

    found = found_so_far(built)
    told = getattr(error, "diagnostic", None)
    if isinstance(told, Diagnostic):  # an error of the DSL, with its code and place
        return LoadError(told, found=found)
    report = traceback.TracebackException.from_exception(error)
    is_theirs = _theirs(path)
    frames = [frame for frame in report.stack if is_theirs(frame)]
    if isinstance(error, SyntaxError) and error.filename and error.lineno:
        place = SourceRef(file=error.filename, line=error.lineno)
    elif frames:
        place = SourceRef(file=frames[-1].filename, line=frames[-1].lineno or 1)
    else:
        place = SourceRef(file=path, line=1)
    _keep_frames(report, is_theirs)
    told = Diagnostic(RAISED, message, source=place)
    return LoadError(told, "".join(report.format()), found)


def _theirs(path: str) -> Callable[[traceback.FrameSummary], bool]:
    """Return what tells the program's own lines from those of installed packages and of Python."""
    own = str(Path(path).absolute().parent) + os.sep
    installed = [str(Path(couler.__file__).parent), *sysconfig.get_paths().values()]
    others = tuple(folder + os.sep for folder in installed if not own.startswith(folder + os.sep))

    def is_theirs(frame: traceback.FrameSummary) -> bool:
        file = str(Path(frame.filename).absolute())
        return not frame.filename.startswith("<frozen ") and not file.startswith(others)

    return is_theirs


def _keep_frames(
    report: traceback.TracebackException, is_kept: Callable[[traceback.FrameSummary], bool]
) -> None:
    kept = [frame for frame in report.stack if is_kept(frame)]
    report.stack = traceback.StackSummary.from_list(kept)
    for cause in (report.__cause__, report.__context__):
        if cause is not None:
            _keep_frames(cause, is_kept)


def _by_variable(module: types.ModuleType, built: Sequence[AnyWorkflow]) -> dict[str, AnyWorkflow]:
    """Return each workflow once, by the variable that holds it or else by its own name."""
    found: dict[str, AnyWorkflow] = {}
    seen: set[int] = set()
    for name, value in vars(module).items():
        if id(value) not in seen and (
            any(value is workflow for workflow in built) or isinstance(value, Workflow)
        ):
            seen.add(id(value))
            found[name] = value
    for workflow in built:
        if id(workflow) not in seen:
            seen.add(id(workflow))
            found[workflow.name] = workflow
    return found


def _outside(found: Mapping[str, AnyWorkflow]) -> str:
    """Return where a program makes steps outside of its `with Workflow` blocks, if it does."""
    from couler.dsl.workflow import Workflow as ProgramWorkflow

    implicit = [
        one for one in found.values() if isinstance(one, ProgramWorkflow) and one._builder.implicit
    ]
    steps = implicit[0].to_ir().steps if len(found) > len(implicit) > 0 else ()
    if not steps:
        return ""
    return (
        f'. The step "{steps[0].name}" ({steps[0].source}) stands outside of every `with '
        "couler.Workflow` block, so it is one of a workflow of its own; indent it if it belongs to "
        "the one above"
    )


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
        message = f"the program defines {len(found)} workflows. Say which: {names}{_outside(found)}"
        raise _SeveralWorkflowsLoadError(Diagnostic(SEVERAL_WORKFLOWS, message, source=start))
    if name in found:
        return found[name]
    same = [workflow for workflow in found.values() if workflow.name == name]
    if len(same) == 1:
        return same[0]
    known = [*found, *(workflow.name for workflow in found.values())]
    message = (
        f'the program defines no workflow "{name}"; it defines: {", ".join(found)}.'
        f"{did_you_mean(name, known)}"
    )
    raise _NoWorkflowLoadError(Diagnostic(NO_SUCH_WORKFLOW, message, source=start))


_VALUE = (
    "A value of the workflow is known only when the workflow runs, so Python cannot work with it "
    'while it is built. Pass it to a step, or put it into text: couler.text("... {}", value)'
)
_NOT_RUN = (
    ". couler.run() and wf.run() run nothing under this command and return None: use what they "
    "return only `if run is not None`; the name of a run is run.run_id"
)
_STEP_FUNCTION = "A function that is a step must be called to make one: train(...)"
_CALL = re.compile(
    r"(?P<path>[\w.]+)\(\) (?:missing|takes|got an unexpected keyword argument '(?P<name>\w+)')"
)


def hint_for(error: BaseException) -> str:
    """Return what to do about an error of a program, with a blank before it; or nothing."""
    frame = _frame_at(error.__traceback__)
    if "'NoneType' object" in str(error) and _reads_run(error.__traceback__):
        return _NOT_RUN
    match error:
        case ModuleNotFoundError(name=str()):
            if str(error.name).startswith("couler."):
                from couler.dsl.absent import module_missing

                return module_missing(str(error.name))
            return (
                ". Install it where the workflow is built; or, if only steps use it, import it in "
                "their functions"
            )
        case ImportError(name=str()):
            return _imported(error)
        case AttributeError(name=str()):
            return _attribute(error)
        case NameError(name=str()):
            return _nearest(error.name, _names_at(frame))
        case RecursionError():
            return _recursion(error)
        case TypeError():
            return _call(error) or _value(error)
    return _value(error)


def _imported(error: ImportError) -> str:
    match = re.search(r"cannot import name '(\w+)' from '([\w.]+)'", str(error))
    module = sys.modules.get(match[2]) if match else None
    if match is None or module is None or module.__name__.partition(".")[0] != "couler":
        return ""
    return _nearest(match[1], _public(module))


def _attribute(error: AttributeError) -> str:
    owner = error.obj
    if owner is couler or owner is sys.modules.get("couler.argo"):  # the ancestor's name for it
        return _nearest(error.name, couler.__all__)
    if isinstance(owner, ModuleType) and owner.__name__.startswith("couler."):
        return _nearest(error.name, _public(owner))
    kind = owner if isinstance(owner, type) else type(owner)
    if not (kind.__module__.startswith("couler.") or issubclass(kind, enum.Enum)):
        return ""
    from couler.dsl.workflow import Workflow as ProgramWorkflow

    if isinstance(owner, ProgramWorkflow) and error.name in dir(owner.params):
        return f". It is a parameter: write params.{error.name}"
    known = _public(owner)
    return _nearest(error.name, known) or (f". It has {', '.join(known)}" if len(known) < 8 else "")


def _nearest(name: str | None, known: Iterable[str]) -> str:
    hint = did_you_mean(name or "", known)
    return f".{hint}" if hint else ""


def _public(owner: object) -> list[str]:
    return [name for name in dir(owner) if not name.startswith("_")]


def _frame_at(trace: TracebackType | None) -> FrameType | None:
    """Return the frame that raised."""
    frame: FrameType | None = None
    while trace is not None:
        frame, trace = trace.tb_frame, trace.tb_next
    return frame


def _reads_run(trace: TracebackType | None) -> bool:
    """Return whether the line that raised reads what a call of `run` gives, or gave a variable."""
    last = traceback.extract_tb(trace)[-1]
    lines = linecache.getlines(last.filename)
    line, text = lines[(last.lineno or 1) - 1] if lines else "", "".join(lines)
    given = re.findall(r"(?m)^[ \t]*(\w+)[^=\n]*=[ \t]*[\w.]+\.run\(", text)
    read = re.search(r"\b\w+\.run\([^()]*\)\s*[.\[]", line) is not None
    return read or not set(given).isdisjoint(re.findall(r"\w+", line))


def _names_at(frame: FrameType | None) -> Iterable[str]:
    """Return the names that the line which raised could have meant."""
    return {**frame.f_builtins, **frame.f_globals, **frame.f_locals} if frame else ()


def _recursion(error: RecursionError) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    calls = [(one.filename, one.name) for one in frames if not one.name.startswith("<")]
    file, most = max(set(calls), key=calls.count, default=("", "a function"))
    if file.startswith(_OURS):
        return ". A value holds itself, or is nested too deep"
    return (
        f". {most} calls itself without an end: what a step will return cannot end it, as steps "
        "are made before any runs. Use couler.exec_while or couler.loop"
    )


def _call(error: TypeError) -> str:
    """Return what a function of Couler takes, if it was called otherwise."""
    if twice := re.search(r"Workflow.*\(\) got multiple values for argument '(\w+)'", str(error)):
        return f'. A parameter of that name is written params={{"{twice[1]}": ...}}'
    match = _CALL.match(str(error))
    if match is None:
        return ""
    names = match["path"].removesuffix(".__init__").split(".")
    target = _named(names[0])
    for name in names[1:]:
        target = getattr(target, name, None)
    if target is None:
        return ""
    parameters = [
        one for one in inspect.signature(target).parameters.values() if one.name != "self"
    ]
    if match["name"] is not None:
        return _nearest(match["name"], [one.name for one in parameters])
    by_place = [one.name for one in parameters if one.kind is one.POSITIONAL_OR_KEYWORD]
    named = [one.name for one in parameters if one.kind is one.KEYWORD_ONLY]
    parts = [
        f"by position {', '.join(by_place)}" if by_place else "",
        f"by name {', '.join(named)}" if named else "",
        "any other by name" if any(one.kind is one.VAR_KEYWORD for one in parameters) else "",
    ]
    return f". It takes {'; '.join(part for part in parts if part)}"


def _named(name: str) -> t.Any:
    """Return something public, or the class of a typed step, by its name."""
    if name in ("TypedStep", "Partial"):
        from couler.dsl import step

        return vars(step)[name]
    return getattr(couler, name) if name in couler.__all__ else None


def _value(error: BaseException) -> str:
    """Return what values of the workflow are for, if one is what Python could not work with."""
    if "couler.dsl.handles" not in sys.modules:
        return ""
    from couler.dsl.handles import Value

    text = str(error)
    if re.search(r"\b(TypedStep|Partial)\b", text):
        return f". {_STEP_FUNCTION}"
    names = "|".join(["Value", *_classes_below(Value)])
    return f". {_VALUE}" if re.search(rf"\b({names})\b|<couler (step|value) ", text) else ""


def _classes_below(kind: type) -> Iterator[str]:
    below: list[type] = kind.__subclasses__()
    for one in below:
        yield one.__name__
        yield from _classes_below(one)
