"""The ancestor's import path; the names are in `couler`."""

from couler.dsl.settings import add_volume as add_volume
from couler.dsl.settings import create_workflow_volume as create_workflow_volume
