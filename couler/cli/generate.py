"""`couler generate`: workflows from English, and programs of others, checked before they run."""

from __future__ import annotations

import typing as t
from pathlib import Path

import click
from click.core import ParameterSource

from couler.backends.base import Target
from couler.cli._checking_program import check_file
from couler.cli._options import EngineType, TargetType
from couler.cli._targets import choose_target, connect_to
from couler.cli.budget import FiniteRange
from couler.cli.language_model import LlmFlags, llm_options
from couler.cli.runs import FORMATS, format_option
from couler.cli.session import Session, pass_session, session_options

_OF_MODULES = frozenset({"baseline_score", "max_regenerations"})
"""Options that mean nothing unless one module is written after the other."""

_OF_GENERATING = _OF_MODULES | {
    *("output", "overwrite", "interactive", "mode", "temperature", "seed", "max_repairs", "lake"),
    "runs",
    *("llm_model", "llm_base_url", "llm_max_tokens_total", "llm_max_cost"),
    *("llm_record", "llm_replay"),
}
"""Options that mean nothing where no model is asked."""


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
    help="What this engine refuses is repaired as well; a folder gets its files. Several times.",
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
    type=click.Choice(("code", "modules", "schema")),
    default="code",
    show_default=True,
    help="The model writes a program, at once or module by module, or fills in a form.",
)
@llm_options
@click.option("--temperature", type=FiniteRange(0, 2), help="Of the model.")
@click.option("--seed", type=int, help="Of the model, if its endpoint knows seeds.")
@click.option(
    "--lake",
    multiple=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="A folder with programs (*.py) that the model is shown where they fit. Several times.",
)
@click.option(
    "--baseline-score",
    type=FiniteRange(0, 1),
    default=0.7,
    show_default=True,
    help="With --mode modules: a module that the model scores below this is written anew.",
)
@click.option(
    "--max-regenerations",
    type=click.IntRange(min=0),
    default=2,
    show_default=True,
    help="With --mode modules: maximum number of rewrites of a module.",
)
@click.option(
    "--max-repairs",
    type=click.IntRange(min=0),
    default=3,
    show_default=True,
    help="Maximum number of times that a program goes back with what is wrong with it.",
)
@click.option(
    "--run",
    "runs",
    is_flag=True,
    help="Run the workflow in the sandbox, with its defaults, and repair what fails.",
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
    mode: t.Literal["code", "modules", "schema"],
    llm: LlmFlags,
    temperature: float | None,
    seed: int | None,
    lake: tuple[Path, ...],
    baseline_score: float,
    max_regenerations: int,
    max_repairs: int,
    runs: bool,
    checked: str | None,
    format_: str | None,
) -> None:
    """Make a workflow from TEXT, or check a program that was made.

    TEXT is a description, or - for that on standard input. A language model writes the program;
    the compiler builds it in a process without files, network and environment, and sends back
    what is wrong. You see what the workflow does, what the model assumed, the program, a picture
    and the plan. Nothing is submitted.

    With --check, the program goes the same way without a model, and it is told what to look at
    before it is run. Exit code 1 if the result is not a valid workflow; then nothing is written.
    """
    format_ = session.settings.choose("format", format_, FORMATS)
    if text is not None and checked is not None:
        raise click.UsageError("give a TEXT or --check FILE, and not both")
    targets = _targets(session, engines, target_names, settings_of_engines)
    if checked is not None:
        _refuse(_OF_GENERATING, "for workflows that are generated, not for --check")
        check_file(session, checked, format_, targets)
        return
    if text is None:
        raise click.UsageError("give a TEXT that says what the workflow is to do, or --check FILE")
    if mode == "schema":
        _refuse(frozenset({"runs", "lake"}), "for programs, not for --mode schema")
    if overwrite and output is None:
        raise click.UsageError("--replace is for -o FILE")
    if mode != "modules":
        _refuse(_OF_MODULES, "for --mode modules")
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
        baseline_score=baseline_score,
        max_regenerations=max_regenerations,
        max_repairs=max_repairs,
        run=runs,
    )
    destination = Destination.of(output, mode, replace=overwrite)
    wanted = Wanted(text, options, destination, lake, interactive, format_)
    generate_text(session, wanted, llm)


def _refuse(names: frozenset[str], why: str) -> None:
    """Refuse options that are given and would have no effect."""
    context = click.get_current_context()
    for parameter in context.command.params:
        source = context.get_parameter_source(parameter.name or "")
        if parameter.name in names and source is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"{parameter.opts[-1]} is {why}")


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
