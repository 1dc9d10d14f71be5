"""Files outside of a workflow: fetched for steps, and put where steps keep them."""

from couler.backends.local.locations.exchange import Exchange, Fetched, has_sources
from couler.backends.local.locations.reach import require_reach

__all__ = ["Exchange", "Fetched", "has_sources", "require_reach"]
