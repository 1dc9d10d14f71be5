"""Rules for names and sizes: legal on every engine, and told apart by every engine."""

from __future__ import annotations

import re
import typing as t
from collections.abc import Callable, Iterable, Sequence

from couler.ir.storage import EnvVar
from couler.ir.values import MAX_VALUE_BYTES, MAX_WORD_BYTES, Literal, Text, encode
from couler.ir.verify.scope import ScopeView
from couler.ir.walk import pod_containers
from couler.ir.workflow import MAIN, Container, ContainerSet, Input, Step

RESERVED_PREFIX = "couler-"
"""Names that begin so are made by passes."""

RESERVED_VALUE_PREFIX = "couler_"
"""Names of inputs, outputs and items that begin so are made by engines."""

MAX_STEP_NAME = 128
MAX_VALUE_NAME = 128
MAX_WORKFLOW_NAME = 63
MAX_SCHEDULED_NAME = 52
"""Argo appends the time to the names of scheduled runs."""

_STEP_NAME = re.compile(r"[a-zA-Z][-_a-zA-Z0-9]{0,127}")
_VALUE_NAME = re.compile(r"[a-zA-Z_][-_a-zA-Z0-9]{0,127}")
_DNS_LABEL = re.compile(r"[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?")

Add: t.TypeAlias = Callable[[str, str], None]
"""Reports a problem: code and message."""


def check_step_names(view: ScopeView) -> None:
    """Check the names of the steps of a scope."""
    legal = _STEP_NAME.fullmatch
    for step in view.all_steps:
        name = step.name
        if legal(name) is None:
            view.add("CLR150", step, _illegal("step", name, _advice_for_step(name)))
        if name.startswith(RESERVED_PREFIX) and step.origin == "user":
            view.add(
                "CLR153",
                step,
                f'names that begin with "{RESERVED_PREFIX}" are kept for steps that passes make. '
                "Choose another.",
            )
    if len(view.steps) != len(view.all_steps):
        _report_repeated_steps(view)
    _check_alike(view)


def _report_repeated_steps(view: ScopeView) -> None:
    seen: set[str] = set()
    for position, step in enumerate(view.all_steps):
        if step.name in seen:
            first = view.steps[step.name].source
            place = f" ({first})" if first is not None else ""
            view.add(
                "CLR151",
                step,
                f"another step {view.where} has this name{place}. Give one of them another.",
                position=position,
            )
        seen.add(step.name)


def _check_alike(view: ScopeView) -> None:
    """Refuse `a-b` beside `a_b`: engines without `_` in names write both as `a-b`."""
    if not any("_" in name for name in view.steps):
        return
    folded: dict[str, str] = {}
    for name, step in view.steps.items():
        first = folded.setdefault(name.replace("_", "-"), name)
        if first != name:
            view.add(
                "CLR152",
                step,
                f'some engines cannot tell its name from "{first}". Give one of them another.',
            )


def check_workflow_name(name: str, *, scheduled: bool, add: Add) -> None:
    """Check the name of a workflow."""
    longest = MAX_SCHEDULED_NAME if scheduled else MAX_WORKFLOW_NAME
    if _DNS_LABEL.fullmatch(name) is None or len(name) > longest:
        fixed = (
            re.sub(r"[^a-z0-9]+", "-", _unaccented(name).lower()).strip("-")[:longest].rstrip("-")
        )
        hint = f' Did you mean "{fixed}"?' if fixed and fixed != name else ""
        reason = f"at most {longest} characters"
        if scheduled:
            reason += " (it has a schedule)"
        add(
            "CLR150",
            f'"{name}" is no name of a workflow: lower-case letters, digits and "-" between '
            f"them, {reason}.{hint}",
        )


def check_value_names(names: Iterable[str], what: str, add: Add) -> None:
    """Check the names of parameters, inputs, outputs or items, which share one rule."""
    seen: dict[str, str] = {}
    for name in names:
        if _VALUE_NAME.fullmatch(name) is None:
            fixed = re.sub(r"[^-_a-zA-Z0-9]+", "_", _unaccented(name)).strip("_")[:MAX_VALUE_NAME]
            add("CLR150", _illegal(what, name, fixed, first='a letter or "_"'))
        elif name.startswith(RESERVED_VALUE_PREFIX):
            add(
                "CLR153",
                f'the {what} "{name}" begins with "{RESERVED_VALUE_PREFIX}", which is kept for '
                "what engines add. Choose another name.",
            )
        key = name.replace("-", "_")
        first = seen.get(key)
        if first is None:
            seen[key] = name
        elif first == name:
            add("CLR151", f'the {what} "{name}" is declared twice. Remove one.')
        else:
            add(
                "CLR152",
                f'some engines cannot tell the {what} "{name}" from "{first}". Rename one.',
            )


def check_label_name(name: str, what: str, add: Add) -> None:
    """Check a name that Kubernetes takes as a DNS label, such as a volume's."""
    if _DNS_LABEL.fullmatch(name) is None:
        fixed = re.sub(r"[^a-z0-9]+", "-", _unaccented(name).lower()).strip("-")[:63]
        hint = f' Did you mean "{fixed}"?' if fixed and fixed != name else ""
        add(
            "CLR150",
            f'"{name}" is no name of a {what}: lower-case letters, digits and "-" between them, '
            f"at most 63 characters.{hint}",
        )


