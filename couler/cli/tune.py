"""`couler tune`: hyperparameters from cards, by a language model, and by real training if asked."""

from __future__ import annotations

import contextlib
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
from couler.errors import LanguageModelError
from couler.hidden import clean_line

if t.TYPE_CHECKING:
    from couler.tuning.cards import DataCard, ModelCard
    from couler.tuning.outcome import Candidate, Outcome

_file = click.Path(exists=True, dir_okay=False, path_type=Path)
_LONGEST_LINE = 500


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
@click.option("--data-card", type=_file, metavar="FILE", help="Data card.")
@click.option("--model-card", type=_file, metavar="FILE", help="Model card.")
@click.option("--space", type=_file, metavar="FILE", help="Search space.")
@click.option(
    "--candidates",
    type=click.IntRange(1, 100),
    default=6,
    show_default=True,
    metavar="N",
    help="Number of new settings per request.",
)
@click.option(
    "--predict-logs",
    is_flag=True,
    help="Rank settings by predicted training logs, with one more request per setting.",
)
@click.option(
    "--anonymous",
    is_flag=True,
    help="Hide the names of the data, columns and classes from the language model.",
)
@click.option(
    "--validate",
    "trainings",
    type=click.IntRange(min=2),
    metavar="K",
    help="Train K settings on this machine, the default first, and choose the best.",
)
@click.option(
    "--rounds",
    type=click.IntRange(1, 20),
    default=3,
    show_default=True,
    metavar="N",
    help="With --validate: number of requests; each has the scores so far.",
)
@click.option(
    "--splits",
    type=click.IntRange(1, 50),
    default=5,
    show_default=True,
    metavar="N",
    help="With --validate: number of train/test splits per setting.",
)
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Random seed."
)
@click.option(
    "--temperature",
    type=FiniteRange(0, 2),
    metavar="T",
    help="Sampling temperature of the language model (default: from its settings).",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="OUT",
    help="Write the tuning result (YAML, or JSON if OUT ends in .json).",
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
    candidates: int,
    predict_logs: bool,
    anonymous: bool,
    trainings: int | None,
    rounds: int,
    splits: int,
    seed: int,
    temperature: float | None,
    output: Path | None,
    llm: LlmFlags,
    format_: str | None,
    home: Path | None,
) -> None:
    """Choose hyperparameters from a data card, a model card and a search space.

    A language model proposes and ranks settings; Couler chooses the best by that ranking. With
    --validate, Couler trains settings, sends their scores with the next request, and chooses the
    best by its real score.
    """
    if context.invoked_subcommand is not None:
        return
    if data_card is None or model_card is None or space is None:
        raise click.UsageError("--data-card, --model-card and --space are needed")
    session = context.ensure_object(Session)
    from couler.backends.base import RunOptions
    from couler.tuning.cards import read_data_card, read_model_card
    from couler.tuning.space import read_space
    from couler.tuning.trainer import Trainer, left_out_columns
    from couler.tuning.tuner import TuneOptions, Tuner

    for name in ("rounds", "splits"):
        if trainings is None and _is_given(context, name):
            raise click.UsageError(f"--{name} requires --validate K")
    if output is not None:
        check_place(output)
        if output.resolve() in {one.resolve() for one in (data_card, model_card, space)}:
            raise click.UsageError(f"-o {output} is one of the files that it reads")
    data, model = read_data_card(data_card), read_model_card(model_card)
    read = read_space(space)
    told_format = session.settings.choose("format", format_, FORMATS)

    def tell_event(event: t.Any) -> None:
        if event.kind == "finished":
            session.detail(f"  {event.path} {event.status}")

    trainer = Trainer(
        data=data,
        model=model,
        splits=splits,
        seed=seed,
        run=RunOptions(home=chosen_home(session, home)),
        on_event=tell_event,
    )
    if trainings is not None:
        trainer.check(read)
        if left_out := left_out_columns(data):
            session.info(
                clean_line(f"columns not used (no numbers): {', '.join(left_out)}", _LONGEST_LINE)
            )
    options = TuneOptions(
        candidates=candidates,
        trainings=trainings or 1,
        rounds=rounds,
        predict_logs=predict_logs,
        anonymous=anonymous,
        seed=seed,
        temperature=temperature,
    )
    with opened_model(session, llm, "tune", home=home) as language_model:
        tuner = Tuner(
            data,
            model,
            read,
            language_model,
            options,
            train=None if trainings is None else trainer,
            tell=lambda text: session.info(clean_line(text, _LONGEST_LINE)),
            scoring="" if data.scoring or model.training is None else trainer.scoring,
        )
        try:
            with heeding_requests_to_end():
                tuner.run()
        except (LanguageModelError, KeyboardInterrupt) as error:
            if tuner.outcome is not None:
                add_notes(error, output, llm)
            raise
        finally:
            if (outcome := tuner.outcome) is not None:  # also what an error left
                _write(session, outcome, output)
                show_outcome(outcome, told_format)


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


