"""The ancestor's `couler.states`: the workflow that the program is building."""

from couler.dsl.ancestor import workflow as workflow
from couler.dsl.settings import _cleanup as _cleanup
