"""What this machine needs to reach the locations of a workflow, looked for before it runs."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable

from couler.errors import ConfigurationError
from couler.ir.artifacts import (
    AzureLocation,
    GcsLocation,
    GitLocation,
    HdfsLocation,
    Location,
    OssLocation,
    S3Location,
    is_in_repository,
)
from couler.ir.walk import locations, steps_by_path
from couler.ir.workflow import Workflow
from couler.locations.buckets import oss_credentials, takes_own_credentials
from couler.locations.git import is_missing
from couler.locations.secrets import Entries
from couler.store.filesystems import PACKAGES

_NEEDED: dict[type[Location], tuple[str, str]] = {
    S3Location: ("s3fs", "s3"),
    OssLocation: ("ossfs", "oss"),
    GcsLocation: ("gcsfs", "gcs"),
    AzureLocation: ("adlfs", "abfs"),
    HdfsLocation: ("pyarrow", "hdfs"),
}
"""The module that a location needs, and the protocol of fsspec."""


def _has_module(name: str) -> bool:
    return importlib.util.find_spec(name) is not None


def require_reach(
    workflow: Workflow, entries: Entries, has_module: Callable[[str], bool] = _has_module
) -> None:
    """Refuse to start a workflow whose files this machine cannot fetch or put."""
    missing: dict[str, str] = {}
    for path, step in steps_by_path(workflow):
        for location in locations(step):
            if isinstance(location, GitLocation) and is_missing():
                raise ConfigurationError(
                    f'step "{path}" takes a Git repository, but this machine has no git. '
                    "Install the program git"
                )
            if isinstance(location, OssLocation) and takes_own_credentials(location):
                oss_credentials(entries)
            module, protocol = _NEEDED.get(type(location), (None, ""))
            if module is None or is_in_repository(location) or has_module(module):
                continue
            missing.setdefault(PACKAGES[protocol], f'{location.kind} (step "{path}")')
    if missing:
        command = " ".join(f"'{package}'" for package in missing)
        raise ConfigurationError(
            f"packages for the locations of files are not installed here: "
            f"{', '.join(missing.values())}. Install them with: pip install {command}"
        )
