"""Rules for names, labels, addresses and sizes: those of every engine and those of Kubernetes."""

from __future__ import annotations

import ipaddress
import re
import typing as t
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from couler.ir.diagnostics import did_you_mean
from couler.ir.pods import Dns, PodSettings
from couler.ir.policies import Placement, Toleration
from couler.ir.semantics.wire import MAX_VALUE_BYTES, encode
from couler.ir.storage import EnvVar
from couler.ir.values import MAX_WORD_BYTES, Literal, Text
from couler.ir.verify.scope import ScopeView
from couler.ir.walk import pod_containers
from couler.ir.workflow import MAIN, Container, Input, Step

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

T = t.TypeVar("T")


def repeated(items: Iterable[T], key: Callable[[T], object] = lambda one: one) -> Iterator[T]:
    """Yield each item whose key an earlier one has."""
    seen: set[object] = set()
    for one in items:
        if key(one) in seen:
            yield one
        seen.add(key(one))


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
    for position, step in repeated(enumerate(view.all_steps), key=lambda one: one[1].name):
        first = view.steps[step.name].source
        place = f" ({first})" if first is not None else ""
        view.add(
            "CLR151",
            step,
            f"another step {view.where} has this name{place}. Give one of them another.",
            position=position,
        )


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


def check_word(view: ScopeView, step: Step, field: str, text: str) -> None:
    """Refuse plain text that no process can be given."""
    name = field.rpartition("env.")[2] if "env." in field else ""
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
    for one in pod_containers(step):
        what = f'the arguments and variables of its container "{one.name}"'
        inputs = step.inputs if one.name == MAIN else ()
        _check_together(view, step, (*one.command, *one.args), one.env, inputs, what)


_FEW = MAX_WORDS_BYTES // MAX_WORD_BYTES
"""Fewer texts are within the limit together, as those that are longer are refused alone."""


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


_SUBDOMAIN = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*")
_LABEL = re.compile(r"[A-Za-z0-9](?:[-_.A-Za-z0-9]{0,61}[A-Za-z0-9])?")
_MAX_ANNOTATIONS = 256 * 1024


def image_problem(image: str) -> str | None:
    """Return what is wrong with the name of an image, or None."""
    if image.split() == [image]:
        return None
    problem = f'"{image}" has blanks in it' if image else "it is empty"
    return f'{problem}: name an image such as "python:3.12-slim".'


def command_problem(command: Sequence[object]) -> str | None:
    """Return what is wrong with a command, or None."""
    first = command[0] if command else None
    if not isinstance(first, str) or first.strip():
        return None
    return (
        "the first word of its command is empty. Name a program, or leave the command out to "
        "run the image's own entry point."
    )


def is_subdomain(name: str) -> bool:
    """Return whether a name is one that Kubernetes gives to objects."""
    return len(name) <= 253 and _SUBDOMAIN.fullmatch(name) is not None


def check_object_name(name: str | None, what: str, add: Add) -> None:
    """Check the name of an object in the cluster, if there is one."""
    if name is None or is_subdomain(name):
        return
    fixed = re.sub(r"[^a-z0-9.]+", "-", name.lower()).strip("-.")
    hint = f' Did you mean "{fixed}"?' if fixed and fixed != name and is_subdomain(fixed) else ""
    add(
        "CLR411",
        f'"{name}" is no name of a {what}: lower-case letters, digits, "-" and ".", '
        f"at most 253 characters.{hint}",
    )


def is_qualified(key: str) -> bool:
    """Return whether a text is a key of a label: a name, or `domain/name`."""
    prefix, slash, name = key.rpartition("/")
    return (not slash or is_subdomain(prefix)) and _LABEL.fullmatch(name) is not None


def check_labels(labels: Mapping[str, str], what: str, add: Add) -> None:
    """Check keys and values of labels or of a node selector."""
    for key, value in labels.items():
        _check_key(key, what, add)
        if value and _LABEL.fullmatch(value) is None:
            add(
                "CLR412",
                f'"{_short(value)}" is no value of {what} ({key}): at most 63 letters, digits, '
                '"-", "_" and ".", beginning and ending with a letter or digit.',
            )


def check_annotations(annotations: Mapping[str, str], add: Add) -> None:
    """Check keys and size of annotations."""
    for key in annotations:
        _check_key(key, "annotations", add)
    size = sum(len(key.encode()) + len(value.encode()) for key, value in annotations.items())
    if size > _MAX_ANNOTATIONS:
        add("CLR412", f"annotations are {size:,} bytes; at most {_MAX_ANNOTATIONS:,} are kept.")


def _check_key(key: str, what: str, add: Add) -> None:
    if not is_qualified(key):
        add(
            "CLR412",
            f'"{_short(key)}" is no key of {what}: at most 63 letters, digits, "-", "_" and ".", '
            'or a domain, "/" and such a name.',
        )


def check_placement(placement: Placement | PodSettings, add: Add) -> None:
    """Check where a step, or all steps of a workflow, may run."""
    from couler.ir.verify.objects import check_object

    check_labels(placement.node_selector, "node_selector", add)
    for toleration in placement.tolerations:
        check_toleration(toleration, add)
    check_object(placement.affinity, "Affinity", "affinity", add)
    check_object_name(placement.priority_class, "priority class", add)


def check_toleration(toleration: Toleration, add: Add) -> None:
    """Check that a toleration can match a taint."""
    problem: str | None = None
    if toleration.operator == "Exists" and toleration.value:
        problem = "with the operator Exists has a value. Remove the value, or use Equal"
    elif toleration.operator == "Equal" and not toleration.key:
        problem = "without a key matches every taint, which needs the operator Exists"
    elif toleration.seconds is not None and toleration.effect != "NoExecute":
        problem = "has seconds, which are for the effect NoExecute"
    elif toleration.key and not is_qualified(toleration.key):
        problem = f'has the key "{toleration.key}", which no taint can have'
    if problem is not None:
        add("CLR417", f"a toleration {problem}.")


def check_dns(dns: Dns, add: Add) -> None:
    """Check settings of name resolution."""
    from couler.ir.verify.objects import fields_of

    known = fields_of("PodSpec")["dnsPolicy"]["enum"]
    if dns.policy is not None and dns.policy not in known:
        hint = did_you_mean(dns.policy, known)
        add("CLR422", f'"{dns.policy}" is no DNS policy: {", ".join(known)}.{hint}')
    if dns.policy == "None" and not dns.nameservers:
        add("CLR422", 'the DNS policy "None" needs a nameserver. Name one, or use another policy.')
    for server in dns.nameservers:
        check_address(server, "nameserver", add)


def check_address(address: str, what: str, add: Add) -> None:
    """Check that a text is an IP address."""
    try:
        ipaddress.ip_address(address)
    except ValueError:
        add("CLR422", f'the {what} "{address}" is no IP address.')


def _short(text: str) -> str:
    return text if len(text) <= 70 else text[:67] + "..."
