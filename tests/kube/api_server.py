"""A real Kubernetes API server on loopback, built from its Go module, with etcd and Argo's CRDs."""

from __future__ import annotations

import http.client
import json
import os
import secrets
import shutil
import socket
import ssl
import subprocess
import time
import typing as t
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import yaml

from tests.oracle.argo.build import HERE as ORACLE, MODULE

BUILD = Path(__file__).parents[2] / "build" / "kube-api"
KUBERNETES = "v1.33.1"
STAGING = "v0.33.1"
"""Of the modules that are developed within that of Kubernetes."""

OTELGRPC = "go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
OTELGRPC_VERSION = "v0.58.0"
"""The last with what the API server's client of etcd calls."""

Json: t.TypeAlias = dict[str, t.Any]


def go(*arguments: str) -> str:
    """Run Go in the folder of the build."""
    environ = {**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "", "GOWORK": "off"}
    done = subprocess.run(
        ["go", *arguments], cwd=BUILD, env=environ, stdout=subprocess.PIPE, text=True, check=True
    )
    return done.stdout


def program() -> Path:
    """Return the API server's program; build it if need be, which takes about 12 CPU minutes."""
    built = BUILD / "kube-apiserver"
    if built.exists():
        return built
    BUILD.mkdir(parents=True, exist_ok=True)
    for name in ("go.mod", "go.sum"):
        shutil.copy(ORACLE / name, BUILD / name)
    found = json.loads(go("mod", "download", "-json", f"k8s.io/kubernetes@{KUBERNETES}"))
    replaced = json.loads(go("mod", "edit", "-json", found["GoMod"]))["Replace"]
    edits = [f"-require=k8s.io/kubernetes@{KUBERNETES}"]
    edits += [f"-replace={one['Old']['Path']}={one['Old']['Path']}@{STAGING}" for one in replaced]
    edits += [f"-replace={OTELGRPC}={OTELGRPC}@{OTELGRPC_VERSION}"]
    go("mod", "edit", *edits)
    what = "k8s.io/kubernetes/cmd/kube-apiserver"
    go("build", "-mod=mod", "-buildvcs=false", "-ldflags=-s -w", f"-o={built}", what)
    return built


def definitions() -> Iterator[Json]:
    """Yield Argo's CRDs, as its own module has them."""
    folder = Path(go("list", "-mod=mod", "-m", "-f", "{{.Dir}}", MODULE).strip())
    for file in sorted((folder / "manifests" / "base" / "crds" / "full").glob("argoproj*.yaml")):
        yield yaml.safe_load(file.read_text(encoding="utf-8"))


@dataclass(frozen=True)
class ApiServer:
    """An API server that answers."""

    address: str
    folder: Path
    token: str
    """That of an administrator."""

    def connection(self) -> http.client.HTTPSConnection:
        """Return a connection."""
        trusted = ssl.create_default_context(cafile=str(self.folder / "certs" / "apiserver.crt"))
        return http.client.HTTPSConnection(urlsplit(self.address).netloc, context=trusted)

    def call(
        self, method: str, path: str, body: Json | None = None, *, token: str | None = None
    ) -> tuple[int, Json]:
        """Return the code and the body of an answer."""
        content = None if body is None else json.dumps(body)
        headers = {
            "Authorization": f"Bearer {token or self.token}",
            "Content-Type": "application/json",
        }
        connection = self.connection()
        try:
            connection.request(method, path, content, headers)
            answer = connection.getresponse()
            text = answer.read().decode()
        finally:
            connection.close()
        return answer.status, json.loads(text) if text.startswith("{") else {"message": text}

    def create(self, path: str, body: Json) -> None:
        """Create an object that is not there."""
        code, answer = self.call("POST", path, body)
        if code != 201:
            raise RuntimeError(f"POST {path}: {code} {answer.get('message')}")

    def account(self, namespace: str, name: str) -> str:
        """Return a token of a service account."""
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token"
        return str(self.call("POST", path, {"spec": {}})[1]["status"]["token"])

    def kubeconfig(self, token: str, namespace: str) -> Path:
        """Return a file by which a client of a token finds the server."""
        file = self.folder / f"kubeconfig-{namespace}-{secrets.token_hex(4)}"
        cluster = {
            "server": self.address,
            "certificate-authority": str(self.folder / "certs" / "apiserver.crt"),
        }
        context = {"cluster": "real", "user": "real", "namespace": namespace}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "real", "cluster": cluster}],
            "users": [{"name": "real", "user": {"token": token}}],
            "contexts": [{"name": "real", "context": context}],
            "current-context": "real",
        }
        file.write_text(json.dumps(config), encoding="utf-8")
        return file


def free_port() -> int:
    """Return a port that nobody listens at."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return int(held.getsockname()[1])


@contextmanager
def api_server(folder: Path) -> Iterator[ApiServer]:
    """Start etcd and an API server with RBAC, quotas and Argo's CRDs; stop them at the end."""
    token = secrets.token_hex(16)
    (folder / "tokens.csv").write_text(f"{token},admin,admin,system:masters\n")
    key, public = folder / "sa.key", folder / "sa.pub"
    quiet = {"check": True, "stderr": subprocess.DEVNULL}
    subprocess.run(["openssl", "genrsa", "-out", key, "2048"], **quiet)
    subprocess.run(["openssl", "rsa", "-in", key, "-pubout", "-out", public], **quiet)
    store, peer, port = (f"http://127.0.0.1:{free_port()}" for _ in range(3))
    address = port.replace("http:", "https:")
    etcd = [
        *("etcd", "--data-dir", folder / "etcd", "--listen-peer-urls", peer),
        *("--listen-client-urls", store, "--advertise-client-urls", store),
    ]
    server = [
        program(),
        f"--etcd-servers={store}",
        f"--cert-dir={folder / 'certs'}",
        "--bind-address=127.0.0.1",
        f"--secure-port={port.rpartition(':')[2]}",
        "--authorization-mode=RBAC",
        "--enable-admission-plugins=ServiceAccount,ResourceQuota,NamespaceLifecycle",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={public}",
        f"--service-account-signing-key-file={key}",
        f"--token-auth-file={folder / 'tokens.csv'}",
        "--service-cluster-ip-range=10.0.0.0/24",
    ]
    with open(folder / "log", "w") as log:
        running = [subprocess.Popen(one, stdout=log, stderr=log) for one in (etcd, server)]
        try:
            yield _ready(ApiServer(address, folder, token))
        finally:
            for one in reversed(running):
                one.terminate()
                one.wait(60)


def _ready(server: ApiServer) -> ApiServer:
    """Wait until a server answers and knows Argo's objects."""
    _until(lambda: server.call("GET", "/readyz")[0] == 200)
    for definition in definitions():
        server.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
    workflows = "/apis/argoproj.io/v1alpha1/namespaces/default/workflows"
    _until(lambda: server.call("GET", workflows)[0] == 200)
    return server


def _until(is_so: t.Callable[[], bool]) -> None:
    for _ in range(1200):
        try:
            if is_so():
                return
        except OSError:  # it does not listen yet
            time.sleep(0.1)
        time.sleep(0.1)
    raise TimeoutError("the API server does not get ready")
