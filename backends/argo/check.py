"""What Argo would refuse beyond features: texts that it reads itself, sizes, counts, depth."""

from __future__ import annotations

import json
import re
import typing as t
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain

from couler.backends.argo.files import is_item_wrapper
from couler.backends.argo.footprint import (
    MAX_BYTES,
    MAX_DEPTH,
    MAX_PARAMETERS,
    MAX_TASKS,
    MAX_TEMPLATES,
    STATUS_BYTES,
    NodeCounts,
    status_bytes,
)
from couler.backends.argo.leaves import OF_STEP, OF_WORKFLOW, overrides_of
from couler.backends.argo.manifest import Manifest
from couler.backends.argo.memoization import check_entries, check_memoized
from couler.backends.argo.names import legal
from couler.backends.argo.pods import Tree
from couler.backends.argo.processes import (
    OFFLOAD_BYTES,
    argument_flag,
    constant_text,
    hands_on,
    way_of_arguments,
    way_of_manifest,
    way_of_script,
)
from couler.backends.argo.scope import is_folder
from couler.backends.argo.tags import Place, foreign_tags, has_tag
from couler.ir.artifacts import ListFiles, Zip, is_in_repository
from couler.ir.code_files import check_code
from couler.ir.defaults import leave_out_local_forms
from couler.ir.diagnostics import Diagnostic, Severity, did_you_mean
from couler.ir.glue import with_scripts
from couler.ir.kubernetes_pods import needs_dollars
from couler.ir.pods import PodContainer
from couler.ir.semantics.wire import dump_json
from couler.ir.values import ParamRef, StepRef, Text, is_file
from couler.ir.walk import Scope, all_steps, predecessors, scopes, steps_by_path
from couler.ir.workflow import (
    Container,
    ContainerSet,
    Group,
    Http,
    Input,
    Job,
    Output,
    Script,
    Step,
    Workflow,
)


def check(workflow: Workflow) -> Iterator[Diagnostic]:
    """Yield the places of a workflow that Argo could not run as they are meant."""
    workflow = with_scripts(leave_out_local_forms(workflow), hands_on)
    yield from _check_overrides(workflow.engine, OF_WORKFLOW, "the workflow", None, workflow)
    if any(isinstance(step.action, Script) for step in all_steps(workflow)):
        from couler.packages import check_imports

        yield from check_imports("argo", workflow)
    yield from check_code("argo", workflow)
    if workflow.code_at is None:
        yield from _check_code_tags(workflow)
    for scope in scopes(workflow):
        yield from _check_groups(scope)
        yield from _check_parts(scope)
        siblings = {step.name: step for step in scope.steps}
        for step in scope.steps:
            yield from _check_step(step, scope.path_of(step), siblings)


def _check_code_tags(workflow: Workflow) -> Iterator[Diagnostic]:
    """Yield the files of the code in which Argo would read tags: nothing protects annotations."""
    for one in workflow.code:
        if has_tag(one.text):
            yield Diagnostic(
                "CLR312",
                f"argo: {one.path} holds {{{{ in a text that Argo would read as a tag of its own. "
                'Write the braces apart ("{" "{"), or take code=archive or code=image',
                source=workflow.source,
            )


def _check_step(step: Step, path: str, siblings: dict[str, Step]) -> Iterator[Diagnostic]:
    action = step.action
    if isinstance(action, Container):
        if way_of_arguments(action.args) == "none":
            yield _too_large(f'step "{path}": the arguments', path, step)
    else:
        yield from _check_action(step, path)
    if step.sidecars or step.engine or step.retry or step.logs or step.outputs:
        yield from _check_settings(step, path)
    if step.inputs:
        yield from _check_inputs(step, path, siblings)
    if step.inputs or step.cache:
        yield from check_memoized(step, path, siblings)


