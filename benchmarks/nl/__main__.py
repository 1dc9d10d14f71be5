"""Measure how well a language model turns descriptions in English into workflows.

    python -m benchmarks.nl [--items GLOB]... [--samples N] [--json FILE | --resume FILE] ...

Each description of the benchmark is asked for several times at each temperature. What comes back is
built in isolation, verified, compared with a reference and, where that is possible, run in
isolation. The figures are pass@k with intervals, what went wrong, and what a workflow costs.
Budgets hold for the whole evaluation, one that is gone on with included. The endpoint is that of
the settings (`COULER_LLM_*`, `[tool.couler.llm]`). Exit code 4: the budget or the endpoint ended it
early; --resume goes on.
"""

from __future__ import annotations

import argparse
import json
import sys
import typing as t
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.nl.evaluating import Plan, evaluate, spent
from benchmarks.nl.generating import ABLATIONS, OwnGenerator, check_ablations
from benchmarks.nl.items import BenchmarkError, read_benchmark
from benchmarks.nl.judging import Judge
from benchmarks.nl.records import Header, Records, Sample
from benchmarks.nl.report import Report, Score, report_of
from benchmarks.nl.runner import BoxRunner, NoRunner
from couler import box
from couler.cli.format import aligned
from couler.cli.language_model import LlmFlags, found_settings, opened_model
from couler.cli.session import Session
from couler.errors import CoulerError, ModelBudgetError
from couler.llm.reading import FoundSettings

OWN_BENCHMARK = Path(__file__).parents[2] / "tests" / "nl_benchmark"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the evaluation, and print its figures."""
    options = _options(arguments)
    try:
        _run(options, LlmFlags(**{name: getattr(options, name) for name in LLM_OPTIONS}))
    except KeyboardInterrupt:
        sys.exit(130)
    except CoulerError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(error.exit_code)


def _run(options: argparse.Namespace, llm: LlmFlags) -> None:
    plan = Plan(
        read_benchmark(options.benchmark).select(options.items),
        options.samples,
        options.temperatures,
        options.ablations,
        options.descriptions,
        options.seed,
    )
    if max(options.k) > plan.samples:
        raise BenchmarkError(f"pass@{max(options.k)} needs at least {max(options.k)} samples")
    check_ablations(plan.ablations)
    session = Session()
    found = found_settings(session, llm)
    header = Header(plan.benchmark.digest, found.settings.model, found.settings.base_url, plan.seed)
    file = options.resume or options.json
    records = Records(file, header, resume=options.resume is not None)
    box.isolation().require()
    runner = NoRunner("--no-run was given") if options.no_run else BoxRunner()
    keys = [key for _, key in plan.asked()]

    def tell(sample: Sample) -> None:
        count = sum(key in records.samples for key in keys)
        print(f"{count}/{len(keys)} {_line(sample)}", file=sys.stderr, flush=True)

    with opened_model(session, llm, "nl", found=_less_spent(found, records)) as model:
        try:
            result = evaluate(
                plan, model, OwnGenerator(), Judge(runner), records, jobs=options.jobs, tell=tell
            )
        except KeyboardInterrupt:
            missing = sum(key not in records.samples for key in keys)
            print(_how_to_go_on(missing, file), file=sys.stderr)
            raise
    report = report_of(result, options.k)
    if options.format == "json":
        print(json.dumps(report.to_json(), ensure_ascii=False, indent=2))
    else:
        print("\n".join(_tables(report, plan, found.settings.currency)))
    if result.stopped is not None:
        print(_how_to_go_on(result.missing, file), file=sys.stderr)
        raise result.stopped


LLM_OPTIONS = ("model", "base_url", "max_tokens_total", "max_cost", "record", "replay")


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.nl",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--benchmark", type=Path, default=OWN_BENCHMARK, metavar="DIR", help="folder of the items")
    add("--items", action="append", default=[], metavar="GLOB", help="names or tags of items")
    add("--descriptions", type=int, metavar="N", help="only the first N of each item")
    add("--samples", type=int, default=5, metavar="N", help="answers to each task; %(default)s")
    add(
        "--temperatures",
        type=_numbers(float, 0),
        default=(0.2, 0.6, 0.8),
        metavar="T,...",
        help="default 0.2,0.6,0.8",
    )
    add("--ablations", type=_names, default=tuple(ABLATIONS), metavar="NAME,...", help="all six")
    add("--k", type=_numbers(int, 1), default=(1, 3, 5), metavar="K,...", help="of pass@k; 1,3,5")
    add("--jobs", type=int, default=1, metavar="N", help="samples at a time; %(default)s")
    add("--seed", type=int, default=0, help="of samples and intervals; %(default)s")
    add("--no-run", action="store_true", help="run no workflow, not even shut in")
    file = parser.add_mutually_exclusive_group()
    file.add_argument("--json", type=Path, metavar="FILE", help="a new file for all samples")
    file.add_argument("--resume", type=Path, metavar="FILE", help="go on with such a file")
    add("--format", choices=("text", "json"), default="text")
    add("--model", help="as the endpoint calls it")
    add("--base-url", metavar="URL", help="of the endpoint, up to /chat/completions")
    add("--max-tokens-total", type=int, metavar="N", help="of all calls")
    add("--max-cost", type=float, metavar="AMOUNT", help="of all calls, at stated prices")
    add("--record", type=Path, metavar="FILE", help="write all requests and answers to a new file")
    add("--replay", type=Path, metavar="FILE", help="answer from such a file")
    return parser.parse_args(arguments)


def _names(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name.strip() for name in text.split(",")))


N = t.TypeVar("N", int, float)


def _numbers(kind: t.Callable[[str], N], least: N) -> t.Callable[[str], tuple[N, ...]]:
    def numbers(text: str) -> tuple[N, ...]:
        found = tuple(dict.fromkeys(map(kind, text.split(","))))
        if min(found) < least:
            raise ValueError(text)
        return found

    return numbers


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
        f"{sample.item}#{sample.description} {sample.ablation} {sample.temperature:g}  "
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


def _how_to_go_on(missing: int, file: Path | None) -> str:
    how = f"Go on with --resume {file}" if file else "Keep samples by --json FILE, to go on later"
    return f"{missing} answers are missing. {how}"


if __name__ == "__main__":
    main()
