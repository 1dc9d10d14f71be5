"""`couler.generate`: workflows from English in programs and notebooks."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from couler.backends.base import Target
from couler.generation.algorithm import generate_workflow
from couler.generation.lake import CodeLake, packaged_snippets, read_folder
from couler.generation.options import Generated, GenerateOptions, Listener, Mode
from couler.llm import LanguageModel, LlmSettings, open_model, settings_from_environ


def generate(
    description: str,
    *,
    engines: Iterable[str] | Mapping[str, Target] = (),
    mode: Mode | None = None,
    options: GenerateOptions | None = None,
    model: LanguageModel | LlmSettings | None = None,
    lake: Iterable[str | Path] = (),
    listener: Listener | None = None,
) -> Generated:
    """Turn a description into a workflow, with a language model.

    Parameters
    ----------
    description
        What the workflow does.
    engines
        Engines that it must be possible on, by name, or with their settings.
    mode
        `code`, the default: the model writes a program. `modules`: it writes one module after the
        other. `schema`: it fills in a form, and nothing that it wrote runs here.
    options
        All that can be set; `engines` and `mode` take precedence over it.
    model
        A language model, or the settings of one; None for those of the environment
        (`COULER_LLM_BASE_URL`, `COULER_LLM_MODEL`, `COULER_LLM_API_KEY`).
    lake
        Folders with programs of yours that the model is shown where they fit.
    listener
        Is told of each round as it ends.

    Returns
    -------
    Generated
        The program and the workflow, which says itself whether it is verified; nothing is
        submitted.

    Raises
    ------
    ConfigurationError
        A setting is missing or wrong.
    IsolationError
        This system gives no isolation to build programs in.
    LanguageModelError
        The model cannot be asked, its budget is reached, or it answers nothing that can be read.
    """
    options = GenerateOptions() if options is None else options
    if engines:
        targets = engines if isinstance(engines, Mapping) else {one: Target() for one in engines}
        options = replace(options, targets=targets)
    if mode is not None:
        options = replace(options, mode=mode)
    own = [snippet for folder in lake for snippet in read_folder(Path(folder))]
    snippets = CodeLake([*packaged_snippets(), *own])
    if model is None:
        model = settings_from_environ(os.environ)
    if not isinstance(model, LlmSettings):
        return generate_workflow(description, model, options, lake=snippets, listener=listener)
    with open_model(model) as opened:
        return generate_workflow(description, opened, options, lake=snippets, listener=listener)
