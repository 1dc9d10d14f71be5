"""Memoized steps: keys as Argo computes them, the config maps of entries, and limits of both."""

from __future__ import annotations

import json
import math
import re
import typing as t
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from couler.backends.argo.files import is_item_wrapper
from couler.backends.argo.footprint import MAX_BYTES, items_of
from couler.backends.argo.pods import Tree
from couler.backends.argo.scope import is_folder
from couler.backends.argo.tags import Tagged, tag
from couler.ir.cachekey import cache_key, text_digest
from couler.ir.diagnostics import Diagnostic
from couler.ir.values import StepRef
from couler.ir.workflow import Group, Step

MAPS: t.Final = {1: 0, 16: 1, 256: 2}
"""How many config maps the entries of a workflow can be in: the first digits of keys tell which."""

DEFAULT_MAPS: t.Final = 16

REPOSITORY_MARK: t.Final = "couler_repository"
"""Output of a memoized template, and so in its entry: which repository its files are in."""


def memo_key(digest: str, texts: Sequence[tuple[str, str | None]]) -> str:
    """Return the key of a memoized template: a digest, or an expression that gives it."""
    known = _known_key(digest, texts)
    return tag(_expression(digest, texts)) if known is None else known


def memo_map(name: str, digest: str, texts: Sequence[tuple[str, str | None]], *, maps: int) -> str:
    """Return the config map of a template's entries: a name, or one with a tag in it."""
    digits = MAPS[maps]
    if not digits:
        return name
    known = _known_key(digest, texts)
    if known is not None:
        return f"{name}-{known[:digits]}"
    return Tagged(f"{name}-{tag(f'{_expression(digest, texts)}[0:{digits}]')}")


def map_name(workflow: str) -> str:
    """Return what the names of a workflow's config maps begin with."""
    return f"couler-{workflow}"


def _known_key(digest: str, texts: Sequence[tuple[str, str | None]]) -> str | None:
    known = [text for _, text in texts if text is not None]
    return cache_key(digest, known) if len(known) == len(texts) else None


def _expression(digest: str, texts: Sequence[tuple[str, str | None]]) -> str:
    terms = [f"'{digest}'"]
    for name, text in texts:
        if text is None:
            terms.append(f"sprig.sha256sum(inputs.parameters.{name})")
        else:
            terms.append(f"'{text_digest(text)}'")
    return "sprig.sha256sum(" + " + ".join(terms) + ")"


TEXT_BYTES: t.Final = 256
"""What a value is taken to have that nobody knows before the run."""

_NAME_BYTES: t.Final = 24
"""What a place, a time or the name of a node has besides the names that are known."""

_KUBERNETES_NAME = re.compile(
    r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*"
)


def check_memoized(step: Step, path: str, siblings: Mapping[str, Step]) -> Iterator[Diagnostic]:
    """Yield what a step says of memoized files that Argo cannot do."""
    for given in step.inputs:
        if is_folder(given) and _comes_from_memoized(given.value, siblings):
            yield Diagnostic(
                "CLR325",
                f'argo: input "{given.name}" of step "{path}" takes the files of all items of a '
                "cached step as one folder; some may be those of earlier runs, which lie "
                "elsewhere. Leave out cache= of that step, or read its files one by one "
                "(a foreach over its output).",
                step=path,
                source=step.source,
            )
    if step.cache is None:
        return
    if step.cache.name is not None and _KUBERNETES_NAME.fullmatch(step.cache.name) is None:
        yield Diagnostic(
            "CLR411",
            f'argo: the cache of step "{path}" is a config map of the name "{step.cache.name}"; '
            'Kubernetes takes small letters, digits, "-" and "." there. Use '
            f'"{_as_kubernetes_name(step.cache.name)}".',
            step=path,
            source=step.source,
        )
    for output in step.outputs:
        if output.removal is not None and output.removal.on in ("completion", "deletion"):
            yield Diagnostic(
                "CLR326",
                f'argo: output "{output.name}" of step "{path}" is removed on the '
                f"{output.removal.on} of its run, but the step is cached, and later runs would "
                "read it. Leave out cache=, or the removal of this output.",
                step=path,
                source=step.source,
            )


