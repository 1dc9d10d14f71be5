"""`couler eval`: how well a language model does with Couler."""

from __future__ import annotations

import itertools
import json
import typing as t
from dataclasses import replace
from pathlib import Path

import click

from couler.cli._checking_program import refuse_without_walls
from couler.cli._format import aligned
from couler.cli._llm import LlmFlags, found_settings, llm_options, opened_model
from couler.cli._session import Session, pass_session, session_options
from couler.cli._stopping import heeding_requests_to_end

if t.TYPE_CHECKING:
    from couler.evaluation.evaluating import Plan, Result
    from couler.evaluation.records import Records, Sample
    from couler.evaluation.report import Report, Score
    from couler.llm import LlmSettings, Usage
    from couler.llm.reading import FoundSettings

OWN_BENCHMARK = Path("tests/nl_benchmark")
"""Where a checkout has the benchmark, from its root."""


@click.group()
@session_options
def command() -> None:
    """Measure how well a language model writes workflows."""


@command.command("nl")
@click.option(
    "--benchmark",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder of the items; by default tests/nl_benchmark of the checkout around.",
)
@click.option("--items", "patterns", multiple=True, metavar="GLOB", help="Names or tags of items.")
@click.option(
    "--descriptions", type=click.IntRange(1), metavar="N", help="Only the first N of each item."
)
@click.option(
    "--samples", type=click.IntRange(1), default=5, show_default=True, help="Answers to each task."
)
@click.option(
    "--temperatures", default="0.2,0.6,0.8", show_default=True, metavar="T,...", help="Which."
)
@click.option(
    "--ablations",
    default="plain,rules,card,lake,calibration,all",
    show_default=True,
    metavar="NAME,...",
    help="With which parts of the generation.",
)
@click.option("--k", "ks", default="1,3,5", show_default=True, metavar="K,...", help="Of pass@k.")
@click.option(
    "--jobs", type=click.IntRange(1), default=1, show_default=True, help="Samples at a time."
)
@click.option("--seed", type=int, default=0, show_default=True, help="Of samples and intervals.")
@click.option("--no-run", is_flag=True, help="Run no workflow, not even shut in.")
@click.option(
    "--json",
    "out",
    type=click.Path(path_type=Path, dir_okay=False),
    help="A new file for all samples, a line of JSON each.",
)
@click.option(
    "--resume",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="Go on with such a file.",
)
@click.option("--format", "format_", type=click.Choice(("text", "json")), help="How to report.")
@llm_options
@session_options
@pass_session
def nl(
    session: Session,
    folder: Path | None,
    patterns: tuple[str, ...],
    descriptions: int | None,
    samples: int,
    temperatures: str,
    ablations: str,
    ks: str,
    jobs: int,
    seed: int,
    no_run: bool,
    out: Path | None,
    resume: Path | None,
    format_: str | None,
    llm: LlmFlags,
) -> None:
    """Measure how well descriptions in English become workflows.

    Each description of the benchmark is asked for several times at each temperature. What comes
    back is built in isolation, verified, compared with a reference and, where that is possible,
    run in isolation. The figures are pass@k with intervals, what went wrong, and what a workflow
    costs. Budgets hold for the whole evaluation, one that is gone on with included.

    Ends with 4 if the budget or the endpoint ended it early; --resume goes on.
    """
    from couler.evaluation.evaluating import Plan, evaluate
    from couler.evaluation.generating import OwnGenerator, check_ablations
    from couler.evaluation.items import read_benchmark
    from couler.evaluation.judging import Judge
    from couler.evaluation.records import Header, Records
    from couler.evaluation.report import report_of
    from couler.evaluation.runner import BoxRunner, NoRunner

    if out is not None and resume is not None:
        raise click.UsageError("--resume FILE goes on with FILE: leave --json out")
    format_ = session.settings.choose("format", format_, ("text", "json"))
    k_values = _numbers(ks, "--k", int, 1)
    plan = Plan(
        read_benchmark(folder or _own_benchmark()).select(patterns),
        samples,
        _numbers(temperatures, "--temperatures", float, 0),
        tuple(dict.fromkeys(name.strip() for name in ablations.split(","))),
        descriptions,
        seed,
    )
    if max(k_values) > samples:
        raise click.UsageError(
            f"pass@{max(k_values)} needs at least {max(k_values)} samples: give --samples or --k"
        )
    check_ablations(plan.ablations)
    found = found_settings(session, llm)
    header = Header(plan.benchmark.digest, found.settings.model, found.settings.base_url, plan.seed)
    records = Records(resume or out, header, resume=resume is not None)
    refuse_without_walls()
    runner = NoRunner("--no-run was given") if no_run else BoxRunner()
    keys = [key for _, key in plan.asked()]
    with opened_model(session, llm, "eval", found=_less_spent(found, records)) as model:
        numbers = itertools.count(sum(key in records.samples for key in keys) + 1)

        def tell(sample: Sample) -> None:
            session.info(_line(sample, next(numbers), len(keys)))

        try:
            with heeding_requests_to_end():
                result = evaluate(
                    plan, model, OwnGenerator(), Judge(runner), records,
                    jobs=jobs, tell=tell, say=session.info,
                )  # fmt: skip
        except KeyboardInterrupt as error:
            missing = sum(key not in records.samples for key in keys)
            error.add_note(_how_to_go_on(missing, resume or out))
            raise
    report = report_of(result, k_values)
    if format_ == "json":
        click.echo(json.dumps(report.to_json(), ensure_ascii=False, indent=2))
    else:
        for line in _tables(report, plan, found.settings.currency):
            click.echo(line)
    _raise_early_end(result, resume or out)


