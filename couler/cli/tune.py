"""`couler tune`: hyperparameters from cards, by predicted logs, and by real training if asked."""

from __future__ import annotations

import contextlib
import json
import os
import typing as t
from pathlib import Path

import click
from click.core import ParameterSource

from couler.cli.budget import FiniteRange
from couler.cli.format import aligned
from couler.cli.language_model import LlmFlags, llm_options, opened_model
from couler.cli.runs import FORMATS, chosen_home, format_option, home_option
from couler.cli.session import (
    Session,
    heeding_requests_to_end,
    pass_session,
    session_options,
    writing,
)
from couler.errors import CoulerError, LanguageModelError

if t.TYPE_CHECKING:
    from couler.tuning.cards import DataCard, ModelCard
    from couler.tuning.outcome import Candidate, Outcome
    from couler.tuning.validation import ValidateOptions

SOURCES = ("given", "grid", "random", "proposed")

_file = click.Path(exists=True, dir_okay=False, path_type=Path)


class _DataFile(click.Path):
    """A file of data; where there is none of that name, it may be that of a set."""

    def convert(
        self, value: t.Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> t.Any:
        """Return the file, or say how a set is named."""
        from couler.steps.dataset_check import NAMES

        if str(value) in NAMES and not Path(value).exists():
            self.fail(
                f"there is no file {value}. The set of scikit-learn is --set {value}.", param, ctx
            )
        return super().convert(value, param, ctx)


@click.group(invoke_without_command=True)
@click.option("--data-card", type=_file, metavar="FILE", help="What is known of the data.")
@click.option("--model-card", type=_file, metavar="FILE", help="What is known of the model.")
@click.option("--space", type=_file, metavar="FILE", help="The hyperparameters and their values.")
@click.option(
    "--rounds",
    type=click.IntRange(1, 20),
    default=1,
    show_default=True,
    metavar="N",
    help="Rounds of candidates; later ones see the logs of earlier ones.",
)
@click.option(
    "--candidates",
    type=click.IntRange(1, 100),
    default=6,
    show_default=True,
    metavar="N",
    help="New candidates of a round, besides the default; of a list or grid all are taken.",
)
@click.option(
    "--source", type=click.Choice(SOURCES), help="Where candidates come from; as the space says."
)
@click.option(
    "--validate",
    "top",
    type=click.IntRange(min=1),
    metavar="K",
    help="Train the best K and the default on this machine, and choose by that.",
)
@click.option(
    "--splits",
    type=click.IntRange(1, 50),
    default=5,
    show_default=True,
    metavar="N",
    help="Divisions of the rows that each of them is trained on.",
)
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of all that is drawn."
)
@click.option(
    "--temperature",
    type=FiniteRange(0, 2),
    metavar="T",
    help="Of the language model; as its settings say.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="OUT",
    help="Write the outcome, as YAML or as .json; the pass tune and -p @OUT read it.",
)
@llm_options
@format_option
@home_option
@session_options
@click.pass_context
def command(
    context: click.Context,
    data_card: Path | None,
    model_card: Path | None,
    space: Path | None,
    rounds: int,
    candidates: int,
    source: t.Any,
    top: int | None,
    splits: int,
    seed: int,
    temperature: float | None,
    output: Path | None,
    llm: LlmFlags,
    format_: str | None,
    home: Path | None,
) -> None:
    """Choose hyperparameters from a data card, a model card and a search space.

    A language model predicts a training log for each candidate, and the best by its log is chosen.
    With --validate the best are really trained, and what that comes to decides.
    """
    if context.invoked_subcommand is not None:
        return
    if data_card is None or model_card is None or space is None:
        raise click.UsageError("--data-card, --model-card and --space are needed")
    session = context.ensure_object(Session)
    from couler.tuning.algorithm4 import TuneOptions, TuningInterrupted, tune
    from couler.tuning.cards import read_data_card, read_model_card
    from couler.tuning.space import read_space

    if top is None and _is_given(context, "splits"):
        raise click.UsageError("--splits says how candidates are trained: give --validate K, too")
    if output is not None:
        check_place(output)
    data, model = read_data_card(data_card), read_model_card(model_card)
    read = read_space(space)
    told_format = session.settings.choose("format", format_, FORMATS)
    trials = None if top is None else _trials(session, top, splits, seed, home)
    options = TuneOptions(
        rounds=rounds,
        candidates=candidates,
        source=source,
        seed=seed,
        temperature=temperature,
    )

    def tell(text: str) -> None:
        session.info(one_line(text))

    interrupted: BaseException | None = None
    with opened_model(session, llm, "tune", home=home) as language_model:
        if trials is not None:  # found out before the first prediction is paid
            from couler.tuning.validation import check_trainable

            session.info("training once, to find out whether that works")
            check_trainable(data, model, read, trials)
        try:
            with heeding_requests_to_end():
                outcome = tune(data, model, read, language_model, options, tell=tell)
        except TuningInterrupted as error:
            outcome, interrupted = error.outcome, error.__cause__
    _write(session, outcome, output)  # what is paid is kept, whatever comes of training
    if trials is not None and not outcome.missing:
        try:
            outcome = _validated(session, outcome, data, model, trials)
        except (CoulerError, KeyboardInterrupt) as error:
            show_outcome(outcome, told_format)
            if isinstance(error, KeyboardInterrupt):
                add_notes(error, outcome, output, llm)
            raise
        _write(session, outcome, output)
    show_outcome(outcome, told_format)
    if interrupted is not None:
        add_notes(interrupted, outcome, output, llm)
        raise interrupted
    if outcome.missing:
        left = ", and nothing was trained" if trials is not None else ""
        raise LanguageModelError(f"the outcome is not whole{left}: {one_line(outcome.missing)}")


