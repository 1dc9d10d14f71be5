"""Every workflow of the corpus that goes well: what a retry of it is planned to take, it takes."""

from __future__ import annotations

import datetime
import itertools
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from couler.backends.base import RunOptions
from couler.backends.local import LocalBackend
from couler.backends.local.recording import now
from couler.ir.policies import Cache
from couler.ir.workflow import Container, Group, Script, Step, Workflow
from couler.state.cache import list_entries, remove_entries
from couler.state.database import open_database
from couler.state.home import Home
from tests.corpus import Case, cases
from tests.corpus.build import flow, sh
from tests.support.retry_plans import retry_as_planned

pytestmark = pytest.mark.slow

COUNTING = ("retry_group", "retry_succeeds")
"""They succeed once, by a count that lies outside of the run."""

NEVER_CACHED = {
    "run_facts": {"id", "same", "date"},
    "suspend_for_seconds": {"pause"},
    "list_files": {
        *("every", "top", "deep", "folders", "none", "by_item[0]", "by_item[1]"),
        *("each", "all"),
    },
}
"""What reads facts of its run, what runs nothing that gives outputs, lists and their readers."""

WELL = [
    case
    for case in cases()
    if case.expected.status == "succeeded"
    and not case.expected.failed
    and case.name not in COUNTING
]


def kept(steps: tuple[Step, ...], around: str = "") -> Iterator[Step]:
    """Yield steps with a cache for all that run something."""
    for step in steps:
        match step.action:
            case Group() as group:
                below = tuple(kept(group.steps, f"{around}{step.name}/"))
                inside = group.model_copy(update={"steps": below})
                yield step.model_copy(update={"action": inside})
            case Container() | Script():
                # Without it, steps that do the same would find what the first of them leaves.
                yield step.model_copy(update={"cache": Cache(salt=around + step.name)})
            case _:
                yield step


def all_kept(workflow: Workflow) -> Workflow:
    handlers = tuple(
        handler.model_copy(update={"steps": tuple(kept(handler.steps, f"exit:{handler.name}/"))})
        for handler in workflow.exit_handlers
    )
    return workflow.model_copy(
        update={"steps": tuple(kept(workflow.steps)), "exit_handlers": handlers}
    )


@pytest.fixture
def each_run_in_a_second_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """No two runs have one logical date, which is told in seconds, however fast they follow."""
    seconds = itertools.count(-600)
    monkeypatch.setattr(
        "couler.backends.local.run.now",
        lambda: now() + datetime.timedelta(seconds=next(seconds)),
    )


@pytest.mark.sampled(4)
@pytest.mark.usefixtures("each_run_in_a_second_of_its_own")
@pytest.mark.parametrize("case", WELL, ids=str)
def test_a_retry_takes_what_its_plan_says(case: Case, tmp_path: Path) -> None:
    home, shared = tmp_path / "home", tmp_path / "shared"
    shared.mkdir()
    entries = {
        f"COULER_{kind}_{name}_{key}": value
        for kind, maps in (("SECRET", case.secrets), ("CONFIG", case.config_maps))
        for name, entries in maps.items()
        for key, value in entries.items()
    }
    environ = {**os.environ, **entries}
    for key, content in case.artifacts.items():
        file = home / "repository" / key
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    parameters = case.parameters_with(shared)
    workflow = all_kept(case.workflow)
    options = RunOptions(home=home, jobs=4, gpus=1)
    LocalBackend().run(workflow, parameters=parameters, options=options, environ=environ)

    def retry_another() -> dict[str, str]:
        """Retry a run that knows none of the steps: all that it can take is in the cache."""
        run = LocalBackend().run(flow("w", sh("unrelated", "true")), options=options)
        return retry_as_planned(run.run_id, workflow, home, environ=environ, **parameters).verdicts

    planned = retry_another()
    runs = {path for path, verdict in planned.items() if verdict == "runs"}
    assert runs == NEVER_CACHED.get(case.name, set()), planned
    with open_database(Home(home).database_url) as database:
        keys = sorted(entry.key for entry in list_entries(database))
        assert remove_entries(database, keys[::2]).keys
    retry_another()
