"""`couler generate`: workflows from English, and programs of others, checked before they run."""

from __future__ import annotations

import json
import sys
import textwrap
import typing as t
from dataclasses import replace
from pathlib import Path

import click

from couler.backends.base import Target
from couler.cli._diagnostics import text_lines
from couler.cli._llm import LlmFlags, llm_options
from couler.cli._options import EngineType, TargetType
from couler.cli._runs import FORMATS, format_option
from couler.cli._session import Session, pass_session, session_options
from couler.cli._targets import choose_target, connect_to
from couler.hidden import clean
from couler.ir.diagnostics import Diagnostic
from couler.ir.policies import SourceRef
from couler.ir.wording import counted
from couler.stages import SCHEMA_VERSION, diagnose

if t.TYPE_CHECKING:
    from couler.box import Built
    from couler.box.review import Review, ReviewedStep

_MOST_BYTES = 1 << 20


@click.command()
@click.argument("text", required=False)
@click.option(
    "-o",
    "--output",
    metavar="PATH",
    help="File to write (.py, in mode schema .json), or a folder for all that is made of it.",
)
@click.option("--replace", "overwrite", is_flag=True, help="Write over a file that is there.")
@click.option(
    "-e",
    "--engine",
    "engines",
    multiple=True,
    type=EngineType(),
    help="What this engine refuses is mended as well; a folder gets its files. Several times.",
)
@click.option(
    "--target",
    "target_names",
    multiple=True,
    type=TargetType(),
    metavar="NAME",
    help="The engine of a target of the settings, as it is set there. Several times.",
)
@click.option(
    "--option",
    "settings_of_engines",
    multiple=True,
    metavar="[ENGINE:]NAME=VALUE",
    help="A further setting of an engine, named where there are several. Several times.",
)
@click.option(
    "-i", "--interactive", is_flag=True, help="Ask what to change, until nothing is said."
)
@click.option(
    "--mode",
    type=click.Choice(("code", "schema")),
    default="code",
    show_default=True,
    help="The model writes a program, or fills in a form from which nothing runs.",
)
@llm_options
@click.option("--temperature", type=click.FloatRange(0, 2), help="Of the model.")
@click.option("--seed", type=int, help="Of the model, if its endpoint knows seeds.")
@click.option(
    "--lake",
    multiple=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="A folder with programs (*.py) that the model is shown where they fit. Several times.",
)
@click.option("--no-lake", is_flag=True, help="Show the model no programs.")
@click.option("--no-card", is_flag=True, help="Do not tell the model the names of the library.")
@click.option(
    "--whole", is_flag=True, help="Ask for the program as a whole, not for one module at a time."
)
@click.option("--no-calibration", is_flag=True, help="Do not let the model score what it wrote.")
@click.option(
    "--baseline-score",
    type=click.FloatRange(0, 1),
    default=0.7,
    show_default=True,
    help="A module that the model scores below this is written anew.",
)
@click.option(
    "--max-regenerations",
    type=click.IntRange(min=0),
    default=2,
    show_default=True,
    help="How often at most, for a module.",
)
@click.option(
    "--max-repairs",
    type=click.IntRange(min=0),
    default=3,
    show_default=True,
    help="How often at most a candidate goes back with what is wrong with it.",
)
@click.option(
    "--check",
    "checked",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, allow_dash=True),
    help="Check and build the program FILE as if a model had written it; - for standard input.",
)
@format_option
@session_options
@pass_session
def command(
    session: Session,
    text: str | None,
    output: str | None,
    overwrite: bool,
    engines: tuple[str, ...],
    target_names: tuple[str, ...],
    settings_of_engines: tuple[str, ...],
    interactive: bool,
    mode: t.Literal["code", "schema"],
    llm: LlmFlags,
    temperature: float | None,
    seed: int | None,
    lake: tuple[Path, ...],
    no_lake: bool,
    no_card: bool,
    whole: bool,
    no_calibration: bool,
    baseline_score: float,
    max_regenerations: int,
    max_repairs: int,
    checked: str | None,
    format_: str | None,
) -> None:
    """Make a workflow from TEXT, or check a program that was made.

    TEXT is a description, or - for that on standard input. A language model decomposes it and
    writes each part; the compiler builds what it wrote in a process without files, network and
    environment, and sends back what is wrong. The workflow is shown as code, picture and plan.
    Nothing is submitted.

    With --check, the program goes the same way without a model, and it is told what to look at
    before it is run. Ends with 1 if no sound workflow comes of it; then nothing is written.
    """
    format_ = session.settings.choose("format", format_, FORMATS)
    if text is not None and checked is not None:
        raise click.UsageError("give a TEXT or --check FILE, and not both")
    targets = _targets(session, engines, target_names, settings_of_engines)
    if checked is not None:
        _refuse_beside_check({"-o": output, "--interactive": interactive, "--lake": lake})
        _check(session, checked, format_, targets)
        return
    if text is None:
        raise click.UsageError("give a TEXT that says what the workflow is to do, or --check FILE")
    if interactive and text == "-":
        raise click.UsageError("--interactive asks on standard input, where the text is: give it")
    from couler.cli._generated_files import Destination
    from couler.cli._generating import Wanted, generate_text
    from couler.generation import GenerateOptions

    options = GenerateOptions(
        mode=mode,
        targets=targets,
        temperature=temperature,
        seed=seed,
        decompose=not whole,
        use_card=not no_card,
        use_lake=not no_lake,
        calibrate=not no_calibration,
        baseline_score=baseline_score,
        max_regenerations=max_regenerations,
        max_repairs=max_repairs,
    )
    destination = Destination.of(output, mode, replace=overwrite)
    wanted = Wanted(text, options, destination, lake, interactive, format_)
    generate_text(session, wanted, llm)


