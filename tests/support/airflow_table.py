"""docs/airflow-corpus.md: the corpus on this machine and under Airflow, and what Airflow gets.

Every case of the corpus is a row. What Airflow does not do says why; what it does was run in both
and compared, by tests/airflow/test_corpus.py. `make airflow-table` runs that, writes the page and
prints it.
"""

from __future__ import annotations

import json
import re
import typing as t
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

from couler.backends.airflow import AirflowBackend
from couler.backends.base import Capabilities, Ignored, Lowered, Native, Unsupported
from couler.ir.features import Feature
from couler.stages import diagnose
from couler.state.results import RunResult
from tests.corpus import Case, cases
from tests.support.airflow_outcome import AirflowOutcome
from tests.support.airflow_target import with_files

PAGE = Path(__file__).parents[2] / "docs" / "airflow-corpus.md"

THINGS_OF_ARGO: Mapping[Feature, str] = {
    Feature.TEMPLATE_CALL: "calls a WorkflowTemplate",
    Feature.PLUGIN: "calls a plugin of Argo's agent",
    Feature.EXECUTOR_PLUGIN: "calls a plugin of Argo's executor",
    Feature.FILE_PLUGIN: "calls a plugin of Argo's for artifacts",
    Feature.STORED_WORKFLOW: "runs a WorkflowTemplate",
    Feature.MUTEX_DATABASE: "a lock in the database of Argo's controller",
    Feature.SEMAPHORE_DATABASE: "a lock in the database of Argo's controller",
}
"""Features whose meaning is an object of Argo's, which no other engine could have."""

_ROW = re.compile(r"^\| `(\w+)` \| (.*?) \| (.*) \|$", re.M)
_REFUSAL = re.compile(r"airflow cannot do (\S+), which .*? asks for: (.*?)( Engines that .*)?$")


class Row(t.NamedTuple):
    """A case of the table."""

    here: str
    airflow: str


def compare(case: Case, here: RunResult, found: AirflowOutcome) -> Row:
    """Return the row of a case that was run in both.

    Statuses are compared at every path, outputs where the case states them: a process may print
    what nothing reads, which this machine keeps and Airflow does not. Of groups whose outputs no
    task of Airflow's gives they are compared where something reads them.
    """
    states: dict[str, str] = {path: step.status for path, step in here.steps.items()}
    differences = _differences("status", states, found.states)
    differences += _differences("run", {"": here.status}, {"": found.status})
    differences += _differences("output", here.outputs, found.run_outputs)
    outputs = len(case.expected.run_outputs)
    for path, stated in case.expected.outputs.items():
        if path in found.inlined:
            continue
        mine = here.steps[path].outputs
        theirs = found.outputs.get(path, {})
        names = sorted(stated)
        differences += _differences(
            f"output of {path}", {n: mine.get(n) for n in names}, {n: theirs.get(n) for n in names}
        )
        outputs += len(stated)
    counts = f"{here.status}: {_plural(len(states), 'status', 'statuses')}"
    counts += f", {_plural(outputs, 'output', 'outputs')}"
    return Row(counts, "; ".join(differences) or "equal")


def _differences(what: str, mine: Mapping[str, t.Any], theirs: Mapping[str, t.Any]) -> list[str]:
    names = sorted({*mine, *theirs})
    unlike = [name for name in names if _json(mine.get(name)) != _json(theirs.get(name))]
    return [
        f"{what} {name}: {_json(mine.get(name))} here, {_json(theirs.get(name))} there"
        for name in unlike
    ]


def _json(value: object) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def refused(case: Case) -> Row | None:
    """Return the row of a case that Airflow does not do, or None for another."""
    found = [
        one
        for one in diagnose(case.workflow, ["airflow"], target=with_files())
        if one.severity == "error"
    ]
    if not found:
        return None
    reasons: dict[str, dict[str, None]] = {}
    for one in found:
        reasons.setdefault(one.code, {})[_reason(one.message)] = None
    words = "; ".join(
        f"[{code}](errors.md#{code}) {'; '.join(texts)}" for code, texts in reasons.items()
    )
    status = case.expected.status
    return Row(f"{status}: {_plural(len(case.expected.steps), 'status', 'statuses')}", words)


