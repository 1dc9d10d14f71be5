"""Steps as operators: what runs in a pod, and what it is given."""

from __future__ import annotations

import shlex
import typing as t
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from couler.backends.airflow.caching import Caches
from couler.backends.airflow.files import (
    VOLUME,
    Files,
    Writer,
    has_files,
    input_path,
    location_json,
    secret_variables,
)
from couler.backends.airflow.http import request
from couler.backends.airflow.jobs import belongs_to_run, job, kind_of
from couler.backends.airflow.lower import is_direct
from couler.backends.airflow.module import Module
from couler.backends.airflow.operators import Operator
from couler.backends.airflow.options import Options
from couler.backends.airflow.overrides import own_arguments
from couler.backends.airflow.places import item_count, readable
from couler.backends.airflow.pods import Pods, sees_work_folder
from couler.backends.airflow.policies import policy_fields
from couler.backends.airflow.python import (
    Call,
    Code,
    Expression,
    Unpacked,
    call,
    quoted,
    value_of,
)
from couler.backends.airflow.reading import MAY_FAIL, Read, Scope
from couler.backends.airflow.suspend import pause
from couler.backends.airflow.texts import untouched, untouched_lines
from couler.ir.artifacts import ListFiles, is_in_repository
from couler.ir.code_files import CODE_DIR, UNPACKED_DIR, mounts_code, own_inputs, uses_code
from couler.ir.glue import is_run
from couler.ir.imports import docstring
from couler.ir.ranges import known_items
from couler.ir.values import (
    TEXTS,
    ItemRef,
    Literal,
    Template,
    Text,
    Value,
    ValueType,
    is_file,
    walk,
)
from couler.ir.walk import all_steps, step_values
from couler.ir.workflow import (
    WORK_DIR,
    Action,
    Container,
    Http,
    Job,
    Output,
    Script,
    Step,
    Suspend,
    Workflow,
)
from couler.packages import install_command

_POD = "airflow.providers.cncf.kubernetes.operators.pod"
_TEMPLATE = "airflow.sdk.definitions.template"


GUARDED = "none_failed_min_one_success"
"""The trigger rule of tasks that wait for a gate: they are skipped if all before them were."""


@dataclass(frozen=True)
class Gate:
    """The task that all steps of a scope wait for."""

    variable: str | None
    place: str = ""
    can_skip: bool = False
    is_looked_at: bool = False

    @property
    def before(self) -> list[str]:
        """Its variable, if there is one."""
        return [] if self.variable is None else [self.variable]

    @property
    def rule(self) -> str | None:
        """The trigger rule of what waits for it; None for that of the whole DAG."""
        return GUARDED if self.can_skip and not self.is_looked_at else None

    @property
    def places(self) -> tuple[str, ...]:
        """Its id, if it can skip."""
        return (self.place,) if self.can_skip else ()

    @property
    def looked_at(self) -> tuple[str, ...]:
        """Its id, if what waits for it is to look at it."""
        return self.places if self.is_looked_at else ()


NO_GATE = Gate(None)


@dataclass(frozen=True)
class Place:
    """Where a task stands: its scope, and what else it waits for."""

    scope: Scope
    waits: bool = False
    """Whether there is a task before it."""
    conditions: tuple[str, ...] = ()
    """Tasks that it is skipped with, which are not the only ones before it."""
    is_decided: bool = False
    """Whether another task has evaluated the step's own condition."""
    is_mapped: bool = False
    """Whether it has an instance for each item of its step."""
    start: Expression | None = None
    """What skips the task before it starts, if it is not that condition."""
    may_start: str = ""
    """The expression for whether that lets it start."""

    rule: str | None = None
    """Its trigger rule; None for that of the whole DAG."""


