"""Steps that run again while a condition holds."""

from __future__ import annotations

import typing as t
from collections.abc import Callable
from types import TracebackType

from couler.dsl._callbacks import call_program
from couler.dsl._context import Block, ProgramError, entered_scope
from couler.dsl.bodies import is_inside, lift, only_step, outside
from couler.dsl.builder import current_scope
from couler.dsl.checks import checked_count, shown
from couler.dsl.conditions import Condition, as_test
from couler.dsl.handles import (
    Expression,
    OutputHandle,
    StepHandle,
    Value,
    as_value,
    spec_of_argument,
)
from couler.dsl.iteration import body_name
from couler.dsl.scope import Draft, new_group
from couler.ir import values
from couler.ir.policies import Loop

R = t.TypeVar("R")
T = t.TypeVar("T")

MAX_ITERATIONS = 20


def exec_while(
    condition: object, inner: Callable[[], R], max_iterations: int = MAX_ITERATIONS
) -> R:
    """Run what a function makes, then again while a condition holds on its result.

    Parameters
    ----------
    condition
        A condition with one side, such as `couler.equal("tails")`, or a function that takes what
        `inner` returned and gives a condition.
    inner
        Makes the steps of a round.
    max_iterations
        Rounds at most; the loop fails if the condition still holds after them.

    Returns
    -------
    object
        What `inner` returned, of the last round.

    Examples
    --------
    >>> import couler
    >>> def flip():
    ...     return couler.run_container("busybox", ["sh", "-c", "echo tails"])
    >>> with couler.Workflow("game") as wf:
    ...     last = couler.exec_while(couler.equal("tails"), flip)
    >>> wf.to_ir().steps[0].loop.condition.op
    '=='
    """
    block = loop(max_iterations=max_iterations, name=body_name(inner, "loop"))
    with block:
        result = call_program("couler.exec_while", inner)
        value = result[0] if isinstance(result, list | tuple) and result else result
        if value is None and block._inner.drafts:
            value = StepHandle(block._inner.drafts[-1])
        if callable(condition) and not isinstance(condition, Value):
            test = as_test(call_program("couler.exec_while: the condition", condition, value))
        else:
            test = as_test(condition)
        block.while_(test._completed(value) if isinstance(value, Value) else test)
        block._result = result
    return t.cast(R, block.result)