def _own_benchmark() -> Path:
    """Return the benchmark of the checkout that the working directory is in."""
    from couler.errors import BenchmarkError

    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / OWN_BENCHMARK / "items").is_dir():
            return folder / OWN_BENCHMARK
    raise BenchmarkError(
        f"there is no benchmark here: {OWN_BENCHMARK} is part of a checkout of Couler. Call the "
        "command there, or name a folder of items by --benchmark DIR"
    )


N = t.TypeVar("N", int, float)


def _numbers(text: str, option: str, kind: type[N], least: N) -> tuple[N, ...]:
    try:
        numbers = tuple(dict.fromkeys(kind(part) for part in text.split(",")))
    except ValueError:
        numbers = ()
    if not numbers or any(not least <= number < float("inf") for number in numbers):
        raise click.BadParameter(
            f"{text!r} is no list of numbers from {least} on, with commas between them",
            param_hint=option,
        )
    return numbers


def _less_spent(found: FoundSettings, records: Records) -> FoundSettings:
    """Return settings whose budget is what an evaluation before has left."""
    from couler.errors import ModelBudgetError
    from couler.evaluation.evaluating import spent

    settings = found.settings
    used = spent(list(records.samples.values())) + records.lost
    left: dict[str, t.Any] = {}
    if settings.max_tokens_total is not None:
        left["max_tokens_total"] = settings.max_tokens_total - used.tokens
    if settings.max_cost is not None and used.cost is not None:
        left["max_cost"] = settings.max_cost - used.cost
    if any(amount <= 0 for amount in left.values()):
        raise ModelBudgetError(
            f"language model: the samples that are there took {_amounts(used, settings)}, which is "
            "all of the budget. Raise max-tokens-total or max-cost to go on"
        )
    return replace(found, settings=replace(settings, **left))


def _amounts(used: Usage, settings: LlmSettings) -> str:
    cost = "" if used.cost is None else f" and {used.cost:.6g} {settings.currency}"
    return f"{used.tokens:,} tokens{cost}"


def _line(sample: Sample, number: int, total: int) -> str:
    why = f": {sample.reasons[0]}" if sample.reasons else ""
    code = f" {sample.code}" if sample.code else ""
    run = " (not run)" if sample.not_run else ""
    return (
        f"{number}/{total} {sample.item}#{sample.description} {sample.ablation} "
        f"{sample.temperature:g}  {sample.outcome}{code}{run}{why}"
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
    names = [name for name in plan.ablations if name in report.outcomes]
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
    yield from aligned((("ablation", "tokens", "money", "seconds", "calls"), *costs))
    for why, count in report.not_run.items():
        yield f"not run: {count} answers count as right that were not run: {why}"
    if report.missing:
        yield f"missing: {report.missing} answers"


def _pass_table(
    scores: t.Sequence[Score], plan: Plan, *, with_temperature: bool
) -> t.Iterator[str]:
    ks = list(dict.fromkeys(score.k for score in scores))
    rows = []
    for ablation in plan.ablations:
        for temperature in plan.temperatures if with_temperature else (None,):
            cells = [
                _cell(score, with_temperature)
                for k in ks
                for score in scores
                if (score.ablation, score.k) == (ablation, k)
                and temperature in (None, score.temperature)
            ]
            if cells:
                lead = (ablation,) if temperature is None else (ablation, f"{temperature:g}")
                rows.append((*lead, *cells))
    heads = ("ablation", "temperature") if with_temperature else ("ablation",)
    yield from aligned(((*heads, *(f"pass@{k}" for k in ks)), *rows))


def _cell(score: Score, with_temperature: bool) -> str:
    value, low, high, _ = score.estimate
    at = "" if with_temperature else f" at {score.temperature:g}"
    return f"{100 * value:.2f} [{100 * low:.2f}, {100 * high:.2f}]{at}"


def _raise_early_end(result: Result, file: Path | None) -> None:
    """Raise what has ended an evaluation early, and say how to go on."""
    if result.stopped is None:
        return
    result.stopped.add_note(_how_to_go_on(result.missing, file))
    raise result.stopped


def _how_to_go_on(missing: int, file: Path | None) -> str:
    how = f"Go on with --resume {file}" if file else "Keep samples by --json FILE, to go on later"
    return f"{missing} answers are missing. {how}"
