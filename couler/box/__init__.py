"""Programs that nobody trusts yet: an allow-list, then a build behind walls, then data."""

from couler.box.build import Built as Built
from couler.box.build import Isolation as Isolation
from couler.box.build import build_program as build_program
from couler.box.build import isolation as isolation
from couler.box.gate import check_program as check_program
from couler.box.limits import Limits as Limits

__all__ = ["Built", "Isolation", "Limits", "build_program", "check_program", "isolation"]
