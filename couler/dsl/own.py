"""What a step knows of itself, for its metrics and hooks, and of a response."""

from __future__ import annotations

import typing as t

from couler.dsl.handles import Expression
from couler.dsl.types import PRINTED, TypeSpec, spec_of_wire
from couler.ir.values import OwnRef

_TEXT = spec_of_wire("str")


class OwnFacts:
    """Facts of a step in its own metrics and hooks, of the run in those of a workflow.

    In the condition on which an HTTP request succeeds they are those of the response.
    """

    @property
    def status(self) -> t.Any:
        """`succeeded` or `failed`; in hooks also `pending` and `running`."""
        return _fact("status", _TEXT)

    @property
    def duration_s(self) -> t.Any:
        """Seconds from start to end, or so far."""
        return _fact("duration_s", spec_of_wire("float"))

    @property
    def exit_code(self) -> t.Any:
        """Exit code of the process."""
        return _fact("exit_code", spec_of_wire("int"))

    @property
    def status_code(self) -> t.Any:
        """HTTP status code of the response."""
        return _fact("status_code", spec_of_wire("int"))

    @property
    def result(self) -> t.Any:
        """What the step printed, or the body of a response."""
        return self.output("result")

    def output(self, name: str) -> t.Any:
        """Return an output of the step by its name.

        Parameters
        ----------
        name
            One that the step declares.
        """
        return _fact("output", PRINTED, name)

    def header(self, name: str) -> t.Any:
        """Return a header of a response, empty where there is none.

        Parameters
        ----------
        name
            In any case of letters.
        """
        return _fact("header", _TEXT, name)


own = OwnFacts()
"""The facts of the step, the run or the response that a metric, a hook or a condition is of."""


def _fact(fact: t.Any, spec: TypeSpec, name: str | None = None) -> Expression:
    return Expression(None, OwnRef(fact=fact, name=name), spec, name or fact)
