"""Putting the nodes of a directed acyclic graph into parts within a budget."""

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
