"""What one call of the command line knows and says: settings, messages, streams, its end."""

from __future__ import annotations

import io
import os
import shutil
import signal
import sys
import threading
import typing as t
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import click

from couler.errors import ConfigurationError
from couler.streams import message_stream

if t.TYPE_CHECKING:
    from rich.console import Console

    from couler.cli._settings import Settings


@dataclass
class Session:
    """Verbosity, settings and messages of one call."""

    debug: bool = False
    quiet: bool = False
    verbose: bool = False
    environment: dict[str, str] = field(default_factory=lambda: dict(os.environ))

    @cached_property
    def settings(self) -> Settings:
        """What is set beside the flags."""
        from couler.cli._settings import read_settings

        settings = read_settings(Path.cwd(), self.environment)
        for name, (value, origin) in settings.values.items():
            self.detail(f"{name} = {value}, from {origin}")
        return settings

    def error(self, text: str) -> None:
        """Say why the command failed."""
        click.echo(f"{self.style('error:', fg='red', bold=True)} {text}", err=True)

    def trace(self, error: Exception) -> str:
        """Show the traceback of an error to those who debug; return the message to go with it."""
        if not self.debug:
            return str(error)
        import traceback

        from couler.errors import CoulerError
        from couler.stages.programs import LoadError

        shown, told = t.cast("BaseException", error), str(error)
        if isinstance(error, LoadError) and error.__cause__ is not None:  # that of the program
            shown, told = error.__cause__, "\n".join(map(str, error.diagnostics))
        text = "".join(traceback.format_exception(shown))
        if shown is error or isinstance(shown, CoulerError):  # the message has these words
            text = text.removesuffix("".join(traceback.format_exception_only(shown)))
        click.echo(text, err=True, nl=False)
        return told

    def complain(self, text: str) -> None:
        """Say more about what went wrong."""
        click.echo(text, err=True)

    def info(self, text: str) -> None:
        """Say what a user wants to know, unless they asked for silence."""
        if not self.quiet:
            click.echo(text, err=True)

    def detail(self, text: str) -> None:
        """Say what a user wants to know who asked for more."""
        if self.verbose:
            click.echo(text, err=True)

    def style(self, text: str, *, err: bool = True, **styles: t.Any) -> str:
        """Return the text in colour where the stream is a terminal and the user wants colour."""
        stream = sys.stderr if err else sys.stdout
        return click.style(text, **styles) if self.has_colour(stream) else text

    def width_of_terminal(self) -> int | None:
        """Return the columns of standard output, or None where it is no terminal."""
        return shutil.get_terminal_size().columns if sys.stdout.isatty() else None

    def has_colour(self, stream: t.TextIO) -> bool:
        """Return whether to write colours to a stream."""
        if self.environment.get("NO_COLOR") or self.environment.get("TERM") == "dumb":
            return False
        return stream.isatty()

    def console(self, stream: t.TextIO, width: int | None = None) -> Console:
        """Return what draws tables; a size of the terminal that is no number is left out."""
        from rich.console import Console

        environment = {
            name: text
            for name, text in self.environment.items()
            if name not in ("COLUMNS", "LINES") or (text.isdecimal() and len(text) < 9)
        }
        return Console(
            file=stream,
            no_color=not self.has_colour(stream),
            width=width,
            _environ=environment,
        )


@contextmanager
def writing(option: str, path: object) -> Iterator[None]:
    """Report what cannot be written where an option says."""
    try:
        yield
    except OSError as error:
        raise ConfigurationError(
            f"{option} {path}: {error.filename or path} cannot be written: {error.strerror}. "
            "Name one in a folder that is there and may be written"
        ) from error


pass_session = click.make_pass_decorator(Session)


def session_options(command: Callable[..., t.Any]) -> Callable[..., t.Any]:
    """Add the options that every command has; they may stand before or after its name."""
    for names, help_text in (
        (("--debug",), "Show tracebacks."),
        (("-v", "--verbose"), "Say more on standard error."),
        (("-q", "--quiet"), "Say only what went wrong."),
    ):
        command = click.option(
            *names,
            is_flag=True,
            expose_value=False,
            callback=_set_flag,
            is_eager=True,
            help=help_text,
        )(command)
    return command


def _set_flag(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value and param.name is not None:
        setattr(ctx.ensure_object(Session), param.name, True)


class RequestToEnd(KeyboardInterrupt):  # it is as little an error as its base
    """The process was told to end."""


@contextmanager
def heeding_requests_to_end() -> Iterator[None]:
    """Raise `RequestToEnd` where the process is told to end; a second request ends it at once."""
    is_free = (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    )
    if not is_free:
        yield
        return

    def hear(_number: int, _frame: object) -> t.NoReturn:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        raise RequestToEnd

    signal.signal(signal.SIGTERM, hear)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def steady_streams() -> None:
    """Put the null device behind closed streams, and let messages on standard error be lost.

    What is opened next would get the number of a closed stream, and what is printed.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest number that is free, which is this one
        if getattr(sys, name) is None:
            mode = "w" if number else "r"
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115
    if isinstance(sys.stderr, io.TextIOWrapper):
        sys.stderr = message_stream(2, sys.stderr.encoding)
