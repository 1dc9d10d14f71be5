"""Secrets: their values stay in this process, workflows hold references."""

from __future__ import annotations

from collections.abc import Mapping


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
        self.keys = tuple(data) if data is not None else keys
        self.namespace = namespace
        self.dry_run = dry_run
        self._data = None if data is None else dict(data)

    @property
    def is_new(self) -> bool:
        """Whether this program knows the values and may make the secret."""
        return self._data is not None and not self.dry_run

    def reveal(self) -> dict[str, str]:
        """Return the values, for the submitter that makes the secret and for runs here."""
        return dict(self._data or {})

    def __repr__(self) -> str:
        return f"Secret({self.name!r}, keys={list(self.keys)})"
