"""Workflows from English: descriptions, decomposed, written by a model, built and verified."""

from couler.generation.algorithm import generate_workflow as generate_workflow
from couler.generation.algorithm import revise_workflow as revise_workflow
from couler.generation.lake import CodeLake as CodeLake
from couler.generation.lake import Snippet as Snippet
from couler.generation.lake import packaged_snippets as packaged_snippets
from couler.generation.lake import read_folder as read_folder
from couler.generation.options import Generated as Generated
from couler.generation.options import GenerateOptions as GenerateOptions
from couler.generation.options import Round as Round

__all__ = [
    "CodeLake",
    "GenerateOptions",
    "Generated",
    "Round",
    "Snippet",
    "generate_workflow",
    "packaged_snippets",
    "read_folder",
    "revise_workflow",
]
