"""recollect completion"""

from pathlib import Path

import click

from recollect.surfaces import completion

SHELLS = ("bash", "zsh", "fish")


@click.command("completion")
@click.argument("shell", type=click.Choice(SHELLS))
def command(shell: str) -> None:
    """Print a script that completes commands in your shell.

    It completes commands, options and live values: IDs, projects, agents, branches, models, tools and labels.

    \b
    bash: add to ~/.bashrc                  eval "$(recollect completion bash)"
    zsh:  add to ~/.zshrc, after compinit   eval "$(recollect completion zsh)"
    fish: run once
          recollect completion fish > ~/.config/fish/completions/recollect.fish
    """
    script = Path(completion.__file__).with_name(f"recollect.{shell}")
    click.echo(script.read_text("utf-8"), nl=False)