def _check_action(step: Step, path: str) -> Iterator[Diagnostic]:
    """Check what a step runs that is no container."""
    from couler.backends.argo.listing import check_listing
    from couler.backends.argo.resources import lost_character

    action = step.action
    if isinstance(action, Job) and action.set_owner_reference:
        lost = lost_character(dump_json(action.manifest))
        if lost is not None:
            yield Diagnostic(
                "CLR318",
                f'argo: the manifest of step "{path}" holds the control character '
                f"U+{ord(lost):04X}, which Argo cannot write where it makes the run the owner of "
                "the resource. Remove it, or say set_owner_reference=False.",
                step=path,
                source=step.source,
            )
    if isinstance(action, Job):
        if way_of_manifest(action) == "none":
            yield _too_large(f'the manifest of step "{path}"', path, step)
    elif isinstance(action, Script):
        yield from _check_script(step, action, path)
    elif isinstance(action, Http):
        if any(header.config is not None for header in action.headers):
            yield Diagnostic(
                "CLR315",
                f'argo: step "{path}" takes a header of its request from a config map; Argo takes '
                "headers as text or from secrets. Put the text into the step or into a secret.",
                step=path,
                source=step.source,
            )
    elif isinstance(action, ListFiles):
        yield from check_listing(step, path)
    elif isinstance(action, ContainerSet):
        yield from _check_arguments(step, action.containers, path)


def _check_settings(step: Step, path: str) -> Iterator[Diagnostic]:
    """Check what a step says beside its action."""
    yield from _check_arguments(step, step.sidecars, path)
    if step.engine:
        yield from _check_overrides(step.engine, OF_STEP, f'step "{path}"', path, step)
    if step.retry is not None and step.retry.backoff is not None:
        factor = step.retry.backoff.factor
        if factor != int(factor):
            yield Diagnostic(
                "CLR311",
                f'argo: step "{path}" has a back-off factor of {factor}; Argo takes whole '
                f"numbers. Use {max(1, round(factor))}.",
                step=path,
                source=step.source,
            )
    if step.logs is not None and step.logs.at is not None and _has_keys(step):
        yield Diagnostic(
            "CLR321",
            f'argo: the log of step "{path}" has a location of its own, where Argo would look '
            "for the files of the step as well. Give the files locations of their own, or keep "
            "the log with them.",
            step=path,
            source=step.source,
        )
    for output in step.outputs:
        if output.type == "file" and isinstance(output.archive, Zip):
            yield Diagnostic(
                "CLR322",
                f'argo: output "{output.name}" of step "{path}" is a file in a zip archive; Argo '
                "puts it there under its whole path, and does not find it again. Use a tar "
                "archive, or put the file into a directory.",
                step=path,
                source=step.source,
            )


def _check_inputs(step: Step, path: str, siblings: dict[str, Step]) -> Iterator[Diagnostic]:
    for given in step.inputs:
        if is_folder(given) and not _is_folder(given.value, siblings):
            yield Diagnostic(
                "CLR313",
                f'argo: input "{given.name}" of step "{path}" takes many files, but they do not '
                "come from a foreach over one step; only those lie in one folder on Argo. "
                "Gather them in a step of their own.",
                step=path,
                source=step.source,
            )


def _check_script(step: Step, action: Script, path: str) -> Iterator[Diagnostic]:
    """Refuse a script that would reach the process changed, as Argo takes another way with it."""
    if way_of_script(step, action) != "none":
        return
    if argument_flag(action.command) is not None:
        yield _too_large(f'the script of step "{path}"', path, step)
        return
    tags = has_tag(action.source)
    why = 'holds "{{" as Argo\'s own tags do' if tags else 'holds "$$" or "$(" and may be large'
    yield Diagnostic(
        "CLR312",
        f'argo: the script of step "{path}" {why}, and "{action.command[0]}" is not known to '
        "take a script as an argument. Put the script into the image, or build the "
        f"{'braces' if tags else 'dollars'} in the script.",
        step=path,
        source=step.source,
    )


def _check_arguments(
    step: Step, containers: Iterable[PodContainer], path: str
) -> Iterator[Diagnostic]:
    """Check containers whose arguments travel as those of a step's own do."""
    for container in containers:
        if way_of_arguments(container.args) != "kubelet" and _is_changed(container.args):
            what = f'the arguments of the container "{container.name}" of step "{path}"'
            yield _too_large(what, path, step)


def _is_changed(texts: Iterable[Text]) -> bool:
    """Whether a text that is known would arrive changed if the kubelet did not read it."""
    known = filter(None, map(constant_text, texts))
    return any(has_tag(text) or needs_dollars(text) for text in known)


def _too_large(what: str, path: str, step: Step) -> Diagnostic:
    return Diagnostic(
        "CLR320",
        f'argo: {what} may take {OFFLOAD_BYTES:,} bytes as JSON and hold "{{{{", "$$" or "$(". '
        "From that size on Argo hands texts on in another way, which would change these. "
        "Put the text into the image or into a file.",
        step=path,
        source=step.source,
    )


