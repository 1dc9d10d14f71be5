"""How fast the machines of a cluster compute: as stated, and as earlier runs have shown."""

from __future__ import annotations

import typing as t
from collections.abc import Sequence
from dataclasses import replace

from couler.cluster.model import Cluster, Speed
from couler.ir.wording import power_text
from couler.operations.throughput import Rate
from couler.optimizers.placement.learning import Learned, scaled_speeds

_HEADER = ("model", "group", "stated", "learned", "")


class SpeedRow(t.NamedTuple):
    """A speed that is stated, learned, or both."""

    model: str
    group: str
    stated: float | None
    """What holds where nothing is learned; None if nothing does."""
    learned: Rate | None

    def to_json(self) -> dict[str, t.Any]:
        """Return the row as JSON."""
        return {
            "model": self.model or None,
            "group": self.group or None,
            "stated_operations_per_s": self.stated,
            "learned_operations_per_s": None if self.learned is None else self.learned.ops_per_s,
            "measurements": 0 if self.learned is None else self.learned.measurements,
        }


def speed_rows(cluster: Cluster, learned: Learned) -> list[SpeedRow]:
    """Return what is stated, in the order of the file, and then what else is learned."""
    stated = {(one.model, one.group): one.operations_per_s for one in cluster.speeds}

    def fallback(model: str, group: str) -> float | None:
        ways = ((model, group), (model, ""), ("", group), ("", ""))
        return next((stated[way] for way in ways if way in stated), None)

    return [
        SpeedRow(*which, fallback(*which), learned.get(which))
        for which in dict.fromkeys((*stated, *learned))
    ]


def speed_cells(rows: Sequence[SpeedRow]) -> list[tuple[str, ...]]:
    """Return the table of speeds, with its head."""
    return [
        _HEADER,
        *(
            (
                row.model or "(all)",
                row.group or "(all)",
                "" if row.stated is None else f"{power_text(row.stated)}/s",
                "" if row.learned is None else f"{power_text(row.learned.ops_per_s)}/s",
                "" if row.learned is None else row.learned.source,
            )
            for row in rows
        ),
    ]


def with_learned(cluster: Cluster, learned: Learned) -> Cluster:
    """Return a cluster that states what is learned, in the place of what it stated before."""
    rates = {which: rate.ops_per_s for which, rate in learned.items()}
    for one in scaled_speeds(cluster, learned):
        if one.factor is not None:
            rates[one.model, one.place] = one.ops_per_s
    kept = [speed for speed in cluster.speeds if (speed.model, speed.group) not in rates]
    found = (Speed(float(f"{rate:.4g}"), group, model) for (model, group), rate in rates.items())
    return replace(cluster, speeds=(*kept, *found))