class Tasks:
    """Writes the operators of a DAG file."""

    def __init__(self, module: Module, pods: Pods, options: Options, workflow: Workflow) -> None:
        self._module = module
        self._pods = pods
        self._version = options.version
        self._options = options
        has_cache = any(step.cache is not None for step in all_steps(workflow))
        self._files = Files(options, module, self, by_try=has_cache)
        self._caches = Caches(workflow, options, module, self)
        self.created: dict[str, Mapping[str, object]] = {}
        """For each task that creates resources for the run, what tells their kind."""
        runs = workflow.runs
        self._weight = 0 if runs is None else runs.priority or 0
        self._whens: dict[str, str] = {}
        self.common = self._common_fields(workflow)
        """Arguments that most pods have in common: the image, and the command of functions."""
        self._runs_if = ""

    def _common_fields(self, workflow: Workflow) -> dict[str, object]:
        actions = [step.action for step in all_steps(workflow)]
        pods = [one for one in actions if isinstance(one, Container | Script)]
        has_own = [isinstance(one, Container) and not one.command for one in pods]
        if any(has_own) or any(isinstance(one, Job) for one in actions):
            return {}
        commands = [
            _command(step.action, "sh")
            for step in all_steps(workflow)
            if isinstance(step.action, Script) and is_direct(step)
        ]
        found: dict[str, object] = {}
        images = [one.image for one in pods]
        for image, count in Counter(images).most_common(1):
            if count > 1:
                found["image"] = self._quoted(image)
        for command, count in Counter(commands).most_common(1):
            if count > 1:
                words = t.cast("tuple[str, ...]", command)  # of a script
                found["cmds"] = [self._lines(word, "run") for word in words]
        if all(is_direct(step) and step.outputs for step in all_steps(workflow)):
            found["do_xcom_push"] = True
        return found

    def operator(self, step: Step, task_id: str | Code, place: Place) -> Call:
        """Return the operator of a step that runs something, mapped if its place says so."""
        with self.runs_if(step, place):
            made = self._operator(step, place.scope)
        if isinstance(step.action, Job) and belongs_to_run(step.action):
            assert isinstance(task_id, str), "jobs in iterations are refused by checks"
            self.created[place.scope.prefix + task_id] = kind_of(step.action)
        policies = {**self.policies(step, place), **self._pods.bounds(step)}
        policies["task_display_name"] = step.display_name
        own, action = own_arguments(step), step.action
        if isinstance(action, Script) and action.function:
            policies["doc_md"] = docstring(action.source, action.function)
        if not place.is_mapped or step.foreach is None:
            return made.made(task_id, policies, is_mapped=False, overrides=own)
        policies["max_active_tis_per_dagrun"] = step.foreach.max_parallel
        return made.made(task_id, policies, is_mapped=True, overrides=own)

    def variables_of_items(self, step: Step, scope: Scope) -> list[dict[str, Expression]]:
        """Return the variables of each item of a function over lists, if these tell all of it."""
        foreach = step.foreach
        if foreach is None or not is_direct(step):
            return []
        if not all(isinstance(one, Literal) for one in foreach.over.values()):
            return []
        for field, value in step_values(step):
            is_item = any(isinstance(one, ItemRef) for one in walk(value))
            if is_item and not field.startswith(("inputs.", "env")):
                return []
        return [
            self._environment(step, self.scope_of_item(step, scope, index))
            for index in range(item_count(foreach))
        ]

    def scope_of_item(self, step: Step, scope: Scope, index: int) -> Scope:
        """Return a scope in which the items of a step are those of one index."""
        assert step.foreach is not None
        lists = {name: known_items(one) or () for name, one in step.foreach.over.items()}
        items = {name: scope.read(Literal(value=of[index])) for name, of in lists.items()}
        return replace(scope, items=items)

    def expansion(self, action: Action, over: Code) -> Call:
        """Return what makes a task for each label, in a field that the operator has for it."""
        if isinstance(action, Container | Script | ListFiles):
            return call("expand", labels=over)
        if isinstance(action, Suspend) and action.seconds is None:
            return call("expand", body=Code(self._module.use(f"label_texts({over.text})")))
        return call("expand", templates_dict=over)

    def _operator(self, step: Step, scope: Scope) -> Operator:
        match step.action:
            case Container() | Script():
                return self._process(step, step.action, scope)
            case Suspend():
                return pause(step, step.action, self._module, self)
            case Job():
                return job(step, step.action, scope, self._module, self)
            case Http():
                return request(step, step.action, scope, self._module, self)
            case ListFiles():
                made = listing(step, step.action, scope, self._options, self._module, self)
                given = self._pods.arguments(step, lambda text: self.text(text, scope))
                return replace(made, fields={**made.fields, **given})
        raise AssertionError(f"{step.action.kind} is refused by the capabilities")

    def _process(self, step: Step, action: Container | Script, scope: Scope) -> Operator:
        """Return the operator of a container or a script."""
        outputs = [self._text(_word(output)) for output in step.outputs if not is_file(output.type)]
        fields: dict[str, object] = {"image": self._quoted(action.image)}
        env = self._environment(step, scope)
        shell = "sh" if is_direct(step) else "/couler/busybox sh"
        command = [self._word(word, step, scope) for word in _command(action, shell)]
        words = action.args if isinstance(action, Container) else ()
        arguments = [self._word(word, step, scope) for word in words]
        given = self._pods.arguments(step, lambda text: self._word(text, step, scope))
        if isinstance(action, Script) and is_direct(step):
            arguments = [self._script(step, action)]
            fields["do_xcom_push"] = bool(step.outputs) or None
        elif isinstance(action, Script):
            env["COULER_SCRIPT"] = self._script(step, action)
        unpacked: tuple[Unpacked, ...] = ()
        if is_wrapped(step):
            words_ = self._installing(action, command) or [*command, *arguments]
            beside = [one.name for one in step.sidecars] or None
            if has_files(step):
                wrapped = self._files.process(step, scope, words_, outputs, beside)
            else:
                process = self._module.use("process")
                wrapped = call(process, words_, outputs=outputs or None, beside=beside)
            if step.cache is not None:
                wrapped = self._caches.cached(step, step.cache, scope, wrapped)
            unpacked = (Unpacked(self._files.with_helper(step, wrapped)),)
            path = None if step.container is None else step.container.termination_message_path
            if path is not None:
                env["COULER_MESSAGE"] = self._text(path)
        else:
            fields["cmds"] = command or None
            fields["arguments"] = arguments or None
            if has_files(step):
                unpacked = (Unpacked(self._files.volume()),)
        fields["env_vars"] = env or None
        for name, shared in self.common.items():
            if name in fields and value_of(fields[name]) == value_of(shared):
                del fields[name]
        fields.update(self._pods.shared(given, step))
        operator = self._module.take(_POD, "KubernetesPodOperator")
        return Operator(operator, fields, unpacked)

    def _installing(self, action: Container | Script, command: list[Expression]) -> Call | None:
        """Return the command of a script that installs packages; None if it needs protection."""
        if isinstance(action, Container) or not action.to_install:
            return None
        packages = shlex.join(action.to_install)
        if self._text(packages) != value_of(packages):
            return None
        own = command[-len(action.command) :]
        return call(self._module.use("with_packages"), action.to_install, own)

    def policies(self, step: Step, place: Place) -> dict[str, object]:
        """Return what says when a task starts, and how often."""
        fields: dict[str, object] = {}
        if place.rule is not None:
            fields["trigger_rule"] = place.rule
        start = place.start or self.start(step, place)
        if start is not None:
            fields["pre_execute"] = start
        fields.update(policy_fields(step, self._module, self._version))
        if step.placement is not None and step.placement.priority is not None:
            fields["priority_weight"] = self._weight + step.placement.priority
        return fields

    def start(self, step: Step, place: Place) -> Call | None:
        """Return what skips a task before it starts, if something does."""
        return self.skip(self._when(step, place), place.conditions)

    def _when(self, step: Step, place: Place) -> str | None:
        """Return the name of the condition that a task of a step looks at itself."""
        if step.when is None or place.is_decided:
            return None
        wanted = readable(f"when_{place.scope.prefix}{step.name}")
        task = place.scope.task(step.name)
        if task not in self._whens:
            code = place.scope.condition(step.when)
            self._whens[task] = self._module.condition(wanted, code)
        return self._whens[task]

    @contextmanager
    def runs_if(self, step: Step, place: Place) -> Iterator[None]:
        """Write texts of a task that Airflow renders before it is known whether the task runs."""
        gates = ", ".join(map(quoted, place.conditions))
        condition = self._when(step, place)
        whole = [f"are_open(ti, {gates})"] if gates else []
        whole += [f"{condition}(ti, params)"] if condition else []
        whole += [place.may_start] if place.may_start else []
        before, self._runs_if = self._runs_if, " and ".join(whole)
        try:
            yield
        finally:
            self._runs_if = before

    def skip(self, condition: str | None, gates: Sequence[str]) -> Call | None:
        """Return what skips a task if a condition is false, or where a gate was skipped."""
        if gates:
            given = None if condition is None else Code(condition)
            return call(self._module.use("run_within"), *gates, condition=given)
        return None if condition is None else self._module.skip_unless(condition)

    def text(self, text: Text, scope: Scope) -> Expression:
        """Return a text for a pod, past Jinja and the kubelet."""
        return self._text(text) if isinstance(text, str) else self.value(scope.read(text).to("str"))

    def _word(self, text: Text, step: Step, scope: Scope) -> Expression:
        """Return a text for a pod; one of several lines stands before the DAG."""
        if not isinstance(text, str):
            return self.text(text, scope)
        return self._lines(text, "run" if is_run(text) else step.name)

    def _lines(self, text: str, wanted: str) -> Expression:
        is_code = is_run(text)
        return untouched_lines(_for_kubelet(text), wanted, self._module, may_lose_end=is_code)

    def text_for_worker(self, text: Text, scope: Scope) -> Expression:
        """Return a text for a function that Airflow calls, past Jinja."""
        return self.as_it_is(text) if isinstance(text, str) else self.read(text, "str", scope)

    def read(self, value: Value, want: ValueType, scope: Scope) -> Expression:
        """Return the text of a value for a function that Airflow calls."""
        read = scope.read(value).to(want)
        if read.constant is not None:
            return self.as_it_is(read.constant)
        return self.template(read.alone or read.code)

    def value(self, read: Read) -> Expression:
        """Return the text of a value for a pod."""
        if read.constant is not None:
            return self._text(read.constant)
        dollars = ' | replace("$", "$$")' if read.may_have_dollars else ""
        return self.template(read.alone or read.code, dollars)

    def as_it_is(self, text: str) -> Expression:
        """Return a text that Jinja leaves as it is."""
        return self._quoted(text)

    def template(self, code: str, filters: str = "") -> Expression:
        """Return a text that Jinja makes, of which the kubelet takes nothing for its own."""
        if self._runs_if and MAY_FAIL.search(code):
            code = f'({code} if {self._runs_if} else "")'
        return value_of("{{ " + self._module.use_in_templates(code) + filters + " }}")

    def _text(self, text: str) -> Expression:
        return self._quoted(_for_kubelet(text))

    def _quoted(self, text: str) -> Expression:
        return untouched(text, self._module)

    def _environment(self, step: Step, scope: Scope) -> dict[str, Expression]:
        env: dict[str, Expression] = {}
        if (uses_work_dir(step) or sees_work_folder(step)) and not is_direct(step):
            env["COULER_WORK"] = value_of(WORK_DIR)
        if step.working_dir is not None:
            env["COULER_DIR"] = self._text(work_path(step.working_dir))
        for given in own_inputs(step):
            if is_file(given.type):
                env[f"COULER_INPUT_{given.name}"] = self._text(input_path(given))
                continue
            assert given.value is not None, "only files lie elsewhere"
            read = scope.input(given.value, given.type)
            env[f"COULER_INPUT_{given.name}"] = self.value(read)
        if is_direct(step):
            env.update(self._files.variables(step, scope))
        code = CODE_DIR if mounts_code(step) else UNPACKED_DIR if uses_code(step) else ""
        if code:
            env["PYTHONPATH"] = value_of(code)
        for variable in step.env:
            value = variable.value
            if variable.name == "PYTHONPATH" and code and isinstance(value, str):
                value = f"{code}:{value}"
            if value is not None:
                env[variable.name] = self._word(value, step, scope)
        return {**env, **self._pods.connection_variables(step)}

    def _script(self, step: Step, action: Script) -> Expression:
        wanted, is_code = action.function or step.name, action.function is not None
        source = _for_kubelet(action.source)
        return untouched_lines(source, wanted, self._module, may_lose_end=is_code)


