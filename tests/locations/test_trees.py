"""Files and folders that are fetched from S3 and the repository here, and put there."""

from __future__ import annotations

import http.server
import typing as t
from collections.abc import Iterator
from pathlib import Path

import pytest
from fsspec.implementations.memory import (  # type: ignore[import-untyped]  # has no types
    MemoryFileSystem,
)
from fsspec.registry import _registry  # type: ignore[import-untyped]  # has no types

from couler.errors import ArtifactError, StoreError
from couler.locations.trees import Tree
from tests.support.http_server import QuietHandler, serving
from tests.support.s3_server import s3_server

HOSTILE_NAMES = [
    "a b",
    "100%",
    "a%20b",
    "1+1",
    "größe/日本語",
    "a::b",
    "file://x",
    "what?x=1",
    "a#b",
    "a&b=c",
    'it\'s "quoted"',
    "[a-z]*",
    "~root",
    "$HOME",
    " a ",
    "-rf",
    "a\\b",
    "{a}",
]


@pytest.fixture(scope="module")
def s3() -> Iterator[dict[str, t.Any]]:
    """The options for a server that speaks S3, with the bucket `data`."""
    with s3_server() as server:
        yield dict(server.options)


@pytest.fixture(params=["s3", "repository"])
def make(
    request: pytest.FixtureRequest, tmp_path: Path
) -> t.Callable[[str], Tree]:  # of a key, in a place of the test's own
    if request.param == "repository":
        return lambda key: Tree(str(tmp_path / "repository"), key, {})
    options = request.getfixturevalue("s3")
    return lambda key: Tree("s3://data", f"{tmp_path.name}/{key}", options)


def content(folder: Path) -> dict[str, str | None]:
    return {
        str(path.relative_to(folder)): None if path.is_dir() else path.read_text()
        for path in sorted(folder.rglob("*"))
    }


def test_names_that_mean_something_elsewhere(make: t.Callable[[str], Tree], tmp_path: Path) -> None:
    source = tmp_path / "source"
    for name in HOSTILE_NAMES:
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text(name)
    make("in::a?b#c").put(source, source)
    make("in::a?b#c").fetch(tmp_path / "all")
    assert content(tmp_path / "all") == content(source)
    for name in ("a::b", "what?x=1", "größe/日本語", "100%"):
        make(name).put(source / name, source)
        make(name).fetch(tmp_path / name.partition("/")[0])
        assert (tmp_path / name.partition("/")[0]).read_text() == name


def test_files_of_no_bytes_empty_folders_and_what_links_lead_to(
    make: t.Callable[[str], Tree], tmp_path: Path
) -> None:
    work = tmp_path / "work"
    source = work / "out"
    (source / "empty" / "deep").mkdir(parents=True)
    (source / "real").mkdir()
    (source / "real" / "zero").write_text("")
    (source / "folder").symlink_to("real")
    (work / "beside").write_text("b")
    (source / "file").symlink_to("../beside")
    make("k").put(source, work)
    make("k").fetch(tmp_path / "target")
    assert content(tmp_path / "target") == {
        "empty": None,
        "empty/deep": None,
        "file": "b",
        "folder": None,
        "folder/zero": "",
        "real": None,
        "real/zero": "",
    }
    (tmp_path / "nothing").mkdir()
    make("n").put(tmp_path / "nothing", tmp_path / "nothing")
    make("n").fetch(tmp_path / "fetched")
    assert content(tmp_path / "fetched") == {}
    make("z").put(source / "real" / "zero", work)
    make("z").fetch(tmp_path / "zero")
    assert (tmp_path / "zero").read_bytes() == b""


class _Bucket(MemoryFileSystem):  # type: ignore[misc]  # has no types
    """A bucket in memory: its keys are kept as they are, and folders are but parts of them."""

    store: t.ClassVar[dict[str, t.Any]] = {}
    pseudo_dirs: t.ClassVar[list[str]] = [""]

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return "/" + path.rpartition("://")[2].lstrip("/")


