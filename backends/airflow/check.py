"""Refusals of Airflow beyond features: caches, names, texts, values, nesting and files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from couler.backends.airflow.connections import check_connections
from couler.backends.airflow.files import (
    files_of,
    has_files,
    has_files_kept,
    input_path,
    is_elsewhere,
)
from couler.backends.airflow.flow_checks import check_flow
from couler.backends.airflow.jobs import belongs_to_run
from couler.backends.airflow.lower import is_direct, lowered
from couler.backends.airflow.options import Options
from couler.backends.airflow.outputs import declare_results
from couler.backends.airflow.places import (
    Spot,
    axis,
    exit_groups,
    item_count,
    makes_lists,
    task_name,
)
from couler.backends.airflow.pod_checks import check_pods
from couler.backends.airflow.step_checks import check_sets, check_steps
from couler.backends.airflow.versions import NEWEST
from couler.ir.artifacts import ListFiles, is_in_repository
from couler.ir.code_files import check_code
from couler.ir.diagnostics import Diagnostic
from couler.ir.policies import locks_of
from couler.ir.storage import NewClaimVolume
from couler.ir.values import MAX_WORD_BYTES, is_file
from couler.ir.walk import HANDLER_PREFIX, steps_by_path
from couler.ir.workflow import Container, Group, Job, Script, Step, Workflow
from couler.packages import check_imports


def check(workflow: Workflow, options: Options) -> Iterator[Diagnostic]:
    """Yield what would not load or not run: all but the first look at what is compiled."""
    yield from check_sets(workflow)
    yield from check_imports("airflow", workflow)
    yield from check_code("airflow", workflow)
    workflow = declare_results(lowered(workflow, has_claim=options.files_claim is not None))
    yield from check_flow(workflow)
    yield from check_names(workflow)
    yield from check_nesting(workflow)
    yield from check_steps(workflow, options)
    yield from check_values(workflow, options.version)
    yield from check_files(workflow, options)
    yield from check_caches(workflow, options)
    yield from check_pods(workflow)
    yield from check_connections(workflow, options)


_NO_PLACE = "CLR354"
_NO_CACHE = "CLR382"


def check_caches(workflow: Workflow, options: Options) -> Iterator[Diagnostic]:
    """Yield a diagnostic for each cache that could not be kept."""
    for path, step in steps_by_path(workflow):
        if step.cache is None:
            continue
        problem = _problem(step)
        if problem is not None:
            yield Diagnostic(_NO_CACHE, f'airflow: step "{path}" {problem}', path, step.source)
            continue
        missing = _missing(options)
        if missing is not None:
            yield Diagnostic(
                _NO_PLACE,
                f'airflow: step "{path}" has a cache, whose entries lie where files are kept, but '
                f"the target {missing}, or leave the cache out",
                path,
                step.source,
                of_target=True,
            )


def _problem(step: Step) -> str | None:
    """Return why Airflow cannot take the outputs of a step from an entry."""
    if not isinstance(step.action, Container | Script):
        return (
            "has a cache, but runs no process of its own in a pod, whose wrapper would look for an "
            "entry. Leave the cache out"
        )
    if step.init_containers:
        return (
            f'has a cache, but its pod runs the container "{step.init_containers[0].name}" before '
            "anything looks for an entry. Leave the cache out, or do in the process what that "
            "container does"
        )
    elsewhere = [one.name for one in step.outputs if one.at is not None]
    if elsewhere:
        return (
            f'has a cache, and puts its output "{elsewhere[0]}" at a place besides, which an entry '
            "does not. Leave the cache out, or put the file there by a step behind this one"
        )
    return None


def _missing(options: Options) -> str | None:
    """Return what keeps entries from being written, and what to give."""
    if options.files_claim is not None:
        return None
    if options.files_store is None:
        return (
            "has no place for them. Give the option files_claim=NAME, a persistent volume claim "
            "that pods of all nodes can write, or a storage and io_image=IMAGE"
        )
    if options.io_image is None:
        return "has no helper that reaches it. Give the option io_image=IMAGE, an image with Couler"
    return None


LENGTH_CODE = "CLR349"
_LONGEST = 250
"""Characters of the id of a task, with those of the groups around it."""


def check_names(workflow: Workflow) -> Iterator[Diagnostic]:
    """Yield the steps whose tasks would have ids that are too long."""
    yield from _check(workflow.steps, "", "")
    groups = exit_groups(workflow)
    for handler in workflow.exit_handlers:
        path = f"{HANDLER_PREFIX}{handler.name}/"
        yield from _check(handler.steps, f"{groups[handler.name]}.", path)


def _check(
    steps: Sequence[Step], prefix: str, path: str, *, within_mapped: bool = False
) -> Iterator[Diagnostic]:
    beside = frozenset(step.name for step in steps)
    for step in steps:
        items = axis(step, within_mapped=within_mapped)
        spot = Spot(step, prefix + task_name(step.name), items, beside)
        longest = max(_ids(spot), key=len)
        if len(longest) > _LONGEST:
            message = (
                f'airflow: step "{path}{step.name}" becomes the task "{longest[:20]}...'
                f'{longest[-20:]}", whose id has {len(longest)} characters with the groups around '
                f"it; Airflow takes {_LONGEST}. Shorten its name, or those of the groups."
            )
            yield Diagnostic(LENGTH_CODE, message, path + step.name, step.source)
        elif isinstance(step.action, Group):  # else all that is inside would be told as well
            inside = _numbered(spot.round, step) + "."
            yield from _check(
                step.action.steps,
                inside,
                f"{path}{step.name}/",
                within_mapped=within_mapped or items == "mapped",
            )


def _ids(spot: Spot) -> Iterator[str]:
    """Yield the ids of a step and of the tasks that the compiler makes for it."""
    step = spot.step
    yield spot.base
    if any(not isinstance(entry, str) for entry in step.depends_on):
        yield spot.own("needs")
    if spot.has_maker:
        yield spot.maker
    if makes_lists(step):
        yield spot.own("lists")
    if spot.is_iterated:
        yield from (_numbered(one, step) for one in (spot.round, spot.end_of_item))
    if step.loop is not None:
        yield _numbered(f"{spot.item}.{spot.bound}", step)
    if isinstance(step.action, Group):
        yield _numbered(spot.gate, step)
    if spot.has_end:
        yield _numbered(spot.end_of_round, step)


def _numbered(place: str, step: Step) -> str:
    """Return the longest place of its items and rounds."""
    rounds = 0 if step.loop is None else step.loop.max_iterations - 1
    items = 0 if step.foreach is None else max(item_count(step.foreach) - 1, 0)
    return place.replace("round_#", f"round_{rounds}").replace("item_#", f"item_{items}")


POOL_CODE = "CLR345"
TIMEOUT_CODE = "CLR346"
RETRY_CODE = "CLR347"
SCRIPT_CODE = "CLR348"

SCRIPT_VARIABLE = "COULER_SCRIPT"
"""The variable by which a script reaches the wrapper that runs it."""


def check_values(workflow: Workflow, version: tuple[int, int]) -> Iterator[Diagnostic]:
    """Yield what the policies and scripts of a workflow ask for in vain."""
    after = " and ".join(_after_the_steps(workflow))
    if workflow.timeout_s is not None and after:
        message = (
            f"airflow: the workflow has a time limit and {after}, but Airflow ends a run that is "
            "too late without what comes after its steps. Limit the time of the steps."
        )
        yield Diagnostic(TIMEOUT_CODE, message, source=workflow.source)
    for path, step in steps_by_path(workflow):
        for code, message in _problems(step, version):
            yield Diagnostic(code, f'airflow: step "{path}" {message}', path, step.source)


def _after_the_steps(workflow: Workflow) -> Iterator[str]:
    """Yield what of a workflow asks for tasks after all steps."""
    if workflow.exit_handlers:
        yield "exit handlers"
    if any(isinstance(one, NewClaimVolume) for one in workflow.volumes):
        yield "new claims"
    if workflow.runs is not None and workflow.runs.disruption_budget is not None:
        yield "a disruption budget"
    actions = [step.action for _, step in steps_by_path(workflow)]
    if any(isinstance(one, Job) and belongs_to_run(one) for one in actions):
        yield "jobs that are deleted with the run"


def _problems(step: Step, version: tuple[int, int]) -> Iterator[tuple[str, str]]:
    locks = locks_of(step)
    if len(locks) > 1:
        yield POOL_CODE, f"holds {len(locks)} locks, but a task has one pool. Take one lock."
    if locks and isinstance(step.action, Group):
        yield POOL_CODE, "is a group with a lock, but tasks have pools. Give the steps in it locks."
    if version < NEWEST:
        yield from _retry_problems(step)
    if isinstance(step.action, Script):
        size = len(f"{SCRIPT_VARIABLE}={step.action.source}".encode())
        if size > MAX_WORD_BYTES:
            message = (
                f"has a script of {size:,} bytes, but at most {MAX_WORD_BYTES:,} reach a pod in "
                "one variable. Put the code into the image."
            )
            yield SCRIPT_CODE, message


def _retry_problems(step: Step) -> Iterator[tuple[str, str]]:
    retry = step.retry
    if retry is None or not retry.limit:
        return
    if retry.exit_codes or len(retry.on) == 1:
        message = (
            "is tried again after some failures only, which Airflow can tell since 3.3. "
            "Compile for that version, or retry after all."
        )
        yield RETRY_CODE, message
    if retry.backoff is not None and retry.backoff.factor not in (1, 2):
        message = (
            f"has waits that grow by the factor {retry.backoff.factor:g}, but before 3.3 they "
            "double. Take 2, or 1 for waits of the same length."
        )
        yield RETRY_CODE, message


NESTING_CODE = "CLR381"
MOST_BLOCKS = 20
"""The statements `with` and `for` that Python takes around each other in a module or a function
(`CO_MAXBLOCKS` of CPython; some versions take more)."""


def check_nesting(workflow: Workflow) -> Iterator[Diagnostic]:
    """Yield the outermost steps whose blocks in the file stand in too many others."""
    runs = workflow.runs
    has_budget = runs is not None and runs.disruption_budget is not None
    has_claims = any(isinstance(one, NewClaimVolume) for one in workflow.volumes)
    around = 1 + has_claims + has_budget  # the DAG, and what is deleted after all of it
    yield from _check_scope_nesting(workflow.steps, "", around, within_mapped=False)
    for handler in workflow.exit_handlers:
        path = f"{HANDLER_PREFIX}{handler.name}/"
        yield from _check_scope_nesting(handler.steps, path, around + 1, within_mapped=False)


def _check_scope_nesting(
    steps: Sequence[Step], path: str, around: int, *, within_mapped: bool
) -> Iterator[Diagnostic]:
    for step in steps:
        if not isinstance(step.action, Group) and step.loop is None and step.foreach is None:
            continue
        spot = Spot(step, step.name, axis(step, within_mapped=within_mapped))
        is_empty = spot.items == "unrolled" and spot.has_maker
        shown = 0 if path or step.part is None else _parts_around(step)
        most, inside = _blocks(spot, around + shown)
        if most > MOST_BLOCKS:
            message = (
                f'airflow: step "{path}{step.name}" stands in so many groups, rounds and items '
                f"that the DAG file would have {most} blocks around each other; Python takes "
                f"{MOST_BLOCKS}. Put the steps of some of the groups into the groups around them."
            )
            yield Diagnostic(NESTING_CODE, message, path + step.name, step.source)
        elif isinstance(step.action, Group) and not is_empty:  # else nothing is written of it
            yield from _check_scope_nesting(
                step.action.steps,
                f"{path}{step.name}/",
                inside,
                within_mapped=within_mapped or spot.items == "mapped",
            )


def _parts_around(step: Step) -> int:
    assert step.part is not None
    return sum(name is not None for name in (step.part.run, step.part.group))


def _blocks(spot: Spot, around: int) -> tuple[int, int]:
    """Return how many blocks stand around each other at most, and around what is inside a step."""
    step = spot.step
    is_group = isinstance(step.action, Group)
    if not spot.is_iterated:
        now = around + is_group
        return now, now
    now = most = around + 1
    if spot.items == "mapped":
        now = 0  # a function begins
    elif spot.items == "unrolled":
        if spot.has_maker:
            return now, now
        now += 2 if is_group or step.loop is not None else 1
    if step.loop is not None:
        now += 2 if is_group else 1
    return max(most, now), now


_NO_FILES_PLACE = "CLR350"
_OUT_OF_REACH = "CLR351"
_NO_WORD = "CLR352"
_TOO_LATE = "CLR353"


def check_files(workflow: Workflow, options: Options) -> Iterator[Diagnostic]:
    """Yield a diagnostic for each file that could not be kept, taken or put."""
    for path, step in steps_by_path(workflow):
        if isinstance(step.action, ListFiles):
            yield from _unlisted(path, step, step.action, options)
        if not isinstance(step.action, Container | Script) or not has_files(step):
            continue
        has_place = options.files_claim is not None or options.files_store is not None
        if has_files_kept(step) and not has_place:
            yield Diagnostic(
                _NO_FILES_PLACE,
                f'airflow: step "{path}" takes or gives files, but the target has no place for '
                "them. Give the option files_claim=NAME, a persistent volume claim that pods of "
                "all nodes can write, or a storage and io_image=IMAGE",
                step=path,
                source=step.source,
                of_target=True,
            )
        if options.io_image is None:
            yield from _out_of_reach(path, step, options)
        if not is_direct(step):
            yield from _no_words(path, step)
        yield from _too_late(path, step)


def _out_of_reach(path: str, step: Step, options: Options) -> Iterator[Diagnostic]:
    in_store = options.files_claim is None and options.files_store is not None
    files = files_of(step)
    elsewhere = [one for one in files if is_elsewhere(one)]
    if in_store and has_files_kept(step) and not elsewhere:
        elsewhere = files
    for one in elsewhere:
        yield Diagnostic(
            _OUT_OF_REACH,
            f'airflow: step "{path}": the file "{one.name}" lies where only the helper of '
            "processes reaches it. Give the option io_image=IMAGE, an image with Couler",
            step=path,
            source=step.source,
            of_target=True,
        )


def _too_late(path: str, step: Step) -> Iterator[Diagnostic]:
    """Yield what would look for files before they are there: the wrapper takes them."""
    paths = [input_path(given) for given in step.inputs if is_file(given.type)]
    holding = {
        mount.volume
        for mount in step.mounts
        if any(path.startswith(f"{mount.path.rstrip('/')}/") for path in paths)
    }
    early = [
        one.name
        for one in step.init_containers
        if one.mirror_mounts or any(mount.volume in holding for mount in one.mounts)
    ]
    if paths and early:
        yield Diagnostic(
            _TOO_LATE,
            f'airflow: step "{path}": its files are in their places when its process starts, after '
            f'the init container "{early[0]}", which can look for them. Do in a step before '
            "what that container does",
            step=path,
            source=step.source,
        )


def _unlisted(path: str, step: Step, action: ListFiles, options: Options) -> Iterator[Diagnostic]:
    """Yield what keeps files from being listed."""
    missing = []
    if options.io_image is None:
        missing.append("io_image=IMAGE, an image with Couler")
    if is_in_repository(action.at) and options.files_claim is None:
        missing.append("files_claim=NAME, or name the storage")
    if missing:
        yield Diagnostic(
            _OUT_OF_REACH,
            f'airflow: step "{path}" lists files, which takes a pod of its own. Give the option '
            f"{' and '.join(missing)}",
            step=path,
            source=step.source,
            of_target=True,
        )


def _no_words(path: str, step: Step) -> Iterator[Diagnostic]:
    """Yield what the wrapper would read as two: it keeps its words by lines."""
    for one in files_of(step):
        if one.path is not None and "\n" in one.path:
            yield Diagnostic(
                _NO_WORD,
                f'airflow: step "{path}": the path of "{one.name}" has a line break in it, which '
                "the wrapper of a process would take for its end. Name another path",
                step=path,
                source=step.source,
            )