def _has_keys(step: Step) -> bool:
    """Whether a step has files that are keys in the repository."""
    held: tuple[Input | Output, ...] = (*step.inputs, *step.outputs)
    return any(is_file(one.type) and (one.at is None or is_in_repository(one.at)) for one in held)


def _check_overrides(
    engine: Mapping[str, t.Any],
    kinds: Mapping[str, str],
    what: str,
    path: str | None,
    owner: Step | Workflow,
) -> Iterator[Diagnostic]:
    """Check content that is merged into objects of some kinds."""
    found: list[Diagnostic] = []

    def add(problem: str, severity: Severity = "error") -> None:
        message = f"argo: {what}{problem}"
        found.append(Diagnostic("CLR314", message, path, owner.source, severity))

    for key, value in engine.get("argo", {}).items():
        from couler.ir.verify.objects import check_override

        if key in kinds:
            check_override(
                value,
                kinds[key],
                f"engine.argo.{key}",
                lambda _, problem: add(f": {problem}"),
                lambda _, problem: add(
                    f": {problem} A server that does not have it either drops it.", "warning"
                ),
            )
        else:
            add(
                f' has "{key}" among its overrides for argo; there are '
                f"{', '.join(kinds)}.{did_you_mean(key, kinds)}"
            )
    yield from found


def check_tags(manifest: Manifest, workflow: Workflow) -> Iterator[Diagnostic]:
    """Yield the texts of the user's that Argo would read tags in."""
    found = foreign_tags(manifest.tree["spec"])
    if manifest.definitions:  # which share templates
        found = iter(dict.fromkeys(chain(found, *(map(foreign_tags, manifest.specs)))))
    for place, text in found:
        field, path, owner = _find(place, manifest, workflow, text)
        start = max(text.find("{{") - 20, 0)
        shown = text if len(text) <= 60 else f"...{text[start : start + 54]}..."
        whose = "the workflow" if path is None else f'step "{path}"'
        action = owner.action if isinstance(owner, Step) else None
        owns = isinstance(action, Job) and action.set_owner_reference
        advice = _TAG_ADVICE
        if owns and field == "resource.manifest":
            advice = _OWNED_ADVICE
        yield Diagnostic(
            "CLR310",
            f"argo: {field} of {whose} holds {shown!r}, in which Argo would read a tag of its own. "
            f"{advice}",
            step=path,
            source=owner.source,
        )


_TAG_ADVICE = (
    "Put the text into a step's arguments, environment or script, where it is protected, "
    "or into a file."
)
_OWNED_ADVICE = (
    "Say set_owner_reference=False: a value in a manifest that the run does not own is protected."
)


def _find(
    place: Place, manifest: Manifest, workflow: Workflow, text: str
) -> tuple[str, str | None, Step | Workflow]:
    """Return the field of Argo that holds a text, and the path and the step that it belongs to."""
    if place[0] == "workflowSpec":
        place = place[1:]
    if place[0] != "templates":
        return _field(place), None, workflow
    template, *rest = place[1:]
    owner = manifest.owners.get(str(template))
    name = None if owner is None else legal(owner.name)
    if rest[:2] == ["dag", "tasks"] or rest[0] == "steps":
        name, rest = str(rest[2]), rest[3:]
    steps = [(path, step) for path, step in steps_by_path(workflow) if legal(step.name) == name]
    written = json.dumps(text, ensure_ascii=False)[1:-1]
    told = [(path, step) for path, step in steps if written in step.model_dump_json()]
    for path, step in (*told, *steps):
        return _field(rest), path, step
    return _field(place), None, workflow


def _field(place: Iterable[str | int]) -> str:
    return ".".join(map(str, place))


def _is_folder(value: Text | None, siblings: dict[str, Step]) -> bool:
    if isinstance(value, ParamRef):
        return True
    if not isinstance(value, StepRef) or value.step not in siblings:
        return False
    producer = siblings[value.step]
    if producer.foreach is None:
        return False
    one_step = not isinstance(producer.action, Group) or is_item_wrapper(producer)
    return one_step and any(is_file(output.type) for output in producer.outputs)


