"""The ashlar command and its libraries. `python -m ashlar --help` tells what it does."""