def work_path(path: str) -> str:
    """Return a declared path as an absolute one."""
    return path if path.startswith("/") else f"{WORK_DIR}/{path}"


def uses_work_dir(step: Step) -> bool:
    """Return whether a process can tell that it has a folder of its own."""
    paths = [step.working_dir, *(output.path for output in step.outputs)]
    if step.inputs or any(path and work_path(path).startswith(WORK_DIR) for path in paths):
        return True
    texts = [text for _, text in TEXTS.visit(step, fields=("env", "action"))]
    if isinstance(step.action, Script):
        texts.append(step.action.source)
    return any("COULER_WORK" in part for text in texts for part in _literal_parts(text))


def is_wrapped(step: Step) -> bool:
    """Return whether a wrapper runs the process of a step, which must know its command."""
    needs_folder = uses_work_dir(step) or sees_work_folder(step) or step.working_dir is not None
    if is_direct(step):
        return False
    is_read = step.outputs or step.sidecars or isinstance(step.action, Script)
    return bool(is_read) or step.cache is not None or needs_folder or has_files(step)


def _literal_parts(text: object) -> Iterator[str]:
    """Yield what of a text stands in the workflow."""
    match text:
        case str():
            yield text
        case Literal(value=str() as value):
            yield value
        case Template():
            for part in text.parts:
                yield from _literal_parts(part)


