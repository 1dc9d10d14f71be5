"""Writers that are killed, disks that are full, several writers at once, files that are large."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import resource
import signal
import subprocess
import sys
import threading
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from couler.errors import ArtifactError, LostArtifactError
from couler.store import ObjectStore, parse_reference
from couler.store.remote import RemotePlace

Write = Callable[..., Path]


def run_python(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", program, *arguments],
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_full_disk_leaves_no_half_object_and_no_half_copy(
    file_store: ObjectStore, write: Write, tmp_path: Path
) -> None:
    """A limit on the size of files stands for the disk: the kernel refuses in the same call."""
    large = write("folder/large", os.urandom(3_000_000))
    write("folder/small", b"small")
    reference = file_store.put(large)
    other = ObjectStore(f"file://{tmp_path}/other")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2_000_000, limits[1]))
    try:
        for fails in (
            lambda: other.put(large),
            lambda: other.put(large.parent),
            lambda: file_store.fetch(reference, tmp_path / "copy"),
        ):
            with pytest.raises(OSError, match="large") as error:
                fails()
            assert error.value.errno == errno.EFBIG
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert not (tmp_path / "copy").exists()
    assert [item.size for item in other.objects()] in ([], [5])
    assert os.listdir(tmp_path / "other" / "tmp") == []
    other.verify(other.put(large.parent))


def test_a_killed_writer_leaves_a_file_that_a_sweep_finds(
    file_store: ObjectStore, write: Write
) -> None:
    program = (
        "import os, sys, signal\n"
        "from couler.store import local, ObjectStore\n"
        "from pathlib import Path\n"
        "def kill(*_): os.kill(os.getpid(), signal.SIGKILL)\n"
        "local.os.fsync = kill\n"
        "ObjectStore(sys.argv[1]).put(Path(sys.argv[2]))\n"
    )
    done = run_python(program, file_store.url, str(write("a")))
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert list(file_store.objects()) == []
    assert file_store.sweep(time.time() - 60) == 0
    assert file_store.sweep(time.time() + 60) == 1
    assert os.listdir(Path(file_store.url.removeprefix("file://")) / "tmp") == []


@pytest.mark.parametrize("store", ["memory", "s3"], indirect=True)
def test_a_file_that_changes_while_it_is_sent_is_not_stored(
    store: ObjectStore, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write("a", b"before")

    def meddle(*_: object) -> bool:
        path.write_bytes(b"after!")
        return False

    monkeypatch.setattr(RemotePlace, "_has_young", meddle)
    with pytest.raises(ArtifactError, match="written to while it was stored"):
        store.put(path)
    assert list(store.objects()) == []
    assert store.sweep(time.time() + 60) == 0


@pytest.mark.slow
@pytest.mark.parametrize("store", ["memory", "s3"], indirect=True)
def test_what_is_stored_or_touched_again_is_young_again(
    store: ObjectStore, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write("a")
    store.put(path)
    (first,) = store.objects()
    store.put(path)
    assert list(store.objects()) == [first]  # was not sent a second time
    monkeypatch.setattr("couler.store.remote._REFRESH_S", -60.0)
    for make_young in (lambda: store.put(path), lambda: store.touch(f"{first.digest}/a")):
        (before,) = store.objects()
        time.sleep(1.1)  # S3 tells whole seconds
        make_young()
        (after,) = store.objects()
        assert after.modified > before.modified
        assert store.sweep(time.time() + 60) == 0
    store.verify(f"{first.digest}/a")


@pytest.mark.slow
@pytest.mark.parametrize("store", ["file", "s3"], indirect=True)
def test_several_processes_store_the_same_files_at_once(
    store: ObjectStore, write: Write, tmp_path: Path, s3_options: dict[str, object]
) -> None:
    for number in range(4):
        write(f"folder/{number}", str(number).encode() * 10_000)
    program = (
        "import json, sys\n"
        "from couler.store import ObjectStore\n"
        "from pathlib import Path\n"
        "store = ObjectStore(sys.argv[1], **json.loads(sys.argv[3]))\n"
        "for _ in range(2): print(store.put(Path(sys.argv[2])))\n"
    )
    options = s3_options if store.url.startswith("s3") else {}
    words = [sys.executable, "-c", program, store.url, str(tmp_path / "work" / "folder")]
    writers = [
        subprocess.Popen([*words, json.dumps(options)], stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    told = [writer.communicate()[0].split() for writer in writers]
    assert [writer.returncode for writer in writers] == [0, 0]
    (reference,) = {text for lines in told for text in lines}
    store.verify(reference)
    assert len(list(store.objects())) == 5


def test_what_another_process_did_is_seen(
    s3_store: ObjectStore, s3_options: dict[str, object], write: Write
) -> None:
    other = ObjectStore(s3_store.url, skip_instance_cache=True, **s3_options)
    reference = s3_store.put(write("a"))
    (found,) = s3_store.objects()
    assert other.delete(found.digest)
    assert not s3_store.exists(reference)
    assert list(other.objects()) == []
    s3_store.put(write("a"))
    assert other.exists(reference)
    assert [item.digest for item in other.objects()] == [found.digest]


def test_what_was_just_touched_or_stored_is_never_deleted_for_its_age(
    file_store: ObjectStore, write: Write
) -> None:
    path = write("a")
    reference = file_store.put(path)
    digest = parse_reference(reference).digest
    place = file_store.local_path(reference)
    assert place is not None
    ended = threading.Event()

    def collect() -> None:
        while not ended.is_set():
            file_store.delete(digest, before=time.time() - 3600)

    collector = threading.Thread(target=collect)
    collector.start()
    try:
        kept = 0
        for number in range(400):
            with contextlib.suppress(FileNotFoundError):
                os.utime(place, (0, 0))  # old: it may go from here on
            if number % 2:
                file_store.put(path)
            else:
                try:
                    file_store.touch(reference)
                except LostArtifactError:
                    continue
            kept += 1
            file_store.verify(reference)
            time.sleep(0)
            assert file_store.exists(reference)
    finally:
        ended.set()
        collector.join()
    assert kept >= 200


def test_large_files_are_never_in_memory(file_store: ObjectStore, tmp_path: Path) -> None:
    large = tmp_path / "large"
    with large.open("wb") as file:
        file.truncate(64 * 1024 * 1024)
    tracemalloc.start()
    try:
        reference = file_store.put(large)
        file_store.verify(reference)
        file_store.fetch(reference, tmp_path / "copy")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 4 * 1024 * 1024


MEASURE = """
import json, resource, sys
from pathlib import Path
from couler.store import ObjectStore

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

