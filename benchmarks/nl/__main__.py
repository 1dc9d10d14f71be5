"""Measure how well a language model turns descriptions in English into workflows.

python -m benchmarks.nl [--items GLOB]... [--samples N] [--json FILE | --resume FILE] ...
"""

from __future__ import annotations

import json
import typing as t
from dataclasses import replace
from pathlib import Path

import click

from benchmarks.nl.evaluating import Plan, evaluate, spent
from benchmarks.nl.generating import MODES, TYPICAL_TOKENS, check_modes
from benchmarks.nl.items import read_benchmark
from benchmarks.nl.judging import Judge
from benchmarks.nl.records import Header, Records, Sample
from benchmarks.nl.report import Report, Score, report_of
from couler import box
from couler.box.running import running_problem
from couler.cli import GuardedCommand
from couler.cli.format import aligned
from couler.cli.language_model import LlmFlags, found_settings, llm_options, opened_model
from couler.cli.session import Session, heeding_requests_to_end, pass_session, session_options
from couler.errors import ModelBudgetError
from couler.ir.wording import counted
from couler.llm import LlmSettings
from couler.llm.reading import FoundSettings

OWN_BENCHMARK = Path(__file__).parents[2] / "tests" / "nl_benchmark"

N = t.TypeVar("N", int, float)


def _numbers(kind: t.Callable[[str], N], least: N) -> t.Callable[[str], tuple[N, ...]]:
    def numbers(text: str) -> tuple[N, ...]:
        found = tuple(dict.fromkeys(map(kind, text.split(","))))
        if not all(least <= number < float("inf") for number in found):
            raise click.BadParameter(f"{text} are not numbers from {least} on")
        return found

    return numbers


def _names(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name.strip() for name in text.split(",")))


_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command(cls=GuardedCommand)
@click.option(
    "--benchmark",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    default=OWN_BENCHMARK,
    help="Folder of the items.",
)
@click.option("--items", "patterns", multiple=True, metavar="GLOB", help="Names or tags of items.")
@click.option("--descriptions", type=click.IntRange(1), help="Only the first N of each item.")
@click.option(
    "--samples", type=click.IntRange(1), default=5, show_default=True, help="Answers to each task."
)
@click.option(
    "--temperatures",
    type=_numbers(float, 0),
    default="0.2,0.6,0.8",
    show_default=True,
    metavar="T,...",
)
@click.option(
    "--modes",
    type=_names,
    default=",".join(MODES),
    show_default=True,
    metavar="NAME,...",
)
@click.option(
    "--k",
    "ks",
    type=_numbers(int, 1),
    default="1,3,5",
    show_default=True,
    metavar="K,...",
    help="Of pass@k.",
)
@click.option(
    "--jobs", type=click.IntRange(1), default=1, show_default=True, help="Samples at a time."
)
@click.option("--seed", type=int, default=0, show_default=True, help="Of samples and intervals.")
@click.option("--no-run", is_flag=True, help="Run no workflow, not even in the sandbox.")
@click.option("--json", "out", type=_FILE, help="A new file for all samples.")
@click.option("--resume", type=_FILE, help="Resume such a file.")
@click.option("--format", "format_", type=click.Choice(("text", "json")), default="text")
@llm_options
@session_options
@pass_session
def main(
    session: Session,
    folder: Path,
    patterns: tuple[str, ...],
    descriptions: int | None,
    samples: int,
    temperatures: tuple[float, ...],
    modes: tuple[str, ...],
    ks: tuple[int, ...],
    jobs: int,
    seed: int,
    no_run: bool,
    out: Path | None,
    resume: Path | None,
    format_: str,
    llm: LlmFlags,
) -> None:
    """Measure how well descriptions in English become workflows.

    Each description of the benchmark is asked for several times at each temperature. What comes
    back is built in isolation, verified, compared with a reference and, where that is possible,
    run in isolation. The figures are pass@k with intervals, what went wrong, and what a workflow
    costs. What all answers are likely to take is told before the first is asked for. Budgets hold
    for the whole evaluation, a resumed one included. The endpoint is that of the
    settings (COULER_LLM_*, [tool.couler.llm]).

    Exit code 4: the budget or the endpoint ended it early; --resume goes on.
    """
    if out is not None and resume is not None:
        raise click.UsageError("--resume FILE continues FILE: leave --json out")
    items = read_benchmark(folder).select(patterns)
    plan = Plan(items, samples, temperatures, modes, descriptions, seed)
    if max(ks) > samples:
        raise click.UsageError(f"pass@{max(ks)} needs at least {max(ks)} samples")
    check_modes(plan.modes)
    found = found_settings(session, llm)
    header = Header(plan.benchmark.digest, found.settings.model, found.settings.base_url, plan.seed)
    file = resume or out
    records = Records(file, header, resume=resume is not None)
    box.isolation().require()
    judge = Judge("--no-run was given" if no_run else running_problem())
    keys = [key for _, key in plan.asked()]

    unasked = [key.mode for key in keys if key not in records.samples]
    session.info(_expected(unasked, found.settings))

    def tell(sample: Sample) -> None:
        count = sum(key in records.samples for key in keys)
        session.info(f"{count}/{len(keys)} {_line(sample)}")

    with opened_model(session, llm, "nl", found=_less_spent(found, records)) as model:
        try:
            with heeding_requests_to_end():
                result = evaluate(
                    plan, model, judge, records,
                    jobs=jobs, tell=tell, say=session.info,
                )  # fmt: skip
        except KeyboardInterrupt as error:
            missing = sum(key not in records.samples for key in keys)
            error.add_note(_how_to_go_on(missing, file))
            raise
    report = report_of(result, ks)
    if format_ == "json":
        click.echo(json.dumps(report.to_json(), ensure_ascii=False, indent=2))
    else:
        click.echo("\n".join(_tables(report, plan, found.settings.currency)))
    if result.stopped is not None:
        result.stopped.add_note(_how_to_go_on(result.missing, file))
        raise result.stopped


