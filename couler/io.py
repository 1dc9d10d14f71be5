"""Files for containers that have no Couler: `python -m couler.io serve FOLDER`; lists of files."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from couler.errors import ArtifactError, WireError
from couler.ir.artifacts import Archive, Location, is_in_repository
from couler.ir.semantics.wire import MAX_VALUE_BYTES, dump_json
from couler.ir.values import TEXTS, check_size
from couler.locations.contents import digest_of
from couler.locations.git import CommandEnd
from couler.locations.secrets import Entries
from couler.locations.shared import SharedFolder, names_to
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
    """What is outside of a container: locations, the repository among them."""

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
            [(field, _), *_] = TEXTS.visit(read)
            known = {field: known.get("key", "")}
        location = TEXTS.map(read, lambda field, text: known.get(field, text))
        for problem in text_problems(location):
            raise ArtifactError(problem)
        if is_in_repository(location) and not self._root:
            raise ArtifactError(f"the {location.kind} location names no storage")
        return location


class Server:
    """Answers the requests in a folder."""

    def __init__(self, folder: Path, environ: Mapping[str, str]) -> None:
        self._folder = SharedFolder(folder)
        self._environ = environ
        self._put: dict[tuple[str, ...], tuple[str, str]] = {}
        """Types and digests of what was put, by what was asked."""

    def open(self) -> None:
        """Say that requests are answered; those on which an earlier server died have failed."""
        for begun in self._folder.names(_BEGUN):
            number = begun.removesuffix(_BEGUN)
            if not self._folder.has(number + _ANSWER):
                self._tell(number, "failed it ended meanwhile: was there too little memory?")
        self._folder.write(_READY, b"")

    def answer_all(self) -> None:
        """Answer what has been asked."""
        for ask in self._folder.names(_ASK):
            number = ask.removesuffix(_ASK)
            self._folder.rename(ask, number + _BEGUN)
            self._tell(number, self._answer(number + _BEGUN))

    def close(self) -> None:
        """Answer no more."""
        self._folder.close()

    def _tell(self, number: str, answer: str) -> None:
        line = " ".join(answer.splitlines()) + "\n"
        self._folder.write(f"{number}.new", line.encode(errors="backslashreplace"))
        self._folder.rename(f"{number}.new", number + _ANSWER)

    def _answer(self, request: str) -> str:
        try:
            words = _words(self._folder.read(request))
            with tempfile.TemporaryDirectory(prefix="couler-") as private:
                return self._answer_to(words, Path(private))
        except (*OUTSIDE_ERRORS, ValueError) as error:
            return f"failed {error}"

    def _answer_to(self, words: Sequence[str], private: Path) -> str:
        """Do what is asked, by way of a folder that the process does not see."""
        outside = Outside(private / "scratch", self._environ)
        match words:
            case ["get", wanted, name, archive, location, *texts]:
                fetched = private / names_to(name)[-1]
                where = outside.location(location, texts)
                try:
                    outside.transfer.fetch(where, fetched, _archive(archive), Stop())
                except FileNotFoundError as error:
                    if wanted.endswith("?"):
                        return "absent"
                    raise ArtifactError(str(error)) from error
                require_type(fetched, wanted.removesuffix("?"), f"the file for {name}")
                if not location and fetched.is_file():
                    fetched.chmod(0o755)  # a storage has no modes, and a tool must run
                self._folder.give(fetched, name)
                return "done"
            case ["digest", wanted, archive, location, *texts]:
                known = self._put.get((archive, location, *texts))
                if known is None:
                    where = outside.location(location, texts)
                    known = _digest(outside.transfer, where, _archive(archive), private / "kept")
                return "absent" if known is None or known[0] != wanted else f"done {known[1]}"
            case ["put", name, archive, location, *texts]:
                source = private / names_to(name)[-1]
                where = outside.location(location, texts)
                self._folder.take(name, source)
                known = _type_and_digest(source)
                outside.transfer.put(source, source, where, _archive(archive), Stop())
                self._put[archive, location, *texts] = known
                return "done"
        raise ArtifactError(f"{words!r} is no request")


def _digest(
    transfer: Transfer, location: Location, archive: Archive | None, target: Path
) -> tuple[str, str] | None:
    """Return the type and the digest of what is at a location; None if nothing is there."""
    try:
        transfer.fetch(location, target, archive, Stop())
    except FileNotFoundError:
        return None
    return _type_and_digest(target)


def _type_and_digest(path: Path) -> tuple[str, str]:
    return "directory" if path.is_dir() else "file", digest_of(path, Stop())


def _words(request: bytes) -> list[str]:
    try:
        return request.decode().split("\0")[:-1]
    except UnicodeDecodeError as error:
        raise ArtifactError("the words of a request are UTF-8, paths among them") from error


def _archive(text: str) -> Archive | None:
    if not text:
        return None
    return _ARCHIVE.validate_json(text if text.startswith("{") else json.dumps({"kind": text}))


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
    """Serve a folder until it is asked to end."""
    words = sys.argv[1:] if arguments is None else arguments
    environ = os.environ if environ is None else environ
    if len(words) > 4 and words[0] == "list":
        return _list(Path(words[1]), words[2], words[3], words[4], words[5:], environ)
    if len(words) != 2 or words[0] != "serve":
        sys.stderr.write(_USAGE)
        return 2
    server = Server(Path(words[1]), environ)
    with _asked_to_end() as ended:
        server.open()
        while not (ended.is_set() or until()):
            server.answer_all()
            ended.wait(_PAUSE_S)
        server.close()
    return 0


@contextmanager
def _asked_to_end() -> Iterator[threading.Event]:
    """Take the request to end: no signal that it does not handle ends a container's first one."""
    ended = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield ended
        return
    before = signal.signal(signal.SIGTERM, lambda *_: ended.set())
    try:
        yield ended
    finally:
        signal.signal(signal.SIGTERM, before)


if __name__ == "__main__":
    sys.exit(main())
