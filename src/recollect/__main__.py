"""The entry point of the program. A hook imports less than other commands, because agents wait for it at every tool call."""

import sys


def main() -> None:
    """Run the command that the arguments name."""
    if sys.argv[1:2] == ["hook"] and not {"-h", "--help"} & set(sys.argv):
        from recollect.surfaces.hook import main as run  # 3 ms of CPU; a hook must not import the commands

        run(sys.argv[2:])
    else:
        from recollect.surfaces.cli import main as run_command  # 41 ms of CPU, not needed by hooks

        run_command()


if __name__ == "__main__":
    main()
