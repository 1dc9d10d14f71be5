"""A small interpreter of PDDL: it executes a plan against the text of a domain and of a problem.

It knows what operator grouping uses: typing, equality, negated effects and `increase`. It shares
nothing with the writer, and so tells what a planner would make of its texts.
"""

from __future__ import annotations

import re
import typing as t
from collections.abc import Iterable, Mapping, Sequence

from couler.optimizers.grouping import Grouping, Problem
from couler.optimizers.grouping.solution import numbers_of

Tree: t.TypeAlias = t.Any
"""A word, or a list of trees."""

Fact: t.TypeAlias = tuple[str, ...]


class PlanError(Exception):
    """The plan cannot be executed, or does not reach the goal."""


def parse(text: str) -> Tree:
    """Return the tree of a text in parentheses; `;` begins a comment."""
    bare = re.sub(r";.*", "", text)
    stack: list[list[Tree]] = [[]]
    for word in re.findall(r"[()]|[^\s()]+", bare):
        if word == "(":
            stack.append([])
        elif word == ")":
            done = stack.pop()
            stack[-1].append(done)
        else:
            stack[-1].append(word.lower())
    assert len(stack) == len(stack[0]) == 1, "parentheses do not match"
    return stack[0][0]


def typed(words: Sequence[str]) -> list[tuple[str, str]]:
    """Return names with their types, of a list such as `a b - type c - other`."""
    found: list[tuple[str, str]] = []
    names: list[str] = []
    rest = iter(words)
    for word in rest:
        if word == "-":
            kind = next(rest)
            found += [(name, kind) for name in names]
            names = []
        else:
            names.append(word)
    assert not names, f"without a type: {names}"
    return found


def part(tree: Tree, name: str) -> list[Tree]:
    """Return what stands behind a key word such as `:init`."""
    return next(one[1:] for one in tree[1:] if one[0] == name)


class Task:
    """A planning task as it is read."""

    def __init__(self, domain: str, problem: str) -> None:
        domain_tree, problem_tree = parse(domain), parse(problem)
        assert part(problem_tree, ":domain") == domain_tree[1][1:]
        assert part(problem_tree, ":metric") == ["minimize", ["total-cost"]]
        self.types = set(part(domain_tree, ":types"))
        self.objects = dict(typed(part(problem_tree, ":objects")))
        assert set(self.objects.values()) <= self.types
        declared = part(domain_tree, ":predicates")
        self.arity = {one[0]: [kind for _, kind in typed(one[1:])] for one in declared}
        self.facts: set[Fact] = set()
        self.numbers: dict[Fact, float] = {}
        for one in part(problem_tree, ":init"):
            if one[0] == "=":
                self.numbers[tuple(one[1])] = float(one[2])
            else:
                self.facts.add(self._checked(one))
        self.goal = part(problem_tree, ":goal")[0]
        self.actions = {
            one[1]: dict(zip(one[2::2], one[3::2], strict=True))
            for one in domain_tree[1:]
            if one[0] == ":action"
        }

    def _checked(self, one: Sequence[str]) -> Fact:
        kinds = [self.objects[name] for name in one[1:]]
        assert kinds == self.arity[one[0]], f"{one} has other types than it is declared with"
        return tuple(one)

    def execute(self, plan: Iterable[Sequence[str]]) -> float:
        """Return what a plan costs.

        Raises
        ------
        PlanError
            A precondition does not hold, or the goal is not reached.
        """
        facts, numbers = set(self.facts), dict(self.numbers)
        for name, *some in plan:
            action = self.actions[name]
            parameters = typed(action[":parameters"])
            if [self.objects[one] for one in some] != [kind for _, kind in parameters]:
                raise PlanError(f"{name} {some}: other types")
            bound = dict(zip((one for one, _ in parameters), some, strict=True))
            if not holds(action[":precondition"], bound, facts):
                raise PlanError(f"{name} {some}: the precondition does not hold")
            effects = action[":effect"]
            for effect in effects[1:] if effects[0] == "and" else [effects]:
                if effect[0] == "increase":
                    numbers[ground(effect[1], bound)] += numbers[ground(effect[2], bound)]
            for effect in effects[1:] if effects[0] == "and" else [effects]:
                if effect[0] == "not":
                    facts.discard(ground(effect[1], bound))
            for effect in effects[1:] if effects[0] == "and" else [effects]:
                if effect[0] not in ("not", "increase"):
                    facts.add(self._checked(ground(effect, bound)))
        if not holds(self.goal, {}, facts):
            raise PlanError("the goal is not reached")
        return numbers[("total-cost",)]


def ground(one: Sequence[str], bound: Mapping[str, str]) -> Fact:
    """Return a fact with the objects that stand for its parameters."""
    return tuple(bound.get(name, name) for name in one)


def holds(condition: Tree, bound: Mapping[str, str], facts: set[Fact]) -> bool:
    """Return whether a condition holds."""
    if condition[0] == "and":
        return all(holds(one, bound, facts) for one in condition[1:])
    if condition[0] == "not":
        return not holds(condition[1], bound, facts)
    if condition[0] == "=":
        _, one, other = ground(condition, bound)
        return one == other
    return ground(condition, bound) in facts


def plan_of(problem: Problem, grouping: Grouping) -> list[tuple[str, ...]]:
    """Return the plan that makes a grouping with one group for each of its images."""
    names = [image.name for image in problem.images]
    group_of = numbers_of(problem, grouping)
    image_of = [names.index(grouping[group].image) for group in group_of]
    plan: list[tuple[str, ...]] = [("open-group", f"i{image}") for image in sorted(set(image_of))]
    moment = 0
    for node in problem.order:
        times = f"t{moment}", f"t{moment + 1}"
        plan.append(("put-operator", *times, f"o{node}", f"i{image_of[node]}"))
        moment += 1
        for before in sorted(problem.predecessors[node], key=problem.rank.__getitem__):
            link = f"t{moment}", f"t{moment + 1}", f"o{before}", f"o{node}"
            moment += 1
            if image_of[before] == image_of[node]:
                plan.append(("link-inside", *link, f"i{image_of[node]}"))
            else:
                images = f"i{image_of[before]}", f"i{image_of[node]}"
                plan.append(("link-across", *link, *images))
    return plan