@pytest.mark.parametrize("protocol", ["gcs", "oss"])
def test_empty_folders_in_buckets(
    protocol: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(_registry, protocol, _Bucket)
    monkeypatch.setattr(_Bucket, "store", {})
    source = tmp_path / "source"
    (source / "empty" / "deep").mkdir(parents=True)
    (source / "real").mkdir()
    (source / "real" / "file").write_text("x")
    place = Tree(f"{protocol}://data", "k", {})
    place.put(source, source)
    assert sorted(_Bucket.store) == ["/data/k/empty/deep/", "/data/k/real/file"]
    assert place.names() == ["real/file"]
    place.fetch(tmp_path / "target")
    assert content(tmp_path / "target") == content(source)
    nothing = Tree(f"{protocol}://data", "n", {})
    nothing.put(source / "empty" / "deep", source)
    nothing.fetch(tmp_path / "nothing")
    assert content(tmp_path / "nothing") == {}


def test_an_empty_folder_that_a_storage_does_not_keep(tmp_path: Path) -> None:
    (tmp_path / "source" / "empty").mkdir(parents=True)
    place = Tree("abfs://data", "k", {})
    with pytest.raises(ArtifactError, match=r"abfs://data/k/empty is an empty folder"):
        place.put(tmp_path / "source", tmp_path)


def test_a_link_that_leads_out_is_not_followed(
    make: t.Callable[[str], Tree], tmp_path: Path
) -> None:
    (tmp_path / "secret").write_text("x")
    source = tmp_path / "work" / "out"
    source.mkdir(parents=True)
    (source / "a").write_text("a")
    (source / "link").symlink_to(tmp_path / "secret")
    with pytest.raises(ArtifactError, match="'link' is a link that leads out"):
        make("k").put(source, tmp_path / "work")
    with pytest.raises(FileNotFoundError):  # nothing is put before all is known
        make("k").fetch(tmp_path / "target")


def test_a_file_that_may_not_be_replaced(make: t.Callable[[str], Tree], tmp_path: Path) -> None:
    (tmp_path / "a").write_text("old")
    place = make("k")
    once = Tree(place.root, place.key, place.options, replaces=False)
    once.put(tmp_path / "a", tmp_path)
    (tmp_path / "a").write_text("new")
    with pytest.raises(ArtifactError, match=r"there is a file at .*k already\. Say force=True"):
        once.put(tmp_path / "a", tmp_path)
    place.put(tmp_path / "a", tmp_path)
    place.fetch(tmp_path / "target")
    assert (tmp_path / "target").read_text() == "new"


def test_a_listing_of_several_pages(
    s3: dict[str, t.Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MOTO_S3_DEFAULT_MAX_KEYS", "7")
    source = tmp_path / "source"
    for number in range(30):
        file = source / str(number % 3) / f"{number}"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(str(number))
    place = Tree("s3://data", "many", s3)
    place.put(source, source)
    place.fetch(tmp_path / "target")
    assert content(tmp_path / "target") == content(source)


@pytest.mark.parametrize("keys", [("a/x", "a//x"), ("a/x", "a/x/y")])
def test_objects_that_cannot_be_files_side_by_side(
    keys: tuple[str, ...], s3: dict[str, t.Any], tmp_path: Path
) -> None:
    import s3fs

    filesystem = s3fs.S3FileSystem(**s3, skip_instance_cache=True)
    for key in keys:
        filesystem.call_s3("put_object", Bucket="data", Key=f"{tmp_path.name}/{key}", Body=b"1")
    with pytest.raises(ArtifactError, match=r"files of one name|a folder with files in it"):
        Tree("s3://data", tmp_path.name, s3).fetch(tmp_path / "target")


class _Short(QuietHandler):
    """Says that it has more than it gives."""

    def do_HEAD(self) -> None:  # noqa: N802 - a name of the base class
        self.send_response(200)
        self.send_header("Content-Length", "1000")
        self.end_headers()

    def do_GET(self) -> None:  # noqa: N802 - a name of the base class
        self.do_HEAD()
        self.wfile.write(b"abc")


def test_an_object_that_breaks_off_is_no_file(tmp_path: Path) -> None:
    with serving(http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Short)) as server:
        options = {
            "key": "a",
            "secret": "b",
            "endpoint_url": f"http://127.0.0.1:{server.server_port}",
        }
        with pytest.raises(StoreError, match="s3://data/k"):
            Tree("s3://data", "k", options).fetch(tmp_path / "target")
