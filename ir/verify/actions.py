"""Rules for what a step runs, and for settings that its kind can use."""

from __future__ import annotations

import base64
import re
import typing as t
from posixpath import normpath

from couler.ir.artifacts import LISTED, ListFiles, pattern_expression
from couler.ir.diagnostics import did_you_mean
from couler.ir.semantics import Kind
from couler.ir.semantics.wire import matches
from couler.ir.values import OwnRef, Path, children, is_file, is_hole, place_text, walk
from couler.ir.verify.flow import check_typed
from couler.ir.verify.names import (
    check_script,
    command_problem,
    image_problem,
    repeated,
)
from couler.ir.verify.scope import ScopeView
from couler.ir.verify.values import Reader
from couler.ir.workflow import (
    STDOUT,
    Container,
    ContainerSet,
    Group,
    Http,
    Job,
    Plugin,
    Script,
    Step,
    Suspend,
    TemplateCall,
)


def check_listing(reader: Reader, step: Step, action: ListFiles) -> None:
    """Check a list of the files below a location."""
    from couler.ir.verify.locations import check_location
    from couler.ir.verify.places import add_use

    if not isinstance(action.at, LISTED):
        kinds = ", ".join(kind.model_fields["kind"].default for kind in LISTED)
        reader.add(
            "CLR468",
            f"files at a {action.at.kind} location cannot be listed. There are lists of: {kinds}.",
        )
    if action.pattern is not None:
        try:
            pattern_expression(action.pattern)
        except ValueError as error:
            reader.add("CLR468", f"{action.pattern!r} is no pattern: {error}.")
    check_location(action.at, "at", reader.add)
    add_use(reader.view, step, "at", action.at, is_folder=True, writes=False)
    if not step.outputs:
        reader.add("CLR468", f"it declares no output. Declare {STDOUT}, of the type list.")


_PROCESS_ONLY = (
    "env",
    "env_from",
    "mounts",
    "resources",
    "placement",
    "working_dir",
    "pull_policy",
    "container",
    "sidecars",
    "init_containers",
    "daemon",
    "logs",
)
_LOCKS = ("mutex", "locks")
_WITHOUT_EFFECT: dict[type, tuple[str, ...]] = {
    Container: ("max_parallel",),
    Script: ("max_parallel",),
    Job: (*_PROCESS_ONLY, "max_parallel"),
    Http: (*_PROCESS_ONLY, "pod", "max_parallel"),
    Suspend: (*_PROCESS_ONLY, "pod", *_LOCKS, "inputs", "max_parallel", "retry", "cache", "loop"),
    ListFiles: (*_PROCESS_ONLY, "inputs", "cache", "max_parallel"),
    ContainerSet: (
        "env",
        "env_from",
        "resources",
        "working_dir",
        "pull_policy",
        "container",
        "daemon",
        "max_parallel",
    ),
    TemplateCall: (
        *_PROCESS_ONLY,
        "pod",
        "metrics",
        *_LOCKS,
        "retry",
        "timeout_s",
        "cache",
        "labels",
        "annotations",
        "display_name",
        "max_parallel",
    ),
    Plugin: (*_PROCESS_ONLY, "pod", "timeout_s", "max_parallel"),
    Group: (
        *_PROCESS_ONLY,
        "pod",
        "metrics",
        *_LOCKS,
        "cache",
        "labels",
        "annotations",
        "display_name",
    ),
}
_WORDS: dict[type, str] = {
    Container: "container",
    Script: "script",
    Job: "job",
    Http: "HTTP request",
    Suspend: "suspend",
    ListFiles: "list of files",
    ContainerSet: "container set",
    TemplateCall: "call of a template",
    Plugin: "plugin",
    Group: "group",
}
_HEADER = re.compile(r"[-!#$%&'*+.^_`|~0-9A-Za-z]+")


