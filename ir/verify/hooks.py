"""Rules for hooks: steps that run when a step or the run comes into a state."""

from __future__ import annotations

from collections.abc import Iterable

from couler.ir.values import Literal, ParamRef, RunRef, walk
from couler.ir.verify.names import check_value_names
from couler.ir.verify.own import STATUS, check_own_condition
from couler.ir.verify.values import Reader
from couler.ir.walk import step_values
from couler.ir.workflow import Group, Hook, Suspend

_WITHOUT_PLACE = ("depends_on", "when", "foreach", "loop", "outputs", "hooks", "daemon")
"""Fields that a step has no use for as a hook: nothing waits for it and nothing reads it."""


def check_hooks(reader: Reader, hooks: Iterable[Hook]) -> None:
    """Check the hooks of a step or of a workflow; their steps are checked by themselves."""
    hooks = tuple(hooks)
    if reader.step is not None and reader.step.loop is not None:
        reader.add("CLR433", "it has hooks and a loop. Give the hooks to a step in a group.")
    check_value_names((hook.step.name for hook in hooks), "hook", reader.add)
    for hook in hooks:
        name = hook.step.name
        check_own_condition(reader, hook.when, f"hooks.{name}", STATUS)
        for field in _WITHOUT_PLACE:
            if getattr(hook.step, field):
                reader.add("CLR433", f'the hook "{name}" has {field}, which has no meaning there.')
        if isinstance(hook.step.action, Group | Suspend):
            reader.add("CLR433", f'the hook "{name}" is a {hook.step.action.kind}. Run something.')
        for field, text in step_values(hook.step):
            if not isinstance(text, str) and not all(
                isinstance(value, Literal | ParamRef)
                or (isinstance(value, RunRef) and value.field != "status")
                for value in walk(text)
            ):
                reader.add(
                    "CLR433",
                    f'{field} of the hook "{name}" reads something that need not be there when the '
                    "hook runs. Read parameters and plain values.",
                )
