"""Which passes run: a pipeline by its name, and what is added to it or left out of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from couler.errors import ConfigurationError, EngineOptionError
from couler.ir.diagnostics import did_you_mean
from couler.optimizers.base import Pass, fits_engine
from couler.optimizers.pipeline import default_pipeline
from couler.optimizers.registry import make_pass, parse_pass, pass_names, read_pass

DEFAULT = "default"
"""The pipeline that runs unless another one is asked for."""

NONE = "none"
"""The pipeline without passes."""

BUILT_IN = (DEFAULT, NONE)


def select_passes(
    pipeline: str = DEFAULT,
    *,
    add: Sequence[str] = (),
    without: Sequence[str] = (),
    named: Mapping[str, Sequence[str]] | None = None,
) -> tuple[Pass, ...]:
    """Return the passes of a pipeline, changed as asked."""
    passes = list(_of_pipeline(pipeline, named or {}))
    added = [parse_pass(text) for text in add]
    names = [one.name for one in added]
    for name in dict.fromkeys(names):
        if names.count(name) > 1:
            raise EngineOptionError(f'the pass "{name}" is added twice; give its options together')
        if name in without:
            raise EngineOptionError(f'the pass "{name}" is both added and left out')
    known = {pass_.name for pass_ in passes}
    for name in without:
        if name not in known and name not in (installed := pass_names()):
            raise EngineOptionError(
                f'there is no pass "{name}" to leave out; installed: '
                f"{', '.join(installed) or 'none'}.{did_you_mean(name, installed)}"
            )
    passes = [pass_ for pass_ in passes if pass_.name not in without]
    for one in added:
        if one.name not in known:
            new = make_pass(one)
            end = len(passes)
            while end and fits_engine(passes[end - 1]) and not fits_engine(new):
                end -= 1
            passes.insert(end, new)
        elif one.options is not None:
            passes = [make_pass(one) if pass_.name == one.name else pass_ for pass_ in passes]
    return tuple(passes)


def _of_pipeline(name: str, named: Mapping[str, Sequence[str]]) -> tuple[Pass, ...]:
    if name == DEFAULT:
        return default_pipeline().passes
    if name == NONE:
        return ()
    if name not in named:
        known = (*BUILT_IN, *named)
        raise EngineOptionError(
            f'there is no pipeline "{name}"; there are: {", ".join(known)}.'
            f"{did_you_mean(name, known)}"
        )
    try:
        passes = tuple(read_pass(text) for text in named[name])
    except EngineOptionError as error:
        raise ConfigurationError(f'pipeline "{name}": {error}') from error
    fitting = [pass_.name for pass_ in passes if fits_engine(pass_)]
    for one in dict.fromkeys(fitting):
        if fitting.count(one) > 1:
            raise ConfigurationError(
                f'pipeline "{name}": the pass "{one}" stands in it twice, and what the first has '
                "fitted to the engine the second leaves as it is; give its options together"
            )
    return passes