def check_entries(specs: Iterable[Tree]) -> Iterator[Diagnostic]:
    """Yield the config maps that the entries of one run do not fit into."""
    least: Counter[str] = Counter()
    likely: Counter[str] = Counter()
    entries: Counter[str] = Counter()
    for spec in specs:
        templates = {template["name"]: template for template in spec.get("templates", ())}
        for template, count in _memoized(spec, templates).items():
            # What an override gives may lack parts.
            cache = templates[template]["memoize"].get("cache", {}).get("configMap", {})
            base, maps = _spread(cache.get("name", ""))
            most = math.ceil(count / maps + 4 * math.sqrt(count / maps)) if maps > 1 else count
            most = min(most, count)
            entries[base] += count
            least[base] += most * entry_bytes(templates[template], text_bytes=0)
            likely[base] += most * entry_bytes(templates[template], text_bytes=TEXT_BYTES)
    for base, size in likely.items():
        if size <= MAX_BYTES:
            continue
        is_certain = least[base] > MAX_BYTES
        size = least[base] if is_certain else size
        yield Diagnostic(
            "CLR515",
            f'argo: the {entries[base]:,} entries of one run in the cache "{base}" take '
            f"{'at least' if is_certain else 'about'} {size:,} bytes of one config map; "
            f"Kubernetes stores {MAX_BYTES:,}, and a step whose entry does not fit fails. "
            "Let each item do more, cache fewer steps, leave out the name of the cache, or set "
            "--option memo_maps=256.",
            severity="error" if is_certain else "warning",
        )


def entry_bytes(template: Tree, *, text_bytes: int) -> int:
    """Return about what an entry of a memoized template takes, in bytes."""
    outputs = template.get("outputs", {})
    parameters = [
        {**one, "value": "-" * (_NAME_BYTES if "value" in one else text_bytes)}
        for one in outputs.get("parameters", ())
    ]
    artifacts = [
        {**one, "s3": {"key": "-" * _NAME_BYTES}} if "key" in one.get("s3", {}) else one
        for one in outputs.get("artifacts", ())
    ]
    known = {"parameters": parameters, "artifacts": artifacts, "exitCode": "0"}
    entry = {
        "nodeID": "-" * _NAME_BYTES,
        "outputs": {name: value for name, value in known.items() if value},
        "creationTimestamp": "-" * 20,
        "lastHitTimestamp": "-" * 20,
    }
    # The whole map is sent as JSON, in which an entry is a text: its quotes take two bytes each.
    text = json.dumps({"-" * 64: json.dumps(entry, separators=(",", ":"))})
    return len(text.encode()) + text_bytes  # what the process prints


def _comes_from_memoized(value: object, siblings: Mapping[str, Step]) -> bool:
    if not isinstance(value, StepRef) or value.step not in siblings:
        return False
    producer = siblings[value.step]
    if isinstance(producer.action, Group) and is_item_wrapper(producer):
        producer = producer.action.steps[0]
    return producer.cache is not None


def _memoized(spec: Tree, templates: Mapping[str, Tree]) -> Counter[str]:
    """Count the instances of memoized templates in a run."""
    known: dict[str, Counter[str]] = {}

    def inside(name: str) -> Counter[str]:
        if name not in templates:
            return Counter()
        if name in known:
            return known[name]
        found = known[name] = Counter[str]()  # a template that calls itself does so once more
        template = templates[name]
        if "memoize" in template:
            found[name] += 1
        tasks = [*template.get("dag", {}).get("tasks", ())]
        tasks += [task for group in template.get("steps", ()) for task in group]
        calls: Counter[str] = Counter()
        for task in tasks:
            items = items_of(task)
            calls[task.get("template", "")] += 1 if items is None else items
        for called, count in calls.items():
            for one, each in [*inside(called).items()]:
                found[one] += count * each
        return found

    total: Counter[str] = Counter()
    if any("memoize" in template for template in templates.values()):
        for root in (spec.get("entrypoint"), spec.get("onExit")):
            total += inside(root) if root else Counter()
    return total


def _spread(config_map: str) -> tuple[str, int]:
    """Return what a map's name begins with, and over how many maps its template's entries go."""
    base, is_spread, rest = config_map.partition("-{{=")
    if not is_spread:
        return config_map, 1
    digits = int(rest.rpartition("[0:")[2].partition("]")[0])
    return base, next(count for count, length in MAPS.items() if length == digits)


def _as_kubernetes_name(name: str) -> str:
    return re.sub(r"[^a-z0-9.-]+", "-", name.lower()).strip("-.")
