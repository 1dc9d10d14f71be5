"""The cache policies that are installed: found by entry point, loaded when they are asked for."""

from __future__ import annotations

from couler.caching.policy import CachePolicy
from couler.plugins import PluginKind

DEFAULT_POLICY = "next-use"
"""The name of the policy that decides where none is chosen."""

_POLICIES: PluginKind[CachePolicy] = PluginKind(
    "couler.cache_policies",
    "cache policy",
    CachePolicy,  # type: ignore[type-abstract]  # a protocol that is only compared with
)


def policy_names() -> tuple[str, ...]:
    """Return the names of the installed policies, sorted; none is loaded."""
    return _POLICIES.names()


def read_policy(text: str) -> CachePolicy:
    """Load the policy that a text names, with the options that it gives."""
    return _POLICIES.read(text)


def default_policy() -> CachePolicy:
    """Load the policy that decides where none is chosen, without looking at other plugins."""
    return _POLICIES.built_in(DEFAULT_POLICY)
