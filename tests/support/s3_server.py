"""A server on loopback that speaks S3."""

from __future__ import annotations

import typing as t
from collections.abc import Iterator, Mapping
from contextlib import contextmanager


class S3Server(t.NamedTuple):
    """A server that speaks S3, with the bucket `data`."""

    storage: Mapping[str, object]
    """The storage of a target; both entries of its secret `store` are the text `test`."""
    options: Mapping[str, t.Any]
    """Those of s3fs."""
    filesystem: t.Any


@contextmanager
def s3_server() -> Iterator[S3Server]:
    """Have a server as long as the block runs."""
    import s3fs
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    options = {"key": "test", "secret": "test", "endpoint_url": f"http://{host}:{port}"}
    region = {"region_name": "us-east-1"}
    filesystem = s3fs.S3FileSystem(**options, client_kwargs=region, skip_instance_cache=True)
    filesystem.call_s3("create_bucket", Bucket="data")
    storage = {
        "bucket": "data",
        "endpoint": f"{host}:{port}",
        "insecure": True,
        "region": "us-east-1",
        "access_key": "store/access",
        "secret_key": "store/secret",
    }
    yield S3Server(storage, options, filesystem)
    server.stop()
