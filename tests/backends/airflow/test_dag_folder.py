"""Folders of DAGs elsewhere: what goes wrong there is one clear refusal, and takes no time."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec  # type: ignore[import-untyped]  # has no types
import pytest
from fsspec.implementations.memory import (  # type: ignore[import-untyped]  # has no types
    MemoryFileSystem,
)

from couler.backends.airflow.dag_folder import has_file, put_file, read_file, remove_file
from couler.errors import ConfigurationError, RefusedError
from tests.backends.airflow.elsewhere import connected, order
from tests.support.airflow_api import FakeAirflow

DAGS = "flawed://bucket/dags"


class NoCredentialsError(Exception):
    """As libraries of clouds have theirs: no OSError."""


class Flawed(MemoryFileSystem):  # type: ignore[misc]  # its base has no types
    """A file system on which a call fails, or is not answered."""

    protocol = "flawed"
    cachable = False
    store: dict[str, Any] = {}  # noqa: RUF012  # as its base has it
    pseudo_dirs = [""]  # noqa: RUF012
    fails: str | None = None
    hangs: threading.Event | None = None
    written: list[str] = []  # noqa: RUF012

    @classmethod
    def reset(cls) -> None:
        cls.store.clear()
        cls.fails, cls.hangs, cls.written = None, None, []

    def _call(self, name: str) -> None:
        if self.hangs is not None:
            self.hangs.wait(60)
        if self.fails == name:
            raise NoCredentialsError("Unable to locate\ncredentials")

    def exists(self, path: str, **options: Any) -> bool:
        self._call("exists")
        return bool(super().exists(path, **options))

    def pipe_file(self, path: str, value: bytes, *rest: Any, **options: Any) -> None:
        self.written.append(path)
        super().pipe_file(path, value, *rest, **options)
        self._call("pipe_file")

    def mv(self, *rest: Any, **options: Any) -> None:
        self._call("mv")
        super().mv(*rest, **options)


@pytest.fixture(autouse=True)
def flawed() -> Iterator[type[Flawed]]:
    fsspec.register_implementation("flawed", Flawed, clobber=True)
    Flawed.reset()
    yield Flawed
    Flawed.reset()


def test_a_file_is_put_read_and_removed() -> None:
    assert read_file(DAGS, "a.py") is None
    assert put_file(DAGS, "a.py", "one")
    assert not put_file(DAGS, "a.py", "one")
    assert put_file(DAGS, "a.py", "two")
    assert (has_file(DAGS, "a.py"), read_file(DAGS, "a.py")) == (True, "two")
    remove_file(DAGS, "a.py")
    remove_file(DAGS, "a.py")
    assert not has_file(DAGS, "a.py")


@pytest.mark.parametrize("call", ["exists", "pipe_file", "mv"])
def test_whatever_a_file_system_raises_is_a_refusal(call: str) -> None:
    Flawed.fails = call
    with pytest.raises(RefusedError) as caught:
        put_file(DAGS, "a.py", "one")
    assert str(caught.value) == (
        f"airflow: {DAGS}: a.py cannot be written: Unable to locate credentials"
    )
    assert Flawed.store == {}


def test_a_file_system_that_does_not_answer_is_given_up() -> None:
    Flawed.hangs = threading.Event()
    try:
        with pytest.raises(RefusedError, match=r"a\.py cannot be written: no answer within 0 s"):
            put_file(DAGS, "a.py", "one", limit_s=0.05)
    finally:
        Flawed.hangs.set()


def test_no_run_is_begun_then(tmp_path: Path) -> None:
    Flawed.fails = "pipe_file"
    with FakeAirflow(tmp_path).running() as airflow:
        with pytest.raises(RefusedError, match="Unable to locate credentials"):
            connected(airflow, dags=DAGS).submit(order())
        assert airflow.runs == {}


@pytest.mark.parametrize(
    "dags",
    ["ftp://ann:hunter2@host/dags", "simplecache::sftp://ann:hunter2@host/dags"],
)
def test_an_address_has_no_password(tmp_path: Path, dags: str) -> None:
    with FakeAirflow(tmp_path).running() as airflow:
        with pytest.raises(ConfigurationError, match='"prod": dags: it has a password') as caught:
            connected(airflow, dags=dags)
        assert "hunter2" not in str(caught.value)