def _reason(message: str) -> str:
    """Return what is not the name of a step, and on one line of a table."""
    support = _REFUSAL.match(message)
    words = f"`{support[1]}`: {support[2]}" if support else message
    return " ".join(words.replace("|", "\\|").rstrip(".").split())


def known_rows() -> dict[str, Row]:
    """Return the rows of the page as it stands."""
    if not PAGE.is_file():
        return {}
    return {name: Row(*words) for name, *words in _ROW.findall(PAGE.read_text(encoding="utf-8"))}


def all_rows(run: Mapping[str, Row]) -> dict[str, Row]:
    """Return the rows of all cases: those that were run, and those that are refused."""
    rows = {}
    for case in cases():
        row = refused(case) or run.get(case.name)
        if row is not None:
            rows[case.name] = row
    return rows


class Share(t.NamedTuple):
    """How many features an engine gets, of some of them."""

    native: int
    lowered: int
    ignored: int
    refused: int

    @property
    def percent(self) -> int:
        """Those that it gets, of a hundred."""
        return round(100 * (self.native + self.lowered) / sum(self))


def _is_refused(row: Row) -> bool:
    return row.airflow.startswith("[CLR")


def share(capabilities: Capabilities, features: Iterable[Feature]) -> Share:
    """Count what an engine does with features."""
    kinds = Counter(type(capabilities[feature]) for feature in features)
    return Share(kinds[Native], kinds[Lowered], kinds[Ignored], kinds[Unsupported])


def page(rows: Mapping[str, Row]) -> str:
    """Return the page."""
    capabilities = AirflowBackend().capabilities(with_files())
    shares = {
        "all": share(capabilities, Feature),
        "all but things of Argo's": share(capabilities, set(Feature) - set(THINGS_OF_ARGO)),
    }
    lines = [_HEAD]
    for name, row in rows.items():
        lines.append(f"| `{name}` | {row.here} | {row.airflow} |")
    equal = sum(row.airflow == "equal" for row in rows.values())
    unable = sum(map(_is_refused, rows.values()))
    counts = f"Of {len(rows)} cases {equal} are equal and {unable} refused."
    lines += ["", counts, "", _SHARES]
    for words, one in shares.items():
        lines.append(
            f"| {words} | {sum(one)} | {one.native} | {one.lowered} | {one.ignored} "
            f"| {one.refused} | {one.percent} % |"
        )
    lines += ["", _PAPER.format(", ".join(f"`{one.value}`" for one in THINGS_OF_ARGO)), ""]
    refusals: dict[str, list[str]] = {}
    for feature in Feature:
        support = capabilities[feature]
        if isinstance(support, Unsupported):
            refusals.setdefault(support.reason, []).append(f"`{feature.value}`")
    lines += [f"- {', '.join(names)}: {reason}." for reason, names in refusals.items()]
    return "\n".join(lines).rstrip() + "\n"


def _plural(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"


_HEAD = """\
# The corpus under Airflow

Each workflow of `tests/corpus` is run on this machine and compiled, unchanged, to a DAG file that
Airflow 3.3 runs on an emulated Kubernetes. The status at every path, the outputs that the case
states and the state of the run are compared. A group that is run once may have no task that gives
its outputs: what reads one reads the task inside, and is compared itself. What Airflow does not do
is refused when it is compiled, with the reason.

`make airflow-table` runs this and writes the page; a test fails where the page says something else
than the run gives.

| Case | This machine | Airflow |
| --- | --- | --- |"""

_SHARES = """\
## What Airflow gets

A feature is one kind of thing that a workflow can ask for, such as a retry with a back-off or a
loop inside a map. *Native* ones Airflow has itself, *lowered* ones are made of other things that it
has, and *ignored* ones change nothing there. [Engines](engines.md) names each.

| Features | Count | Native | Lowered | Ignored | Refused | Airflow gets |
| --- | --: | --: | --: | --: | --: | --: |"""

_PAPER = """\
The second row leaves out what is an object of Argo's: {}.

The paper on Couler says of the system that it describes: "it supports approximately 40-50% of the
Airflow API". That counts another way round, parts of Airflow's interface that Couler reaches; the
table counts parts of Couler's model that Airflow gets. The two are no measure of each other.

These are refused:
"""


if __name__ == "__main__":
    print(PAGE.read_text(encoding="utf-8"))  # noqa: T201  # what the make target shows
