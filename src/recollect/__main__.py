"""The program. A hook takes the short way: its host waits for it at every tool call."""

import sys


def main() -> None:
    if sys.argv[1:2] == ["hook"] and not {"-h", "--help"} & set(sys.argv):
        from recollect.surfaces.hook import main as run

        run(sys.argv[2:])
    else:
        from recollect.surfaces.cli import main as run_command

        run_command()


if __name__ == "__main__":
    main()
