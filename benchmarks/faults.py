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

from tests.support.fault_campaigns import Campaign, NoSmallDiskError, Row, table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=200, help="of the engine; default 200")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    kills = options.kills
    rows = []
    with tempfile.TemporaryDirectory(prefix="couler-faults-") as folder:
        campaign = Campaign(Path(folder), options.seed)
        print(
            f"seed {options.seed}; without faults a run takes {campaign.run_s:.1f} s\n", flush=True
        )
        rows.append(Row("the engine", campaign.kill_engine(kills)))
        rows.append(Row("steps", campaign.kill_steps(kills // 4)))
        rows.append(Row("asked to end", campaign.send_signals(kills // 10)))
        try:
            rows.append(Row("the disk is full", campaign.fill_disk(kills // 10)))
        except NoSmallDiskError as error:
            print(f"the disk is not filled: {error}\n")
    print(*table(rows), sep="\n")
    broken = [f"{row.what}: {told}" for row in rows for told in row.figures.broken]
    if broken:
        sys.exit("\n".join(["", "did not hold:", *broken]))


if __name__ == "__main__":
    main()
