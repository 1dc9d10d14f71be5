"""The helper that fetches files and puts them for containers without Couler."""

from __future__ import annotations

import json
import threading
import typing as t
from collections.abc import Iterator
from pathlib import Path

import pytest

from couler import io
from tests.support.web_site import Site

S3_KEY = json.dumps({"kind": "s3", "key": ""})


class Asking:
    """What asks a helper in a folder, and the repository of that helper."""

    def __init__(self, folder: Path, **environ: str) -> None:
        self.repository = folder / "repository"
        self.io = folder / "io"
        self._count = 0
        self.server = io.Server(self.io, {io.REPOSITORY: str(self.repository), **environ})
        self.server.open()

    def ask(self, *words: str) -> str:
        self._count += 1
        request = self.io / f"{self._count}.ask"
        request.write_bytes("".join(f"{word}\0" for word in words).encode())
        self.server.answer_all()
        return (self.io / f"{self._count}.answer").read_text().removesuffix("\n")


@pytest.fixture
def asking(tmp_path: Path) -> Asking:
    return Asking(tmp_path)


@pytest.fixture
def site() -> Iterator[Site]:
    with Site() as site:
        thread = threading.Thread(target=site.serve_forever)
        thread.start()
        yield site
        site.shutdown()
        thread.join()


def test_a_file_goes_to_the_repository_and_comes_back(asking: Asking) -> None:
    (asking.io / "one").write_text("1\n")
    assert asking.ask("put", "one", "", S3_KEY, "key", "a/b") == "done"
    assert (asking.repository / "a/b").read_text() == "1\n"
    assert asking.ask("get", "file", "back", "", S3_KEY, "key", "a/b") == "done"
    assert (asking.io / "back").read_text() == "1\n"


@pytest.mark.parametrize("archive", ["tar", "zip", '{"kind": "tar", "level": 0}'])
def test_a_directory_goes_into_an_archive_and_out_of_it(asking: Asking, archive: str) -> None:
    (asking.io / "d/e").mkdir(parents=True)
    (asking.io / "d/e/one").write_text("1\n")
    assert asking.ask("put", "d", archive, S3_KEY, "key", "packed") == "done"
    assert (asking.repository / "packed").is_file()
    assert asking.ask("get", "directory", "back", archive, S3_KEY, "key", "packed") == "done"
    assert (asking.io / "back/e/one").read_text() == "1\n"
    assert (asking.io / "back").stat().st_mode & 0o777 == 0o777


def test_what_is_not_there_is_absent_or_a_failure(asking: Asking) -> None:
    assert asking.ask("get", "file?", "back", "", S3_KEY, "key", "none") == "absent"
    answer = asking.ask("get", "file", "back", "", S3_KEY, "key", "none")
    assert answer.startswith("failed there is nothing at")


def test_texts_reach_the_server_as_they_are(asking: Asking, site: Site) -> None:
    site.files["/a%20$b"] = b"x"
    http = json.dumps({"kind": "http", "url": "", "headers": [{"name": "X-Of", "value": ""}]})
    words = ("url", f"{site.url}/a%20$b", "header_0", "{{ me }}\t$(A)")
    assert asking.ask("get", "file", "back", "", http, *words) == "done"
    assert (asking.io / "back").read_bytes() == b"x"


REFUSED: dict[str, tuple[tuple[str, ...], str]] = {
    "an unknown word": (("fetch", "x"), "is no request"),
    "a name that leads out": (("get", "file", "../x", "", S3_KEY, "key", "a"), "is no name"),
    "a key that leads out": (("get", "file", "x", "", S3_KEY, "key", "../a"), "is no key"),
    "a location that is none": (("put", "x", "", '{"kind": "moon"}'), "is no location"),
    "an archive that is none": (("get", "file", "x", "rar", S3_KEY, "key", "a"), "rar"),
    "a text too few": (("get", "file", "x", "", S3_KEY, "key"), "shorter"),
    "a secret that is missing": (
        (
            *("get", "file", "x", ""),
            json.dumps(
                {
                    "kind": "s3",
                    "key": "",
                    "bucket": "data",
                    "access_key": {"secret": "store", "key": "access"},
                    "secret_key": {"secret": "store", "key": "secret"},
                }
            ),
            *("key", "a"),
        ),
        'the secret "store" has no "access" here',
    ),
    "a directory where a file is declared": (
        ("get", "file", "x", "", S3_KEY, "key", "folder"),
        "declared file",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_done_is_a_failure_on_one_line(asking: Asking, case: str) -> None:
    (asking.repository / "folder/inside").mkdir(parents=True)
    words, reason = REFUSED[case]
    answer = asking.ask(*words)
    assert answer.startswith("failed ")
    assert reason in answer
    assert "\n" not in answer


def test_keys_belong_to_the_storage_that_is_named(tmp_path: Path, site: Site) -> None:
    # A storage of URLs stands for one that has keys: both have one text.
    stated = json.dumps({"kind": "http", "url": ""})
    asking = Asking(tmp_path, **{io.REPOSITORY: stated})
    site.files["/a"] = b"x"
    assert asking.ask("get", "file", "x", "", "", "key", f"{site.url}/a") == "done"
    answer = asking.ask("get", "file", "y", "", S3_KEY, "key", "a")
    assert answer == "failed the s3 location names no storage"


def test_a_request_on_which_a_helper_died_has_failed(tmp_path: Path) -> None:
    folder = tmp_path / "io"
    folder.mkdir()
    (folder / "1.begun").touch()
    (folder / "2.begun").touch()
    (folder / "2.answer").write_text("done\n")
    (folder / "3.ask").write_bytes(b"get\0")
    server = io.Server(folder, {})
    server.open()
    assert (folder / "ready").exists()
    assert (folder / "1.answer").read_text().startswith("failed it ended")
    assert (folder / "2.answer").read_text() == "done\n"
    server.answer_all()
    assert (folder / "3.answer").read_text().startswith("failed ")


def test_it_serves_until_it_is_asked_to_end(tmp_path: Path) -> None:
    folder = tmp_path / "io"
    asked: list[int] = []

    def until() -> bool:
        asked.append(1)
        if len(asked) == 1:
            (folder / "1.ask").write_bytes(b"nothing\0")
        return (folder / "1.answer").exists()

    assert io.main(["serve", str(folder)], environ={}, until=until) == 0
    assert (folder / "1.answer").read_text().startswith("failed ")


@pytest.mark.parametrize("words", [[], ["serve"], ["get", "x"]])
def test_other_commands_tell_how_it_is_called(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert io.main(words) == 2
    assert "python -m couler.io serve FOLDER" in capsys.readouterr().err


def test_variables_of_couler_do_not_reach_the_programs_that_it_calls(tmp_path: Path) -> None:
    server: t.Any = Asking(tmp_path, COULER_SECRET_store_access="geheim", HOME="/root").server
    assert server._outside.transfer.environ == {"HOME": "/root"}


def test_lists_are_written_as_outputs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("t/b.csv", "t/é/a.csv", "t/x.txt"):
        (tmp_path / "files" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "files" / name).touch()
    environ = {io.REPOSITORY: str(tmp_path / "files")}
    target = tmp_path / "return.json"
    words = ("list", str(target), S3_KEY, "result,again")
    assert io.main([*words, "**/*.csv", "key", "t"], environ=environ) == 0
    assert target.read_text().isascii()
    listed = '["t/b.csv","t/é/a.csv"]'
    assert json.loads(target.read_text()) == {"result": listed, "again": listed}
    assert io.main([*words, "", "key", "none"], environ=environ) == 1
    assert "there is no file below" in capsys.readouterr().err