def check_action(reader: Reader, step: Step) -> None:
    """Check a step's action, and that its settings have an effect on one of this kind."""
    view = reader.view
    action = step.action
    for field in _WITHOUT_EFFECT[action.__class__]:
        if getattr(step, field):
            _report_without_effect(view, step, field)
    match action:
        case Container():
            _check_container(reader, step, action)
        case Script():
            _check_script(view, step, action)
        case Job():
            _check_job(reader, step, action)
        case Http():
            _check_http(reader, step, action)
        case ListFiles():
            check_listing(reader, step, action)
        case ContainerSet():
            from couler.ir.verify.cluster import check_container_set

            check_container_set(view, step, action)
        case TemplateCall():
            from couler.ir.verify.cluster import check_template_call

            check_template_call(view, step, action)
        case Plugin():
            from couler.ir.verify.cluster import check_plugin

            check_plugin(view, step, action)
        case Suspend() | Group():  # a group's steps are a scope of their own
            pass
        case _:
            t.assert_never(action)


def _report_without_effect(view: ScopeView, step: Step, field: str) -> None:
    mend = "Remove it."
    if isinstance(step.action, Group):
        mend = "Give it to the steps inside."
    elif isinstance(step.action, ContainerSet):
        mend = "Give it to the containers."
    elif field == "max_parallel":
        mend = "It is for groups; give a foreach its own max_parallel."
    view.add("CLR410", step, f"{field} has no effect on a {_WORDS[type(step.action)]}. {mend}")


def _check_image(view: ScopeView, step: Step, image: str) -> None:
    problem = image_problem(image)
    if problem is not None:
        view.add("CLR408", step, problem)


def _check_container(reader: Reader, step: Step, action: Container) -> None:
    view = reader.view
    _check_image(view, step, action.image)
    problem = command_problem(action.command)
    if problem is not None:
        view.add("CLR409", step, problem)


def _check_script(view: ScopeView, step: Step, action: Script) -> None:
    _check_image(view, step, action.image)
    check_script(view, step, action.source)
    if not action.source.strip():
        view.add("CLR424", step, "its script is empty, so it does nothing.", "warning")
    if not action.command or not action.command[0].strip():
        view.add(
            "CLR409",
            step,
            'its command names no interpreter. Name one, such as "python".',
        )
    elif action.is_python:
        if step.cache is not None:
            _check_reads(view, step, action.source)
    else:
        interpreter = f'its interpreter is "{action.command[0]}"'
        if action.function:  # its packages, if it has any, are part of the same mistake
            view.add(
                "CLR418",
                step,
                f'it runs the Python function "{action.function}", but {interpreter}. Name a '
                'Python, such as "python3".',
            )
        elif action.packages:
            view.add(
                "CLR418",
                step,
                f"packages are for Python, but {interpreter}. Remove them, or install in the "
                "image.",
            )


def _check_reads(view: ScopeView, step: Step, source: str) -> None:
    """Warn of files and variables that a cached script reads and that its key does not hold."""
    from couler.ir.imports import reads_of

    files, variables = reads_of(source)
    own = [one.path or "" for one in step.inputs] + [one.path or "" for one in step.outputs]
    given = {one.name for one in (*step.env, *getattr(view.workflow.defaults, "env", ()))}
    told = [
        f'the file "{one}"'
        for one in files
        if not any(path.endswith(normpath(one)) for path in own)
    ]
    told += [f"the variable {one}" for one in variables - given if not step.env_from]
    if told:
        view.add(
            "CLR425",
            step,
            f"its cache does not count {', '.join(sorted(told))}: a change there finds the old "
            "entry. Give it files as inputs, and values as arguments or by env=.",
            "warning",
        )