def _targets(
    session: Session,
    engines: tuple[str, ...],
    names: tuple[str, ...],
    settings: tuple[str, ...],
) -> dict[str, Target]:
    """Return the engines that the options name, each with its settings."""
    chosen: dict[str, str | None] = dict.fromkeys(engines)
    chosen.update({choose_target(session, None, name)[1]: name for name in names})
    given: dict[str, list[str]] = {engine: [] for engine in chosen}
    for setting in settings:
        engine, colon, rest = setting.partition(":")
        if not colon or "=" in engine:
            engine, rest = (next(iter(chosen)), setting) if len(chosen) == 1 else ("", setting)
        if engine not in given:
            raise click.UsageError(
                f"--option {setting}: name one of the engines that are asked for, as in "
                f"ENGINE:{rest}"
            )
        given[engine].append(rest)
    return {
        engine: connect_to(session, engine, name, options=tuple(given[engine])).target
        for engine, name in chosen.items()
    }


def _refuse_beside_check(options: dict[str, object]) -> None:
    for name, value in options.items():
        if value:
            raise click.UsageError(f"{name} is for workflows that are generated, not for --check")


def _check(session: Session, path: str, format_: str, targets: dict[str, Target]) -> None:
    """Check the program of a file, and say what came of it."""
    from couler.box import Built, build_program
    from couler.box.review import review

    file = "<stdin>" if path == "-" else path
    with click.open_file(path, "rb") as opened:
        content = opened.read(_MOST_BYTES)
    try:
        built = build_program(content.decode("utf-8-sig"), file=file)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        message = f"the program is no text in UTF-8: byte 0x{content[error.start]:02x}"
        found = Diagnostic("CLR601", message, source=SourceRef(file=file, line=line))
        built = Built(None, (found,))
    if built.is_sound and built.workflow is not None:
        for engine, target in targets.items():
            found_there = diagnose(built.workflow, [engine], target=target)
            seen = dict.fromkeys((*built.diagnostics, *found_there))
            built = replace(built, diagnostics=tuple(seen))
    told = None if built.workflow is None else review(built.workflow)
    if format_ == "json":
        _echo_json(file, built, told)
    else:
        _echo_text(session, built, told)
    if not built.is_sound:
        click.get_current_context().exit(1)


def _echo_json(file: str, built: Built, told: Review | None) -> None:
    tree = {
        "schema_version": SCHEMA_VERSION,
        "file": file,
        "workflow": None if told is None else told.name,
        "is_sound": built.is_sound,
        "seconds": round(built.seconds, 3),
        "diagnostics": [one.to_json() for one in built.diagnostics],
        "steps": [] if told is None else [_step_json(one) for one in told.steps],
        "images": [] if told is None else list(told.images),
        "reaches": [] if told is None else list(told.reaches),
        "printed": built.output,
    }
    click.echo(json.dumps(tree, indent=2))  # in ASCII: nothing of it can move a cursor


def _step_json(step: ReviewedStep) -> dict[str, t.Any]:
    return {
        "path": step.path,
        "kind": step.kind,
        "after": list(step.after),
        "image": step.image,
        "command": list(step.command),
        "source": step.source,
        "packages": list(step.packages),
        "line": step.line,
    }


def _echo_text(session: Session, built: Built, told: Review | None) -> None:
    for line in text_lines(session, built.diagnostics):
        click.echo(clean(line) if not session.has_colour(sys.stdout) else line)
    if told is not None and built.is_sound:
        for line in _lines(told):
            click.echo(clean(line).replace("\n", "\ufffd"))  # no text of it makes a line
    errors = sum(one.severity == "error" for one in built.diagnostics)
    warnings = len(built.diagnostics) - errors
    session.info(
        f"{counted(errors, 'error')}, {counted(warnings, 'warning')}; built in "
        f"{built.seconds:.2f} s behind walls"
        if built.seconds
        else f"{counted(errors, 'error')}, {counted(warnings, 'warning')}; nothing was run"
    )


def _lines(told: Review) -> t.Iterator[str]:
    """Yield what a user should look at."""
    yield f"workflow {told.name}: {counted(len(told.steps), 'step')}"
    for step in told.steps:
        after = f"  <- {', '.join(step.after)}" if step.after else ""
        image = f" {step.image}" if step.image else ""
        yield f"  {step.path}  {step.kind}{image}{after}"
    yield ""
    yield "Look at this before it runs:"
    yield f"  images: {', '.join(told.images) or 'none'}"
    for text in told.reaches:
        yield f"  {text}"
    for step in told.steps:
        if step.source is not None:
            packages = f", with {', '.join(step.packages)}" if step.packages else ""
            yield f"  {step.path} runs this by {_words(step.command)}{packages}:"
            yield from textwrap.indent(step.source.rstrip("\n"), "    | ").split("\n")
        elif step.command:
            yield f"  {step.path} runs {_words(step.command)}"


def _words(words: t.Sequence[str]) -> str:
    return json.dumps(list(words), ensure_ascii=False)
