"""The ancestor's import paths; everything is in `couler`."""

from couler.core import states as states
