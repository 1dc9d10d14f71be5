"""Programs that nobody trusts yet: an allow-list, then a build behind walls, then data."""

from couler.box.build import Built, Isolation, build_program, isolation
from couler.box.gate import check_program
from couler.box.limits import Limits

__all__ = ["Built", "Isolation", "Limits", "build_program", "check_program", "isolation"]
