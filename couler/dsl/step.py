"""Typed steps: Python functions that run as steps of a workflow."""

from __future__ import annotations

import difflib
import functools
import typing as t
from collections.abc import Callable, Mapping, Sequence
from types import MethodType

from couler.dsl._context import ProgramError, caller_frame, current
from couler.dsl.arguments import holds_value, make_inputs
from couler.dsl.checks import checked_text, checked_texts, shown
from couler.dsl.handles import StepHandle, Value
from couler.dsl.located import keep_outputs
from couler.dsl.locations import LocatedFile
from couler.dsl.options import step_fields
from couler.dsl.requirements import packages_of
from couler.dsl.scope import Draft
from couler.dsl.shipping import is_method, is_of_notebook, source_text, typed_script
from couler.dsl.signature import Signature, read_signature
from couler.dsl.slicing import ShippingError
from couler.dsl.step_options import StepOptions
from couler.dsl.types import File
from couler.ir.diagnostics import did_you_mean
from couler.ir.workflow import Script
from couler.packages import default_image

if t.TYPE_CHECKING:
    from couler.dsl.builder import Builder
    from couler.dsl.scope import Scope

P = t.ParamSpec("P")
R = t.TypeVar("R")

_OWN_OPTIONS = ("image", "packages", "name", "step_name", "command", "keep", "returns")


class TypedStepOptions(StepOptions, total=False):
    """Options of a typed step: those of every step, its image, packages, name and interpreter.

    `keep` names where the file that it returns is put besides, or by their names several.
    `returns=couler.File` (or `couler.Directory`) says that the text it returns is the path of one.
    """

    image: str | None
    packages: str | Sequence[str]
    name: str | None
    step_name: str | None
    command: str | Sequence[str]
    keep: LocatedFile | Mapping[str, LocatedFile] | None
    returns: type[File] | None


