"""The local engine: runs a workflow on this machine, as processes."""

from couler.backends.local.backend import LocalBackend

__all__ = ["LocalBackend"]
