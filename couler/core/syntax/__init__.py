"""The ancestor's import paths of control flow and settings."""

from couler.dsl.conditions import bigger as bigger
from couler.dsl.conditions import bigger_equal as bigger_equal
from couler.dsl.conditions import equal as equal
from couler.dsl.conditions import not_equal as not_equal
from couler.dsl.conditions import smaller as smaller
from couler.dsl.conditions import smaller_equal as smaller_equal
from couler.dsl.control import concurrent as concurrent
from couler.dsl.control import when as when
from couler.dsl.dag import dag as dag
from couler.dsl.dag import set_dependencies as set_dependencies
from couler.dsl.iteration import map as map
from couler.dsl.loops import exec_while as exec_while
from couler.dsl.settings import add_image_pull_secret as add_image_pull_secret
from couler.dsl.settings import add_toleration as add_toleration
from couler.dsl.settings import set_dns as set_dns
from couler.dsl.settings import set_exit_handler as set_exit_handler
from couler.dsl.volumes import add_volume as add_volume
from couler.dsl.volumes import create_workflow_volume as create_workflow_volume