def _is_given(context: click.Context, name: str) -> bool:
    """Return whether a call gives an option, and not its default does."""
    return context.get_parameter_source(name) is ParameterSource.COMMANDLINE


def _refuse_options(of: str, **options: object) -> None:
    """Refuse options that say nothing of what a card is drawn of."""
    given = [f"--{name}" for name, value in options.items() if value is not None]
    if given:
        raise click.UsageError(f"{', '.join(given)}: not of {of}. Correct the card by hand")


def _write(session: Session, outcome: Outcome, output: Path | None) -> None:
    if output is None:
        return
    is_json = output.suffix == ".json"
    write_whole(output, outcome.to_json_text() if is_json else outcome.to_yaml())
    session.info(f"wrote {output}")


def _trials(
    session: Session, top: int, splits: int, seed: int, home: Path | None
) -> ValidateOptions:
    from couler.backends.base import RunOptions
    from couler.tuning.validation import ValidateOptions

    return ValidateOptions(
        top=top, splits=splits, seed=seed, run=RunOptions(home=chosen_home(session, home))
    )


def _validated(
    session: Session,
    outcome: Outcome,
    data: DataCard,
    model: ModelCard,
    trials: ValidateOptions,
) -> Outcome:
    from couler.tuning.validation import trials_of, validate

    names = [one.name for one in trials_of(outcome, trials.top)]
    session.info(f"training {', '.join(names)} on {trials.splits} divisions of the rows each")

    def tell(event: t.Any) -> None:
        if event.kind == "finished":
            session.detail(f"  {event.path} {event.status}")

    return validate(outcome, data, model, trials, on_event=tell)


@command.group()
@session_options
def card() -> None:
    """Draw cards from what is there: data, READMEs, steps of the zoo."""


_card_output = click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="OUT",
    help="The file to write; standard output by default.",
)


@card.command("data")
@click.argument(
    "file",
    type=_DataFile(exists=True, dir_okay=False, path_type=Path),
    metavar="[FILE]",
    required=False,
)
@click.option("--set", "set_", metavar="NAME", help="A set of scikit-learn, such as digits.")
@click.option("--label", metavar="COLUMN", help="The column of the labels; the last by default.")
@click.option("--name", metavar="NAME", help="What the data are called; as the file by default.")
@click.option("--metric", metavar="NAME", help="What models are judged by.")
@click.option("--delimiter", metavar="CHAR", help="Between the columns of CSV.")
@_card_output
@session_options
@pass_session
def draw_data(
    session: Session,
    file: Path | None,
    set_: str | None,
    label: str | None,
    name: str | None,
    metric: str | None,
    delimiter: str | None,
    output: Path | None,
) -> None:
    """Draw a data card.

    FILE is a CSV file with a header, an npz file with the arrays X and y, or a README with YAML
    front matter, as Hugging Face has it. Nothing in it is run.
    """
    from couler.tuning.drawing import draw_data_card, draw_set_card
    from couler.tuning.readme import data_card_of_readme

    if (file is None) == (set_ is None):
        raise click.UsageError("give FILE or --set NAME")
    if set_ is not None:
        _refuse_options("a set of scikit-learn", label=label, name=name, delimiter=delimiter)
        _put(session, draw_set_card(set_, metric=metric), output)
    elif file is not None and file.suffix.lower() == ".md":
        _refuse_options("a README", label=label, name=name, delimiter=delimiter)
        drawn = data_card_of_readme(file, metric=metric)
        _tell_unknown(session, drawn.unknown)
        _put(session, drawn.card, output)
    elif file is not None:
        if file.suffix == ".npz":
            _refuse_options("an npz file", delimiter=delimiter)
        made = draw_data_card(file, label=label, name=name, metric=metric, delimiter=delimiter)
        _put(session, made, output)


@card.command("model")
@click.argument("file", type=_file, metavar="[README]", required=False)
@click.option("--step", default="sklearn.train", show_default=True, help="A step of the zoo.")
@click.option("--estimator", metavar="NAME", help="What it trains, such as MLPClassifier.")
@_card_output
@session_options
@click.pass_context
def draw_model(
    context: click.Context, file: Path | None, step: str, estimator: str | None, output: Path | None
) -> None:
    """Draw a model card, from a README or of what a step of the zoo trains."""
    from couler.tuning.estimators import draw_model_card
    from couler.tuning.readme import model_card_of_readme

    session = context.ensure_object(Session)
    if (file is None) == (estimator is None):
        raise click.UsageError("give README or --estimator NAME")
    if file is not None and _is_given(context, "step"):
        _refuse_options("a README", step=step)
    if estimator is not None:
        _put(session, draw_model_card(step, estimator), output)
    elif file is not None:
        drawn = model_card_of_readme(file)
        _tell_unknown(session, drawn.unknown)
        _put(session, drawn.card, output)


