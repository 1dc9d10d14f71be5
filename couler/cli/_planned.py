"""What a retry would do, or does, as it is told."""

from __future__ import annotations

import typing as t
from collections import Counter
from collections.abc import Sequence

import click

from couler import stages
from couler.cli._rows import COLOURS
from couler.cli.format import aligned, echo_json
from couler.cli.session import Session
from couler.ir.semantics.places import covers
from couler.ir.source_map import NO_CHANGE, SourceMap
from couler.ir.walk import StepPath

if t.TYPE_CHECKING:
    from couler.ir.semantics.replay import PlannedStep

Verdict: t.TypeAlias = t.Literal["runs", "cached", "reused", "omitted", "skipped"]

_ORDER: t.Final[tuple[Verdict, ...]] = t.get_args(Verdict)
"""Of what is in a step, the first of these counts for the whole."""


def say_what_runs(session: Session, run: str, planned: Sequence[PlannedStep]) -> None:
    """Say in a line what of a run is taken over, what the cache has and what runs."""
    session.info(f"{run}: {_counts(planned)}")


def say_if_not_run(
    session: Session,
    from_step: str | None,
    planned: Sequence[PlannedStep],
    source_map: SourceMap = NO_CHANGE,
) -> None:
    """Say that a step that is to run again does not."""
    if from_step is None:
        return
    there = [from_step, *map(str, source_map.find(from_step) or source_map.named(from_step))]
    asked = [
        one for one in planned if any(_is_meant(text, StepPath.parse(one.path)) for text in there)
    ]
    if any(one.verdict in ("runs", "cached") for one in asked):
        return
    if asked:
        why = f"it stays {asked[0].verdict}, as {asked[0].reason}"
    elif set("[@") & set(from_step):
        why = "there is no such item or round"
    else:  # it is in a whole whose items are not known yet
        return
    session.info(f"note: --from {from_step} runs nothing of it: {why}")


def _is_meant(text: str, path: StepPath) -> bool:
    """Return whether a user means a path, what it is in, or what is in it."""
    if any(part.name == text for part in path):
        return True
    try:
        asked = StepPath.parse(text)
    except ValueError:  # the name of a step deep inside, which is no path
        return False
    return covers(asked, path) or covers(path, asked)


def _counts(planned: Sequence[PlannedStep]) -> str:
    """Count as the end of a run does: all of a foreach or loop is one step."""
    whole: dict[str, Verdict] = {}
    for step in planned:
        name = StepPath.parse(step.path)[0].name
        whole[name] = min(whole.get(name, step.verdict), step.verdict, key=_ORDER.index)
    counts = Counter(whole.values())
    told = [f"{counts['reused']} reused", f"{counts['cached']} cached", f"{counts['runs']} to run"]
    if not counts["cached"]:
        del told[1]
    told += [f"{counts[one]} {one}" for one in ("skipped", "omitted") if counts[one]]
    return ", ".join(told)


def show_plan(
    session: Session,
    run: str,
    planned: Sequence[PlannedStep],
    source_map: SourceMap,
    format_: str,
) -> None:
    """Print what would become of each step."""
    if format_ == "json":
        steps = [
            {
                "path": step.path,
                "verdict": step.verdict,
                "reason": step.reason,
                "source_steps": list(source_map.sources(StepPath.parse(step.path))),
            }
            for step in planned
        ]
        tree = {"schema_version": stages.SCHEMA_VERSION, "run": run, "steps": steps}
        echo_json(tree)
        return
    colours = {**COLOURS, "runs": "cyan"}
    rows = [
        (
            session.style(step.verdict, err=False, fg=colours[step.verdict]),
            source_map.label(step.path),
            step.reason or "",
        )
        for step in planned
    ]
    for line in aligned(rows) if rows else ():
        click.echo(line)
    session.info(f"{run}: {_counts(planned)}")
