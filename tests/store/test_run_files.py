"""The repository of an engine's files, on this machine and on S3 as moto serves it."""

from __future__ import annotations

import secrets
from pathlib import Path

import pytest

from couler.errors import FilesLeftError
from couler.store.run_files import RunFiles


@pytest.fixture(params=["file", "s3"])
def repository(
    request: pytest.FixtureRequest, tmp_path: Path
) -> tuple[RunFiles, dict[str, object], str]:
    """A repository with one file and one folder."""
    import fsspec

    options: dict[str, object] = {}
    url = f"file://{tmp_path}/repository"
    if request.param == "s3":
        options = request.getfixturevalue("s3_options")
        url = f"s3://artifacts/{secrets.token_hex(4)}"
    filesystem, root = fsspec.core.url_to_fs(url, **options)
    for key, content in {"run/a/f": b"12345", "run/b/d/0": b"1", "run/b/d/x/1": b"22"}.items():
        place = f"{root}/{key}"
        if request.param == "file":
            filesystem.makedirs(place.rpartition("/")[0], exist_ok=True)
        filesystem.pipe_file(place, content)
    return RunFiles(url, **options), options, url


def test_files_and_folders_are_measured_and_removed(
    repository: tuple[RunFiles, dict[str, object], str],
) -> None:
    files, options, url = repository
    assert list(files.sizes(["run/a/f"])["run/a/f"].values()) == [5]
    assert sorted(files.sizes(["run/b/d"])["run/b/d"].values()) == [1, 2]
    assert files.sizes(["run/none"])["run/none"] == {}
    assert files.sizes(["run/a/"])["run/a/"] == files.sizes(["run/a/f"])["run/a/f"]
    places = [*files.sizes(["run/b/d"])["run/b/d"], *files.sizes(["run/a/f"])["run/a/f"]]
    assert files.remove(places) == 3
    assert RunFiles(url, **options).sizes(["run"])["run"] == {}


def test_what_cannot_be_removed_is_named(tmp_path: Path) -> None:
    for name in "df":
        (tmp_path / name).mkdir()
    (tmp_path / "e").write_bytes(b"1")
    places = [f"{tmp_path}/{name}" for name in "def"]
    told = rf"Is a directory: .*\. 2 files \({tmp_path}/d, {tmp_path}/f\) could not be removed$"
    with pytest.raises(FilesLeftError, match=told) as failed:
        RunFiles(f"file://{tmp_path}").remove(places)
    assert failed.value.places == (places[0], places[2])
    assert not (tmp_path / "e").exists()