def _command(action: Container | Script, shell: str) -> tuple[Text, ...]:
    """Return the command, which for a script installs its packages first."""
    if isinstance(action, Container) or not action.to_install:
        return action.command
    run = f'{install_command(action.to_install)} >&2 && exec "$@"'
    return (*shell.split(), "-c", run, "sh", *action.command)


def _word(output: Output) -> str:
    mark = "" if output.default is None else "?"
    return f"{output.name}{mark}={'-' if output.path is None else output.path}"


def _for_kubelet(text: str) -> str:
    """Double the dollars that the kubelet would take for the start of something."""
    return text.replace("$", "$$") if "$$" in text or "$(" in text else text


def listing(
    step: Step, action: ListFiles, scope: Scope, options: Options, module: Module, writer: Writer
) -> Operator:
    """Return the operator that lists the files below a location."""
    words: list[str | Expression] = [",".join(output.name for output in step.outputs)]
    words.append(writer.text(action.pattern or "", scope))
    for field, text in TEXTS.visit(action.at):
        words += [field, writer.text(text, scope)]
    in_volume = is_in_repository(action.at)
    root = options.files_path.strip("/")
    made = call(
        module.use("files_below"),
        location_json(action.at),
        words,
        secrets=secret_variables([action.at]) or None,
        claim=Code(module.refer("FILES_CLAIM")) if in_volume else None,
        folder=(f"{VOLUME}/{root}" if root else VOLUME) if in_volume else None,
    )
    operator = module.take(_POD, "KubernetesPodOperator")
    return Operator(operator, {"image": Code(module.refer("IO_IMAGE"))}, (Unpacked(made),))