def _tell_unknown(session: Session, unknown: tuple[str, ...]) -> None:
    if unknown:
        session.info(f"note: not in the card: {', '.join(unknown)}")


def _put(session: Session, made: DataCard | ModelCard, output: Path | None) -> None:
    from couler.tuning.cards import write_card

    if output is None:
        click.echo(write_card(made), nl=False)
        return
    check_place(output)
    write_whole(output, write_card(made.seen_from(output.parent)))
    session.info(f"wrote {output}")


def check_place(output: Path) -> None:
    """Refuse a place that cannot be written, before there is anything to write."""
    if not output.parent.is_dir():
        raise click.UsageError(f"-o {output}: there is no folder {output.parent}")
    if output.exists() and not output.is_file():
        raise click.UsageError(f"-o {output}: it is no file. Leave -o out for standard output")
    begun = _beside(output)
    try:
        begun.touch()
        begun.unlink()
    except OSError as error:
        raise click.UsageError(f"-o {output} cannot be written: {error.strerror}") from error


def write_whole(output: Path, text: str) -> None:
    """Write a file at once: until all is written, what was there before stays."""
    begun = _beside(output)
    try:
        with writing("-o", output):
            begun.write_text(text, encoding="utf-8")
            begun.replace(output)
    finally:
        with contextlib.suppress(OSError):
            begun.unlink(missing_ok=True)


def _beside(output: Path) -> Path:
    """Return where a file is written before it takes its place."""
    return output.with_name(f".{output.name}.{os.getpid()}")


def show_outcome(outcome: Outcome, format_: str) -> None:
    """Print an outcome."""
    from couler.tuning.algorithm4 import as_text

    if format_ == "json":
        click.echo(outcome.to_json_text(), nl=False)
        return
    metric = outcome.metric
    click.echo(f"chosen: {outcome.chosen} {as_text(outcome.parameters)}")
    click.echo(f"why: {outcome.why}")
    if outcome.best.reason:
        click.echo(f"the model says: {one_line(outcome.best.reason)}")
    click.echo()
    is_trained = any(one.real is not None for one in outcome.candidates)
    head = ("candidate", "round", "found", f"predicted {metric.name}")
    more = (f"real {metric.name}", "from, to") if is_trained else ()
    rows = [
        (*_predicted(one), *(_real(one) if is_trained else ()), as_text(one.parameters))
        for one in outcome.candidates
    ]
    for line in aligned((((*head, *more, "hyperparameters")), *rows)):
        click.echo(line)
    if outcome.not_trained_on:
        told = one_line(", ".join(outcome.not_trained_on))
        click.echo(f"not trained on, as they hold no numbers: {told}")
    if outcome.missing:
        click.echo(f"missing: {one_line(outcome.missing)}")
    for one in outcome.candidates:
        if one.problems:
            click.echo(f"{one.name} left out: {one_line('; '.join(one.problems))}")
        if one.real is not None and one.real.problem is not None:
            click.echo(f"{one.name} not trained: {one_line(one.real.problem)}")
    if is_trained:
        correlation, count = outcome.rank_correlation
        told = "not defined" if correlation is None else f"{correlation:.2f}"
        click.echo(f"rank correlation of predicted and real (Spearman): {told}, n = {count}")


def add_notes(error: BaseException, outcome: Outcome, output: Path | None, flags: LlmFlags) -> None:
    """Say beside an interrupt what there is, and how to go on with it."""
    if outcome.missing:
        error.add_note(f"the outcome is not whole: {one_line(outcome.missing)}")
    else:
        error.add_note("training has not ended: the choice is that of what was predicted")
    if output is not None:
        error.add_note(f"{output} has it, for -p @{output} and the pass tune")
    if flags.record is not None:
        error.add_note(
            f"--replay {flags.record}, in place of --record, answers from what is paid already"
        )
    elif flags.replay is None:
        error.add_note("`couler llm log` has what was answered; the same command asks for it anew")


def _predicted(one: Candidate) -> tuple[str, ...]:
    value = "-" if one.predicted is None else f"{one.predicted:.4g}"
    return (one.name, str(one.round), one.origin, value)


def _real(one: Candidate) -> tuple[str, ...]:
    if one.real is None or one.real.mean is None:
        return ("-", "-")
    low, high = min(one.real.scores), max(one.real.scores)
    return (f"{one.real.mean:.4g}", f"{low:.4g}, {high:.4g}")


def one_line(text: str) -> str:
    """Return text of others in a line, without what could drive a terminal."""
    return json.dumps(" ".join(text.split()), ensure_ascii=False)[1:-1][:500]
