"""Where runs are kept, by environment and platform."""

from __future__ import annotations

from pathlib import Path

import pytest

from couler.state import Home, open_database


@pytest.mark.parametrize(
    ("environ", "platform", "root"),
    [
        ({"HOME": "/u"}, "linux", "/u/.local/share/couler"),
        ({"HOME": "/u"}, "darwin", "/u/Library/Application Support/couler"),
        ({"HOME": "/u", "XDG_DATA_HOME": "/d"}, "linux", "/d/couler"),
        ({"HOME": "/u", "XDG_DATA_HOME": "/d"}, "darwin", "/d/couler"),
        ({"HOME": "/u", "XDG_DATA_HOME": "relative"}, "linux", "/u/.local/share/couler"),
        ({"HOME": "/u", "XDG_DATA_HOME": ""}, "linux", "/u/.local/share/couler"),
        ({"HOME": "/u", "XDG_DATA_HOME": "/d", "COULER_HOME": "/c"}, "linux", "/c"),
        ({"HOME": "/u", "COULER_HOME": ""}, "linux", "/u/.local/share/couler"),
        ({"HOME": "/u", "COULER_HOME": "~/c"}, "linux", "/u/c"),
        ({"HOME": "/u", "COULER_HOME": "~"}, "linux", "/u"),
    ],
)
def test_root(environ: dict[str, str], platform: str, root: str) -> None:
    assert Home.find(environ, platform=platform).root == Path(root)


def test_a_relative_home_is_of_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert Home.find({"COULER_HOME": "kept"}).root == tmp_path / "kept"


def test_places_inside_the_folder() -> None:
    home = Home(Path("/c"))
    assert home.database_url == "sqlite:////c/couler.db"
    assert home.store_url == "file:///c/store"
    assert home.run_folder("train-1") == home.runs / "train-1" == Path("/c/runs/train-1")


def test_places_elsewhere() -> None:
    home = Home.find(
        {
            "COULER_HOME": "/c",
            "COULER_DATABASE_URL": "postgresql://db/couler",
            "COULER_STORE_URL": "s3://bucket/store",
        }
    )
    assert home.database_url == "postgresql://db/couler"
    assert home.store_url == "s3://bucket/store"
    assert home.runs == Path("/c/runs")


@pytest.mark.parametrize("run_id", ["", ".", "..", "a/b", "/etc", "../x", "a\0b"])
def test_a_run_cannot_lead_out_of_the_folder(run_id: str) -> None:
    with pytest.raises(ValueError, match="no name of a run"):
        Home(Path("/c")).run_folder(run_id)


@pytest.mark.parametrize(
    "name", ["a b", "what?", "50%25", "#1", "ö", "a&b=c", "?mode=ro", "a;b:c@d"]
)
def test_hostile_folders_are_opened_as_they_are(tmp_path: Path, name: str) -> None:
    home = Home(tmp_path / name)
    home.root.mkdir()
    open_database(home.database_url).close()
    assert (tmp_path / name / "couler.db").is_file()
    assert [path.name for path in tmp_path.iterdir()] == [name]
