"""A process beside those of a running container, and its streams over a WebSocket."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import IO

from tests.fakes.kubernetes import sandbox
from tests.fakes.kubernetes.container import Container
from tests.fakes.kubernetes.store import ApiError
from tests.fakes.kubernetes.websocket import WebSocket

PROTOCOL = "v4.channel.k8s.io"
_STDIN, _STDOUT, _STDERR, _ERROR = 0, 1, 2, 3
_CHUNK = 32 * 1024
_START_S = 600.0
_PROGRAM = Path(sandbox.__file__).with_name("enter.py")


class Execution:
    """A process in a container, which ends with the block that this opens, and its file goes."""

    def __init__(self, container: Container, command: list[str]) -> None:
        limit = time.monotonic() + _START_S
        while (first := container.first_process()) is None and not container.poll():
            if time.monotonic() > limit:
                break
            time.sleep(0.005)  # its status says that it runs as soon as it is started
        if first is None:
            raise ApiError(400, "BadRequest", f"container {container.name} does not run")
        self._folder = container.folder
        self._spec = {
            "pid": first,
            "root": str(container.folder / "root"),
            "argv": command,
            "env": container.environment,
            "cwd": container.cwd,
        }
        self._ending = contextlib.ExitStack()

    def __enter__(self) -> Execution:
        with contextlib.ExitStack() as ending:
            # It holds the environment of the container.
            spec = ending.enter_context(
                tempfile.NamedTemporaryFile("w", prefix="exec-", suffix=".json", dir=self._folder)
            )
            json.dump(self._spec, spec)
            spec.flush()
            self._process = ending.enter_context(
                subprocess.Popen(
                    # Not -I: the program imports its neighbour.
                    [sys.executable, "-E", "-s", "-S", str(_PROGRAM), spec.name],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    start_new_session=True,
                )
            )
            ending.callback(self._process.kill)
            self._ending = ending.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._ending.close()

    def serve(self, socket: WebSocket) -> None:
        """Connect the process with the client, until one of them ends."""
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        readers = [
            threading.Thread(target=_pass_on, args=(process.stdout, socket, _STDOUT)),
            threading.Thread(target=_pass_on, args=(process.stderr, socket, _STDERR)),
        ]
        listener = threading.Thread(target=self._listen, args=(socket, process.stdin))
        for thread in (*readers, listener):
            thread.start()
        for thread in readers:
            thread.join()
        code = process.wait()
        with contextlib.suppress(OSError):
            socket.send(bytes([_ERROR]) + json.dumps(_outcome(code)).encode())
            socket.close()
        listener.join()
        process.stdin.close()

    def _listen(self, socket: WebSocket, stdin: IO[bytes]) -> None:
        """Write what the client sends; when it goes, the process ends."""
        with contextlib.suppress(OSError, ValueError):
            while (message := socket.receive()) is not None:
                if message[:1] == bytes([_STDIN]):
                    stdin.write(message[1:])
                    stdin.flush()
        self._process.kill()


def _pass_on(stream: IO[bytes], socket: WebSocket, channel: int) -> None:
    with stream, contextlib.suppress(OSError):
        while chunk := stream.read1(_CHUNK):  # type: ignore[attr-defined]  # a BufferedReader
            socket.send(bytes([channel]) + chunk)


def _outcome(code: int) -> dict[str, object]:
    if code == 0:
        return {"metadata": {}, "status": "Success"}
    return {
        "metadata": {},
        "status": "Failure",
        "reason": "NonZeroExitCode",
        "message": f"command terminated with non-zero exit code: exit status {code}",
        "details": {"causes": [{"reason": "ExitCode", "message": str(code)}]},
    }