def _check_job(reader: Reader, step: Step, action: Job) -> None:
    from couler.ir.verify.resources import condition_problem

    view = reader.view
    files = {given.name for given in step.inputs if is_file(given.type)}
    if action.manifest_from is not None and action.manifest_from not in files:
        view.add(
            "CLR419",
            step,
            f'its manifest is to be in the input "{action.manifest_from}", which is no file of its '
            f"inputs.{did_you_mean(action.manifest_from, files)}",
        )
    for given in step.inputs:
        if given.name != action.manifest_from:
            _report_without_effect(view, step, "inputs")
    if action.merge_strategy is not None and action.action != "patch":
        view.add("CLR419", step, "merge_strategy has a meaning only when a resource is patched.")
    if action.action == "delete":
        for field in ("success_condition", "failure_condition"):
            if getattr(action, field):
                view.add("CLR419", step, f"{field} has no meaning when a resource is deleted.")
    if action.action in ("get", "delete") and action.set_owner_reference:
        past = "deleted" if action.action == "delete" else "read"
        view.add("CLR419", step, f"set_owner_reference has no meaning when a resource is {past}.")
    for field in ("success_condition", "failure_condition"):
        condition = getattr(action, field)
        problem = condition_problem(condition) if condition else None
        if problem is not None:
            view.add("CLR419", step, f'{field} "{condition}": {problem}.')
    if action.manifest_from is not None:
        if action.manifest:
            view.add("CLR419", step, "it has a manifest and a file that holds it. Remove one.")
        return
    missing = [key for key in ("apiVersion", "kind") if not action.manifest.get(key)]
    if missing:
        view.add(
            "CLR419", step, f"its manifest has no {' and no '.join(missing)}. Add what is missing."
        )
    if action.values:
        _check_manifest_values(reader, action)


def _check_manifest_values(reader: Reader, action: Job) -> None:
    taken: set[Path] = set()
    for given in action.values:
        field = f"manifest.{place_text(given.path)}"
        if given.path in taken:
            reader.add("CLR438", f"{field} is given two values. Remove one.")
        elif not is_hole(action.manifest, given.path):
            reader.add("CLR438", f"{field} has no place: let the manifest hold null there.")
        taken.add(given.path)
        check_typed(reader, given.value, field, given.type)


def _check_http(reader: Reader, step: Step, action: Http) -> None:
    from couler.ir.verify.conditions import OF_RESPONSE, check_own_condition
    from couler.ir.verify.credentials import has_password, shape, without_password
    from couler.ir.verify.environment import check_one_source

    view = reader.view
    known = shape(action.url)
    if has_password(known):
        view.add(
            "CLR467",
            step,
            f'its URL "{without_password(known)}" has a password in it. Name an entry of a secret '
            "as the header Authorization.",
        )
    if isinstance(action.url, str) and not re.match(r"https?://[^\s/]", action.url):
        view.add(
            "CLR423",
            step,
            f'"{without_password(action.url)}" is no URL: it begins with http:// or https:// '
            "and a host.",
        )
    for header in action.headers:
        if not _HEADER.fullmatch(header.name):
            view.add("CLR423", step, f'"{header.name}" is no name of an HTTP header.')
        check_one_source(header, f"headers.{header.name}", reader.add)
    for header in repeated(action.headers, key=lambda one: one.name.lower()):
        view.add("CLR151", step, f'the header "{header.name}" is given twice. Remove one.')
    if action.body_base64 is not None:
        _check_base64(view, step, action)
    compared = children(action.success_condition) if action.success_condition else ()
    read = [one for value in compared for one in walk(value)]
    if any(OwnRef(fact="input", name=given.name) not in read for given in step.inputs):
        _report_without_effect(view, step, "inputs")
    if action.success_condition is not None:
        inputs = {f"input.{given.name}": Kind(given.type, given.many) for given in step.inputs}
        facts = {**OF_RESPONSE, **inputs}
        check_own_condition(reader, action.success_condition, "success_condition", facts)
        if action.success_codes:
            view.add("CLR423", step, "it has success codes and a condition. Put both into one.")
    for code in action.success_codes:
        if not 100 <= code <= 599:
            view.add("CLR423", step, f"{code} is no HTTP status: they run from 100 to 599.")


def _check_base64(view: ScopeView, step: Step, action: Http) -> None:
    if action.body is not None:
        view.add("CLR423", step, "it has a body of text and one of bytes. Remove one.")
    try:
        base64.b64decode(action.body_base64 or "", validate=True)
    except ValueError:
        view.add("CLR423", step, "body_base64 is no base64, as base64.b64encode writes it.")


