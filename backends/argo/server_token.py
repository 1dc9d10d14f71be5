"""The token of an Argo Server, which is often given as the whole header."""

from __future__ import annotations

from dataclasses import dataclass

from couler.rest.credentials import Credential

_BEARER = "Bearer "


@dataclass(frozen=True, slots=True)
class ServerToken:
    """A token, less the word `Bearer` that `argo auth token` and `ARGO_TOKEN` have before it."""

    credential: Credential

    @property
    def can_change(self) -> bool:
        """Whether reading again may give another one."""
        return self.credential.can_change

    def read(self) -> str:
        """Return it."""
        return self.credential.read().removeprefix(_BEARER)

    def forget(self) -> None:
        """Read it anew next time."""
        self.credential.forget()
