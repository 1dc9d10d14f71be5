"""Random workflows in which passes find something to do, the same for a seed."""

from __future__ import annotations

import random

from couler.ir.policies import AnyOf, Cache, Dependency
from couler.ir.rewrite import map_scopes
from couler.ir.values import Condition
from couler.ir.verify import verify
from couler.ir.walk import Scope
from couler.ir.workflow import Container, Step, Workflow
from tests.corpus.build import (
    any_of,
    both,
    compare,
    either,
    flow,
    negate,
    on_completion,
    on_failure,
    or_else,
    ref,
    sh,
)
from tests.support.mill_of_flows import Mill

TRUE, FALSE = compare("a", "==", "a"), compare(1, ">", 2)


def is_valid(workflow: Workflow) -> bool:
    """Return whether verification finds no error."""
    return all(one.severity != "error" for one in verify(workflow))


def tangle(seed: int) -> Workflow:
    """Return a scope of small steps with far more dependencies than it needs."""
    dice = random.Random(seed)
    steps: list[Step] = []
    for number in range(dice.randint(3, 9)):
        names = [step.name for step in steps]
        dice.shuffle(names)
        entries = [_entry(dice, names) for _ in range(dice.choice((0, 1, 2, 3))) if names]
        says = f"echo {number}{dice.choice(('', '', '; exit 1'))}"
        arguments = []
        if steps and dice.random() < 0.3:
            arguments = [or_else(ref(dice.choice(steps).name), "none")]
        when = _condition(dice, steps) if dice.random() < 0.25 else None
        steps.append(sh(f"s{number}", says, *arguments, depends_on=entries, when=when))
    if dice.random() < 0.3:
        steps += _below_a_failure(dice)
    return flow(f"tangle-{seed}", *(_in_order(dice, step) for step in steps))


def _in_order(dice: random.Random, step: Step) -> Step:
    """Return a step of which some dependencies are those of the order of a program."""
    names = [entry for entry in step.depends_on if isinstance(entry, str)]
    marks = tuple(name for name in dict.fromkeys(names) if dice.random() < 0.4)
    return step.model_copy(update={"program_order": marks}) if marks else step


def _below_a_failure(dice: random.Random) -> list[Step]:
    """Return a leaf that is perhaps skipped, below a step that is perhaps, below a failure."""

    def when() -> Condition | None:
        return dice.choice((None, FALSE, FALSE))

    return [
        sh("x", f"echo {dice.random()}; exit 1"),
        sh("y", "true", depends_on=[dice.choice((on_completion, on_failure))("x")], when=when()),
        sh("z", "true", depends_on=["y"], when=when()),
        sh("leaf", "true", depends_on=[dice.choice(("y", on_completion("y"))), "z"], when=when()),
    ]


def _entry(dice: random.Random, names: list[str]) -> str | Dependency | AnyOf:
    name = names.pop() if len(names) > 1 else names[0]
    way = dice.random()
    if way < 0.6:
        return name
    if way < 0.8:
        return on_completion(name)
    return on_failure(name) if way < 0.9 else any_of(name, on_failure(names[0]))


def _condition(dice: random.Random, steps: list[Step]) -> Condition:
    way = dice.random()
    if not steps or way < 0.3:
        return dice.choice((TRUE, FALSE))
    found = compare(or_else(ref(dice.choice(steps).name), "none"), "==", dice.choice("xy2"))
    if way < 0.6:
        return found
    parts = [found, dice.choice((TRUE, FALSE))]
    dice.shuffle(parts)
    joined = dice.choice((both, either))(*parts)
    return negate(joined) if way > 0.9 else joined


def enriched(seed: int) -> Workflow:
    """Return a workflow of the mill with more of what passes look for, at every level."""
    dice = random.Random(seed)
    numbers = iter(range(1000))

    def change(scope: Scope) -> tuple[Step, ...]:
        steps: list[Step] = []
        for step in scope.steps:
            before = [one.name for one in steps]
            dice.shuffle(before)
            steps.append(step := _changed(dice, step, before))
            if dice.random() < 0.3:
                steps.append(step.model_copy(update={"name": f"{step.name}-{next(numbers)}"}))
        if dice.random() < 0.3:
            after = [one.name for one in steps if dice.random() < 0.3]
            calls = [
                sh(f"say-{word}", "echo", word, result=None, depends_on=after) for word in "uvw"
            ]
            steps += calls
            if dice.random() < 0.5:
                after = [call.name for call in calls]
                steps += [
                    sh(f"tell-{word}", "echo exit 1", word, result=None, depends_on=after)
                    for word in "uvw"
                ]
        return tuple(steps)

    return map_scopes(Mill(seed).workflow(), change)


def _changed(dice: random.Random, step: Step, before: list[str]) -> Step:
    update: dict[str, object] = {}
    named = {one for entry in step.depends_on for one in _names(entry)}
    free = [name for name in before if name not in named]
    more = [dice.choice((name, name, on_completion(name))) for name in free[: dice.choice((0, 2))]]
    if more:
        update["depends_on"] = (*step.depends_on, *more)
    if step.when is not None and dice.random() < 0.5:
        update["when"] = dice.choice((both(TRUE, step.when), either(FALSE, step.when)))
    if isinstance(step.action, Container) and dice.random() < 0.6:
        update["cache"] = Cache()
    return _in_order(dice, step.model_copy(update=update))


def _names(entry: str | Dependency | AnyOf) -> list[str]:
    options = entry.options if isinstance(entry, AnyOf) else (entry,)
    return [one if isinstance(one, str) else one.step for one in options]
