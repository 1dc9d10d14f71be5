"""Runs that are killed, stopped and starved of disk, and what holds of them nevertheless.

A workflow of 60 steps runs on this machine while its engine is killed with SIGKILL at random
moments, is taken up again and killed again until it ends. Then its steps are killed, the engine
is asked to end, and the disk is filled. What must hold is listed in `tests/support/fault_runs.py`.

    python benchmarks/faults.py [--kills N] [--seed S]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.support.fault_campaigns import HEAD, Campaign, NoSmallDiskError, describe


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=200, help="of the engine; default 200")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="couler-faults-") as folder:
        broken = run_all(Campaign(Path(folder), options.seed), options.kills)
    if broken:
        sys.exit("\n".join(["", "did not hold:", *broken]))


def run_all(campaign: Campaign, kills: int) -> list[str]:
    """Run every campaign, print a table, and return what did not hold."""
    print(f"seed {campaign.seed}; without faults a run takes {campaign.run_s:.1f} s\n\n{HEAD}")
    campaigns = {
        "the engine": lambda: campaign.kill_engine(kills),
        "steps": lambda: campaign.kill_steps(kills // 4),
        "asked to end": lambda: campaign.send_signals(kills // 10),
        "the disk is full": lambda: campaign.fill_disk(kills // 10),
    }
    broken = []
    for what, start in campaigns.items():
        try:
            figures = start()
        except NoSmallDiskError as error:
            print(f"{what:<18} not here: {error}")
            continue
        print(*describe(what, figures), sep="\n", flush=True)
        broken += [f"{what}: {told}" for told in figures.broken]
    return broken


if __name__ == "__main__":
    main()
