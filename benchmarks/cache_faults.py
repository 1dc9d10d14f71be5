"""Engines that are killed while they admit and evict under a budget, and what holds of the cache.

Two engines at a time run a workflow in one home; one of them is killed with SIGKILL at one of the
points of `tests/support/cache_fault_engine.py`, or at any moment. What must hold after each kill is
listed in `tests/support/cache_faults.py`.

    python benchmarks/cache_faults.py [--kills N] [--seed S] [--json OUT]
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

from tests.support.cache_faults import BUDGET, CacheCampaign


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=100, help="default 100")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, help="write the figures here as well")
    options = parser.parse_args()
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="couler-cache-faults-") as folder:
        campaign = CacheCampaign(Path(folder), options.seed)
        campaign.kill(options.kills)
        campaign.finish()
        decisions = campaign.decisions()
    print(f"seed {options.seed}, budget {BUDGET:,} bytes, {time.monotonic() - begun:.0f} s\n")
    for where, count in sorted(campaign.kills.items()):
        print(f"{count:4} killed {where}")
    for how, count in sorted(campaign.ended.items()):
        print(f"{count:4} engines: {how}")
    for decision, count in sorted(decisions.items()):
        print(f"{count:4} {decision}")
    print(f"{len(campaign.broken):4} violations")
    if options.json is not None:
        figures = {
            "seed": options.seed,
            "kills": dict(campaign.kills),
            "engines": dict(campaign.ended),
            "decisions": decisions,
            "violations": campaign.broken,
        }
        options.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    if campaign.broken:
        sys.exit("\n".join(["", "did not hold:", *campaign.broken]))


if __name__ == "__main__":
    main()
