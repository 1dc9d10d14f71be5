"""Workflows from English: descriptions, decomposed, written by a model, built and verified."""

from couler.generation.algorithm import generate_workflow, revise_workflow
from couler.generation.lake import CodeLake, Snippet, packaged_snippets, read_folder
from couler.generation.options import Generated, GenerateOptions, Round

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
