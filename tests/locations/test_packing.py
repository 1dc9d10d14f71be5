"""Archives of files outside of a workflow."""

from __future__ import annotations

import io
import os
import random
import tarfile
import zipfile
from pathlib import Path

import pytest

from couler.errors import ArtifactError
from couler.ir.artifacts import Archive, Tar, Zip
from couler.locations.packing import pack, unpack


def tree(path: Path) -> dict[str, tuple[str, bool]]:
    return {
        str(file.relative_to(path)): (file.read_text(), bool(file.stat().st_mode & 0o100))
        for file in sorted(path.rglob("*"))
        if file.is_file()
    }


@pytest.mark.parametrize("archive", [Tar(), Tar(level=0), Tar(level=9), Zip()])
def test_what_was_packed_comes_out(archive: Archive, tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "deep").mkdir(parents=True)
    (source / "empty").mkdir()
    (source / "a").write_text("a")
    (source / "deep" / "run").write_text("b")
    (source / "deep" / "run").chmod(0o755)
    pack(source, tmp_path, tmp_path / "packed", archive)
    unpack(tmp_path / "packed", tmp_path / "target", archive)
    assert tree(tmp_path / "target") == tree(source)
    assert (tmp_path / "target" / "empty").is_dir()
    pack(source / "a", tmp_path, tmp_path / "one", archive)
    unpack(tmp_path / "one", tmp_path / "alone", archive)
    assert (tmp_path / "alone").read_text() == "a"


@pytest.mark.parametrize("archive", [Tar(), Zip()])
@pytest.mark.parametrize("name", ["../out", "/tmp/couler-out", "a/../../out"])
def test_an_archive_that_leads_out_is_refused(archive: Archive, name: str, tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    if isinstance(archive, Zip):
        with zipfile.ZipFile(inner / "packed", "w") as packed:
            packed.writestr(name, "x")
    else:
        with tarfile.open(inner / "packed", "w:gz") as tar:
            info = tarfile.TarInfo(name)
            info.size = 1
            tar.addfile(info, io.BytesIO(b"x"))
    if name.startswith("/") and isinstance(archive, Tar):  # taken as a relative path
        unpack(inner / "packed", inner / "target", archive)
    else:
        with pytest.raises(ArtifactError):
            unpack(inner / "packed", inner / "target", archive)
    assert not (tmp_path / "out").exists()
    assert not Path("/tmp/couler-out").exists()


@pytest.mark.parametrize("archive", [Tar(), Zip()])
def test_what_is_no_archive(archive: Archive, tmp_path: Path) -> None:
    (tmp_path / "packed").write_text("text")
    with pytest.raises(ArtifactError, match="is no"):
        unpack(tmp_path / "packed", tmp_path / "target", archive)
    assert not (tmp_path / "target").exists()


def test_a_zip_has_what_links_lead_to(tmp_path: Path) -> None:
    source = tmp_path / "work" / "out"
    (source / "real").mkdir(parents=True)
    (source / "real" / "a").write_text("a")
    (tmp_path / "work" / "beside").write_text("b")
    (source / "folder").symlink_to("real")
    (source / "file").symlink_to("real/a")
    (source / "other").symlink_to("../beside")
    pack(source, tmp_path / "work", tmp_path / "packed", Zip())
    unpack(tmp_path / "packed", tmp_path / "target", Zip())
    assert {name: text for name, (text, _) in tree(tmp_path / "target").items()} == {
        "real/a": "a",
        "folder/a": "a",
        "file": "a",
        "other": "b",
    }
    assert not any(path.is_symlink() for path in (tmp_path / "target").rglob("*"))


@pytest.mark.parametrize(
    ("link", "told"),
    [("../../secret", "leads out"), ("nothing", "nowhere"), (".", "lies in"), ("/dev/null", "out")],
)
def test_a_link_that_cannot_be_followed(link: str, told: str, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("x")
    source = tmp_path / "work" / "out"
    source.mkdir(parents=True)
    (source / "link").symlink_to(link)
    with pytest.raises(ArtifactError, match=f"'link' is a link .*{told}"):
        pack(source, tmp_path / "work", tmp_path / "packed", Zip())


def test_a_pipe_is_no_file(tmp_path: Path) -> None:
    source = tmp_path / "out"
    source.mkdir()
    os.mkfifo(source / "pipe")
    with pytest.raises(ArtifactError, match="'pipe' is neither"):
        pack(source, tmp_path, tmp_path / "packed", Zip())


def damaged(path: Path, position: int, *, length: int = 1) -> None:
    content = bytearray(path.read_bytes())
    for index in range(position, position + length):
        content[index] ^= 0x55
    path.write_bytes(content)


@pytest.mark.parametrize("level", [0, 6])
@pytest.mark.parametrize("share", [0.2, 0.5, 0.8, 1])
def test_a_tar_archive_that_was_damaged(level: int, share: float, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    for number in range(5):
        (source / str(number)).write_bytes(random.Random(number).randbytes(50_000))
    packed = tmp_path / "packed"
    pack(source, tmp_path, packed, Tar(level=level))
    damaged(packed, int((packed.stat().st_size - 8) * share))  # the checksum, at last
    with pytest.raises(ArtifactError, match="no tar archive that can be read"):
        unpack(packed, tmp_path / "target", Tar())
    assert not (tmp_path / "target").exists()


@pytest.mark.parametrize("cut", [100, 2000, 60_000])
def test_a_tar_archive_that_breaks_off(cut: int, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    for number in range(3):
        (source / str(number)).write_bytes(random.Random(number).randbytes(50_000))
    packed = tmp_path / "packed"
    pack(source, tmp_path, packed, Tar())
    packed.write_bytes(packed.read_bytes()[:-cut])
    with pytest.raises(ArtifactError, match="no tar archive that can be read"):
        unpack(packed, tmp_path / "target", Tar())


def test_a_damaged_header_is_not_the_end_of_a_plain_tar_archive(tmp_path: Path) -> None:
    packed = tmp_path / "packed"
    with tarfile.open(packed, "w") as tar:
        for name in ("a", "b"):
            info = tarfile.TarInfo(name)
            info.size = 600
            tar.addfile(info, io.BytesIO(b"x" * 600))
    damaged(packed, 512 + 1024 + 10)  # in the header of b
    with pytest.raises(ArtifactError, match="no tar archive that can be read"):
        unpack(packed, tmp_path / "target", Tar())
