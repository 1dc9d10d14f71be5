"""Filesystems of fsspec: opened by address, and the errors that they raise."""

from __future__ import annotations

import contextlib
import sys
import typing as t
from collections.abc import Iterator, Mapping

from couler.errors import ConfigurationError, StoreError

if t.TYPE_CHECKING:
    from fsspec import AbstractFileSystem  # type: ignore[import-untyped]  # has no types

OF_BUCKETS = frozenset({"abfs", "abfss", "adl", "az", "gcs", "gs", "oci", "oss", "s3", "s3a"})
"""Filesystems without folders: asked to make one, they would make a bucket."""

PACKAGES = {
    "s3": "couler[s3]",
    "s3a": "couler[s3]",
    "oss": "ossfs",
    "gcs": "gcsfs",
    "gs": "gcsfs",
    "abfs": "adlfs",
    "az": "adlfs",
    "hdfs": "pyarrow",
}
"""What to install for an address that begins so."""


def open_filesystem(
    url: str, options: Mapping[str, object], *, what: str
) -> tuple[AbstractFileSystem, str]:
    """Return the filesystem of an address, and the path in it."""
    from fsspec.core import url_to_fs  # type: ignore[import-untyped]  # has no types

    try:
        filesystem, root = url_to_fs(url, **options)
    except ImportError as error:
        protocol = url.partition("://")[0]
        package = PACKAGES.get(protocol, f"fsspec[{protocol}]")
        raise ConfigurationError(
            f"{what} needs a package that is missing ({error}): pip install '{package}'"
        ) from error
    except ValueError as error:
        raise ConfigurationError(f"{what}: {error}") from error
    return filesystem, root.rstrip("/")


@contextlib.contextmanager
def reported(what: str) -> Iterator[None]:
    """Report errors of the other side as a `StoreError`, except for a missing file."""
    try:
        yield
    except FileNotFoundError:
        raise
    except _client_errors() as error:
        raise StoreError(f"{what}: {error}") from error


_CLIENT_ERRORS = {
    "aiohttp": ("ClientError",),
    "azure.core.exceptions": ("AzureError",),
    "botocore.exceptions": ("BotoCoreError", "ClientError"),
    "gcsfs.retry": ("HttpError", "ChecksumError"),
    "google.auth.exceptions": ("GoogleAuthError",),
    "oss2.exceptions": ("OssError",),
}
"""What clients raise that is no OSError, by the modules that have it."""


def _client_errors() -> tuple[type[Exception], ...]:
    """What filesystems raise; the errors of a client that is not loaded cannot come."""
    found: list[type[Exception]] = [OSError]
    for name, errors in _CLIENT_ERRORS.items():
        module = sys.modules.get(name)
        if module is not None:
            found += [getattr(module, error) for error in errors if hasattr(module, error)]
    return tuple(found)
