"""The archive of a workflow's code, and its way to the storage of a target."""

from __future__ import annotations

import gzip
import io
import shlex
import tarfile
import tempfile
from collections.abc import Mapping
from pathlib import Path

from couler.ir.artifacts import (
    AzureLocation,
    GcsLocation,
    HdfsLocation,
    Location,
    OssLocation,
    S3Location,
)
from couler.ir.workflow import Workflow
from couler.locations.secrets import Entries


def code_archive(workflow: Workflow) -> bytes:
    """Return the files of a workflow's code as a tar archive with one folder."""
    packed = io.BytesIO()
    with (
        gzip.GzipFile("", "wb", fileobj=packed, mtime=0) as zipped,
        tarfile.open(fileobj=zipped, mode="w") as tar,
    ):
        for one in sorted(workflow.code, key=lambda one: one.path):
            entry = tarfile.TarInfo(f"code/{one.path}")
            entry.size = len(one.data)
            tar.addfile(entry, io.BytesIO(one.data))
    return packed.getvalue()


def upload_code(workflow: Workflow, environment: Mapping[str, str]) -> None:
    """Put the archive of a workflow's code where its steps look for it, if they do.

    Raises
    ------
    ArtifactError
        The storage does not take it.
    ConfigurationError
        A package for the storage is missing, or a credential.
    """
    if workflow.code_at is None:
        return
    from couler.locations.buckets import open_bucket  # few upload, and it takes fsspec

    with tempfile.TemporaryDirectory(prefix="couler-") as folder:
        file = Path(folder, "code.tgz")
        file.write_bytes(code_archive(workflow))
        store = open_bucket(workflow.code_at, Entries(environment), Path(folder))  # type: ignore[arg-type]  # read_storage gives no others
        store.put(file, file.parent)


def upload_command(location: Location, file: Path) -> str:
    """Return the command of a storage's own program that uploads a file to a location."""
    match location:
        case S3Location():
            words = ["aws", "s3", "cp", file, f"s3://{location.bucket}/{location.key}"]
            if location.endpoint is not None:
                scheme = "http" if location.insecure else "https"
                words += ["--endpoint-url", f"{scheme}://{location.endpoint}"]
        case GcsLocation():
            words = ["gcloud", "storage", "cp", file, f"gs://{location.bucket}/{location.key}"]
        case OssLocation():
            words = ["ossutil", "cp", file, f"oss://{location.bucket}/{location.key}"]
            words += ["-e", str(location.endpoint)]
        case HdfsLocation():
            words = ["hdfs", "dfs", "-put", file, f"hdfs://{location.addresses[0]}{location.path}"]
        case AzureLocation():
            url = f"{location.endpoint}/{location.container}/{location.blob}"
            words = ["az", "storage", "blob", "upload", "--file", file, "--blob-url", url]
        case _:
            raise AssertionError(f"nothing is stored at {location.kind}")
    return shlex.join(map(str, words))
