"""Putting the nodes of a directed acyclic graph into parts within a budget.

A library on integers; it knows nothing of workflows. How it is called::

    from couler.optimizers.partitioning import TaskGraph, partition

    graph = TaskGraph(
        names=("load", "left", "right", "join"),
        predecessors=((), (0,), (0,), (1, 2)),
        costs={"steps": (1, 1, 1, 1), "bytes": (900, 400, 400, 700)},
        seconds=(60.0, 30.0, 30.0, 5.0),
        edge_bytes={(0, 1): 4096, (0, 2): 4096},  # optional
        together=((0, 1),),                       # optional: these share a part
    )
    parts = partition(
        graph,
        {"steps": 2, "bytes": 1600},     # a limit for any of the dimensions of `costs`
        method="bands",                  # or "levels", "order", "dfs"
        slack=0.1,                       # optional: how much later a run may end, as a share
        most_parts=100,                  # optional: refuse to make more
        part_overhead={"bytes": 50},     # optional: what each part costs by itself
        cut_overhead={"bytes": 20},      # optional: what a value costs at each side of a cut
    )
    parts.part_of, parts.count           # parts are numbered in a topological order

A value counts in `cut_overhead` once in the part of the node that gives it, if any node of another
part waits for that node, and once in each other part that has such a node: however many edges
lead there.

The same input gives the same parts. What no partition can fit raises
`couler.errors.BudgetError`, whose `nodes` has the names; a wrong method or budget raises
`couler.errors.ConfigurationError`.

`lower_bound`, `loads`, `quotient`, `is_acyclic`, `cut_edges`, `cut_bytes`, `makespan` and
`start_times` measure.
`set_apart` takes nodes out of the parts that they were put into.
`paper_partition` is the paper's method as printed, whose parts can wait for each other in a circle.
"""

from couler.optimizers.partitioning.apart import set_apart as set_apart
from couler.optimizers.partitioning.measure import cut_bytes as cut_bytes
from couler.optimizers.partitioning.measure import cut_edges as cut_edges
from couler.optimizers.partitioning.measure import is_acyclic as is_acyclic
from couler.optimizers.partitioning.measure import loads as loads
from couler.optimizers.partitioning.measure import lower_bound as lower_bound
from couler.optimizers.partitioning.measure import makespan as makespan
from couler.optimizers.partitioning.measure import quotient as quotient
from couler.optimizers.partitioning.methods import METHODS as METHODS
from couler.optimizers.partitioning.methods import paper_partition as paper_partition
from couler.optimizers.partitioning.methods import partition as partition
from couler.optimizers.partitioning.model import Partition as Partition
from couler.optimizers.partitioning.model import TaskGraph as TaskGraph
from couler.optimizers.partitioning.search import SLACK as SLACK
from couler.optimizers.partitioning.starting import start_times as start_times

__all__ = [
    "METHODS",
    "SLACK",
    "Partition",
    "TaskGraph",
    "cut_bytes",
    "cut_edges",
    "is_acyclic",
    "loads",
    "lower_bound",
    "makespan",
    "paper_partition",
    "partition",
    "quotient",
    "set_apart",
    "start_times",
]
