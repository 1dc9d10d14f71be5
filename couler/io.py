"""Files for containers that have no Couler: `python -m couler.io serve FOLDER`; lists of files.

It runs beside a step and shares a folder with it. The wrapper of the step's process asks by files,
as it has nothing but a shell, and waits for the answers:

- `N.ask` is a request, renamed to this name when it is whole: words, each with a NUL behind it.
- `N.answer` is the answer: `done`, `absent`, or `failed` and the reason.

The words are `get TYPE NAME ARCHIVE LOCATION FIELD TEXT ...`, which brings what is at a location to
`NAME` in the folder, or `put NAME ARCHIVE LOCATION FIELD TEXT ...`. The archive is `tar`, `zip` or
nothing, or such an object as JSON. The location is one of `couler.ir.artifacts` as JSON, whose
texts are those of the fields; nothing stands for the repository that `COULER_REPOSITORY` describes,
with the field `key`. Secrets are looked for as on any machine: `COULER_SECRET_<secret>_<key>`.

`python -m couler.io list FILE LOCATION NAMES PATTERN FIELD TEXT ...` writes the keys of the files
below a location, a list, as each of the outputs that are named with commas between them.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from couler.errors import ArtifactError, WireError
from couler.ir.artifacts import Archive, Location, is_in_repository, location_texts, map_texts
from couler.ir.wire import MAX_VALUE_BYTES, check_size, dump_json
from couler.locations.git import CommandEnd
from couler.locations.secrets import Entries
from couler.locations.stop import Stop
from couler.locations.transfer import OUTSIDE_ERRORS, Transfer, require_type, text_problems

REPOSITORY = "COULER_REPOSITORY"
"""The location below which keys are, as JSON, or the path of a folder."""

_ASK, _BEGUN, _ANSWER = ".ask", ".begun", ".answer"
_READY = "ready"
_PAUSE_S = 0.05

_LOCATION: TypeAdapter[Location] = TypeAdapter(Location)
_ARCHIVE: TypeAdapter[Archive] = TypeAdapter(Archive)

_USAGE = """\
usage: python -m couler.io serve FOLDER
       python -m couler.io list FILE LOCATION NAMES PATTERN FIELD TEXT ...
"""


class Outside:
    """What is outside of a container: locations, the repository among them.

    Parameters
    ----------
    scratch
        Folder for files on their way.
    environ
        Has the secrets and names the repository.
    """

    def __init__(self, scratch: Path, environ: Mapping[str, str]) -> None:
        repository = environ.get(REPOSITORY, "")
        is_store = repository.startswith("{")
        self._store = repository if is_store else ""
        self._root = "" if is_store else repository
        passed = {name: text for name, text in environ.items() if not name.startswith("COULER_")}
        self.transfer = Transfer(self._root, Entries(environ), scratch, passed, _run_command)

    def location(self, given: str, texts: Sequence[str]) -> Location:
        """Return a location with its texts."""
        known = dict(zip(texts[::2], texts[1::2], strict=True))
        try:
            read = _LOCATION.validate_json(given or self._store)
        except ValidationError as error:
            raise ArtifactError(f"{given or self._store!r} is no location") from error
        if not given:
            [(field, _), *_] = location_texts(read)
            known = {field: known.get("key", "")}
        location = map_texts(read, lambda field, text: known.get(field, text))
        for problem in text_problems(location):
            raise ArtifactError(problem)
        if is_in_repository(location) and not self._root:
            raise ArtifactError(f"the {location.kind} location names no storage")
        return location


class Server:
    """Answers the requests in a folder.

    Parameters
    ----------
    folder
        Where requests come, and files.
    environ
        Has the secrets and names the repository.
    """

    def __init__(self, folder: Path, environ: Mapping[str, str]) -> None:
        self._folder = folder
        self._outside = Outside(folder / "scratch", environ)

    def open(self) -> None:
        """Say that requests are answered; those on which an earlier server died have failed."""
        make_folder(self._folder)
        for begun in sorted(self._folder.glob(f"*{_BEGUN}")):
            if not begun.with_suffix(_ANSWER).exists():
                self._tell(begun, "failed it ended meanwhile: was there too little memory?")
        (self._folder / _READY).touch()

    def answer_all(self) -> None:
        """Answer what has been asked."""
        for ask in sorted(self._folder.glob(f"*{_ASK}")):
            begun = ask.rename(ask.with_suffix(_BEGUN))
            words = begun.read_bytes().decode().split("\0")[:-1]
            self._tell(begun, self._answer(words))

    def _tell(self, begun: Path, answer: str) -> None:
        new = begun.with_suffix(".new")
        new.write_text(" ".join(answer.splitlines()) + "\n", encoding="utf-8")
        new.chmod(0o644)
        new.rename(begun.with_suffix(_ANSWER))

    def _answer(self, words: Sequence[str]) -> str:
        try:
            match words:
                case ["get", wanted, name, archive, location, *texts]:
                    return self._get(wanted, self._place(name), _archive(archive), location, texts)
                case ["put", name, archive, location, *texts]:
                    source = self._place(name)
                    where = self._outside.location(location, texts)
                    self._outside.transfer.put(source, source, where, _archive(archive), Stop())
                    return "done"
            raise ArtifactError(f"{words!r} is no request")
        except (*OUTSIDE_ERRORS, ValueError) as error:
            return f"failed {error}"

    def _get(
        self,
        wanted: str,
        target: Path,
        archive: Archive | None,
        location: str,
        texts: Sequence[str],
    ) -> str:
        where = self._outside.location(location, texts)
        try:
            self._outside.transfer.fetch(where, target, archive, Stop())
        except FileNotFoundError as error:
            if wanted.endswith("?"):
                return "absent"
            raise ArtifactError(str(error)) from error
        require_type(target, wanted.removesuffix("?"), f"the file for {target.name}")
        _open_up(target)
        return "done"

    def _place(self, name: str) -> Path:
        if not {"", ".", ".."}.isdisjoint(name.split("/")):
            raise ArtifactError(f"{name!r} is no name of a file")
        return self._folder / name


def make_folder(folder: Path) -> None:
    """Make a folder that every user can write: the step's process is another one."""
    folder.mkdir(parents=True, exist_ok=True)
    if folder.stat().st_uid == os.getuid():  # else that process has made it so
        folder.chmod(0o777)


