"""Secrets: their values stay in this process, workflows hold references."""

from __future__ import annotations

from collections.abc import Mapping

from couler.dsl._context import ProgramError


class Secret:
    """A secret of the cluster: its name, its keys and, if this program makes it, its values.

    Parameters
    ----------
    name
        As it is called on the cluster.
    data
        Values by key; None if the secret exists already.
    keys
        Keys of a secret that exists.
    namespace
        Where it lives; None for the namespace of the workflow.
    dry_run
        Never make it, although its values are known.
    """

    def __init__(
        self,
        name: str,
        data: Mapping[str, str] | None = None,
        *,
        keys: tuple[str, ...] = (),
        namespace: str | None = None,
        dry_run: bool = False,
    ) -> None:
        self.name = name
        self._data = None if data is None else secret_texts(data)
        self.keys = keys if self._data is None else tuple(self._data)
        self.namespace = namespace
        self.dry_run = dry_run

    @property
    def is_new(self) -> bool:
        """Whether this program knows the values and may make the secret."""
        return self._data is not None and not self.dry_run

    def reveal(self) -> dict[str, str]:
        """Return the values, for the submitter that makes the secret and for runs here."""
        return dict(self._data or {})

    def __repr__(self) -> str:
        return f"Secret({self.name!r}, keys={list(self.keys)})"


def secret_texts(given: object) -> dict[str, str]:
    """Return the values of a secret by key; what refuses them shows none of them."""
    if not isinstance(given, Mapping):
        message = f"the data of a secret is a {type(given).__name__} and no dict of keys and texts"
        raise ProgramError("CLR105", message)
    wrong = [f"a key is a {type(key).__name__}" for key in given if not isinstance(key, str)]
    wrong += [
        f"the value of a key is a {type(one).__name__}"
        for one in given.values()
        if not isinstance(one, str | int | float)
    ]
    if wrong:
        raise ProgramError("CLR105", f"{wrong[0]} and no text")
    return {key: str(value) for key, value in given.items()}
