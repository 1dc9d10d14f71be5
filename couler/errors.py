"""Every error that Couler raises on purpose.

::

    CoulerError
    ├── DefinitionError (ValueError)     a program cannot be turned into a workflow
    │   ├── NoWorkflowError              a file defines none
    │   └── SeveralWorkflowsError        a file defines several and none was chosen
    ├── InvalidWorkflowError (ValueError)  verification found problems; carries all of them
    ├── UnsupportedFeatureError          an engine cannot do what the workflow asks; carries all
    ├── EngineOptionError (ValueError)   an engine, pass or policy, or an option of it, is unknown
    ├── ConditionError (ValueError)      a condition compares what cannot be compared
    ├── EvaluationError (ValueError)     a value that a step reads does not exist
    │   └── MissingOutputError           the step that makes it was skipped, omitted or failed
    ├── ParameterError (ValueError)      a run is started with wrong parameters
    ├── WireError (ValueError)           a value cannot travel between steps, or cannot be read back
    ├── SerializationError (ValueError)  a file is no IR of this version
    ├── ArtifactError                    a file cannot be stored, or is no reference to one
    │   ├── StoreError                   the store cannot be reached
    │   │   └── FilesLeftError           some files could not be removed; all others were
    │   └── LostArtifactError            what was stored is missing or altered
    ├── BudgetError (ValueError)         steps cannot be put into parts within a budget
    ├── EstimateError (ValueError)       what work takes cannot be told from what is said of it
    ├── GroupingError (ValueError)       steps cannot share pods so; carries all that is wrong
    ├── PlacementError (ValueError)      tasks cannot be placed so; carries all that is wrong
    │   └── UnplaceableError             no node of the cluster can run some tasks
    ├── TuningError (ValueError)         cards, a search space or what came of them are wrong
    ├── ConfigurationError               a setting is wrong or an extra is missing
    │   └── IsolationError               programs that nobody trusts cannot be built on this system
    ├── EngineError                      an engine or its API refused or failed
    │   └── ScheduleNotFoundError (LookupError)  it keeps no schedule of that name
    ├── LanguageModelError               an endpoint of a language model cannot be used, or refused
    │   ├── ModelAnswerError             it answered, but nothing that can be used
    │   └── ModelBudgetError             a call could pass what a run may spend
    └── StateError                       what is kept of runs cannot be read or written
        ├── RunBusyError                 another process works on the run
        ├── RunExistsError               a run of that name is recorded already
        ├── RunNotFoundError (LookupError)  no run, or several, of that name
        ├── StepNotFoundError (LookupError)  no step of a run, or attempt of one, is called so
        └── CacheEntryNotFoundError (LookupError)  the same for an entry of the cache
"""

from __future__ import annotations

import typing as t
from collections.abc import Iterable, Sequence

if t.TYPE_CHECKING:
    from couler.ir.diagnostics import Diagnostic
    from couler.llm.dialogue import Answer
    from couler.optimizers.placement.requirements import Unplaceable


class CoulerError(Exception):
    """Root of the tree; `exit_code` is what the command line ends with."""

    exit_code: t.ClassVar[int] = 1


class DefinitionError(CoulerError, ValueError):
    """A program cannot be turned into a workflow."""


class NoWorkflowError(DefinitionError):
    """A file defines no workflow."""


class SeveralWorkflowsError(DefinitionError):
    """A file defines several workflows and none was chosen."""


MOST_ALIKE = 5
"""More diagnostics of one code and one line of the program than these are counted, not told."""


