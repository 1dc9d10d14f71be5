"""The store on every kind of filesystem gives back what was put, or says that it cannot."""

from __future__ import annotations

import hashlib
import os
import socket
import stat
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from couler.errors import ArtifactError, ConfigurationError, LostArtifactError, StoreError
from couler.store import ObjectStore, content_of, parse_reference

Write = Callable[..., Path]
Alter = Callable[[ObjectStore, str, bytes | None], None]


def make_directory(write: Write) -> Path:
    write("model/weights.bin", b"weights")
    write("model/bin/run", b"#!/bin/sh\n", mode=0o755)
    write("model/again.bin", b"weights")
    (write("model/keep").parent / "empty" / "inner").mkdir(parents=True)
    folder = write("model/x").parent
    (folder / "latest").symlink_to("weights.bin")
    (folder / "bin" / "up").symlink_to("..")
    return folder


def test_a_file_comes_back_under_its_name_and_digest(
    store: ObjectStore, write: Write, tmp_path: Path
) -> None:
    reference = store.put(write("report.html", b"<p>"))
    assert reference == f"{hashlib.sha256(b'<p>').hexdigest()}/report.html"
    store.fetch(reference, tmp_path / "new" / "folder" / "r")
    assert (tmp_path / "new" / "folder" / "r").read_bytes() == b"<p>"
    assert store.exists(reference)
    assert store.size(reference) == 3
    store.verify(reference)


def test_a_directory_comes_back_with_modes_links_and_empty_directories(
    store: ObjectStore, write: Write, tmp_path: Path
) -> None:
    reference = store.put(make_directory(write))
    assert reference.endswith("/model/")
    target = tmp_path / "copy"
    store.fetch(reference, target)
    found = sorted(str(path.relative_to(target)) for path in target.rglob("*"))
    assert found == [
        *("again.bin", "bin", "bin/run", "bin/up", "empty", "empty/inner"),
        *("keep", "latest", "weights.bin", "x"),
    ]
    assert os.readlink(target / "latest") == "weights.bin"
    assert os.access(target / "bin" / "run", os.X_OK)
    assert not os.access(target / "keep", os.X_OK)
    assert (target / "again.bin").read_bytes() == b"weights"
    assert store.put(target).split("/")[0] == reference.split("/")[0]
    assert store.size(reference) == sum(
        path.stat().st_size
        for path in target.rglob("*")
        if path.is_file() and not path.is_symlink()
    )
    store.verify(reference)


def test_an_executable_file_stays_one(store: ObjectStore, write: Write, tmp_path: Path) -> None:
    plain, program = store.put(write("a")), store.put(write("b", mode=0o755))
    assert content_of(plain) != content_of(program)
    store.fetch(program, tmp_path / "program")
    assert os.access(tmp_path / "program", os.X_OK)
    assert len(list(store.objects())) == 1


def test_hostile_names_are_names(store: ObjectStore, write: Write, tmp_path: Path) -> None:
    names = {"-rf", "a b", "é\n'\"", "{{inputs}}", "$(x)", "\udcff", "%2F", "*"}
    for name in names:
        assert parse_reference(store.put(write(name))).name == name
        folder = write(f"folder/{name}").parent
    store.fetch(store.put(folder), tmp_path / "copy")
    assert set(os.listdir(tmp_path / "copy")) == names


