"""What is found in folders with links in them."""

from __future__ import annotations

from pathlib import Path

import pytest

from couler.errors import ArtifactError
from couler.ir.artifacts import Tar, Zip
from couler.locations import contents
from couler.locations.contents import contents_of
from couler.locations.packing import pack
from couler.locations.stop import CutOffError, Stop
from couler.locations.trees import Tree


def chain(folder: Path, length: int, links: int = 2) -> Path:
    """Return a folder with links to the next one, and so on to the last, which has a file."""
    for number in range(length):
        (folder / f"{number}").mkdir(parents=True)
        for link in range(links):
            (folder / f"{number}" / f"{link}").symlink_to(f"../{number + 1}")
    (folder / f"{length}").mkdir()
    (folder / f"{length}" / "file").write_text("x")
    return folder / "0"


def names(folder: Path, root: Path) -> list[str]:
    return [name for name, _ in contents_of(folder, root, Stop())]


def test_few_links_that_lead_to_very_many_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contents, "MAX_THROUGH_LINKS", 1000)
    source = chain(tmp_path / "work", 40)
    with pytest.raises(ArtifactError, match=r"more than 1,000 files and folders .* tar archive"):
        Tree(str(tmp_path / "repository"), "k", {}).put(source, tmp_path / "work")
    with pytest.raises(ArtifactError, match="more than 1,000 files and folders"):
        pack(source, tmp_path / "work", tmp_path / "packed", Zip())
    pack(source, tmp_path / "work", tmp_path / "packed", Tar())


def test_many_files_that_no_link_leads_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contents, "MAX_THROUGH_LINKS", 3)
    for number in range(10):
        (tmp_path / "a" / f"{number}").mkdir(parents=True)
    (tmp_path / "a" / "0" / "file").write_text("x")
    for number in range(10):
        (tmp_path / "a" / f"file{number}").symlink_to("0/file")
    assert len(names(tmp_path / "a", tmp_path)) == 20


def test_links_that_lead_very_deep(tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match="more than 500 folders around it"):
        names(chain(tmp_path, 600, links=1), tmp_path)


@pytest.mark.parametrize("archive", [Tar(), Zip()])
def test_nobody_waits_any_more(archive: Tar | Zip, tmp_path: Path) -> None:
    source, stop = chain(tmp_path / "work", 2), Stop()
    stop.set()
    with pytest.raises(CutOffError):
        pack(source, tmp_path / "work", tmp_path / "packed", archive, stop)
    with pytest.raises(CutOffError):
        Tree(str(tmp_path / "repository"), "k", {}).put(source, tmp_path / "work", stop)
    assert not (tmp_path / "repository").exists()


def test_a_stop_on_the_way(tmp_path: Path) -> None:
    stop = Stop()
    found = contents_of(chain(tmp_path, 40), tmp_path, stop)
    next(found)
    stop.set()
    with pytest.raises(CutOffError):
        next(found)
