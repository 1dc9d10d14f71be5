"""A workflow while a program builds it, and the current one."""

from __future__ import annotations

import contextlib
import functools
import os
import re
import typing as t
from collections.abc import Iterator
from types import CodeType

from couler.dsl._context import (
    caller_frame,
    current,
    function_name,
    program_file,
    set_scope,
    shown_file,
)
from couler.dsl.scope import Scope
from couler.dsl.types import TypeSpec
from couler.ir.diagnostics import Diagnostic, did_you_mean
from couler.ir.policies import SourceRef
from couler.ir.storage import EmptyVolume, Volume
from couler.ir.workflow import Output, Parameter

if t.TYPE_CHECKING:
    from couler.dsl.code import Code
    from couler.dsl.locations import LocatedFile
    from couler.dsl.scope import Draft
    from couler.dsl.secrets import Secret
    from couler.dsl.workflow import Workflow


class Builder:
    """What is shared by all scopes of one workflow."""

    def __init__(self, *, ordered: bool, outer: Builder | None = None) -> None:
        self.root = Scope(self)
        self.implicit = ordered
        """The program opened no workflow; it is one."""
        self.outer = outer
        """The workflow around it in the program, whose secrets it may name."""
        self.ordered = ordered
        """Steps run in program order, as nothing else was said."""
        self.pass_outputs = True
        """`set_dependencies` appends outputs to arguments where it is not told otherwise."""
        self.block: CodeType | None = None
        """The function whose `with Workflow` block is open: its name is no name for steps."""
        self.workflow: Workflow | None = None
        self.name = ""
        self.source: SourceRef | None = None
        self.fields: dict[str, t.Any] = {}
        """Fields of the IR's workflow that are just set."""
        self.pod: dict[str, t.Any] = {}
        """Fields of the IR's `PodSettings`."""
        self.runs: dict[str, t.Any] = {}
        """Fields of the IR's `RunSettings`."""
        self.parameters: dict[str, Parameter] = {}
        self.specs: dict[str, TypeSpec] = {}
        """Types of the parameters."""
        self.parameters_read: set[str] = set()
        """Names of those that the program has asked for."""
        self.options: tuple[str, ...] = ()
        """Names of the arguments of the workflow that are no parameters."""
        self.outputs: dict[str, Output] = {}
        self.handlers: list[tuple[str, t.Literal["success", "failure", "any"], Scope]] = []
        self.default_image: str | None = None
        self.default_packages: tuple[str, ...] = ()
        self.default_cache: object = None
        self.volumes: dict[str, Volume] = {}
        self.secrets: dict[str, Secret] = {}
        self.prepared: dict[object, t.Any] = {}
        """What all calls of a typed step share, by the step."""
        self.placed: dict[int, tuple[LocatedFile, Draft, str]] = {}
        """Files outside of the workflow that steps make, by their identity: step and output."""
        self.unopened: dict[int, tuple[object, str, SourceRef]] = {}
        """What waits for its `with` block, by its identity: what it is, and where it was made."""
        self._scripts: dict[object, str] = {}
        self._image_names: dict[str, str] = {}
        self._scratch: dict[str, Volume] = {}
        self._mounted_at: dict[str, SourceRef] = {}
        """Where the program first mounted each of them."""
        self._place: SourceRef | None = None
        self._call: SourceRef | None = None
        self._diagnostics: dict[Diagnostic, None] = {}
        self._sources: dict[tuple[str, int], SourceRef] = {}

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """What was found wrong so far, in order, each problem once."""
        return tuple(self._diagnostics)

    def report(
        self,
        code: str,
        message: str,
        *,
        step: str | None = None,
        source: SourceRef | None = None,
        severity: t.Literal["error", "warning"] = "error",
    ) -> None:
        """Keep a problem; building goes on."""
        place = source or self._place or self.here()
        self._diagnostics[Diagnostic(code, message, step, place, severity)] = None

    @contextlib.contextmanager
    def reporting_at(self, place: SourceRef) -> Iterator[None]:
        """Give the problems that a block reports this place, so that each is kept once."""
        outer, self._place = self._place, place
        try:
            yield
        finally:
            self._place = outer

    @contextlib.contextmanager
    def called_at(self, place: SourceRef) -> Iterator[None]:
        """Let the steps of a block be made at one place: where the program called for them."""
        outer, self._call = self._call, self._call or place
        try:
            yield
        finally:
            self._call = outer

    def expect_block(self, block: object, what: str) -> None:
        """Remember something that has no effect unless a `with` statement opens it."""
        self.unopened[id(block)] = (block, what, self.here())

    def report_unopened(self) -> None:
        """Report what no `with` statement has opened."""
        for _, what, place in self.unopened.values():
            self.report(
                "CLR145",
                f"{what} has no block, so it has no effect. Open one: with ... as ...:, and "
                "indent the steps below it",
                source=place,
            )

    def need_volume(self, name: str) -> None:
        """Make sure that a mounted volume exists; one that nobody described is scratch space."""
        if name not in self.volumes and name not in self._scratch:
            self._scratch[name] = EmptyVolume(name=name)
            self._mounted_at[name] = self._place or self.here()

    def all_volumes(self) -> tuple[Volume, ...]:
        """Return the volumes of the workflow, those described first."""
        scratch = [one for name, one in self._scratch.items() if name not in self.volumes]
        for volume in scratch:
            self._warn_of_scratch(volume.name)
        return (*self.volumes.values(), *scratch)

    def reveal_secrets(self) -> dict[str, dict[str, str]]:
        """Return the values of secrets that the program knows, by name and key."""
        found = {} if self.outer is None else self.outer.reveal_secrets()
        found.update({name: secret.reveal() for name, secret in self.secrets.items()})
        return {name: data for name, data in found.items() if data}

    def _warn_of_scratch(self, name: str) -> None:
        """Warn of scratch space that is nearly called as a volume that the program describes."""
        letters = re.sub("[0-9]", "", name)  # data-1 and data-2 are two
        others = {re.sub("[0-9]", "", one): one for one in self.volumes}
        import difflib

        near = difflib.get_close_matches(letters, others, n=1, cutoff=0.8)
        if near and near[0] != letters:
            self.report(
                "CLR168",
                f'the volume "{name}" is mounted but not described, so it is scratch space. Did '
                f'you mean "{others[near[0]]}"?',
                source=self._mounted_at[name],
                severity="warning",
            )

    def secret(self, name: str) -> Secret:
        """Return a secret by its name.

        Raises
        ------
        ValueError
            The program named no such secret.
        """
        if name not in self.secrets and self.outer is not None:
            return self.outer.secret(name)
        if name not in self.secrets:
            raise ValueError(
                f'there is no secret "{name}"; name it with couler.create_secret or '
                f"couler.obtain_secret first.{did_you_mean(name, self.secrets)}"
            )
        return self.secrets[name]

    def record(self) -> None:
        """Show a workflow that the program is, now that it has a step, to `collect`."""
        collected = current().collected
        if self.implicit and collected is not None and self.workflow not in collected:
            collected.append(t.cast("Workflow", self.workflow))

    def here(self) -> SourceRef:
        """Return where the user's program called."""
        if self._call is not None:
            return self._call
        frame = caller_frame()
        return self.place(frame.f_code.co_filename, frame.f_lineno)

    def place(self, filename: str, line: int) -> SourceRef:
        """Return a place in the program; the same object for the same place."""
        key = (filename, line)
        source = self._sources.get(key)
        if source is None:
            source = self._sources[key] = SourceRef(file=shown_file(filename), line=line)
        return source

    def locate(self, image: object, function: str | None = None) -> tuple[str, SourceRef]:
        """Return a name for a step that was given none, and the place of the call.

        The name is that of the function that made the step, if it is one that makes steps: not
        the program itself, a lambda, or the function that holds the `with Workflow` block. Else
        it is that of the function that the step runs, or of its image.
        """
        frame = caller_frame()
        code = frame.f_code
        name = None if code is self.block else function_name(code)
        if name is None and function is not None and not function.startswith("<"):
            name = function
        name = self._image_name(image) if name is None else name
        return name, self._call or self.place(code.co_filename, frame.f_lineno)

    def _image_name(self, image: object) -> str:
        if not isinstance(image, str):
            return "step"
        name = self._image_names.get(image)
        if name is None:
            stem = image.rpartition("/")[2].partition("@")[0].partition(":")[0]
            name = re.sub("[^a-zA-Z0-9]+", "-", stem).strip("-") or "step"
            self._image_names[image] = name
        return name

    @functools.cached_property
    def code(self) -> Code:
        """The files of the project that travel with it."""
        from couler.dsl.code import Code

        return Code(self)

    def script(self, function: t.Any, step: str) -> str:
        """Return the script that calls a function; report one that cannot be shipped."""
        from couler.dsl.shipping import plain_script
        from couler.dsl.slicing import ShippingError

        text = self._scripts.get(function)
        if text is None:
            try:
                text = plain_script(function)
            except ShippingError as error:
                code = getattr(function, "__code__", None)
                place = self.place(code.co_filename, code.co_firstlineno) if code else None
                self.report(error.code, f'step "{step}": {error}', step=step, source=place)
                text = "pass\n"
            self._scripts[function] = text
        return text


def current_scope() -> Scope:
    """Return where steps go; outside of a block, in the workflow that the program is."""
    scope = current().scope
    if scope is not None:
        return scope
    from couler.dsl.workflow import Workflow

    workflow = Workflow._implicit(_program_name(program_file()))
    set_scope(workflow._builder.root)
    return workflow._builder.root


def _program_name(filename: str) -> str:
    stem = os.path.basename(filename).partition(".")[0]
    name = re.sub("[^a-z0-9]+", "-", stem.lower()).strip("-")
    is_file = not filename.startswith("<") and "ipykernel_" not in filename
    return name if name and is_file else "workflow"
