"""The command line: ``python -m splatcore``, and the program ``splatcore`` of the package."""

import signal
import sys
from pathlib import Path

from ._splatcore import command_line

# The first argument is the folder of the package. Python does not look at the current folder (-I),
# so that no file of an experiment is imported.
_START = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); "
    "from splatcore.__main__ import main; sys.exit(main())"
)


def again() -> list[str]:
    """The command that starts this command line in another process; arguments follow."""
    return [sys.executable, "-I", "-c", _START, str(Path(__file__).resolve().parents[1])]


def main() -> int:
    """Runs the command that the process's arguments name, and returns the exit code."""
    # Ctrl-C is the command's: it ends the process, or asks a training run to save and stop.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return command_line(sys.argv[1:], again())


if __name__ == "__main__":
    sys.exit(main())
