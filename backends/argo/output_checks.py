"""A last task in groups whose outputs may be impossible to evaluate, which fails the group then."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from couler.backends.argo.parts import ENDS_TEMPLATE
from couler.backends.argo.pods import Tree
from couler.backends.argo.references import Renderer
from couler.backends.argo.scope import ScopeView
from couler.backends.argo.tags import tag
from couler.ir.semantics import TEXT_TYPES
from couler.ir.values import (
    Field,
    Literal,
    OrElse,
    Range,
    StepRef,
    Template,
    Value,
    ValueType,
    children,
)
from couler.ir.workflow import Output

CHECK_TASK = "couler-outputs"
"""No step has such a name: those of users never begin with `couler-`."""


def shown_value(output: Output, view: ScopeView) -> Value:
    """Return what an output of a scope gives out."""
    assert output.value is not None, "the outputs of a scope have values"
    if output.default is None or _has_own_default(output.value, view):
        return output.value
    return OrElse(value=output.value, default=Literal(value=output.default))


def _has_own_default(value: Value, view: ScopeView) -> bool:
    """Whether a value is the output of a step that has a default, as in groups that are made."""
    if not isinstance(value, StepRef) or view.steps[value.step].foreach is not None:
        return False
    return view.output(value).default is not None


def can_fail(value: Value, want: ValueType, view: ScopeView) -> bool:
    """Return whether a value that is there may be impossible to evaluate."""
    have = view.type_of(value)
    if have == "json" and want in TEXT_TYPES:  # what is to be JSON is decoded for that
        return True
    inner: ValueType = "str" if isinstance(value, Template) else have
    return isinstance(value, Field | Range) or any(
        can_fail(one, inner, view) for one in children(value)
    )


def check_task(
    outputs: Iterable[Output], order: Callable[[], str], renderer: Renderer
) -> Tree | None:
    """Return the task, or None if none of the outputs can fail."""
    texts = [
        f"({renderer.expression_as(value, None, output.type)})"
        for output in outputs
        if can_fail(value := shown_value(output, renderer.view), output.type, renderer.view)
    ]
    if not texts:
        return None
    return {
        "name": CHECK_TASK,
        "template": ENDS_TEMPLATE,
        "depends": order(),
        "when": tag(f"len({' + '.join(texts)}) < 0"),
    }
