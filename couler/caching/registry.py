"""The cache policies that are installed: found by entry point, loaded when they are asked for."""

from __future__ import annotations

from couler.caching.policy import CachePolicy
from couler.options.registry import PluginKind

__all__ = ["DEFAULT_POLICY", "default_policy", "policy_names", "read_policy"]

DEFAULT_POLICY = "next-use"
"""The name of the policy that decides where none is chosen."""

_POLICIES: PluginKind[CachePolicy] = PluginKind(
    "couler.cache_policies",
    "cache policy",
    CachePolicy,  # type: ignore[type-abstract]  # a protocol that is only compared with
)


def policy_names() -> tuple[str, ...]:
    """Return the names of the installed policies, sorted; none is loaded.

    Raises
    ------
    ConfigurationError
        Two installed distributions bring a policy of the same name.
    """
    return _POLICIES.names()


def read_policy(text: str) -> CachePolicy:
    """Load the policy that a text names, with the options that it gives.

    Parameters
    ----------
    text
        Such as `gdsf` or `couler{alpha=2, beta=0.5}`, see `couler.options.text`.

    Raises
    ------
    EngineOptionError
        The text is no policy, none of that name is installed, it has no such option, or a value is
        of another type than the option.
    ConfigurationError
        The policy's distribution is broken, or two bring that name.

    Examples
    --------
    >>> read_policy("couler{alpha=2}")
    ImportanceRepaired(alpha=2.0, beta=1.0)
    """
    return _POLICIES.read(text)


def default_policy() -> CachePolicy:
    """Load the policy that decides where none is chosen, without looking at other plugins.

    Raises
    ------
    ConfigurationError
        Couler's own distribution is broken.
    """
    return _POLICIES.built_in(DEFAULT_POLICY)
