"""The command `couler`: finds a subcommand, and turns what goes wrong into an exit code."""

from __future__ import annotations

import errno
import gc
import io
import signal
import sys
import typing as t
from collections.abc import Sequence
from importlib import import_module
from itertools import pairwise

import click
from click.shell_completion import CompletionItem

import couler
from couler.cli.session import RequestToEnd, Session, session_options, steady_streams
from couler.errors import CoulerError
from couler.rest import listening

# Command -> its first line of help, which `couler --help` shows without loading the command.
# The module is couler.cli.<command>; tests/cli/test_app.py holds the lines equal.
COMMANDS = {
    "run": "Run a workflow on this machine.",
    "submit": "Run a workflow on an engine elsewhere.",
    "schedule": "Let engines elsewhere run workflows by their schedules.",
    "retry": "Go on with a run where it ended.",
    "list": "List runs.",
    "status": "Show how a run stands.",
    "logs": "Show what the steps of a run have written.",
    "cancel": "End a run that goes on.",
    "resume": "Let steps go on that wait for a person.",
    "delete": "Delete runs: their record, their logs and files.",
    "compile": "Turn a workflow into files for an engine.",
    "image": "Write what the images of steps are built of.",
    "validate": "Report everything that is wrong with a workflow.",
    "show": "Draw a workflow.",
    "plan": "Show what the passes did to a workflow, and why.",
    "passes": "Show the passes that are installed, with their options.",
    "engines": "Show what each engine can do.",
    "failures": "Show what failures of engines mean, and what helps.",
    "cache": "Show and clean what steps can reuse.",
    "cluster": "Show the machines that steps can be placed on.",
    "tune": "Choose hyperparameters from a data card, a model card and a search space.",
    "zoo": "Show the ready-made steps that are installed.",
    "llm": "Check an endpoint of language models, and show the log of calls.",
    "generate": "Make a workflow from TEXT, or check a program that was made.",
    "init": "Write an example workflow to begin with.",
    "completion": "Print a script that completes commands in a shell.",
}

_GC_OBJECTS = 20_000

EXIT_DEFECT = 70
"""EX_SOFTWARE of sysexits.h: a defect of Couler itself."""


class GuardedCommand(click.Command):
    """A command that turns what goes wrong into a message and an exit code."""

    def invoke(self, ctx: click.Context) -> t.Any:
        """Run the command, and write all that it prints."""
        result = super().invoke(ctx)
        sys.stdout.flush()
        return result

    def main(  # type: ignore[override]  # click overloads it by the value of standalone_mode
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        standalone_mode: bool = True,
        **extra: t.Any,
    ) -> t.Any:
        """Run a command; in standalone mode, end the process with its exit code."""
        if not standalone_mode:
            return super().main(args, prog_name, standalone_mode=False, **extra)
        session = Session()
        extra.setdefault("obj", session)
        code = self._guarded(session, args, prog_name, extra)
        try:
            sys.stdout.flush()
        except OSError:  # Python would fail again when it flushes at its end
            sys.stdout = None
        sys.exit(code)

    def _guarded(
        self,
        session: Session,
        args: Sequence[str] | None,
        prog_name: str | None,
        extra: dict[str, t.Any],
    ) -> int:
        stdout = sys.stdout
        try:
            with listening(lambda text: session.info(f"note: {text}")):
                code = super().main(args, prog_name, standalone_mode=False, **extra)
        except SystemExit:
            if sys.stdout is stdout:
                raise
            # click has replaced it, as its reader has gone, which ends other programs in silence.
            return 128 + signal.SIGPIPE
        except click.ClickException as error:
            error.show()
            return error.exit_code
        except (click.Abort, KeyboardInterrupt) as error:
            # click raises its own for that of Python; before 8.2 it does not name it as the cause.
            chain = (error, error.__cause__, error.__context__)
            told = dict.fromkeys(note for one in chain if one is not None for note in _notes(one))
            if any(isinstance(one, RequestToEnd) for one in chain):
                session.error("\n".join(("told to end (SIGTERM)", *told)))
                return 128 + signal.SIGTERM
            session.error("\n".join(("interrupted", *told)))
            return 128 + signal.SIGINT
        except CoulerError as error:
            self._explain(session, error)
            return error.exit_code
        except Exception as error:  # noqa: BLE001  # the outermost frame
            code = _fault_code(error)
            self._explain(session, error, defect=code == EXIT_DEFECT)
            return code
        return code if isinstance(code, int) else 0

    @staticmethod
    def _explain(session: Session, error: Exception, defect: bool = False) -> None:
        told = session.trace(error)
        if defect:
            session.error(
                "\n".join(
                    (
                        f"a defect of couler {couler.__version__}: {type(error).__name__}: {told}",
                        *_notes(error),
                        "Please report it, with what --debug prints",
                    )
                )
            )
        else:
            session.error("\n".join((_reason(error, told), *_notes(error))))


class App(GuardedCommand, click.Group):
    """The group of all commands."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands, in the order of their use."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load a command."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"couler.cli.{cmd_name}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that the arguments name, or suggest the nearest."""
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            import difflib

            near = difflib.get_close_matches(name, COMMANDS, n=1)
            hint = f' Did you mean "{near[0]}"?' if near else ""
            ctx.fail(f'there is no command "{name}".{hint}')
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands from the table, loading none."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete a command or an option, loading no command."""
        commands = [
            CompletionItem(name, help=text)
            for name, text in COMMANDS.items()
            if name.startswith(incomplete)
        ]
        return [*commands, *click.Command.shell_complete(self, ctx, incomplete)]


def _notes(error: BaseException) -> list[str]:
    return getattr(error, "__notes__", [])


def _fault_code(error: Exception) -> int:
    """Return the exit code of what no command has caught: 70 if it is a defect of Couler."""
    if isinstance(error, OSError) and (error.filename or error.errno in _NAMELESS):
        return 3
    if isinstance(error, UnicodeEncodeError) and error.reason == _NOT_UTF_8:
        return 2
    return EXIT_DEFECT


_NAMELESS = {
    errno.ENOENT: "the current folder, which has been deleted",
    errno.ENOSPC: "standard output, or a file",
}
"""What errors of the system mean that name no file."""

_NOT_UTF_8 = "surrogates not allowed"
"""What Python says of bytes of an argument or a variable that are no UTF-8."""


def _reason(error: Exception, told: str) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename or _NAMELESS[error.errno or 0]}: {error.strerror}"
    if isinstance(error, UnicodeEncodeError):
        given = [
            f"{before} {word!a}"
            for before, word in pairwise(sys.argv)
            if word.encode(errors="ignore").decode() != word
        ]
        return f"{', '.join(given) or f'{error.object.strip()!r:.80}'} is not UTF-8"
    return told


@click.group(cls=App, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(couler.__version__, prog_name="couler", message="%(prog)s %(version)s")
@session_options
def app() -> None:
    """Check, draw, compile and run workflows.

    FILE is path.py, path.py:name where a program defines several workflows, a workflow as .json
    or .yaml, or - for standard input.
    """


def main() -> t.NoReturn:
    """Run the command line and end the process."""
    # What is imported stays: to look for garbage in it takes a tenth of the start.
    gc.set_threshold(_GC_OBJECTS)
    steady_streams()
    if isinstance(sys.stdout, io.TextIOWrapper):
        # An artifact is the same in every locale; a message may quote what is no text.
        sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")
    app.main(prog_name="couler")
    raise AssertionError("app.main ends the process")
