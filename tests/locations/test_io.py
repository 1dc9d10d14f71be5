"""The helper that fetches files and puts them for containers without Couler."""

from __future__ import annotations

import hashlib
import json
import os
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


@pytest.mark.parametrize("is_new", [True, False], ids=["a new helper", "that which put them"])
def test_digests_are_those_of_the_contents(asking: Asking, is_new: bool) -> None:
    (asking.io / "one").write_text("1\n")
    (asking.io / "d/e").mkdir(parents=True)
    (asking.io / "d/e/x").write_text("1\n")
    (asking.io / "d/link").symlink_to("e")
    for name in ("one", "d"):
        assert asking.ask("put", name, "", S3_KEY, "key", f"kept/{name}") == "done"
    if is_new:
        asking.server = io.Server(asking.io, {io.REPOSITORY: str(asking.repository)})

    def digest(kind: str, name: str) -> str:
        return asking.ask("digest", kind, "", S3_KEY, "key", f"kept/{name}")

    of_one = hashlib.sha256(b"1\n").hexdigest()
    assert digest("file", "one") == f"done {of_one}"
    told = "".join(f"{of_one} {name}\0" for name in ("e/x", "link/x")).encode()
    assert digest("directory", "d") == f"done {hashlib.sha256(told).hexdigest()}"
    assert [digest("file", "d"), digest("directory", "one"), digest("file", "none")] == [
        "absent",
        "absent",
        "absent",
    ]


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    """A file that stands for what the helper alone can read, such as /proc/1/environ."""
    secret = tmp_path / "outside/environ"
    secret.parent.mkdir()
    secret.write_text("COULER_SECRET_store_access=geheim")
    return secret


def kept(asking: Asking) -> list[str]:
    """The content of all files in the repository."""
    files = [path for path in asking.repository.rglob("*") if path.is_file()]
    return [path.read_text() for path in files]


@pytest.mark.parametrize("name", ["x", "d/environ"], ids=["file", "folder before it"])
@pytest.mark.parametrize("archive", ["", "tar", "zip"])
def test_no_link_is_followed_when_a_file_is_put(
    asking: Asking, secret: Path, name: str, archive: str
) -> None:
    (asking.io / "x").symlink_to(secret)
    (asking.io / "d").symlink_to(secret.parent)
    answer = asking.ask("put", name, archive, S3_KEY, "key", "leak")
    assert answer.endswith("is a link, which is not followed here")
    assert kept(asking) == []


@pytest.mark.parametrize("archive", ["", "zip"])
def test_no_link_leads_out_of_a_directory(asking: Asking, secret: Path, archive: str) -> None:
    (asking.io / "d").mkdir()
    (asking.io / "d/x").symlink_to(secret)
    answer = asking.ask("put", "d", archive, S3_KEY, "key", "leak")
    assert answer.startswith("failed 'x' is a link that leads out"), answer
    assert kept(asking) == []


def test_links_in_a_directory_lead_to_what_is_in_it(asking: Asking) -> None:
    (asking.io / "d/e").mkdir(parents=True)
    (asking.io / "d/e/one").write_text("1")
    (asking.io / "d/link").symlink_to("e")
    assert asking.ask("put", "d", "", S3_KEY, "key", "d") == "done"
    assert (asking.repository / "d/link/one").read_text() == "1"


def test_what_is_no_file_is_not_put(asking: Asking) -> None:
    os.mkfifo(asking.io / "pipe")
    answer = asking.ask("put", "pipe", "", S3_KEY, "key", "pipe")
    assert answer == "failed 'pipe' is neither a file nor a folder"


def test_no_link_is_followed_when_a_file_comes(asking: Asking, secret: Path) -> None:
    (asking.repository).mkdir(exist_ok=True)
    (asking.repository / "one").write_text("1")
    (asking.io / "x").symlink_to(secret)
    assert asking.ask("get", "file", "x", "", S3_KEY, "key", "one").startswith("failed ")
    (asking.io / "scratch").symlink_to(secret.parent)
    assert asking.ask("get", "file", "scratch/y", "", S3_KEY, "key", "one").startswith("failed ")
    assert secret.read_text() == "COULER_SECRET_store_access=geheim"
    assert [one.name for one in secret.parent.iterdir()] == ["environ"]


def test_no_link_is_followed_for_requests_and_answers(asking: Asking, secret: Path) -> None:
    secret.write_bytes(b"A=geheim\0B=2\0")
    (asking.io / "7.ask").symlink_to(secret)
    (asking.io / "8.new").symlink_to(secret)
    (asking.io / "8.ask").write_bytes(b"nothing\0")
    asking.server.answer_all()
    told = "failed '7.begun' is a link, which is not followed here\n"
    assert (asking.io / "7.answer").read_text() == told
    assert (asking.io / "8.answer").read_text() == "failed ['nothing'] is no request\n"
    assert secret.read_bytes() == b"A=geheim\0B=2\0"


def test_the_folder_stays_the_same_when_another_takes_its_name(
    asking: Asking, secret: Path
) -> None:
    asking.io.rename(asking.io.with_name("old"))
    asking.io.symlink_to(secret.parent)
    (secret.parent / "1.ask").write_bytes(b"nothing\0")
    asking.server.answer_all()
    assert not (secret.parent / "1.answer").exists()


def test_a_link_is_no_folder_for_requests(tmp_path: Path, secret: Path) -> None:
    (tmp_path / "io").symlink_to(secret.parent)
    with pytest.raises(OSError, match="io"):
        io.Server(tmp_path / "io", {})


def test_a_request_that_is_no_text_has_failed(asking: Asking) -> None:
    for number, name in enumerate([b"a\xff", b"\xed\xa0\x80"], 20):
        (asking.io / f"{number}.ask").write_bytes(b"put\0" + name + b"\0\0\0key\0k\0")
        asking.server.answer_all()
        answer = (asking.io / f"{number}.answer").read_text()
        assert answer.startswith("failed the words of a request are UTF-8"), answer


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
    outside = io.Outside(tmp_path, {"COULER_SECRET_store_access": "geheim", "HOME": "/root"})
    assert outside.transfer.environ == {"HOME": "/root"}


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
