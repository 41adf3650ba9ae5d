"""The entry point of the program.

Hooks and completion import less than other commands: agents wait at every tool call, and people at every tab.
"""

import sys

GC_THRESHOLD = 100_000  # new objects until garbage is collected; with Python's 700, imports take an eighth more time


def main() -> None:
    """Run the command that the arguments name."""
    if sys.argv[1:2] == ["hook"] and not {"-h", "--help"} & set(sys.argv):
        from recollect.surfaces.hook import main as run  # 3 ms of CPU; a hook must not import the commands

        run(sys.argv[2:])
    elif sys.argv[1:2] == ["__complete"]:
        from recollect.surfaces.completion import main as complete  # without the commands: a person waits at every tab

        complete(sys.argv[2:])
    else:
        import gc  # a hook does without

        gc.set_threshold(GC_THRESHOLD)
        from recollect.surfaces.cli import main as run_command  # 41 ms of CPU, not needed by hooks

        run_command()


if __name__ == "__main__":
    main()
