"""The server's side of a WebSocket (RFC 6455), as far as ``exec`` needs it."""

from __future__ import annotations

import base64
import hashlib
import struct
import threading
from typing import BinaryIO

_MAGIC = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_CONTINUE, _TEXT, _BINARY, _CLOSE, _PING, _PONG = 0, 1, 2, 8, 9, 10
_LIMIT = 1 << 24


def accept_key(key: str) -> str:
    """The answer to a client's ``Sec-WebSocket-Key``.

    Examples
    --------
    >>> accept_key("dGhlIHNhbXBsZSBub25jZQ==")
    's3pPLMBiTxaQ9kYGzzhZRbK+xOo='
    """
    return base64.b64encode(hashlib.sha1(key.encode() + _MAGIC).digest()).decode()


class WebSocket:
    """Messages over a connection on which the handshake is done."""

    def __init__(self, incoming: BinaryIO, outgoing: BinaryIO) -> None:
        self._incoming, self._outgoing = incoming, outgoing
        self._sending = threading.Lock()

    def send(self, message: bytes) -> None:
        """Send a binary message in one frame."""
        self._send(_BINARY, message)

    def close(self) -> None:
        """Say that nothing more will come."""
        self._send(_CLOSE, struct.pack(">H", 1000))

    def receive(self) -> bytes | None:
        """The next message, or None when the client has closed."""
        message = b""
        while True:
            frame = self._frame()
            if frame is None or frame[1] == _CLOSE:
                return None
            final, code, payload = frame
            if code == _PING:
                self._send(_PONG, payload)
            elif code in (_CONTINUE, _TEXT, _BINARY):
                message += payload
                if final:
                    return message

    def _frame(self) -> tuple[bool, int, bytes] | None:
        head = self._incoming.read(2)
        if len(head) < 2:
            return None
        size = head[1] & 0x7F
        if size == 126:
            (size,) = struct.unpack(">H", self._incoming.read(2))
        elif size == 127:
            (size,) = struct.unpack(">Q", self._incoming.read(8))
        if not head[1] & 0x80 or size > _LIMIT:
            return None  # not from a client that keeps the rules
        mask = self._incoming.read(4)
        payload = self._incoming.read(size)
        if len(payload) < size:
            return None
        text = bytes(byte ^ mask[position % 4] for position, byte in enumerate(payload))
        return bool(head[0] & 0x80), head[0] & 0x0F, text

    def _send(self, code: int, payload: bytes) -> None:
        size = len(payload)
        if size < 126:
            head = struct.pack(">BB", 0x80 | code, size)
        elif size < 1 << 16:
            head = struct.pack(">BBH", 0x80 | code, 126, size)
        else:
            head = struct.pack(">BBQ", 0x80 | code, 127, size)
        with self._sending:
            self._outgoing.write(head + payload)
            self._outgoing.flush()
