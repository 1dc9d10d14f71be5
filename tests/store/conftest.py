"""Stores on each kind of filesystem: this machine's, memory, and S3 as moto serves it."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from couler.store import ObjectStore


@pytest.fixture(scope="session")
def s3_options() -> Iterator[dict[str, object]]:
    """Options for s3fs that lead to a server of this process; it has the bucket `artifacts`."""
    import s3fs
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    options: dict[str, object] = {
        "key": "test",
        "secret": "test",
        "endpoint_url": f"http://{host}:{port}",
        "client_kwargs": {"region_name": "us-east-1"},
    }
    s3fs.S3FileSystem(**options).call_s3("create_bucket", Bucket="artifacts")
    yield options
    server.stop()


@pytest.fixture
def s3_store(s3_options: dict[str, object]) -> ObjectStore:
    return ObjectStore(f"s3://artifacts/{secrets.token_hex(4)}", **s3_options)


@pytest.fixture(params=["file", "memory", "s3"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> ObjectStore:
    """An empty store on each kind of filesystem."""
    if request.param == "s3":
        found: ObjectStore = request.getfixturevalue("s3_store")
        return found
    place = tmp_path / "the store" if request.param == "file" else secrets.token_hex(8)
    return ObjectStore(f"{request.param}://{place}")


@pytest.fixture
def file_store(tmp_path: Path) -> ObjectStore:
    """An empty store of this machine."""
    return ObjectStore(f"file://{tmp_path}/the store")


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Write a file: ``write("folder/name", b"content", mode=0o755)``."""

    def write_file(name: str, content: bytes = b"content", *, mode: int = 0o644) -> Path:
        path = tmp_path / "work" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        path.chmod(mode)
        return path

    return write_file


@pytest.fixture
def alter() -> Callable[[ObjectStore, str, bytes | None], None]:
    """Give an object another content behind the store's back, or take it away."""

    def alter_object(store: ObjectStore, digest: str, content: bytes | None) -> None:
        path = store.local_path(f"{digest}/x")
        if path is not None:
            path.unlink()
            if content is not None:
                path.write_bytes(content)
            return
        place = store._place
        if content is None:
            place._filesystem.rm_file(place._path(digest))
        else:
            place._filesystem.pipe_file(place._path(digest), content)

    return alter_object
