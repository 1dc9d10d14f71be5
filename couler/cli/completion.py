"""`couler completion`: completing commands, options and engines in a shell."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from couler.cli.session import session_options

SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
@session_options
def command(shell: str) -> None:
    """Print a script that completes commands in a shell.

    \b
    bash: couler completion bash >> ~/.bashrc
    zsh:  couler completion zsh >> ~/.zshrc
    fish: couler completion fish > ~/.config/fish/completions/couler.fish
    """  # noqa: D301  # click reads \b as: leave these lines as they are
    kind = get_completion_class(shell)
    root = click.get_current_context().find_root().command
    if kind is None:
        raise click.UsageError(f"this version of click has no completion for {shell}")
    script = kind(root, {}, "couler", "_COULER_COMPLETE")
    click.echo(script.source_template % script.source_vars())
