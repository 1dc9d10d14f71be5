"""What splitting did, in sentences: how many parts and why, what waits longer, what it costs."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence

from couler.errors import BudgetError
from couler.ir.wording import counted
from couler.ir.workflow import Step, Workflow
from couler.optimizers.durations import Clock
from couler.optimizers.estimate import critical_path
from couler.optimizers.log_text import figure_text, seconds_text
from couler.optimizers.partitioning import Partition, cut_edges, quotient
from couler.optimizers.step_graph import step_graph
from couler.optimizers.step_times import StepTimes

_MOST_WAITS = 5
"""More waits between parts than these are counted, not named; the labels tell all."""

_MOST_NUMBERS = 20
"""The same for the parts that one part waits for."""


def groups_reason(
    where: str, steps: Sequence[Step], groups: Partition, why: str, *, are_barriers: bool | None
) -> str:
    """Return why a scope has groups, and what waits for what."""
    return (
        f"{capital(where)} has {counted(len(steps), 'step')}, and {why}: "
        f"{counted(groups.count, 'group')} of at most {max(map(len, groups.parts)):,}. "
        f"{_cut(steps, groups, 'group', are_barriers)}"
    )


def runs_reason(
    steps: Sequence[Step],
    runs: Partition,
    groups: Sequence[Partition | None],
    why: str,
    *,
    stays: Mapping[int, str],
    are_barriers: bool | None,
) -> str:
    """Return why the workflow has runs of its own, and what waits for what."""
    count = sum(found.count for found in groups if found is not None)
    inside = f", with {counted(count, 'group')} in them" if count else ""
    own = [part for part in runs.parts if part[0] not in stays]
    largest = max(map(len, own))
    told = (
        f"{capital(why)}: {counted(len(own), 'run')} of at most {counted(largest, 'step')}{inside}."
    )
    cut = _cut(steps, runs, "run", are_barriers, stays)
    return " ".join([told, *_staying(steps, stays), cut])


def in_turn_reason(where: str, at_once: int, *, is_split: bool) -> str:
    """Return what groups mean in a scope that bounds how many of its steps run at once."""
    bound = f"at most {at_once:,} of its steps run at once (max_parallel)"
    if not is_split:
        return (
            f"{capital(where)} is not split: {bound}, and the engine would run one group after the "
            "other."
        )
    return (
        f"{capital(bound)}, and the engine keeps that by running one group after the other, "
        "whether or not they wait for each other."
    )


def each_run_reason(at_once: int) -> str:
    """Return what becomes of a bound of the workflow where it has runs of its own."""
    return (
        f"That at most {at_once:,} steps run at once (max_parallel) holds for each run by itself."
    )


def _staying(steps: Sequence[Step], stays: Mapping[int, str]) -> Iterator[str]:
    """Yield a sentence for each reason for which steps stay in the first run."""
    for why in dict.fromkeys(stays.values()):
        names = [f'"{steps[number].name}"' for number, one in stays.items() if one == why]
        more = f" and {len(names) - _MOST_WAITS:,} more" if len(names) > _MOST_WAITS else ""
        yield (
            f"In the first run stay those that must, as {why}: "
            f"{', '.join(names[:_MOST_WAITS])}{more}."
        )


def delay_reason(
    before: Workflow, after: Workflow, *, are_barriers: bool | None, times: StepTimes | None = None
) -> str:
    """Return what the waits of parts for parts cost in time."""
    if are_barriers is False:
        return "The engine lets steps wait for steps, so that the parts cost no time."
    paths = [critical_path(one, parts_are_barriers=True, times=times) for one in (before, after)]
    if paths[0].value is not None:
        found = (figure_text(figure, seconds_text) for figure in paths)
        return "The critical path takes {} as written and {} in parts.".format(*found)
    alike = Clock(lambda _: 1.0, parts_are_barriers=True)
    as_written, in_parts = (round(alike.makespan(one.steps)) for one in (before, after))
    return (
        "No step says how long it takes; if all took the same, the critical path would be "
        "{} long as written and {:,} in parts.".format(counted(as_written, "step"), in_parts)
    )


def _cut(
    steps: Sequence[Step],
    parts: Partition,
    kind: str,
    are_barriers: bool | None,
    alone: Container[int] = (),
) -> str:
    graph = step_graph(steps, {})
    edges = sum(map(len, graph.predecessors))
    cut = cut_edges(graph, parts)
    if not cut:
        return f"No {kind} waits for another."
    lead = "leads" if len(cut) == 1 else "lead"
    leads = f"{len(cut):,} of {counted(edges, 'edge')} {lead} from one {kind} to another."
    if are_barriers is False:
        return leads
    named = [number for number, part in enumerate(parts.parts) if part[0] not in alone]
    number_of = {part: number for number, part in enumerate(named)}
    before = quotient(graph, parts)
    waits = [
        f"{kind} {number + 1} for {_numbered(kind, befores)}"
        for part, number in number_of.items()
        if (befores := [number_of[one] for one in before[part] if one in number_of])
    ]
    if not waits:
        return leads
    engine = "The engine" if are_barriers else "Where an engine"
    starts = f"{engine} starts a {kind} as a whole,{' so' * bool(are_barriers)}"
    more = f" and {len(waits) - _MOST_WAITS:,} more" if len(waits) > _MOST_WAITS else ""
    return (
        f"{leads} {starts} all of it waits for the whole of another: "
        f"{', '.join(waits[:_MOST_WAITS])}{more}."
    )


def _numbered(kind: str, numbers: Sequence[int]) -> str:
    """Return parts by their numbers, from 1: `group 4`, or `groups 1, 2 and 4`."""
    if len(numbers) == 1:
        return f"{kind} {numbers[0] + 1}"
    told = [f"{number + 1}" for number in numbers[:_MOST_NUMBERS]]
    rest = len(numbers) - len(told)
    last = f"{rest:,} more" if rest else told.pop()
    return f"{kind}s {', '.join(told)} and {last}"


def told_with_daemons(error: BudgetError, steps: Sequence[Step], *, is_stated: bool) -> str:
    """Return why steps do not fit, by the daemons that hold them together where there are some."""
    daemons = [f'"{step.name}"' for step in steps if step.daemon]
    if len(steps) < 2 or not daemons or not error.excess:
        return str(error)
    more = f" and {len(daemons) - _MOST_WAITS:,} more" if len(daemons) > _MOST_WAITS else ""
    named = ", ".join(daemons[:_MOST_WAITS]) + more
    one = len(daemons) == 1
    sum_of_them = f"{len(steps):,} steps, more than one takes"
    if is_stated:
        sum_of_them = f"{error.excess} in sum"
    return (
        f"the {'daemon' if one else 'daemons'} {named} and all that wait for "
        f"{'it' if one else 'them'} stay in one part: {sum_of_them}"
    )


def capital(text: str) -> str:
    """Return a text with its first letter as at the start of a sentence."""
    return text[:1].upper() + text[1:]
