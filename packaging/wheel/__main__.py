"""`ashlar`, and `python -m ashlar`: executes the command that lies in this package."""
import os
import pathlib
import sys


def main() -> None:
    """Ends as the command does, in whose place this process is from here on."""
    command = pathlib.Path(__file__).parent / "bin" / "ashlar"
    os.execv(command, ["ashlar", *sys.argv[1:]])


if __name__ == "__main__":
    main()
