"""Archives of files outside of a workflow."""

from __future__ import annotations

import io
import tarfile
import zipfile
from pathlib import Path

import pytest

from couler.backends.local.locations.packing import pack, unpack
from couler.errors import ArtifactError
from couler.ir.artifacts import Archive, Tar, Zip


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
    pack(source, tmp_path / "packed", archive)
    unpack(tmp_path / "packed", tmp_path / "target", archive)
    assert tree(tmp_path / "target") == tree(source)
    assert (tmp_path / "target" / "empty").is_dir()
    pack(source / "a", tmp_path / "one", archive)
    unpack(tmp_path / "one", tmp_path / "alone", archive)
    assert (tmp_path / "alone").read_text() == "a"


@pytest.mark.parametrize("archive", [Tar(), Zip()])
def test_equal_files_make_equal_archives(archive: Archive, tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name / "source").mkdir(parents=True)
        for file in ("b", "a") if name == "one" else ("a", "b"):
            (tmp_path / name / "source" / file).write_text(file)
        pack(tmp_path / name / "source", tmp_path / f"packed-{name}", archive)
    assert (tmp_path / "packed-one").read_bytes() == (tmp_path / "packed-two").read_bytes()


def test_several_entries_lie_in_a_folder(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "packed", "w") as packed:
        packed.writestr("a", "1")
        packed.writestr("b/c", "2")
    unpack(tmp_path / "packed", tmp_path / "target", Zip())
    assert {name: text for name, (text, _) in tree(tmp_path / "target").items()} == {
        "a": "1",
        "b/c": "2",
    }


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
