"""Names of `couler.stages.programs`, which reads programs for commands and for the box."""

from couler.stages.programs import Loaded as Loaded
from couler.stages.programs import LoadError as LoadError
from couler.stages.programs import load_program as load_program