def check_size(manifest: Manifest, profile: str) -> Iterator[Diagnostic]:
    """Yield what is too much for an installation."""
    if manifest.depth > MAX_DEPTH:
        yield Diagnostic(
            "CLR514",
            f"argo: the workflow nests {manifest.depth} templates deep; Argo follows {MAX_DEPTH}. "
            "Nest fewer groups and loops, or lower max_iterations.",
        )
    full = profile == "argo"
    *parts, main = zip((*manifest.definitions, manifest.tree), manifest.texts, strict=True)
    for tree, text in (main, *parts):
        spec = manifest.spec if tree is manifest.tree else tree["spec"]
        if full:
            yield from _check_counts(spec["templates"])
        yield from _check_bytes(len(text.encode()), spec, full=full)
    yield from check_entries(manifest.specs)


def _check_bytes(size: int, spec: Tree, *, full: bool) -> Iterator[Diagnostic]:
    status = status_bytes(spec)
    if size + status > MAX_BYTES:
        advice = (
            "Use a foreach for steps that differ in their arguments only, or run the workflow in "
            "parts."
        )
        widest = NodeCounts(spec["templates"]).widest()
        if widest is not None and STATUS_BYTES * widest[2] > MAX_BYTES // 2:
            name, items, nodes = widest
            advice = (
                f'The {items:,} items of "{name}" make {nodes:,} nodes of it: let each do more, or '
                "run the workflow for some of them at a time."
            )
        yield Diagnostic(
            "CLR513",
            f"argo: the manifest takes {size:,} bytes as JSON, and its status will take about "
            f"{status:,}; Argo stores {MAX_BYTES:,}. {advice}",
            severity="error" if full else "warning",
        )


def _check_counts(templates: list[Tree]) -> Iterator[Diagnostic]:
    if len(templates) > MAX_TEMPLATES:
        yield Diagnostic(
            "CLR510",
            f"argo: the workflow needs {len(templates):,} templates; a default installation of "
            f"Argo 4 takes {MAX_TEMPLATES}. {_ADVICE}",
        )
    for template in templates:
        tasks: list[t.Any] = template.get("dag", {}).get("tasks", [])
        if len(tasks) > MAX_TASKS:
            yield Diagnostic(
                "CLR511",
                f'argo: the template "{template["name"]}" has {len(tasks):,} tasks; a default '
                f"installation of Argo 4 takes {MAX_TASKS} in one template. {_ADVICE}",
            )
        parameters = template.get("inputs", {}).get("parameters", [])
        if len(parameters) > MAX_PARAMETERS:
            yield Diagnostic(
                "CLR512",
                f'argo: the template "{template["name"]}" has {len(parameters):,} parameters; a '
                f"default installation of Argo 4 takes {MAX_PARAMETERS}. Pass a list or a file.",
            )


_ADVICE = (
    "Use groups or a foreach, or, if the installation has minimal resource definitions, "
    "the profile argo-minimal-crd."
)


_OTHER_TASKS = re.compile(r"\{\{=?[^}]*\btasks\b")


def _check_groups(scope: Scope) -> Iterator[Diagnostic]:
    """Yield the daemons that end with their group before others need them."""
    groups = {
        step.name: step.part.group
        for step in scope.steps
        if step.daemon and step.part is not None and step.part.group is not None
    }
    if not groups:
        return
    for step in scope.steps:
        own = None if step.part is None else step.part.group
        for name in predecessors(step):
            group = groups.get(name)
            if group is not None and group != own:
                del groups[name]
                [daemon] = [one for one in scope.steps if one.name == name]
                path = scope.path_of(daemon)
                yield Diagnostic(
                    "CLR324",
                    f'argo: step "{path}" is a daemon, and ends with the group "{group}" of '
                    f'its part, before "{step.name}" needs it. Put both into one group.',
                    step=path,
                    source=daemon.source,
                )


def _check_parts(scope: Scope) -> Iterator[Diagnostic]:
    """Yield the steps of a divided scope whose overrides name tasks."""
    overridden = [step for step in scope.steps if step.engine]
    if not overridden or all(step.part is None for step in scope.steps):
        return
    for step in overridden:
        task = overrides_of(step, "task")
        named = [key for key in ("depends", "dependencies") if key in task]
        if named or _OTHER_TASKS.search(dump_json(task)):
            path = scope.path_of(step)
            yield Diagnostic(
                "CLR324",
                f'argo: the scope of step "{path}" is in parts, and what is merged into the '
                "step's task names other tasks, which may be in another template. State it by "
                "the step's own fields, or plan without the pass that makes parts.",
                step=path,
                source=step.source,
            )
