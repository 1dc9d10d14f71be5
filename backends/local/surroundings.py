"""What a run is given by those who ask for it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from couler.backends.base import RunOptions
from couler.backends.local.locations import require_reach
from couler.backends.local.locks import require_locks
from couler.backends.local.orphans import MARK
from couler.budget.judging import Budget
from couler.errors import ConfigurationError
from couler.ir.walk import all_steps
from couler.ir.workflow import Script, Workflow
from couler.locations.secrets import Entries, GivenSecrets, require_entries
from couler.packages import applies, installed_version
from couler.state.home import Home
from couler.state.results import Event


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a run is given by those who ask for it."""

    options: RunOptions
    environ: Mapping[str, str]
    on_event: Callable[[Event], None]
    secrets: GivenSecrets = field(default_factory=dict, repr=False)

    def inherited(self, run_id: str) -> dict[str, str]:
        """Return what processes of a run inherit of the environment, with the mark of the run."""
        passed = {name: text for name, text in self.environ.items() if name[:7] != "COULER_"}
        return {**passed, MARK: run_id}

    def entries(self, workflow: Workflow) -> Entries:
        """Return the secrets and config maps of a workflow."""
        return Entries(self.environ, self.secrets, workflow)

    @property
    def budget(self) -> Budget:
        """What the cache may keep."""
        options = self.options
        return Budget.choose(options.cache_policy, options.cache_budget, options.cache_run_budget)

    @property
    def home(self) -> Home:
        """Where runs are kept."""
        if self.options.home is None:
            return Home.find(self.environ)
        return Home.find({**self.environ, "COULER_HOME": str(self.options.home.absolute())})


def require_surroundings(workflow: Workflow, around: Surroundings) -> None:
    """Refuse to start a workflow that needs what is not here."""
    if around.options.runtime == "process":  # in a container they are installed at its start
        require_packages(workflow)
    entries = around.entries(workflow)
    require_entries(workflow, entries)
    require_locks(workflow, entries)
    require_reach(workflow, entries)


def require_packages(workflow: Workflow) -> None:
    """Refuse to start a workflow whose scripts ask for packages that are not installed."""
    missing = {
        requirement: step.name
        for step in all_steps(workflow)
        for requirement in (step.action.packages if isinstance(step.action, Script) else ())
        if applies(requirement, sys_platform=sys.platform) and not installed_version(requirement)
    }
    if missing:
        told = ", ".join(f'{package} (step "{step}")' for package, step in missing.items())
        command = " ".join(f"'{package}'" for package in missing)
        raise ConfigurationError(
            f"packages that scripts ask for are not installed here: {told}. "
            f"Install them with: pip install {command}"
        )
