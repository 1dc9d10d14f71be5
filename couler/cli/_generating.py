"""Workflows from descriptions: what is asked, shown and written."""

from __future__ import annotations

import json
import sys
import typing as t
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from couler.cli._diagnostics import text_lines
from couler.cli._generated_files import Destination, files_of
from couler.cli.language_model import LlmFlags, opened_model
from couler.cli.session import Session, heeding_requests_to_end
from couler.errors import ConfigurationError, CoulerError, IsolationError, LanguageModelError
from couler.hidden import clean, clean_line, escaped
from couler.stages import SCHEMA_VERSION, plan, show

if t.TYPE_CHECKING:
    from couler.generation import CodeLake, Generated, GenerateOptions, Round
    from couler.llm import LanguageModel, Usage

_UNWRITTEN = "nothing was written. `couler llm log` shows what the model was asked and said"
_WIDTH_OF_KINDS = len("decompose")
_LONGEST_LINE = 2000


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a call of `couler generate` asks for."""

    text: str
    options: GenerateOptions
    destination: Destination | None
    lake: tuple[Path, ...]
    interactive: bool
    format: str


def generate_text(session: Session, wanted: Wanted, flags: LlmFlags) -> None:
    """Generate a workflow, show it, and write it once it is verified."""
    from couler.generation.judging import TargetSettingError

    description = _description(wanted.text)
    if wanted.options.mode != "schema":
        from couler.box import isolation
        from couler.box.running import running_problem

        isolation().require()
        if wanted.options.run and (problem := running_problem()) is not None:
            raise IsolationError(f"--run: {problem}")
    lake = _lake(wanted)
    with opened_model(session, flags, "generate", tells_usage=True) as model:
        try:
            with heeding_requests_to_end():
                made = _Conversation(session, wanted, model, lake).run(description)
        except BaseException as error:
            if isinstance(error, TargetSettingError) and error.program is not None:
                click.echo(error.program, nl=False)
                error.add_note("The program is on standard output")
            elif model.usage.calls and flags.replay is None:
                error.add_note(_UNWRITTEN)
            raise
        usage = model.usage
    if not made.is_verified:
        if not wanted.interactive:  # then they were shown before it asked what should change
            _tell_problems(session, made)
        session.info(f"no sound workflow came of it, and {_UNWRITTEN}")
        if wanted.format == "json":
            click.echo(_json(made, usage, ()))
        click.get_current_context().exit(1)
    for line in text_lines(session, made.diagnostics):
        session.info(clean(line))
    written: Sequence[Path] = ()
    try:
        written = _written(session, wanted, made)
    except CoulerError as error:
        error.add_note("The program is on standard output")
        raise
    finally:  # what is paid is given out, also if it cannot be written
        if wanted.format == "json":
            click.echo(_json(made, usage, written))
        elif not written:
            click.echo(_text_of(made), nl=False)


class _Conversation:
    """What is said between a user and a model about one workflow."""

    def __init__(
        self, session: Session, wanted: Wanted, model: LanguageModel, lake: CodeLake
    ) -> None:
        self.session = session
        self.wanted = wanted
        self.model = model
        self.lake = lake

    def run(self, description: str) -> Generated:
        from couler.generation import generate_workflow, revise_workflow

        options = self.wanted.options
        given: dict[str, t.Any] = {"lake": self.lake, "listener": self._tell}
        made = generate_workflow(description, self.model, options, **given)
        self._show(made)
        while self.wanted.interactive:
            feedback = self._feedback()
            if not feedback:
                break
            try:
                changed = revise_workflow(made, feedback, self.model, options, **given)
            except (LanguageModelError, ConfigurationError) as error:
                self.session.info(f"{clean(str(error))}\nIt stays as it was")
                if isinstance(error, LanguageModelError):
                    break  # the next one would fare no better
                continue
            if changed.is_verified or not made.is_verified:
                made = changed
            else:
                _tell_problems(self.session, changed)
                self.session.info("that could not be built, so it stays as it was:")
            self._show(made)
        return made

    def _feedback(self) -> str:
        """Ask what to change; nothing, or the end of the input, for no more."""
        click.echo("What should change? (empty: nothing) ", nl=False, err=True)
        return sys.stdin.buffer.readline().decode("utf-8", errors="replace").strip()

    def _tell(self, ended: Round) -> None:
        module = f"{ended.module}: " if ended.module else ""
        kind = self.session.style(f"{ended.kind:<{_WIDTH_OF_KINDS}}", bold=True)
        self.session.info(f"{kind} {clean_line(module + ended.message, _LONGEST_LINE)}")

    def _show(self, made: Generated) -> None:
        """Show a workflow as a picture and a plan, and its program if it goes to a file."""
        if not made.is_verified or made.workflow is None:
            if self.wanted.interactive:
                _tell_problems(self.session, made)
            return
        if self.wanted.interactive or self.wanted.destination is not None:
            self.session.info(f"\n{clean(_text_of(made))}")
        self.session.info(f"\n{clean(show(made.workflow))}\n")
        engine, target = next(iter(self.wanted.options.targets.items()), (None, None))
        self.session.info(clean(plan(made.workflow, engine=engine, target=target).to_text()))
        self.session.info(clean("\n".join(_in_words(made))))


def _description(text: str) -> str:
    """Return the description, of standard input where the text says so."""
    from couler.generation.algorithm import LONGEST_TEXT

    if text == "-":
        most = 4 * LONGEST_TEXT + 1  # bytes of so many characters, and one more
        content = sys.stdin.buffer.read(most)
        if len(content) == most:
            raise click.UsageError(f"the description is longer than {LONGEST_TEXT:,} characters")
        try:
            text = content.decode("utf-8")
        except UnicodeDecodeError as error:
            raise click.UsageError(
                f"the description on standard input is no text in UTF-8: {error}"
            ) from error
    found = text.strip()
    if not found:
        raise click.UsageError("the description is empty: say what the workflow is to do")
    if len(found) > LONGEST_TEXT:
        raise click.UsageError(
            f"the description has {len(found):,} characters; at most {LONGEST_TEXT:,} are taken"
        )
    return found


def _lake(wanted: Wanted) -> CodeLake:
    from couler.generation import CodeLake, packaged_snippets, read_folder

    own = [snippet for folder in wanted.lake for snippet in read_folder(folder)]
    return CodeLake([*packaged_snippets(), *own])


def _in_words(made: Generated) -> Iterator[str]:
    """Yield what the description left open."""
    if made.assumptions:
        yield "\nassumed:"
        yield from (f"  - {clean_line(one, _LONGEST_LINE)}" for one in made.assumptions)
    if made.question:
        yield f"open: {clean_line(made.question, _LONGEST_LINE)}"


def _tell_problems(session: Session, made: Generated) -> None:
    for line in text_lines(session, made.diagnostics):
        click.echo(clean(line), err=True)
    if made.question:
        session.info(f"the description does not say: {clean_line(made.question, _LONGEST_LINE)}")


def _written(session: Session, wanted: Wanted, made: Generated) -> Sequence[Path]:
    if wanted.destination is None:
        return ()
    files = files_of(made, wanted.destination, wanted.options.targets)
    written = wanted.destination.write(files)
    for path in written:
        session.info(f"wrote {path}")
    return written


def _text_of(made: Generated) -> str:
    """Return the program; in schema mode the workflow as JSON."""
    from couler.ir.serialize import write_json

    if made.program is not None:
        return made.program
    assert made.workflow is not None, "only what is verified is shown"
    return escaped(write_json(made.workflow))


def _json(made: Generated, usage: Usage, written: Sequence[Path]) -> str:
    from couler.ir.serialize import to_tree

    tree = {
        "schema_version": SCHEMA_VERSION,
        "description": made.description,
        "plan": made.plan,
        "assumptions": list(made.assumptions),
        "question": made.question,
        "is_verified": made.is_verified,
        "program": made.program,
        "workflow": None if made.workflow is None else to_tree(made.workflow),
        "diagnostics": [one.to_json() for one in made.diagnostics],
        "rounds": [one.to_json() for one in made.log],
        "usage": {
            "calls": usage.calls,
            "prompt_tokens": usage.prompt_tokens,
            "completion_tokens": usage.completion_tokens,
            "seconds": round(usage.seconds, 3),
            "cost": usage.cost,
        },
        "files": [str(path) for path in written],
    }
    return json.dumps(tree, indent=2)