def _archive(text: str) -> Archive | None:
    if not text:
        return None
    return _ARCHIVE.validate_json(text if text.startswith("{") else json.dumps({"kind": text}))


def _open_up(path: Path) -> None:
    """Let every user read a file, or all that is in a folder."""
    if path.is_symlink():
        return
    if not path.is_dir():
        path.chmod(path.stat().st_mode | 0o444)
        return
    path.chmod(path.stat().st_mode | 0o777)
    for inner in path.iterdir():
        _open_up(inner)


def _run_command(
    words: Sequence[str], *, environ: Mapping[str, str], directory: Path, stop: Stop
) -> CommandEnd:
    done = subprocess.run(
        words,
        env=environ,
        cwd=directory,
        capture_output=True,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    return CommandEnd(
        done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
    )


def _list(
    target: Path,
    location: str,
    names: str,
    pattern: str,
    texts: Sequence[str],
    environ: Mapping[str, str],
) -> int:
    """Write the keys of the files below a location, as the outputs of a step."""
    with tempfile.TemporaryDirectory() as scratch:
        outside = Outside(Path(scratch), environ)
        try:
            where = outside.location(location, texts)
            listed = dump_json(outside.transfer.names(where, pattern or None))
            check_size(listed, MAX_VALUE_BYTES, "the list of files")
        except (*OUTSIDE_ERRORS, WireError, ValueError) as error:
            sys.stderr.write(f"couler: {error}\n")
            return 1
    target.write_text(json.dumps(dict.fromkeys(names.split(","), listed)), encoding="ascii")
    return 0


def main(
    arguments: Sequence[str] | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    until: Callable[[], bool] = lambda: False,
) -> int:
    """Serve a folder until it is asked to end.

    Parameters
    ----------
    arguments
        Of the command line; None for its own.
    environ
        The environment; None for its own.
    until
        Tells, now and then, whether to end.
    """
    words = sys.argv[1:] if arguments is None else arguments
    environ = os.environ if environ is None else environ
    if len(words) > 4 and words[0] == "list":
        return _list(Path(words[1]), words[2], words[3], words[4], words[5:], environ)
    if len(words) != 2 or words[0] != "serve":
        sys.stderr.write(_USAGE)
        return 2
    server = Server(Path(words[1]), environ)
    ended = threading.Event()
    if threading.current_thread() is threading.main_thread():
        # The first process of a container ends by no signal that it does not handle.
        signal.signal(signal.SIGTERM, lambda *_: ended.set())
    server.open()
    while not (ended.is_set() or until()):
        server.answer_all()
        ended.wait(_PAUSE_S)
    return 0


if __name__ == "__main__":
    sys.exit(main())