class LoopBlock(Block):
    """A loop while its block is open.

    Attributes
    ----------
    result
        After the block: a handle to its step.
    """

    def __init__(self, while_: Callable[[], object] | None, max_iterations: int, name: str) -> None:
        if while_ is not None and not callable(while_):
            raise ProgramError(
                "CLR120",
                f"couler.loop: while_ is {shown(while_)}, but it must be a function that gives the "
                "condition, as that reads what the block makes: while_=lambda: score < 0.9",
            )
        self._scope = current_scope()
        self._scope.builder.expect_block(self, "couler.loop(...)")
        self._group, self._inner = new_group(self._scope)
        self._while: Callable[[], object] | None = while_
        bound = checked_count(self._scope.builder, f'loop "{name}": max_iterations', max_iterations)
        self._max_iterations = bound or MAX_ITERATIONS
        self._name = name
        self._carried: dict[str, tuple[values.Value, Value | None]] = {}
        self._result: object = None
        self.result: t.Any = None

    def carry(self, initial: T, name: str = "carried") -> T:
        """Return a value that every round takes over from the round before it.

        Parameters
        ----------
        initial
            The value in the first round.
        name
            Name of the input that carries it.
        """
        spec = spec_of_argument(initial)
        value = self._scope.resolve(initial) if isinstance(initial, Value) else as_value(initial)
        name = self._inner.add_input(name, value, spec)
        self._carried[name] = (value, None)
        return t.cast(T, Expression(self._inner, values.ParamRef(name=name), spec, name))

    @t.overload
    def next(self, value: object, /) -> None: ...

    @t.overload
    def next(self, carried: T, value: T, /) -> None: ...

    def next(self, *given: object) -> None:
        """Set what the next round finds in a carried value.

        Parameters
        ----------
        given
            The carried value, which can be left out if there is but one, and an output of a step
            of the block.
        """
        *which, value = given
        names = list(self._carried)
        if which and isinstance(which[0], Expression) and which[0]._name in self._carried:
            name = which[0]._name
        elif not which and len(names) == 1:
            name = names[0]
        else:
            self._report("next(carried, value) needs a value that carry() of this loop returned")
            return
        if not isinstance(value, Value):
            self._report(f"the next value of {name} must be an output of a step of the loop")
            return
        self._carried[name] = (self._carried[name][0], value)

    def while_(self, condition: object) -> None:
        """Run another round while a condition on outputs of the block holds."""
        self._while = lambda: condition

    def until(self, condition: object) -> None:
        """Run another round until a condition on outputs of the block holds."""
        self._while = lambda: ~as_test(condition)

    def __enter__(self) -> LoopBlock:
        self._scope.builder.unopened.pop(id(self), None)
        self._open(entered_scope(self._inner))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._block is None:
            return
        test: Condition | None = None
        try:
            if kind is None and self._while is not None:
                test = as_test(call_program(f'loop "{self._name}": while_', self._while))
        finally:
            super().__exit__(kind, error, trace)
        if kind is None:
            self._finish(test)

    def _finish(self, test: Condition | None) -> None:
        inner, scope = self._inner, self._scope
        if not inner.drafts:
            self._report("its block makes no step", "CLR128")
            return
        if test is None:
            self._report("it has no condition; give while_= or call while_() in the block")
            return
        lasting = [value for _, value in self._carried.values()]
        reads = [self._result, *lasting, *test._values()]
        single = only_step(inner, reads)
        step = self._group if single is None else single
        rounds = self._rounds(single)
        condition = test._build(lambda value: self._in_round(value, single))
        step.loop = Loop(condition=condition, max_iterations=self._max_iterations)
        if single is not None:
            lift(single, scope, self._group, rounds)
            self.result = StepHandle(single) if self._result is None else self._result
            return
        self._group.inputs = [
            one.model_copy(update={"value": rounds.get(one.name, one.value)})
            for one in self._group.inputs
        ]
        scope.add(self._group, self._name)
        self.result = outside(self._result, self._group, inner)

    def _rounds(self, single: Draft | None) -> dict[str, values.Value]:
        """Return what each carried value is, for the step that runs the rounds."""
        rounds: dict[str, values.Value] = {}
        for name, (initial, value) in self._carried.items():
            if value is None:
                self._report(f"nothing gives {name} its next value; call next({name}, value)")
                continue
            output = self._output_name(value, single)
            rounds[name] = values.RoundRef(output=output, initial=initial)
        return rounds

    def _in_round(self, value: Value, single: Draft | None) -> values.Value:
        """Return a value as the loop's condition reads it."""
        if not is_inside(value, self._inner):
            return self._scope.resolve(value)
        return values.RoundRef(output=self._output_name(value, single))

    def _output_name(self, value: Value, single: Draft | None) -> str:
        if single is not None and isinstance(value, OutputHandle):
            value._ir()  # reports a step that gives no value
            return value._output
        return self._inner.export_name(self._inner.bring(value))

    def _report(self, message: str, code: str = "CLR129") -> None:
        self._scope.builder.report(
            code, f'loop "{self._name}": {message}', source=self._group.source
        )

    def __repr__(self) -> str:
        return f"<couler loop {self._name}>"


def loop(
    while_: Callable[[], object] | None = None,
    *,
    max_iterations: int = MAX_ITERATIONS,
    name: str = "loop",
) -> LoopBlock:
    """Run the steps of a `with` block, then again while a condition holds on their outputs.

    Parameters
    ----------
    while_
        A function that gives the condition. It is called at the end of the block, so it sees what
        the block has defined. Without it, call `while_` or `until` of the loop in the block.
    max_iterations
        Rounds at most; the loop fails if the condition still holds after them.
    name
        Name of the group, if the block makes several steps.

    Examples
    --------
    >>> import couler
    >>> @couler.step
    ... def improve(score: float) -> float:
    ...     return score + 0.1
    >>> with couler.Workflow("search") as wf:
    ...     with couler.loop(while_=lambda: better < 0.9, max_iterations=10) as rounds:
    ...         score = rounds.carry(0.0, name="score")
    ...         better = improve(score)
    ...         rounds.next(better)
    >>> wf.to_ir().steps[0].inputs[0].value
    RoundRef(kind='round', output='result', initial=Literal(kind='literal', value=0.0))
    """
    return LoopBlock(while_, max_iterations, name)
