"""What the tests of packages share: their arguments, their commands, and the page of sizes and times."""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys

HEAD = """# From a package to its first result

From the command of the second column to the end of the program of the third, once each: a busy machine takes longer.
The tests of `tests/packages` write their rows with `--document results/packages.md`. What a package depends on is there
already. cargo compiles the crate's C++ sources, which takes most of its time.

| channel | from | to | seconds | files, bytes |
|---|---|---|---:|---|
"""


def read_arguments(description: str, **files: str) -> argparse.Namespace:
    """--root CHECKOUT, --work SCRATCH_FOLDER, and for each of `files` its option with a path, which may be left out."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("--root", type=pathlib.Path, required=True, metavar="CHECKOUT")
    parser.add_argument("--work", type=pathlib.Path, required=True, metavar="SCRATCH_FOLDER")
    for name, meta in files.items():
        parser.add_argument(f"--{name}", type=lambda path: pathlib.Path(path).resolve(), metavar=meta)
    options = parser.parse_args()
    options.root = options.root.resolve()
    options.work = options.work.resolve()
    return options


def emptied(folder: pathlib.Path) -> pathlib.Path:
    """The folder, with nothing in it."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def run(*command: object, folder: pathlib.Path | None = None, status: int = 0, **environment: str) -> str:
    """What the command printed; ends the test with it if it ends otherwise than with `status`."""
    result = subprocess.run([str(c) for c in command], cwd=folder, env={**os.environ, **environment}, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if result.returncode != status:
        sys.exit(f"ended with {result.returncode}: {' '.join(map(str, command))}\n{result.stdout[-20000:]}")
    return result.stdout


def write_row(page: pathlib.Path | None, channel: str, begin: str, end: str, seconds: float,
              files: list[pathlib.Path]) -> None:
    """Tells how long it took from `begin` to `end`, and puts it in place of the channel's row of the page, if there is one."""
    print(f"{channel}: {seconds:.1f} s from `{begin}` to `{end}`")
    if page is None:
        return
    sizes = ", ".join(f"{file.name} {file.stat().st_size:,}" for file in files)
    table, mark, rest = (page.read_text() if page.is_file() else "").partition("\n## ")
    rows = [line for line in table.splitlines() if line.startswith("| ")][1:]
    rows = [row for row in rows if not row.startswith(f"| {channel} |")]
    rows.append(f"| {channel} | `{begin}` | `{end}` | {seconds:.1f} | {sizes} |")
    page.write_text(HEAD + "\n".join(sorted(rows)) + "\n" + mark + rest)