@command.group()
@session_options
def card() -> None:
    """Draw data cards and model cards."""


_card_output = click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="OUT",
    help="File to write (default: standard output).",
)


@card.command("data")
@click.argument(
    "file",
    type=_DataFile(exists=True, dir_okay=False, path_type=Path),
    metavar="[FILE]",
    required=False,
)
@click.option("--set", "set_", metavar="NAME", help="Data set of scikit-learn, for example digits.")
@click.option("--label", metavar="COLUMN", help="Label column (default: the last).")
@click.option("--name", metavar="NAME", help="Name of the data (default: the file name).")
@click.option(
    "--metric", metavar="NAME", help="Metric, for example f1_macro (default: accuracy or r2)."
)
@click.option(
    "--delimiter",
    metavar="CHAR",
    help="Column delimiter of the CSV file (default: from its first line).",
)
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

    FILE is a CSV file with a header, or an npz file with the arrays X and y.
    """
    from couler.tuning.drawing import draw_data_card, draw_set_card

    if (file is None) == (set_ is None):
        raise click.UsageError("give FILE or --set NAME")
    if set_ is not None:
        _refuse_options("a set of scikit-learn", label=label, name=name, delimiter=delimiter)
        _put(session, draw_set_card(set_, metric=metric), output)
    elif file is not None:
        if file.suffix == ".npz":
            _refuse_options("an npz file", delimiter=delimiter)
        made = draw_data_card(file, label=label, name=name, metric=metric, delimiter=delimiter)
        _put(session, made, output)


@card.command("model")
@click.option(
    "--estimator",
    metavar="NAME",
    required=True,
    help="Estimator of scikit-learn, for example MLPClassifier.",
)
@_card_output
@session_options
@pass_session
def draw_model(session: Session, estimator: str, output: Path | None) -> None:
    """Draw the model card of an estimator of scikit-learn."""
    from couler.tuning.estimators import draw_model_card

    _put(session, draw_model_card(estimator), output)


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
    from couler.tuning.tuner import as_text

    if format_ == "json":
        click.echo(outcome.to_json_text(), nl=False)
        return
    metric = outcome.metric
    click.echo(f"chosen: {outcome.chosen} {as_text(outcome.parameters)}")
    click.echo(f"why: {clean_line(outcome.why, _LONGEST_LINE)}")
    if outcome.best.reason:
        click.echo(f"the model says: {clean_line(outcome.best.reason, _LONGEST_LINE)}")
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
    if outcome.ended_early:
        click.echo(f"ended early: {clean_line(outcome.ended_early, _LONGEST_LINE)}")
    for one in outcome.candidates:
        if one.problems:
            click.echo(f"{one.name} left out: {clean_line('; '.join(one.problems), _LONGEST_LINE)}")
        if one.real is not None and one.real.problem is not None:
            click.echo(f"{one.name} not trained: {clean_line(one.real.problem, _LONGEST_LINE)}")
    if is_trained:
        correlation, count = outcome.rank_correlation
        told = "not defined" if correlation is None else f"{correlation:.2f}"
        click.echo(f"rank correlation of predicted and real (Spearman): {told}, n = {count}")


def add_notes(error: BaseException, output: Path | None, flags: LlmFlags) -> None:
    """Add to an error where the outcome so far is, and how to continue."""
    if output is not None:
        error.add_note(f"{output} has the best setting so far, for -p @{output} and the pass tune")
    if flags.record is not None:
        error.add_note(f"--replay {flags.record} in place of --record reuses the recorded answers")
    elif flags.replay is None:
        error.add_note("`couler llm log` shows the answers; the same command requests them again")


def _predicted(one: Candidate) -> tuple[str, ...]:
    value = "-" if one.predicted is None else f"{one.predicted:.4g}"
    return (one.name, str(one.round), one.origin, value)


def _real(one: Candidate) -> tuple[str, ...]:
    if one.real is None or one.real.mean is None:
        return ("-", "-")
    low, high = min(one.real.scores), max(one.real.scores)
    return (f"{one.real.mean:.4g}", f"{low:.4g}, {high:.4g}")