def fold(diagnostics: Iterable[Diagnostic]) -> list[tuple[Diagnostic, str]]:
    """Return what is told of diagnostics: of those that a loop of the program made, a few.

    Returns
    -------
    list of (Diagnostic, str)
        Each that is told, and what is said after it of those like it that are not: mostly nothing.
    """
    alike: dict[object, list[Diagnostic]] = {}
    for number, one in enumerate(diagnostics):
        place = number if one.source is None else one.source
        alike.setdefault((place, one.code, one.severity), []).append(one)
    told: list[tuple[Diagnostic, str]] = []
    for same in alike.values():
        rest = len(same) - MOST_ALIKE
        shown = same if rest <= 1 else same[:MOST_ALIKE]
        told += [(one, "") for one in shown]
        if rest > 1:
            more = f"{same[0].source}  {same[0].code} {same[0].severity}  and {rest:,} more of this"
            told[-1] = (shown[-1], f"{more} line")
    return told


class _DiagnosticsError(CoulerError):
    def __init__(self, message: str, diagnostics: Sequence[Diagnostic]) -> None:
        self.diagnostics = tuple(diagnostics)
        lines = [message]
        for one, more in fold(self.diagnostics):
            lines += [f"  {one}"] + [f"  {more}"] * bool(more)
        super().__init__("\n".join(lines))


class InvalidWorkflowError(_DiagnosticsError, ValueError):
    """Verification found problems; `diagnostics` holds all of them."""


class UnsupportedFeatureError(_DiagnosticsError):
    """An engine cannot do what a workflow asks; `diagnostics` has one entry for each place."""

    exit_code = 5


class EngineOptionError(CoulerError, ValueError):
    """An engine, a pass, a cache policy, or an option of one, is unknown."""

    exit_code = 2


class ConditionError(CoulerError, ValueError):
    """A condition compares what cannot be compared."""


class EvaluationError(CoulerError, ValueError):
    """A value that a step reads does not exist, such as a key of a JSON object."""


class MissingOutputError(EvaluationError):
    """The step that makes an output has not given it: it was skipped, omitted or failed."""


class ParameterError(CoulerError, ValueError):
    """A run is started with parameters that the workflow does not take."""

    exit_code = 2


class WireError(CoulerError, ValueError):
    """A value cannot travel between steps, or what travelled cannot be read back."""


class SerializationError(CoulerError, ValueError):
    """A file is no IR, or not of a version that can be read."""


class ArtifactError(CoulerError):
    """A file or directory cannot be stored, or a text is no reference to a stored one."""


class StoreError(ArtifactError):
    """The artifact store cannot be reached, or refuses what is asked of it."""

    exit_code = 4


class FilesLeftError(StoreError):
    """Some files could not be removed; all others were.

    Attributes
    ----------
    places
        The files that are left.
    report
        What was done all the same; None if nobody has told.
    """

    def __init__(self, message: str, places: tuple[str, ...], report: object = None) -> None:
        self.places = places
        self.report = report
        super().__init__(message)


class LostArtifactError(ArtifactError):
    """What was stored is missing or altered; the step that made it must run again.

    Attributes
    ----------
    what
        Which object it is, what is wrong with it, and where.
    digest
        Of the object, as hexadecimal.
    """

    def __init__(self, what: str, digest: str) -> None:
        self.what = what
        self.digest = digest
        super().__init__(f"{what}: the step that made it must run again")


class BudgetError(CoulerError, ValueError):
    """Steps cannot be put into parts within a budget.

    Attributes
    ----------
    nodes
        Names of those that do not fit; empty where no single one is to blame.
    excess
        What they have over the budget, in words; empty where it is not a sum of theirs.
    """

    def __init__(self, message: str, nodes: tuple[str, ...] = (), excess: str = "") -> None:
        self.nodes = nodes
        self.excess = excess
        super().__init__(message)


class _SeveralProblemsError(CoulerError, ValueError):
    """Has a line for each of its problems, below what they have in common."""

    def __init__(self, message: str, problems: Sequence[str] = ()) -> None:
        self.problems = tuple(problems) or (message,)
        super().__init__("\n".join([message, *(f"  {one}" for one in problems)]))


class EstimateError(_SeveralProblemsError):
    """What work takes cannot be told from what is said of it, such as a data card.

    Attributes
    ----------
    problems
        Each by itself, in words.
    """


