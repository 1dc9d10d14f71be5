"""A store that is read and never written to: it answers as one that is, and stays as it was."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest

from couler.errors import LostArtifactError
from couler.store import Object, ObjectStore, parse_reference

Alter = Callable[[ObjectStore, str, bytes | None], None]
Write = Callable[..., Path]


def reader_of(store: ObjectStore) -> ObjectStore:
    return ObjectStore(store.url, read_only=True, **store._options)


def content_of(store: ObjectStore) -> list[Object]:
    return sorted(store.objects())


def digest_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def test_what_is_put_is_known_and_not_stored(store: ObjectStore, write: Write) -> None:
    file, tool = write("folder/name", b"one"), write("folder/tool", b"two", mode=0o755)
    reader = reader_of(store)
    put = [reader.put(file), reader.put(tool), reader.put(file.parent)]
    for reference in put:
        assert reader.exists(reference)
        reader.touch(reference)
        reader.verify(reference)
    assert [reader.size(reference) for reference in put] == [3, 3, 6]
    assert content_of(store) == []
    if (root := store.local_path(put[0])) is not None:
        assert not root.parents[2].exists()
    assert put == [store.put(file), store.put(tool), store.put(file.parent)]


def test_what_is_there_is_found_and_stays_as_old_as_it_is(
    store: ObjectStore, write: Write, tmp_path: Path
) -> None:
    folder = write("folder/name", b"one").parent
    reference = store.put(folder)
    before, reader = content_of(store), reader_of(store)
    assert reader.exists(reference)
    reader.touch(reference)
    reader.verify(reference)
    reader.fetch(reference, tmp_path / "copy")
    assert (tmp_path / "copy" / "name").read_bytes() == b"one"
    assert not reader.delete(parse_reference(reference).digest)
    assert reader.sweep(1e12) == 0
    assert reader.url_of(reference) == store.url_of(reference)
    assert content_of(store) == content_of(reader) == before


@pytest.mark.parametrize("use", ["verify", "fetch"])
@pytest.mark.parametrize("name", ["weights", None])
def test_what_was_altered_is_missing_from_then_on_and_is_not_set_aside(
    store: ObjectStore, write: Write, tmp_path: Path, alter: Alter, use: str, name: str | None
) -> None:
    folder = write("folder/name", b"weights").parent
    reference = store.put(folder)
    digest = parse_reference(reference).digest if name is None else digest_of(b"weights")
    alter(store, digest, b"WEIGHTS")
    before, reader = content_of(store), reader_of(store)
    for told in ("altered", "missing"):
        with pytest.raises(LostArtifactError, match=told):
            reader.verify(reference) if use == "verify" else reader.fetch(reference, tmp_path / "c")
        assert not reader.exists(reference)
    assert content_of(store) == before
    # It is made again by whoever stores it, and so it counts as made here.
    assert reader.put(folder) == reference
    reader.verify(reference)
    assert content_of(store) == before


def test_what_is_not_there_is_missing(store: ObjectStore, write: Write, alter: Alter) -> None:
    reference = store.put(write("name", b"one"))
    alter(store, digest_of(b"one"), None)
    reader = reader_of(store)
    assert not reader.exists(reference)
    for look in (reader.touch, reader.verify, reader.size):
        with pytest.raises(LostArtifactError, match="missing"):
            look(reference)
