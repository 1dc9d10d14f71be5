"""Rules for resources: quantities, and requests within their limits."""

from __future__ import annotations

from decimal import Decimal

from couler.ir.diagnostics import did_you_mean
from couler.ir.policies import Resources
from couler.ir.quantity import parse_quantity
from couler.ir.verify.names import Add, is_qualified

_MILLI = Decimal("0.001")
_PLAIN_NAMES = ("cpu", "memory", "disk", "gpu", "hugepages-2Mi", "hugepages-1Gi")
_OWN_FIELDS = {"cpu": "cpu", "memory": "memory", "ephemeral-storage": "disk"}


def check_resources(resources: Resources, add: Add) -> None:
    """Check the compute that a step asks for."""
    cpu = _check_optional(resources.cpu, "cpu", add)
    cpu_limit = _check_optional(resources.cpu_limit, "cpu_limit", add)
    memory = _check_optional(resources.memory, "memory", add, bytes_=True)
    memory_limit = _check_optional(resources.memory_limit, "memory_limit", add, bytes_=True)
    _check_optional(resources.disk, "disk", add, bytes_=True)
    for name, request, limit, asked, bound in (
        ("cpu", cpu, cpu_limit, resources.cpu, resources.cpu_limit),
        ("memory", memory, memory_limit, resources.memory, resources.memory_limit),
    ):
        if request is not None and limit is not None and request > limit:
            add(
                "CLR402",
                f"{name} is {asked}, above {name}_limit, which is {bound}. Raise the limit.",
            )
    gpu = resources.gpu
    if gpu is not None and ("/" not in gpu.resource or not is_qualified(gpu.resource)):
        add("CLR420", f'"{gpu.resource}" is no resource of a GPU: write one as "nvidia.com/gpu".')
    for name, amount in resources.other.items():
        if name in _OWN_FIELDS or (gpu is not None and name == gpu.resource):
            field = _OWN_FIELDS.get(name, "gpu")
            add("CLR420", f'the resource "{name}" has a field of its own. Use {field}.')
        elif not is_qualified(name) or not ("/" in name or name.startswith("hugepages-")):
            hint = did_you_mean(name, _PLAIN_NAMES)
            add("CLR420", f'"{name}" is no name of a resource.{hint}')
        check_quantity(amount, f"other.{name}", add)


def _check_optional(
    text: str | None, field: str, add: Add, *, bytes_: bool = False
) -> Decimal | None:
    return None if text is None else check_quantity(text, field, add, bytes_=bytes_)


def check_quantity(text: str, field: str, add: Add, *, bytes_: bool = False) -> Decimal | None:
    """Check a quantity and return it; of bytes there are no fractions."""
    try:
        amount = parse_quantity(text)
    except ValueError as error:
        hint = f"{error}" if str(error).endswith("?") else f"{error}."
        add("CLR401", f"{field}: {hint}")
        return None
    if amount <= 0:
        add("CLR401", f'{field}: "{text}" is not above 0.')
    elif bytes_ and amount != amount.to_integral_value():
        mend = f' Did you mean "{text[:-1]}Mi"?' if text.endswith("m") else ""
        add("CLR401", f'{field}: "{text}" is a fraction of a byte.{mend}')
    elif not bytes_ and amount % _MILLI:
        add("CLR401", f'{field}: "{text}" is finer than a thousandth. Round it.')
    else:
        return amount
    return None