class TypedStep(t.Generic[P, R]):
    """A function that becomes a step where it is called inside a workflow.

    Outside of a workflow a call just runs the function.

    Attributes
    ----------
    fn
        The plain function.
    """

    def __init__(
        self,
        function: Callable[P, R],
        options: Mapping[str, t.Any],
        names: Mapping[str, t.Any] | None = None,
    ) -> None:
        if isinstance(function, functools.partial):
            raise ProgramError(
                "CLR109",
                "couler.step stands before a function, not a functools.partial; make a step of "
                "the function, and fix arguments by the partial(...) of that step",
            )
        if not callable(_function_in(function)):
            raise ProgramError(
                "CLR109",
                f"couler.step stands before a function, not {shown(function)}; its options have "
                'names: @couler.step(image="python:3.12")',
            )
        self._given: t.Any = function
        self.fn: Callable[P, R] = _function_in(function)
        self._source = source_text(self.fn)  # now, as the file may change
        self._names = names
        self._options = dict(options)
        frame = caller_frame()
        self._written = (frame.f_code.co_filename, frame.f_lineno)
        self._name = str(options.get("name") or options.get("step_name") or _name_of(function))
        functools.update_wrapper(self, function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Make a step, inside a workflow; else run the function."""
        scope = current().scope
        if scope is None:
            if any(isinstance(one, Value) for one in (*args, *kwargs.values())):
                raise ProgramError(
                    "CLR119", f"{self._name} is called with values of a workflow, but none is open"
                )
            return self.fn(*args, **kwargs)
        return t.cast(R, self._make(scope, self._bind(scope.builder, args, kwargs)))

    def __get__(self, instance: object, owner: type | None = None) -> TypedStep[P, R]:
        """Bind a method, which runs outside of a workflow; inside, it is reported."""
        bound = owner if isinstance(self._given, classmethod) else instance
        if bound is None or not is_method(self.fn):
            return self
        return t.cast("TypedStep[P, R]", MethodType(self, bound))

    def partial(self, **fixed: object) -> Partial[R]:
        """Fix some arguments; `map` gives the others.

        Parameters
        ----------
        fixed
            Values, of the program or of the workflow, by the names of the arguments.
        """
        return Partial(self, fixed)

    def map(self, *lists: object, max_parallel: int | None = None, **named: object) -> list[R]:
        """Make one instance of the step for each item of one or more lists.

        Parameters
        ----------
        lists, named
            For each argument a list, or a value of the workflow that is one; all as long.
        max_parallel
            How many instances run at the same time; None for no bound.

        Returns
        -------
        list
            A handle to the list of the results, in the order of the items.
        """
        return self.partial().map(*lists, max_parallel=max_parallel, **named)

    def with_options(self, **options: t.Unpack[TypedStepOptions]) -> TypedStep[P, R]:
        """Return the same step with other options."""
        other: TypedStep[P, R] = TypedStep(self._given, {**self._options, **options}, self._names)
        other._source = self._source
        if options.keys().isdisjoint(("working_dir", "returns")):
            other.__dict__.update(
                {key: self.__dict__[key] for key in ("_signature", "_text") if key in self.__dict__}
            )
        return other

    @functools.cached_property
    def _signature(self) -> Signature:
        returns = self._options.get("returns")
        return read_signature(self.fn, self._source, self._names, returns)

    @functools.cached_property
    def _text(self) -> Script | ShippingError:
        try:
            stay = self._options.get("working_dir") is not None
            return typed_script(self.fn, self._signature, self._source, self._names, stay=stay)
        except ShippingError as error:
            return error

    def _bind(
        self, builder: Builder, args: tuple[object, ...], kwargs: Mapping[str, object]
    ) -> dict[str, object]:
        """Return the arguments by name; report those that are wrong."""
        arguments = self._signature.arguments
        given: dict[str, object] = dict(zip(arguments, args, strict=False))
        if len(args) > len(arguments) and not self._signature.takes_any:
            builder.report(
                "CLR102",
                f'step "{self._name}" is given {len(args)} arguments; it takes {len(arguments)}',
                step=self._name,
            )
        for name, value in self._known_names(builder, kwargs, given).items():
            if name in given:
                builder.report(
                    "CLR102",
                    f'step "{self._name}": the argument "{name}" is given twice',
                    step=self._name,
                )
            else:
                given[name] = value
        return given

    def _known_names(
        self,
        builder: Builder,
        named: Mapping[str, object],
        others: t.Collection[str] = (),
    ) -> dict[str, object]:
        """Return arguments by the names that the function has; report names that it has not."""
        arguments = self._signature.arguments
        known = {name: value for name, value in named.items() if name in arguments}
        for name, value in named.items():
            if name in arguments or self._signature.takes_any:
                continue
            hint = did_you_mean(name, arguments)
            message = f'step "{self._name}": no argument "{name}".{hint}'
            builder.report("CLR104", message, step=self._name)
            free = [one for one in arguments if one not in known and one not in others]
            for meant in difflib.get_close_matches(name, free, n=1):
                known[meant] = value
        return known

    def _check_complete(self, builder: Builder, names: t.Collection[str]) -> None:
        missing = [name for name in self._signature.required if name not in names]
        for name in (one for one in self._signature.arguments if one in missing):
            builder.report(
                "CLR101",
                f'step "{self._name}": the argument "{name}" is missing',
                step=self._name,
            )

    def _make(
        self, scope: Scope, given: Mapping[str, object], *, complete: bool = False
    ) -> StepHandle:
        signature = self._signature
        if not (complete or signature.required <= given.keys()):
            self._check_complete(scope.builder, given)
        draft = self._draft(scope)
        draft.inputs = make_inputs(scope, self._name, signature.arguments, given)
        return StepHandle(scope.add(draft, self._name))

    def _draft(self, scope: Scope) -> Draft:
        builder = scope.builder
        prepared = builder.prepared.get(self)
        if prepared is None:
            with builder.reporting_at(builder.place(*self._written)):
                prepared = builder.prepared[self] = self._prepare(builder)
        action, fields = prepared
        if fields is None:  # they hold values, which every scope reads in its own way
            with builder.reporting_at(builder.place(*self._written)):
                fields = self._fields(builder)
        draft = Draft(scope, action, self._signature.returns, builder.here())
        if fields:
            draft.options = fields
        keep = self._options.get("keep")
        if keep is not None:
            draft.outputs = keep_outputs(scope, self._name, draft.outputs, keep)
        return draft

    @functools.cached_property
    def _step_options(self) -> dict[str, t.Any]:
        """The options that become fields of the step."""
        return {name: value for name, value in self._options.items() if name not in _OWN_OPTIONS}

    def _prepare(self, builder: Builder) -> tuple[Script, dict[str, t.Any] | None]:
        """Return what all calls in one workflow share; report what is wrong with the step."""
        code = getattr(self.fn, "__code__", None)
        place = builder.place(code.co_filename, code.co_firstlineno) if code else builder.here()
        for problem, message in self._signature.problems:
            builder.report(
                problem, f'step "{self._name}": {message}', step=self._name, source=place
            )
        if is_of_notebook(self.fn):  # whose other cells may have run again
            self.__dict__.pop("_text", None)
        text = self._text
        if isinstance(text, ShippingError) and self._signature.is_readable:
            builder.report(text.code, f'step "{self._name}": {text}', step=self._name, source=place)
        image = self._options.get("image") or builder.default_image or default_image()
        command = checked_texts(builder, "command", self._options.get("command"), self._name)
        packages = builder.default_packages
        if self._options.get("packages") is not None:
            packages = packages_of(builder, self._options["packages"], self._name)
        name = getattr(self.fn, "__name__", None)
        made = (
            Script(image="", source="pass\n", function=name)
            if isinstance(text, ShippingError)
            else text
        )
        script = made.model_copy(
            update={
                "image": checked_text(builder, "image", image, self._name),
                "command": command or ("python",),
                "packages": packages,
            }
        )
        written = "" if isinstance(text, ShippingError) else text.source
        action = builder.code.take(
            script, written, self._name, code.co_filename if code else "", place
        )
        if holds_value(list(self._step_options.values())):
            return action, None
        return action, self._fields(builder)

    def _fields(self, builder: Builder) -> dict[str, t.Any]:
        given = {"cache": builder.default_cache, **self._step_options}
        return step_fields(builder, given, self._name)

    def __repr__(self) -> str:
        return f"<couler step function {self._name}>"


class Partial(t.Generic[R]):
    """A typed step with some of its arguments fixed."""

    def __init__(self, step: TypedStep[..., R], fixed: Mapping[str, object]) -> None:
        self._step = step
        self._fixed = dict(fixed)

    def partial(self, **fixed: object) -> Partial[R]:
        """Fix more arguments."""
        return Partial(self._step, {**self._fixed, **fixed})

    def __repr__(self) -> str:
        return f"<couler step function {self._step._name} with {', '.join(self._fixed)}>"

    def __call__(self, *args: object, **named: object) -> R:
        """Call the step with the remaining arguments, by position or name."""
        rest = [name for name in self._step._signature.arguments if name not in self._fixed]
        given = dict(zip(rest, args, strict=False))
        return self._step(**self._fixed, **given, **named)

    def map(self, *lists: object, max_parallel: int | None = None, **named: object) -> list[R]:
        """Make one instance of the step for each item of one or more lists; see `TypedStep.map`.

        Raises
        ------
        DefinitionError
            No workflow is open, or nothing is given to map over.
        """
        from couler.dsl.iteration import map_typed

        return t.cast("list[R]", map_typed(self._step, self._fixed, lists, named, max_parallel))


@t.overload
def step(function: Callable[P, R], /, **options: t.Unpack[TypedStepOptions]) -> TypedStep[P, R]: ...


@t.overload
def step(
    **options: t.Unpack[TypedStepOptions],
) -> Callable[[Callable[P, R]], TypedStep[P, R]]: ...


def step(
    function: Callable[P, R] | None = None, /, **options: t.Any
) -> TypedStep[P, R] | Callable[[Callable[P, R]], TypedStep[P, R]]:
    """Make a step of a Python function.

    Inside a workflow a call makes a step and returns a handle to what the function will return;
    outside, it just runs the function. The step travels with what the function uses of its file:
    other functions, classes, constants and imports, and all that these use in turn.

    Parameters
    ----------
    function
        Takes and returns JSON values (numbers, text, lists, dicts, dataclasses, NamedTuples)
        or files (`couler.File`, `couler.Directory`), by its annotations. The fields of a
        dataclass or NamedTuple that it returns are outputs of their own.
    options
        See `TypedStepOptions`.

    Examples
    --------
    >>> import couler
    >>> @couler.step(memory="1Gi", retry=2)
    ... def add(a: int, b: int = 1) -> int:
    ...     return a + b
    >>> add(1, 2)
    3
    """
    names = _local_names()
    if function is not None:
        return TypedStep(function, options, names)
    return lambda decorated: TypedStep(decorated, options, names)


def _name_of(function: Callable[..., object]) -> str:
    name = getattr(function, "__name__", "<partial>")
    return "step" if name.startswith("<") else name


def _function_in(given: object) -> t.Any:
    """Return the function of a static or class method; any other function is its own."""
    return given.__func__ if isinstance(given, staticmethod | classmethod) else given


def _local_names() -> Mapping[str, t.Any] | None:
    """Return the variables of the function that the decorated one is written in, if any."""
    frame = caller_frame()
    return None if frame.f_locals is frame.f_globals else frame.f_locals
