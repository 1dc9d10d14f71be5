"""How workflows are generated, and what comes of it."""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from couler import stages
from couler.backends import get_backend
from couler.backends.base import Artifact, Target
from couler.errors import ConfigurationError
from couler.ir.diagnostics import Diagnostic
from couler.ir.workflow import Workflow
from couler.llm import Usage

Mode: t.TypeAlias = t.Literal["code", "modules", "schema"]

Kind: t.TypeAlias = t.Literal["decompose", "retrieve", "write", "repair", "critique", "verify"]


@dataclass(frozen=True, slots=True)
class GenerateOptions:
    """How a workflow is generated.

    Attributes
    ----------
    mode
        `code`: the model writes a program in one answer, which is built in isolation. `modules`:
        it decomposes the description, writes one module after the other and scores each, as
        Algorithm 1 of the paper does. `schema`: it fills in a form, so that nothing that it wrote
        runs here.
    targets
        Engines that the workflow is verified for, with their settings; what they refuse is sent
        back for repair.
    temperature, seed
        Of the model; None for those of its settings.
    baseline_score
        Of `modules`: below this score, between 0 and 1, a module is written anew: `S_b` of the
        paper.
    max_regenerations
        How often at most. The paper's loop has no bound.
    max_repairs
        How often at most a program goes back with what is wrong with it.
    run
        Whether a verified workflow also runs in the sandbox, with the defaults of its parameters;
        a run that fails goes back as well.
    """

    mode: Mode = "code"
    targets: Mapping[str, Target] = field(default_factory=dict)
    temperature: float | None = None
    seed: int | None = None
    baseline_score: float = 0.7
    max_regenerations: int = 2
    max_repairs: int = 3
    run: bool = False

    def __post_init__(self) -> None:
        """Check the options.

        Raises
        ------
        ConfigurationError
            The baseline score is not between 0 and 1, or a number is negative.
        EngineOptionError
            An engine is unknown.
        """
        for engine in self.targets:
            get_backend(engine)
        if not 0 <= self.baseline_score <= 1:
            raise ConfigurationError(
                f"the baseline score is between 0 and 1, not {self.baseline_score}"
            )
        if self.run and self.mode == "schema":
            raise ConfigurationError("run is for programs, not for the mode schema")
        for name in ("max_regenerations", "max_repairs"):
            if getattr(self, name) < 0:
                raise ConfigurationError(f"{name} is at least 0, not {getattr(self, name)}")


@dataclass(frozen=True, slots=True)
class Round:
    """One thing that was done."""

    kind: Kind
    message: str
    module: str | None = None
    score: float | None = None
    diagnostics: tuple[Diagnostic, ...] = ()

    def to_json(self) -> dict[str, t.Any]:
        """Return the round as JSON."""
        return {
            "kind": self.kind,
            "module": self.module,
            "message": self.message,
            "score": self.score,
            "diagnostics": [one.to_json() for one in self.diagnostics],
        }


Listener: t.TypeAlias = Callable[[Round], None]
"""Is told of each round as it ends."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A workflow, if there is one, and what is to be said of it."""

    workflow: Workflow | None
    diagnostics: tuple[Diagnostic, ...]

    @property
    def is_verified(self) -> bool:
        """Whether there is a workflow, and it has no errors."""
        return self.workflow is not None and not self.errors

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        """What is wrong with it that is no warning."""
        return tuple(one for one in self.diagnostics if one.severity == "error")


@dataclass(frozen=True, slots=True)
class Generated(Verdict):
    """What a description became."""

    description: str
    plan: str
    assumptions: tuple[str, ...]
    question: str
    program: str | None
    form: str | None
    usage: Usage
    log: tuple[Round, ...] = field(default=(), repr=False)

    def show(self, as_: str = "tree") -> str:
        """Return a picture of the workflow; see `couler.Workflow.show`."""
        return stages.show(self._built(), as_)

    def compile(self, engine: str, *, target: Target | None = None) -> Artifact:
        """Return the files for an engine; see `couler.Workflow.compile`."""
        return stages.compile(self._built(), engine, target=target)

    def _built(self) -> Workflow:
        if self.workflow is None:
            told = "; ".join(map(str, self.errors))
            raise ValueError(f"no workflow came of the description: {told}")
        return self.workflow