def _expected(modes: t.Sequence[str], settings: LlmSettings) -> str:
    """Return in a line what answers are likely to take."""
    prompts, answers = (sum(TYPICAL_TOKENS[mode][part] for mode in modes) for part in (0, 1))
    price = settings.price
    cost = "price not known" if price is None else f"{price.cost(prompts, answers):.2f}"
    currency = "" if price is None else f" {settings.currency}"
    return (
        f"expected: {counted(len(modes), 'answer')}, about {prompts:,} tokens of prompts and "
        f"{answers:,} of answers, {cost}{currency}"
    )


def _less_spent(found: FoundSettings, records: Records) -> FoundSettings:
    """Return settings whose budget is what an evaluation before has left."""
    settings = found.settings
    used = spent(list(records.samples.values())) + records.lost
    left: dict[str, t.Any] = {}
    if settings.max_tokens_total is not None:
        left["max_tokens_total"] = settings.max_tokens_total - used.tokens
    if settings.max_cost is not None and used.cost is not None:
        left["max_cost"] = settings.max_cost - used.cost
    if any(amount <= 0 for amount in left.values()):
        raise ModelBudgetError(
            f"the samples that are there took {used.tokens:,} tokens and {used.cost}, which is all "
            "of the budget. Raise max-tokens-total or max-cost to go on"
        )
    return replace(found, settings=replace(settings, **left))


def _line(sample: Sample) -> str:
    why = f": {sample.reasons[0]}" if sample.reasons else ""
    code = f" {sample.code}" if sample.code else ""
    run = " (not run)" if sample.not_run else ""
    return (
        f"{sample.item}#{sample.description} {sample.mode} {sample.temperature:g}  "
        f"{sample.outcome}{code}{run}{why}"
    )


def _tables(report: Report, plan: Plan, currency: str) -> t.Iterator[str]:
    models = ", ".join(report.models) or "none"
    yield f"model: {models}"
    if report.scripted:
        yield "SCRIPTED: the answers come from a script. No figure here says anything of a model."
    mark = " (scripted)" if report.scripted else ""
    fewest, most = report.samples
    n = f"{fewest}" if fewest == most else f"{fewest} to {most}"
    yield f"{len(list(plan.tasks()))} tasks of {len(plan.benchmark.items)} items, n = {n}"
    yield ""
    yield f"pass@k in percent{mark}, the best temperature of each k; 95 % intervals over items"
    yield from _pass_table(report.best, plan, with_temperature=False)
    yield ""
    yield f"pass@k in percent{mark}, all temperatures"
    yield from _pass_table(report.scores, plan, with_temperature=True)
    yield ""
    yield f"answers by what they came to{mark}"
    names = [name for name in plan.modes if name in report.outcomes]
    outcomes = dict.fromkeys(one for name in names for one in report.outcomes[name])
    rows = [(one, *(str(report.outcomes[name][one]) for name in names)) for one in outcomes]
    yield from aligned((("outcome", *names), *rows))
    yield ""
    yield f"cost of a workflow{mark}, mean"
    costs = [
        (
            name,
            f"{cost.tokens:.1f}",
            "price not known" if cost.money is None else f"{cost.money:.6f} {currency}",
            f"{cost.seconds:.2f}",
            f"{cost.calls:.1f}",
        )
        for name, cost in report.costs.items()
    ]
    yield from aligned((("mode", "tokens", "money", "seconds", "calls"), *costs))
    for why, count in report.not_run.items():
        yield f"not run: {count} answers count as right that were not run: {why}"
    if report.missing:
        yield f"missing: {report.missing} answers"


def _pass_table(
    scores: t.Sequence[Score], plan: Plan, *, with_temperature: bool
) -> t.Iterator[str]:
    ks = list(dict.fromkeys(score.k for score in scores))
    rows = []
    for mode in plan.modes:
        for temperature in plan.temperatures if with_temperature else (None,):
            cells = [
                _cell(score, with_temperature)
                for k in ks
                for score in scores
                if (score.mode, score.k) == (mode, k) and temperature in (None, score.temperature)
            ]
            if cells:
                lead = (mode,) if temperature is None else (mode, f"{temperature:g}")
                rows.append((*lead, *cells))
    heads = ("mode", "temperature") if with_temperature else ("mode",)
    yield from aligned(((*heads, *(f"pass@{k}" for k in ks)), *rows))


def _cell(score: Score, with_temperature: bool) -> str:
    value, low, high, _ = score.estimate
    at = "" if with_temperature else f" at {score.temperature:g}"
    return f"{100 * value:.2f} [{100 * low:.2f}, {100 * high:.2f}]{at}"


def _how_to_go_on(missing: int, file: Path | None) -> str:
    how = f"Go on with --resume {file}" if file else "Keep samples by --json FILE, to go on later"
    return f"{missing} answers are missing. {how}"


if __name__ == "__main__":
    main()
