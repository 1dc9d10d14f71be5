"""Rules for iteration, retries, timeouts, caches, locks and resources of a step."""

from __future__ import annotations

from collections.abc import Iterator

from couler.ir.policies import Cache, Foreach, Loop, Retry
from couler.ir.ranges import known_items
from couler.ir.values import Literal, Range
from couler.ir.verify.conditions import check_loop
from couler.ir.verify.kubernetes import check_annotations, check_labels, check_placement
from couler.ir.verify.limits import MAX_ROUNDS
from couler.ir.verify.locks import check_lock_name, check_step_locks
from couler.ir.verify.names import check_value_names
from couler.ir.verify.quantities import check_resources
from couler.ir.verify.types import ANY, Kind, common_kind, literal_kind
from couler.ir.verify.values import Reader
from couler.ir.workflow import Group, Http, Step, Suspend


def check_foreach(reader: Reader, foreach: Foreach) -> None:
    """Check the lists of a foreach, and note the types of their items."""
    check_value_names(foreach.over, "item", reader.add)
    kinds: dict[str, Kind] = {}
    lengths: dict[str, int] = {}
    for name, items in foreach.over.items():
        field = f"foreach.{name}"
        if isinstance(items, Range):
            reader.kind(items, field)
            kinds[name] = Kind("int") if items.format is None else Kind("str")
            if (known := known_items(items)) is not None:
                lengths[name] = len(known)
            continue
        if isinstance(items, Literal):
            # Each item travels, the list does not.
            if isinstance(items.value, tuple):
                lengths[name] = len(items.value)
                kinds[name] = common_kind(
                    reader.kind(Literal.model_construct(value=item), field) for item in items.value
                )
                continue
            kind = literal_kind(items.value)
            if kind.type == "str":
                kind = Kind("dict")
        else:
            kind = reader.kind(items, field)
        kinds[name] = Kind(kind.type) if kind.many else ANY
        if not kind.many and kind.type not in ("list", "json", "str"):
            reader.add(
                "CLR180",
                f"{field} is {kind}, not a list. Give a list, or read an output that is one.",
            )
    reader.items = kinds
    if len(set(lengths.values())) > 1:
        sizes = ", ".join(f"{name} has {length}" for name, length in lengths.items())
        reader.add("CLR182", f"its lists differ in length: {sizes}. Make them equally long.")


def check_step_loop(reader: Reader, step: Step, loop: Loop) -> None:
    """Check a step's loop."""
    if isinstance(step.action, Suspend):
        return  # it has no outputs: reported as without effect
    if step.daemon:
        reader.add("CLR223", "a daemon does not end, so there is no second round of its loop.")
        return
    check_loop(reader, loop.condition)
    if loop.max_iterations > MAX_ROUNDS:
        reader.add(
            "CLR505",
            f"max_iterations is {loop.max_iterations:,}; at most {MAX_ROUNDS:,} rounds are run.",
        )


POLICIES = frozenset(
    (
        "retry",
        "timeout_s",
        "resources",
        "placement",
        "labels",
        "annotations",
        "mutex",
        "locks",
        "cache",
    )
)
"""The fields of a step that `check_policies` looks at."""


def check_policies(reader: Reader, step: Step) -> None:
    """Check the policies of a step that its action has no part in."""
    view, add = reader.view, reader.add
    if step.retry is not None:
        for code, message in retry_problems(step.retry):
            view.add(code, step, message, "warning" if code == "CLR404" else "error")
        if step.retry.other_node and isinstance(step.action, Group | Http):
            what = "a group" if isinstance(step.action, Group) else "an HTTP request"
            add("CLR410", f"other_node of its retry has no effect on {what}. Remove it.")
    if step.timeout_s is not None:
        whole = view.workflow.timeout_s
        if whole is not None and step.timeout_s > whole:
            view.add(
                "CLR405",
                step,
                f"its timeout of {step.timeout_s:g} s is above the workflow's, {whole:g} s, which "
                "ends it first.",
                "warning",
            )
    if step.resources is not None:
        check_resources(step.resources, add)
    if step.placement is not None:
        check_placement(step.placement, add)
    if step.labels:
        check_labels(step.labels, "labels", add)
    if step.annotations:
        check_annotations(step.annotations, add)
    if step.mutex is not None or step.locks:
        check_step_locks(view, step)
    if step.cache is not None:
        _check_cache(reader, step.cache)


def _check_cache(reader: Reader, cache: Cache) -> None:
    if cache.salt is not None and not isinstance(cache.salt, str):
        reader.text(cache.salt, "cache.salt")
    if cache.name is not None:
        check_lock_name(cache.name, "cache", reader.add)


def retry_problems(retry: Retry) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with a retry, as code and message."""
    if not retry.on:
        yield "CLR403", "its retry is on no kind of failure. Name failure, error or both."
    if "transient" in retry.on and len(set(retry.on)) > 1:
        told = "its retry is on transient errors and on others"
        yield "CLR403", f"{told}. Errors include these; name transient alone for these only."
    if retry.exit_codes and "failure" not in retry.on:
        yield (
            "CLR403",
            "its retry names exit codes, but is on errors only, which have none. Add failure.",
        )
    for code in retry.exit_codes:
        if not 1 <= code <= 255:
            yield (
                "CLR403",
                f"its retry names the exit code {code}; a failed process ends with 1 to 255.",
            )
    backoff = retry.backoff
    if backoff is not None and backoff.cap_s is not None and backoff.cap_s < backoff.seconds:
        waits = (
            f"its retry waits {backoff.seconds:g} s at first, but the cap is {backoff.cap_s:g} s"
        )
        yield "CLR404", f"{waits}, so every wait is the cap."
    if backoff is not None and (backoff.max_duration_s or backoff.seconds) < backoff.seconds:
        told = f"its retry waits {backoff.seconds:g} s at first"
        bound = f"{backoff.max_duration_s:g} s that all attempts have together"
        yield "CLR403", f"{told}, which is beyond the {bound}."