store = ObjectStore(sys.argv[1], **json.loads(sys.argv[2]))
folder = Path(sys.argv[3])
store.fetch(store.put(folder / "small"), folder / "small copy")
before = peak()
store.fetch(store.put(folder / "large"), folder / "large copy")
print(peak() - before)
"""


@pytest.mark.slow
def test_large_files_on_s3_are_sent_and_received_in_blocks(
    s3_store: ObjectStore, s3_options: dict[str, object], tmp_path: Path
) -> None:
    (tmp_path / "small").write_bytes(b"x")
    with (tmp_path / "large").open("wb") as file:
        file.truncate(80 * 1024 * 1024)
    done = run_python(MEASURE, s3_store.url, json.dumps(s3_options), str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "large copy").stat().st_size == 80 * 1024 * 1024
    assert int(done.stdout) < 64 * 1024 * 1024


def test_a_local_store_loads_no_filesystem_library() -> None:
    program = (
        "import sys, tempfile\n"
        "from pathlib import Path\n"
        "from couler.store import ObjectStore\n"
        "store = ObjectStore('file://' + tempfile.mkdtemp())\n"
        "store.fetch(store.put(Path(sys.argv[1])), Path(tempfile.mkdtemp(), 'x'))\n"
        "print('fsspec' in sys.modules)\n"
    )
    done = run_python(program, __file__)
    assert (done.stdout, done.stderr) == ("False\n", "")
