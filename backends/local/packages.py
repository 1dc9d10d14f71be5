"""The Python packages that scripts ask for: here they must be installed already."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import metadata

from couler.errors import ConfigurationError
from couler.ir.walk import all_steps
from couler.ir.workflow import Script, Workflow

_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")


def require_packages(workflow: Workflow, version: Callable[[str], str] = metadata.version) -> None:
    """Refuse to start a workflow whose scripts ask for packages that are not installed."""
    missing: dict[str, str] = {}
    for step in all_steps(workflow):
        if isinstance(step.action, Script):
            for requirement in step.action.packages:
                if not _is_installed(requirement, version):
                    missing.setdefault(requirement, step.name)
    if missing:
        told = ", ".join(f'{package} (step "{step}")' for package, step in missing.items())
        command = " ".join(f"'{package}'" for package in missing)
        raise ConfigurationError(
            f"packages that scripts ask for are not installed here: {told}. "
            f"Install them with: pip install {command}"
        )


def _is_installed(requirement: str, version: Callable[[str], str]) -> bool:
    name = _NAME.match(requirement.strip())
    if name is None:
        return False
    try:
        version(name[0])
    except metadata.PackageNotFoundError:
        return False
    return True
