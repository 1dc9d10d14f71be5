"""Real training on this machine under SpeCon and OASiS: what moves and varying sizes cost.

    python benchmarks/local_training.py

Six jobs train on two processors (the first two that this process may use), with and without moves:
completion times, and whether losses at equal steps are equal after a move. Four elastic jobs have
as many worker processes as OASiS plans for slots of a second, on a machine for which four workers
are a full load: each ends its steps, with the loss of a run of one worker to 1 %. Exit code 1 if
not. Then the cost of saving and resuming, as Figures 2 and 3 of SpeCon have it: less than 5 s
there. Seconds are wall time of this machine, and the smaller the less else runs on it.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
from pathlib import Path

from benchmarks.scheduling.local import LocalJob, run_elastic, run_jobs, save_and_resume
from benchmarks.scheduling.migrations import NoMoves
from couler.cli.format import aligned
from couler.optimizers.scheduling.migration import MigrationRule, RemainingWork, SpeCon
from couler.optimizers.scheduling.oasis import Oasis
from couler.optimizers.scheduling.prices import calibrated_prices
from couler.optimizers.scheduling.training import ElasticJob, MachinePool, Sigmoid

NODES = ("node-0", "node-1")
STEPS = ((3000, 0.1), (600, 0.5), (3000, 0.004), (600, 0.5), (3000, 0.003), (600, 0.02))
ELASTIC = {"a": 600, "b": 400, "c": 300, "d": 200}
STEPS_A_SLOT = 100


def main() -> int:
    """Print all tables."""
    if len(os.sched_getaffinity(0)) < 2:
        print("this process may use one processor alone: there are no two nodes")
        return 0
    equal = with_moves()
    equal = with_sizes() and equal
    with tempfile.TemporaryDirectory() as folder:
        took = {at: save_and_resume(2000, at, Path(folder)) for at in (0.1, 0.3, 0.5, 0.7, 0.9)}
    cells = ", ".join(f"{value:.2f} s at {at:.0%}" for at, value in took.items())
    print(f"Save and resume: {cells}; spread {statistics.stdev(took.values()):.2f} s")
    return 0 if equal else 1


def with_moves() -> bool:
    """Print completion times of six jobs on two processors under three rules."""
    rules: dict[str, MigrationRule] = {
        "default": NoMoves(),
        "SpeCon": SpeCon(NODES),
        "remaining work": RemainingWork(NODES, pause_s=1.0),
    }
    rows = []
    losses: dict[str, list[dict[int, float]]] = {}
    for name, rule in rules.items():
        jobs = [
            LocalJob(f"job-{number}", steps, NODES[number % 2], rate)
            for number, (steps, rate) in enumerate(STEPS)
        ]
        with tempfile.TemporaryDirectory() as folder:
            moves = run_jobs(jobs, Path(folder), rule, interval_s=1.0)
        ends = [job.ended_s or 0.0 for job in jobs]
        losses[name] = [job.losses for job in jobs]
        told = ", ".join(f"{move.job} at {at:.0f} s" for at, move in moves)
        rows.append(
            [
                name,
                f"{statistics.mean(ends):.1f}",
                f"{max(ends):.1f}",
                " ".join(f"{end:.1f}" for end in ends),
                told,
            ]
        )
    print("Six jobs on two processors: seconds to the end")
    heads = ("rule", "mean", "makespan", "each job", "moves")
    print("\n".join(aligned((heads, *rows), right={1, 2})))
    equal = all(found == losses["default"] for found in losses.values())
    print(f"Losses at equal steps are {'equal' if equal else 'NOT EQUAL'} in all three runs\n")
    return equal


def with_sizes() -> bool:
    """Print losses and ends of elastic jobs at the sizes that OASiS plans."""
    servers = MachinePool.of(("workers",), [[4.0]], [])
    jobs = [
        ElasticJob(
            name, 0, 1, 4, 1, steps / STEPS_A_SLOT / 4, (1.0,), (0.0,), 0.0, Sigmoid(10, 0.1, 10)
        )
        for name, steps in ELASTIC.items()
    ]
    oasis = Oasis(servers, 40, calibrated_prices(jobs, servers, 40))
    sizes = {}
    for job in jobs:
        decision = oasis.offer(job)
        assert decision.admitted
        sizes[job.name] = {one.slot: int(one.workers.sum()) for one in decision.deployments}
    planned = run_elastic({name: (ELASTIC[name], sizes[name]) for name in sizes}, 1.0)
    alone = run_elastic({name: (steps, {0: 1}) for name, steps in ELASTIC.items()}, 1.0)
    rows = [
        [name, " ".join(map(str, seen)), f"{end:.1f}", f"{loss:.6f}", f"{alone[name][0]:.6f}"]
        for name, (loss, seen, end) in sorted(planned.items())
    ]
    print("Four elastic jobs: sizes that each had, seconds to the end, and the loss")
    heads = ("job", "workers", "end s", "loss", "of one worker")
    print("\n".join(aligned((heads, *rows), right={2, 3, 4})))
    near = all(abs(loss / alone[name][0] - 1) < 0.01 for name, (loss, _, _) in planned.items())
    print(f"Losses are {'within' if near else 'NOT WITHIN'} 1 % of those of one worker\n")
    return near


if __name__ == "__main__":
    sys.exit(main())