def test_an_empty_file_and_an_empty_directory(
    store: ObjectStore, write: Write, tmp_path: Path
) -> None:
    file = store.put(write("empty", b""))
    (tmp_path / "none").mkdir()
    directory = store.put(tmp_path / "none")
    store.fetch(file, tmp_path / "a")
    store.fetch(directory, tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == b""
    assert os.listdir(tmp_path / "b") == []
    assert store.size(file) == store.size(directory) == 0


def test_a_file_of_many_blocks(store: ObjectStore, write: Write, tmp_path: Path) -> None:
    content = os.urandom(1024) * 6_000
    reference = store.put(write("large", content))
    store.fetch(reference, tmp_path / "copy")
    assert (tmp_path / "copy").read_bytes() == content


def test_a_fetched_file_takes_the_place_of_a_link_and_not_of_what_it_leads_to(
    store: ObjectStore, write: Write, tmp_path: Path
) -> None:
    reference = store.put(write("a", b"new"))
    (tmp_path / "precious").write_bytes(b"old")
    (tmp_path / "target").symlink_to("precious")
    store.fetch(reference, tmp_path / "target")
    assert (tmp_path / "precious").read_bytes() == b"old"
    assert (tmp_path / "target").read_bytes() == b"new"


@pytest.mark.parametrize("content", [b"changed", b"", None])
def test_a_lost_object_is_an_error_that_names_it_and_leaves_no_copy(
    store: ObjectStore, write: Write, tmp_path: Path, alter: Alter, content: bytes | None
) -> None:
    path = write("a", b"content")
    reference = store.put(path)
    digest = parse_reference(reference).digest
    what = "missing" if content is None else "altered"
    alter(store, digest, content)
    with pytest.raises(
        LostArtifactError, match=f"{digest[:12]} .*{what}.* must run again"
    ) as error:
        store.fetch(reference, tmp_path / "copy")
    assert error.value.digest == digest
    assert not (tmp_path / "copy").exists()

    # What is stored again is whole again.
    assert store.put(path) == reference
    alter(store, digest, content)
    with pytest.raises(LostArtifactError, match=what):
        store.verify(reference)
    store.put(path)
    store.verify(reference)


def test_an_object_that_is_found_to_be_altered_is_missing_from_then_on(
    store: ObjectStore, write: Write, tmp_path: Path, alter: Alter
) -> None:
    """So that whoever looks whether it is there makes it again."""
    folder = make_directory(write)
    reference = store.put(folder)
    alter(store, hashlib.sha256(b"weights").hexdigest(), b"WEIGHTS")  # of the same size
    with pytest.raises(LostArtifactError, match="altered"):
        store.fetch(reference, tmp_path / "copy")
    assert not store.exists(reference)
    with pytest.raises(LostArtifactError, match="missing"):
        store.fetch(reference, tmp_path / "copy")
    assert store.put(folder) == reference
    store.verify(reference)


def test_a_directory_that_lost_a_file_is_not_there(
    store: ObjectStore, write: Write, tmp_path: Path, alter: Alter
) -> None:
    reference = store.put(make_directory(write))
    lost = hashlib.sha256(b"weights").hexdigest()
    assert lost in store.digests(reference)
    store.touch(reference)
    alter(store, lost, None)
    assert not store.exists(reference)
    with pytest.raises(LostArtifactError, match=lost[:12]):
        store.touch(reference)
    with pytest.raises(LostArtifactError, match=lost[:12]):
        store.fetch(reference, tmp_path / "copy")
    assert not (tmp_path / "copy").exists()
    with pytest.raises(LostArtifactError):
        store.verify(reference)


def test_a_manifest_that_was_altered_is_never_followed(
    store: ObjectStore, write: Write, tmp_path: Path, alter: Alter
) -> None:
    reference = store.put(make_directory(write))
    evil = b'{"version":1,"entries":[{"path":"x","link":"/etc"}]}'
    alter(store, parse_reference(reference).digest, evil)
    with pytest.raises(LostArtifactError, match="altered"):
        store.fetch(reference, tmp_path / "copy")


def test_a_file_is_no_directory_because_a_reference_says_so(
    store: ObjectStore, write: Write, tmp_path: Path
) -> None:
    reference = store.put(write("a", b'{"version":1,"entries":[{"path":"../x"}]}'))
    with pytest.raises(ArtifactError):
        store.fetch(f"{reference}/", tmp_path / "copy")
    assert sorted(os.listdir(tmp_path)) in (["the store", "work"], ["work"])


def test_what_is_not_there(store: ObjectStore, tmp_path: Path) -> None:
    reference = "0" * 64 + "/nothing"
    assert not store.exists(reference)
    assert not store.delete("0" * 64)
    assert list(store.objects()) == []
    assert store.sweep(time.time()) == 0
    for use in (
        store.size,
        store.verify,
        store.touch,
        lambda text: store.fetch(text, tmp_path / "x"),
    ):
        with pytest.raises(LostArtifactError, match="missing"):
            use(reference)


def test_a_text_that_is_no_reference(file_store: ObjectStore) -> None:
    for use in ("verify", "exists", "size", "url_of", "local_path", "digests"):
        with pytest.raises(ArtifactError, match="no reference"):
            getattr(file_store, use)("../../etc/passwd")


def test_fifos_sockets_and_devices_are_refused(file_store: ObjectStore, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    os.mkfifo(folder / "fifo")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket"))
        for path in (folder / "fifo", folder, tmp_path / "socket", Path("/dev/null")):
            with pytest.raises(ArtifactError, match="neither a file nor a directory"):
                file_store.put(path)
    assert list(file_store.objects()) == []


def test_links_that_lead_out_are_refused(
    file_store: ObjectStore, write: Write, tmp_path: Path
) -> None:
    secret = tmp_path / "secret"
    secret.write_text("x")
    folder = write("folder/file").parent
    link = folder / "link"
    link.symlink_to(secret)
    for path in (link, folder):
        with pytest.raises(ArtifactError, match="leads out"):
            file_store.put(path)
    (tmp_path / "work" / "other").symlink_to(tmp_path)
    with pytest.raises(ArtifactError, match="leads out"):
        file_store.put(tmp_path / "work" / "other" / "secret", root=tmp_path / "work")


def test_old_objects_can_be_deleted_and_touched_ones_not(store: ObjectStore, write: Write) -> None:
    reference = store.put(write("a"))
    digest = parse_reference(reference).digest
    assert not store.delete(digest, before=time.time() - 60)
    assert store.exists(reference)
    assert store.delete(digest, before=time.time() + 60)
    assert not store.exists(reference)
    store.put(write("a"))
    assert store.delete(digest)
    assert not store.exists(reference)


def test_addresses(file_store: ObjectStore, s3_store: ObjectStore, write: Write) -> None:
    path = write("a.html")
    reference = file_store.put(path)
    digest = parse_reference(reference).digest
    local = file_store.local_path(reference)
    assert local is not None
    assert local.read_bytes() == b"content"
    assert file_store.url_of(reference) == f"file://{local}"
    assert stat.S_IMODE(local.stat().st_mode) == 0o444
    assert s3_store.url_of(reference) == f"{s3_store.url}/objects/{digest[:2]}/{digest[2:]}"
    assert s3_store.local_path(reference) is None
    assert file_store.local_path(file_store.put(path.parent)) is None


def test_an_address_that_nothing_knows_is_wrong_configuration(write: Write) -> None:
    with pytest.raises(ConfigurationError, match="no-such"):
        ObjectStore("no-such://place").put(write("a"))


def test_a_missing_package_is_named(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    import fsspec.core

    def fail(*_: object, **__: object) -> None:
        raise ImportError("Install s3fs to access S3")

    monkeypatch.setattr(fsspec.core, "url_to_fs", fail)
    with pytest.raises(ConfigurationError, match=r"pip install 'couler\[s3\]'$"):
        ObjectStore("s3://bucket").put(write("a"))


def test_a_store_that_cannot_be_reached_is_named(
    s3_options: dict[str, object], write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    import s3fs

    monkeypatch.setattr(s3fs.S3FileSystem, "retries", 1)
    store = ObjectStore("s3://no-such-bucket/x", **s3_options)
    with pytest.raises(StoreError, match="s3://no-such-bucket/x"):
        store.put(write("a"))
    nobody = {
        **s3_options,
        "endpoint_url": "http://127.0.0.1:9",
        "config_kwargs": {"retries": {"max_attempts": 0}},
    }
    with pytest.raises(StoreError, match="s3://a/b"):
        ObjectStore("s3://a/b", **nobody).put(write("a"))
