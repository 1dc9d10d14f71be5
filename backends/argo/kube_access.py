"""The way into a cluster: kubeconfig files, the account of a pod, programs that give tokens."""

from __future__ import annotations

import json
import os
import subprocess
import typing as t
from collections.abc import Mapping
from pathlib import Path

import httpx2
from lightkube.config.client_adapter import ConnectionParams
from lightkube.config.kubeconfig import (
    DEFAULT_KUBECONFIG,
    SERVICE_ACCOUNT,
    KubeConfig,
    SingleConfig,
)
from lightkube.config.models import User, UserExec
from lightkube.core.exceptions import ConfigError
from yaml import YAMLError

from couler.errors import ConfigurationError
from couler.rest.trust import is_plain

_PROGRAM_LIMIT_S = 60.0
"""How long a program may take that gives a token; some ask a person to log in."""

_THIS_POD = "the account of this pod"


def find_config(
    kubeconfig: str | None, context: str | None, environment: Mapping[str, str]
) -> SingleConfig:
    """Return how a cluster is reached."""
    named = kubeconfig or environment.get("KUBECONFIG")
    is_in_pod = bool(environment.get("KUBERNETES_SERVICE_HOST"))
    if named is None and is_in_pod and Path(SERVICE_ACCOUNT, "token").is_file():
        return _chosen(_THIS_POD, _of_this_pod(), context)
    names = [named] if kubeconfig else (named or DEFAULT_KUBECONFIG).split(os.pathsep)
    files = [Path(name).expanduser() for name in names if name]
    present = [file for file in files if file.is_file()]
    if not present:
        raise ConfigurationError(
            "argo: no configuration of a cluster was found: there is no file "
            f"{' or '.join(map(str, files))}. Name one in the target's setting kubeconfig, or in "
            "the variable KUBECONFIG"
        )
    # kubectl merges several files; here one must have all that belongs to a context.
    for file in present[:-1]:
        config = _load(file)
        if (context or config.current_context) in config.contexts:
            return _chosen(str(file), config, context)
    return _chosen(str(present[-1]), _load(present[-1]), context)


def _load(file: Path) -> KubeConfig:
    try:
        if not file.read_bytes().strip():
            raise ConfigError("it is empty")
        return KubeConfig.from_file(file)
    except OSError as error:
        raise ConfigurationError(f"argo: {file} cannot be read: {error.strerror}") from error
    except (ConfigError, AttributeError, KeyError, TypeError, ValueError, YAMLError) as error:
        raise _broken(str(file), error) from error


def _of_this_pod() -> KubeConfig:
    try:
        return KubeConfig.from_service_account(SERVICE_ACCOUNT)
    except (ConfigError, KeyError) as error:
        raise _broken(_THIS_POD, error) from error


def _chosen(where: str, config: KubeConfig, context: str | None) -> SingleConfig:
    try:
        found = config.get(context)
    except (ConfigError, KeyError) as error:
        if context is not None and context not in config.contexts:
            known = ", ".join(sorted(config.contexts)) or "none"
            raise ConfigurationError(
                f'argo: {where} has no context "{context}"; it has: {known}'
            ) from error
        raise _broken(where, error) from error
    assert found is not None, "no default was given"
    return found if found.user is not None else found._replace(user=User())


def _broken(where: str, error: Exception) -> ConfigurationError:
    told = f"it lacks {error}" if isinstance(error, KeyError) else str(error)
    if isinstance(error, AttributeError | TypeError):  # lightkube takes for granted what is there
        told = "it is not made up as a kubeconfig file is"
    return ConfigurationError(
        f"argo: {where} is no configuration of a cluster that can be used: {told}"
    )


def renewal(config: SingleConfig) -> str:
    """Return what helps where a cluster does not know who asks."""
    if config.fname is None:
        return "The token of this pod's account is not taken"
    return (
        f'What the context "{config.context_name}" of {config.fname} gives to get in is not taken: '
        "renew it, or choose another context"
    )


def http_client(
    config: SingleConfig, environment: Mapping[str, str], timeout_s: float
) -> httpx2.Client:
    """Return a client that trusts a cluster's certificate and has what the configuration gives."""
    user = config.user
    program = user.exec if user is not None else None
    timeout = httpx2.Timeout(timeout_s, connect=min(10.0, timeout_s))
    if is_plain(config.cluster.server):
        config.cluster.insecure = True
    try:
        fields = ConnectionParams(timeout=timeout).httpx_params(config)
    except (ConfigError, OSError, ValueError) as error:
        raise ConfigurationError(
            f'argo: what the context "{config.context_name}" says of certificates or of how to get '
            f"in cannot be used: {error}"
        ) from error
    if program is not None and user is not None and not (user.token or user.token_file):
        fields["auth"] = _ProgramAuth(program, config, environment)
    return httpx2.Client(**fields)


class _ProgramAuth(httpx2.Auth):
    """Takes a token from a program, as the cluster's configuration says."""

    def __init__(
        self, program: UserExec, config: SingleConfig, environment: Mapping[str, str]
    ) -> None:
        self._program = program
        self._folder = config.fname.parent if config.fname is not None else None
        self._environment = dict(environment)
        self._token: str | None = None

    def auth_flow(
        self, request: httpx2.Request
    ) -> t.Generator[httpx2.Request, httpx2.Response, None]:
        if self._token is not None:
            request.headers["Authorization"] = f"Bearer {self._token}"
            answer = yield request
            if answer.status_code != 401:
                return
        self._token = self._ask()
        request.headers["Authorization"] = f"Bearer {self._token}"
        yield request

    def _ask(self) -> str:
        program = self._program
        name = Path(program.command).name
        info = {
            "apiVersion": program.apiVersion,
            "kind": "ExecCredential",
            "spec": {"interactive": False},
        }
        variables = {**self._environment, "KUBERNETES_EXEC_INFO": json.dumps(info)}
        variables.update({one.name: one.value for one in program.env or ()})
        command = program.command
        if os.sep in command and self._folder is not None:
            command = str(self._folder / command)  # relative to the file that names it
        try:
            done = subprocess.run(
                [command, *(program.args or ())],
                env=variables,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_PROGRAM_LIMIT_S,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise ConfigurationError(
                f"argo: {name}, which gives the token of the cluster, has not ended after "
                f"{_PROGRAM_LIMIT_S:.0f} s"
            ) from error
        except OSError as error:
            hint = f". {program.installHint}" if program.installHint else ""
            raise ConfigurationError(
                f"argo: {name}, which gives the token of the cluster, cannot be started: "
                f"{error.strerror}{hint}"
            ) from error
        if done.returncode:
            said = done.stderr.decode(errors="replace").strip().partition("\n")[0][:200]
            raise ConfigurationError(
                f"argo: {name}, which gives the token of the cluster, ended with "
                f"{done.returncode}" + (f": {said}" if said else "")
            )
        return _token(name, done.stdout)


def _token(program: str, answer: bytes) -> str:
    try:
        token = json.loads(answer)["status"]["token"]
    except (ValueError, KeyError, TypeError):
        token = None
    if not isinstance(token, str) or not token:
        # What it said may be a secret: it is not shown.
        raise ConfigurationError(
            f"argo: {program} was asked for the token of the cluster and gave none. Certificates "
            "from programs are not taken"
        )
    return token