def check_handler_name(name: str, add: Add) -> None:
    """Check the name of an exit handler."""
    if _STEP_NAME.fullmatch(name) is None:
        add("CLR150", _illegal("exit handler", name, _advice_for_step(name)))


def _advice_for_step(name: str) -> str:
    words = re.sub(r"[^-_a-zA-Z0-9]+", "-", _unaccented(name))
    return re.sub(r"^[^a-zA-Z]+", "", words).rstrip("-")[:MAX_STEP_NAME]


def _unaccented(name: str) -> str:
    """Return a name without the marks of its letters, for a suggestion that can be read."""
    import unicodedata

    letters = unicodedata.normalize("NFKD", name.replace("ß", "ss"))
    return "".join(letter for letter in letters if not unicodedata.combining(letter))


def _illegal(what: str, name: str, fixed: str, first: str = "a letter") -> str:
    hint = f' Did you mean "{fixed}"?' if fixed and fixed != name else ""
    shown = name if len(name) <= 60 else name[:57] + "..."
    article = "an" if what[0] in "aeio" else "a"
    return (
        f'"{shown}" is no name of {article} {what}: {first}, then letters, digits, "-" and "_", '
        f"at most 128 characters.{hint}"
    )


MAX_WORDS_BYTES = 2 * 1024 * 1024
"""Most that Linux gives to a process of arguments and variables together, as it is set up."""

SURELY_SHORT = MAX_VALUE_BYTES // 4
"""A text of so few characters is within all limits: none takes more than four bytes."""

LARGE_SCRIPT_BYTES = 64 * 1024
"""A script above it makes the compiled workflow large, in bytes of UTF-8."""

MAX_DEPTH = 32
"""Most groups around a step; files with much deeper ones could not be read back."""

MAX_ROUNDS = 10_000
"""Most rounds of a loop."""


def check_literal(view: ScopeView, step: Step | None, field: str, value: object) -> None:
    """Refuse a literal that is too large to travel."""
    if isinstance(value, str):
        if len(value) <= SURELY_SHORT:
            return
    elif not isinstance(value, tuple | dict):
        return
    size = len(encode(value).encode())
    if size > MAX_VALUE_BYTES:
        view.add(
            "CLR501",
            step,
            f"{field} is {size:,} bytes; at most {MAX_VALUE_BYTES:,} travel between steps. "
            "Give it as a file.",
        )


def check_word(view: ScopeView, step: Step, field: str, text: str, *, name: str = "") -> None:
    """Refuse plain text that no process can be given; `name` is that of its variable."""
    size = len(text.encode()) + (len(name) + 1 if name else 0)
    if size > MAX_WORD_BYTES:
        view.add(
            "CLR502",
            step,
            f"{field} holds a text of {size:,} bytes; a process takes at most "
            f"{MAX_WORD_BYTES:,} in one argument or variable. Give it as a file.",
        )


def check_words(view: ScopeView, step: Step) -> None:
    """Refuse plain texts that no process of a step can be given together."""
    action = step.action
    words = (*action.command, *action.args) if isinstance(action, Container) else ()
    if len(words) + len(step.env) + len(step.inputs) >= _FEW:
        _check_together(view, step, words, step.env, step.inputs, "its arguments and variables")
    if step.gives(_WITH_CONTAINERS) or isinstance(action, ContainerSet):
        for one in pod_containers(step):
            what = f'the arguments and variables of its container "{one.name}"'
            inputs = step.inputs if one.name == MAIN else ()
            _check_together(view, step, (*one.command, *one.args), one.env, inputs, what)


_FEW = MAX_WORDS_BYTES // MAX_WORD_BYTES
"""Fewer texts are within the limit together, as those that are longer are refused alone."""

_WITH_CONTAINERS = frozenset(("init_containers", "sidecars"))


def _check_together(
    view: ScopeView,
    step: Step,
    words: Sequence[Text],
    env: Sequence[EnvVar],
    inputs: Sequence[Input],
    what: str,
) -> None:
    named: list[tuple[str, Text | None]] = [(one.name, one.value) for one in env]
    named += [(f"COULER_INPUT_{one.name}", one.value) for one in inputs]
    size = sum(_size(text) + 1 for text in (*words, *(text for _, text in named)))
    size += sum(len(name) + 1 for name, _ in named)
    if size > MAX_WORDS_BYTES:
        view.add(
            "CLR502",
            step,
            f"{what} are {size:,} bytes together; a process takes at most {MAX_WORDS_BYTES:,}. "
            "Give the large ones as files.",
        )


def _size(text: Text | None) -> int:
    """How many bytes a text takes that is known before the run."""
    if isinstance(text, Literal):
        text = encode(text.value)
    return len(text.encode()) if isinstance(text, str) else 0


def check_script(view: ScopeView, step: Step, source: str) -> None:
    """Warn of a script that is better kept in an image."""
    size = len(source.encode())
    if size > LARGE_SCRIPT_BYTES:
        view.add(
            "CLR503",
            step,
            f"its script is {size:,} bytes and is carried in the compiled workflow. "
            "Put the code into an image.",
            "warning",
        )
