"""The ancestor's import path; the names are in `couler`."""

from couler.dsl.volumes import (
    add_volume as add_volume,
    create_workflow_volume as create_workflow_volume,
)