class GroupingError(CoulerError, ValueError):
    """A problem of grouping makes no sense, or a grouping does not solve its problem.

    Attributes
    ----------
    violations
        All that is wrong, one sentence each.
    """

    def __init__(self, what: str, violations: Iterable[str]) -> None:
        self.violations = tuple(violations)
        super().__init__(
            "\n".join((f"grouping: {what}:", *(f"  {one}" for one in self.violations)))
        )


class PlacementError(_SeveralProblemsError):
    """Tasks cannot be placed, or what describes them is wrong.

    Attributes
    ----------
    problems
        All of them, each in a sentence.
    """


class UnplaceableError(PlacementError):
    """No node of the cluster can run some tasks.

    Attributes
    ----------
    tasks
        All of them, each with the reason of every node.
    """

    def __init__(self, tasks: Sequence[Unplaceable]) -> None:
        self.tasks = tuple(tasks)
        super().__init__(
            "no node can run these tasks; add a node that can, or change what they ask for:",
            [str(one) for one in self.tasks],
        )


class TuningError(_SeveralProblemsError):
    """A card or a search space is wrong, or hyperparameters cannot be chosen by them.

    Attributes
    ----------
    problems
        Each by itself, in words.
    """


class ConfigurationError(CoulerError):
    """A setting is wrong, or an optional part is not installed."""

    exit_code = 3


class IsolationError(ConfigurationError):
    """Programs that nobody trusts are not built on this system, which cannot shut them in."""


class CachePolicyError(ConfigurationError):
    """A policy of the cache failed, or gave an answer that is none."""


class EngineError(CoulerError):
    """An engine or its API refused or failed."""

    exit_code = 4


class RefusedError(EngineError):
    """An engine refused what it was asked, and has done nothing of it."""


class LostRunError(EngineError, LookupError):
    """The engine has a run no more, or never had it."""


class ScheduleNotFoundError(EngineError, LookupError):
    """The engine keeps no schedule of the name that was asked for."""

    exit_code = 2


class LanguageModelError(CoulerError):
    """An endpoint of a language model cannot be reached, refuses, or answers rubbish.

    Attributes
    ----------
    answer
        All of what came, with what it took; None where nothing came, or that is not known.
    """

    exit_code = 4

    def __init__(self, message: str, *, answer: Answer | None = None) -> None:
        self.answer = answer
        super().__init__(message)


class ModelAnswerError(LanguageModelError):
    """A model answered, but what it said cannot be used; to ask again may help.

    Attributes
    ----------
    text
        What it said.
    finish_reason
        Why it ended, such as `length`; empty where the endpoint did not say.
    """

    def __init__(
        self,
        message: str,
        *,
        text: str = "",
        finish_reason: str = "",
        answer: Answer | None = None,
    ) -> None:
        self.text = text
        self.finish_reason = finish_reason
        super().__init__(message, answer=answer)


class ModelBudgetError(LanguageModelError):
    """A call could pass the budget of a run, so it was not made or its answer was cut.

    Attributes
    ----------
    spent
        What was spent, of how much, and by which calls, in words.
    """

    def __init__(self, message: str, *, spent: str = "", answer: Answer | None = None) -> None:
        self.spent = spent
        super().__init__(message, answer=answer)


class StateError(CoulerError):
    """What is kept of runs, in the database or beside it, cannot be read or written."""

    exit_code = 4


class RunBusyError(StateError):
    """Another process works on the run."""


class RunExistsError(StateError):
    """A run of that name is recorded already."""


class RunNotFoundError(StateError, LookupError):
    """No run has the name that was asked for, or several have it."""

    exit_code = 2


class StepNotFoundError(StateError, LookupError):
    """No step of a workflow has the name that was asked for, or it has no such attempt."""

    exit_code = 2


class CacheEntryNotFoundError(StateError, LookupError):
    """No entry of the cache has the name that was asked for, or several have it."""

    exit_code = 2
