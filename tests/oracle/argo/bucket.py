"""One bucket of S3 over a folder: the requests that Argo's driver makes, without signatures."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from email.utils import formatdate
from pathlib import Path
from xml.sax.saxutils import escape

from tests.fakes.kubernetes.server import Reply

NAME = "artifacts"


class Bucket:
    """The objects of a bucket, each a file named by its key under `folder`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def answer(
        self,
        method: str,
        path: str,
        query: Mapping[str, str],
        headers: Mapping[str, str],
        body: bytes,
    ) -> Reply:
        name, _, key = path.removeprefix("/").partition("/")
        headers = {header.lower(): value for header, value in headers.items()}
        if name != NAME:
            return _error(404, "NoSuchBucket", f"the only bucket is {NAME}")
        if not key:
            return self._about_bucket(method, query)
        file = self.folder / key
        if ".." in key.split("/"):
            return _error(400, "InvalidArgument", f"not a key for this bucket: {key}")
        if method == "PUT" and not query:
            content = _content(headers, body)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
            return Reply(200, b"", {"ETag": _etag(content)})
        if method == "DELETE":
            file.unlink(missing_ok=True)
            return Reply(204)
        if method not in ("GET", "HEAD"):
            return _error(501, "NotImplemented", f"{method} {path} {dict(query)}")
        if not file.is_file():
            return _error(404, "NoSuchKey", f"no such key: {key}")
        content = file.read_bytes()
        about = {
            "ETag": _etag(content),
            "Last-Modified": formatdate(file.stat().st_mtime, usegmt=True),
            "Content-Length": str(len(content)),
            "Content-Type": "application/octet-stream",
        }
        return Reply(200, content, about)

    def _about_bucket(self, method: str, query: Mapping[str, str]) -> Reply:
        if method == "HEAD":
            return Reply(200)
        if method != "GET" or "list-type" not in query:
            return _error(501, "NotImplemented", f"{method} of a bucket with {dict(query)}")
        prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
        contents, prefixes = [], set()
        for file in sorted(self.folder.rglob("*")):
            key = file.relative_to(self.folder).as_posix()
            if not file.is_file() or not key.startswith(prefix):
                continue
            head, found, _ = key[len(prefix) :].partition(delimiter or "/")
            if delimiter and found:
                prefixes.add(prefix + head + delimiter)
                continue
            contents.append(
                f"<Contents><Key>{escape(key)}</Key><Size>{file.stat().st_size}</Size>"
                "<LastModified>2020-01-01T00:00:00.000Z</LastModified></Contents>"
            )
        common = [
            f"<CommonPrefixes><Prefix>{escape(one)}</Prefix></CommonPrefixes>"
            for one in sorted(prefixes)
        ]
        text = (
            f"<ListBucketResult><Name>{NAME}</Name><IsTruncated>false</IsTruncated>"
            f"{''.join(contents)}{''.join(common)}</ListBucketResult>"
        )
        return Reply(200, text.encode(), {"Content-Type": "application/xml"})


def _content(headers: Mapping[str, str], body: bytes) -> bytes:
    """The object in a body: a client without TLS sends it in chunks with a signature each."""
    if not body or not headers.get("x-amz-content-sha256", "").startswith("STREAMING-"):
        return body  # an empty object comes without chunks
    parts: list[bytes] = []
    position = 0
    while True:
        end = body.index(b"\r\n", position)
        size = int(body[position:end].split(b";")[0], 16)
        if size == 0:
            return b"".join(parts)
        parts.append(body[end + 2 : end + 2 + size])
        position = end + 2 + size + 2


def _etag(content: bytes) -> str:
    return f'"{hashlib.md5(content, usedforsecurity=False).hexdigest()}"'


def _error(code: int, reason: str, message: str) -> Reply:
    text = f"<Error><Code>{reason}</Code><Message>{escape(message)}</Message></Error>"
    return Reply(code, text.encode(), {"Content-Type": "application/xml"})
