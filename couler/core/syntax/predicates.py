"""The ancestor's import path; the names are in `couler`."""

from couler.dsl.conditions import bigger as bigger
from couler.dsl.conditions import bigger_equal as bigger_equal
from couler.dsl.conditions import equal as equal
from couler.dsl.conditions import not_equal as not_equal
from couler.dsl.conditions import smaller as smaller
from couler.dsl.conditions import smaller_equal as smaller_equal
