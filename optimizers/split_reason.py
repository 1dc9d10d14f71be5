"""What splitting did, in sentences: how many parts there are, and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from couler.errors import BudgetError
from couler.ir.wording import counted
from couler.ir.workflow import Step
from couler.optimizers.partitioning import Partition, cut_edges
from couler.optimizers.step_graph import step_graph

_LISTED = 5
"""More steps than these are counted, not named."""


def groups_reason(where: str, steps: Sequence[Step], groups: Partition, why: str) -> str:
    """Return why a scope has groups, and how many edges lead from one to another."""
    return (
        f"{capital(where)} has {counted(len(steps), 'step')}, and {why}: "
        f"{counted(groups.count, 'group')} of at most {max(map(len, groups.parts)):,}. "
        f"{_cut(steps, groups, 'group')}"
    )


def runs_reason(
    steps: Sequence[Step],
    runs: Partition,
    groups: Sequence[Partition | None],
    why: str,
    *,
    stays: Mapping[int, str],
) -> str:
    """Return why the workflow has runs of its own, and how many edges lead from one to another."""
    count = sum(found.count for found in groups if found is not None)
    inside = f", with {counted(count, 'group')} in them" if count else ""
    own = [part for part in runs.parts if part[0] not in stays]
    largest = max(map(len, own))
    told = (
        f"{capital(why)}: {counted(len(own), 'run')} of at most {counted(largest, 'step')}{inside}."
    )
    return " ".join([told, *_staying(steps, stays), _cut(steps, runs, "run")])


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
        more = f" and {len(names) - _LISTED:,} more" if len(names) > _LISTED else ""
        yield (
            f"In the first run stay those that must, as {why}: {', '.join(names[:_LISTED])}{more}."
        )


def _cut(steps: Sequence[Step], parts: Partition, kind: str) -> str:
    graph = step_graph(steps, {})
    edges = sum(map(len, graph.predecessors))
    cut = len(cut_edges(graph, parts))
    if not cut:
        return f"No {kind} waits for another."
    lead = "leads" if cut == 1 else "lead"
    return f"{cut:,} of {counted(edges, 'edge')} {lead} from one {kind} to another."


def told_with_daemons(error: BudgetError, steps: Sequence[Step], *, is_stated: bool) -> str:
    """Return why steps do not fit, by the daemons that hold them together where there are some."""
    daemons = [f'"{step.name}"' for step in steps if step.daemon]
    if len(steps) < 2 or not daemons or not error.excess:
        return str(error)
    more = f" and {len(daemons) - _LISTED:,} more" if len(daemons) > _LISTED else ""
    named = ", ".join(daemons[:_LISTED]) + more
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
