"""Putting operators that can share a pod and an image into groups."""
# Automated Planning for Optimal Data Pipeline Instantiation, arXiv 2503.12626.

from couler.optimizers.grouping.methods import METHODS as METHODS
from couler.optimizers.grouping.methods import GroupingMethod as GroupingMethod
from couler.optimizers.grouping.methods import group_operators as group_operators
from couler.optimizers.grouping.pddl import domain_text as domain_text
from couler.optimizers.grouping.pddl import grouping_of_plan as grouping_of_plan
from couler.optimizers.grouping.pddl import problem_text as problem_text
from couler.optimizers.grouping.pddl import read_plan as read_plan
from couler.optimizers.grouping.problem import CONNECTION as CONNECTION
from couler.optimizers.grouping.problem import NODE as NODE
from couler.optimizers.grouping.problem import Costs as Costs
from couler.optimizers.grouping.problem import Edge as Edge
from couler.optimizers.grouping.problem import Group as Group
from couler.optimizers.grouping.problem import Grouping as Grouping
from couler.optimizers.grouping.problem import Image as Image
from couler.optimizers.grouping.problem import Limits as Limits
from couler.optimizers.grouping.problem import Operator as Operator
from couler.optimizers.grouping.problem import Problem as Problem
from couler.optimizers.grouping.simulation import Platform as Platform
from couler.optimizers.grouping.simulation import SimulatedRun as SimulatedRun
from couler.optimizers.grouping.simulation import simulate as simulate
from couler.optimizers.grouping.solution import Price as Price
from couler.optimizers.grouping.solution import Solution as Solution
from couler.optimizers.grouping.solution import check as check
from couler.optimizers.grouping.solution import is_acyclic as is_acyclic
from couler.optimizers.grouping.solution import price as price
from couler.optimizers.grouping.solution import violations as violations

__all__ = [
    "CONNECTION",
    "METHODS",
    "NODE",
    "Costs",
    "Edge",
    "Group",
    "Grouping",
    "GroupingMethod",
    "Image",
    "Limits",
    "Operator",
    "Platform",
    "Price",
    "Problem",
    "SimulatedRun",
    "Solution",
    "check",
    "domain_text",
    "group_operators",
    "grouping_of_plan",
    "is_acyclic",
    "price",
    "problem_text",
    "read_plan",
    "simulate",
    "violations",
]