def check_inputs(reader: Reader, step: Step) -> None:
    """Check the values that a step's inputs are given."""
    view, action = reader.view, step.action
    by_type = isinstance(action, Group) or (isinstance(action, Script) and bool(action.function))
    for given in step.inputs:
        field = f"inputs.{given.name}"
        if (given.value is None) == (given.at is None):
            has = "has neither" if given.value is None else "has both"
            reader.add("CLR460", f"{field} {has}. Give either a value or, for a file, a location.")
        if given.value is not None:
            check_typed(reader, given.value, field, given.type, many=given.many, by_type=by_type)
        if given.path is not None and not is_file(given.type):
            view.add(
                "CLR169",
                step,
                f"{field} has a path, but is no file. Declare its type as file or directory.",
            )


def check_outputs_of_process(view: ScopeView, step: Step) -> None:
    """Check the outputs that a step other than a group declares."""
    from couler.ir.verify.resources import json_path_problem

    action = step.action
    for output in step.outputs:
        field = f"outputs.{output.name}"
        problem: str | None = None
        if output.value is not None:
            problem = "has a value, which only the output of a group has. Remove it"
        elif isinstance(action, Suspend | TemplateCall | Plugin) and is_file(output.type):
            problem = f"is a {output.type}, which such a step cannot give. Let it give a value"
        elif isinstance(action, ListFiles) and (output.name, output.type) != (STDOUT, "list"):
            problem = f"is none of a list of files. Declare {STDOUT}, of the type list, alone"
        elif isinstance(action, Suspend) and action.seconds is not None and output.default is None:
            problem = "is never entered: the step goes on by itself. Give it a default"
        elif (output.json_path or output.jq) is not None and not isinstance(action, Job):
            problem = "has a json_path or jq, which are for jobs. Give it a path"
        elif output.json_path is not None and output.jq is not None:
            problem = "has a json_path and a filter of jq. Remove one"
        elif output.path is not None and not isinstance(action, Container | Script | ContainerSet):
            problem = "has a path, which is for containers and scripts. Remove it"
        elif isinstance(action, Job) and output.json_path is None and output.jq is None:
            problem = "has no json_path or jq. Name the field of the job's resource"
        elif output.json_path is not None and (wrong := json_path_problem(output.json_path)):
            problem = f"has a json_path that {wrong}"
        elif is_file(output.type) and output.path is None:
            problem = f"is a {output.type} without a path. Name the path that the process writes"
        elif step.daemon:
            problem = "is never there: a daemon does not end before its readers start. Remove it"
        if problem is not None:
            view.add("CLR169", step, f"{field} {problem}.")


def check_local_outputs(view: ScopeView, step: Step, process: Step) -> None:
    """Check that the local form of a job gives nothing that its step does not declare."""
    declared = {output.name: output.type for output in step.outputs}
    for output in process.outputs:
        field = f"outputs.{output.name} of its local form"
        if output.name not in declared:
            view.add(
                "CLR169",
                step,
                f"{field} is no output of the step.{did_you_mean(output.name, declared)} "
                "Declare it there, too, or remove it.",
            )
        elif output.type != declared[output.name]:
            view.add(
                "CLR169",
                step,
                f"{field} is declared {output.type}, but that of the step "
                f"{declared[output.name]}. Declare both alike.",
            )


def check_output_defaults(view: ScopeView, step: Step) -> None:
    """Check that the defaults of outputs are of their type."""
    for output in step.outputs:
        if output.default is not None and is_file(output.type):
            view.add(
                "CLR175",
                step,
                f"outputs.{output.name} is a {output.type}, which cannot have a default. "
                "Let the step always write it.",
            )
        elif output.default is not None and not matches(output.default, output.type):
            view.add(
                "CLR175",
                step,
                f"outputs.{output.name} is declared {output.type}, but its default is "
                f"{output.default!r}.",
            )
