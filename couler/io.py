"""Files for containers that have no Couler: `python -m couler.io serve FOLDER`; lists of files."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from couler.errors import ArtifactError, WireError
from couler.ir.artifacts import Archive, Location, is_in_repository, location_texts, map_texts
from couler.ir.wire import MAX_VALUE_BYTES, check_size, dump_json
from couler.locations.contents import digest_of
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
            [(field, _), *_] = location_texts(read)
            known = {field: known.get("key", "")}
        location = map_texts(read, lambda field, text: known.get(field, text))
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


_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK  # a pipe holds nobody up
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC

_MAX_DEPTH = 200
"""Most folders inside of each other, each of which is open meanwhile."""


class SharedFolder:
    """A folder that others can write."""

    def __init__(self, path: Path) -> None:
        path.mkdir(parents=True, exist_ok=True)
        self._fd = os.open(path, _READ | os.O_DIRECTORY)
        if os.fstat(self._fd).st_uid == os.getuid():  # else the other process has made it so
            os.fchmod(self._fd, 0o777)

    def close(self) -> None:
        """Look at it no more."""
        os.close(self._fd)

    def names(self, suffix: str) -> list[str]:
        """Return the names in it that end in a suffix, in order."""
        return sorted(name for name in os.listdir(self._fd) if name.endswith(suffix))

    def has(self, name: str) -> bool:
        """Return whether something has a name, be it a link that leads nowhere."""
        try:
            os.stat(name, dir_fd=self._fd, follow_symlinks=False)
        except FileNotFoundError:
            return False
        return True

    def rename(self, name: str, new: str) -> None:
        """Give a file another name."""
        os.rename(name, new, src_dir_fd=self._fd, dst_dir_fd=self._fd)

    def read(self, name: str) -> bytes:
        """Return the content of a file."""
        with _opened(self._fd, name) as found:
            if not stat.S_ISREG(os.fstat(found).st_mode):
                raise ArtifactError(f"{name!r} is no file")
            with open(found, "rb", closefd=False) as file:
                return file.read()

    def write(self, name: str, content: bytes) -> None:
        """Write a file that all can read, in the place of one that is there."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=self._fd)
        with open(os.open(name, _WRITE, 0o644, dir_fd=self._fd), "wb") as file:
            os.fchmod(file.fileno(), 0o644)
            file.write(content)

    def take(self, name: str, target: Path) -> None:
        """Copy a file, or a folder with all that is in it, to a path of one's own."""
        *folders, last = names_to(name)
        with contextlib.ExitStack() as opened:
            fd = self._fd
            for folder in folders:
                fd = opened.enter_context(_opened(fd, folder))
            home = opened.enter_context(_opened_path(target.parent))
            _copy(fd, last, home, target.name)

    def give(self, source: Path, name: str) -> None:
        """Copy a file or a folder of one's own to a name that is free; all can write the copy."""
        if len(names_to(name)) != 1:
            raise ArtifactError(f"{name!r} is no name of a file")
        with _opened_path(source.parent) as home:
            _copy(home, source.name, self._fd, name, for_all=True)


def names_to(name: str) -> list[str]:
    """Return the names of the folders on the way to a file, and its own."""
    parts = name.split("/")
    if not {"", ".", ".."}.isdisjoint(parts):
        raise ArtifactError(f"{name!r} is no name of a file")
    return parts


@contextlib.contextmanager
def _opened(folder: int, name: str) -> Iterator[int]:
    """Have a file or a folder open that is no link."""
    try:
        fd = os.open(name, _READ, dir_fd=folder)
    except OSError as error:
        with contextlib.suppress(OSError):
            if stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
                raise ArtifactError(f"{name!r} is a link, which is not followed here") from error
        raise
    try:
        yield fd
    finally:
        os.close(fd)


@contextlib.contextmanager
def _opened_path(path: Path) -> Iterator[int]:
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield fd
    finally:
        os.close(fd)


def _copy(
    home: int, name: str, target: int, new: str, *, for_all: bool = False, depth: int = 0
) -> None:
    """Copy what has a name in one folder to a new one in another."""
    with _opened(home, name) as source:
        mode = stat.S_IMODE(os.fstat(source).st_mode)
        if stat.S_ISREG(os.fstat(source).st_mode):
            copy = os.open(new, _WRITE, 0o600, dir_fd=target)
            with open(source, "rb", closefd=False) as file, open(copy, "wb") as written:
                shutil.copyfileobj(file, written)
                os.fchmod(copy, mode | 0o444 if for_all else mode | 0o400)
            return
        if not stat.S_ISDIR(os.fstat(source).st_mode):
            raise ArtifactError(f"{name!r} is neither a file nor a folder")
        if depth > _MAX_DEPTH:
            raise ArtifactError(f"{name:.60!r} has more than {_MAX_DEPTH} folders around it")
        os.mkdir(new, 0o700, dir_fd=target)
        with _opened(target, new) as made:
            for inner in os.listdir(source):
                if stat.S_ISLNK(os.stat(inner, dir_fd=source, follow_symlinks=False).st_mode):
                    os.symlink(os.readlink(inner, dir_fd=source), inner, dir_fd=made)
                else:
                    _copy(source, inner, made, inner, for_all=for_all, depth=depth + 1)
            os.fchmod(made, mode | 0o777 if for_all else mode | 0o700)
