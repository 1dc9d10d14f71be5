"""Rules of Kubernetes for names, labels, taints and name resolution."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping, Sequence

from couler.ir.diagnostics import did_you_mean
from couler.ir.pods import Dns, PodSettings
from couler.ir.policies import Placement, Toleration
from couler.ir.verify.names import Add

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


def check_object_name(name: str, what: str, add: Add) -> None:
    """Check the name of an object in the cluster."""
    if is_subdomain(name):
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
    if placement.priority_class is not None:
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
