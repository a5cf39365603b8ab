#!/usr/bin/env python3
"""Builds the Python wheel and follows it: installed into an empty environment in an empty folder, used from
there, uninstalled without a trace. auditwheel looks at its tag, where it can be installed.

Run: wheel_test.py --root CHECKOUT --work SCRATCH_FOLDER [--wheel FILE] [--document PAGE]
"""
import pathlib
import re
import subprocess
import sys
import time

from steps import emptied, read_arguments, run, write_row

LEAKING = """
#include <stdlib.h>
void* volatile kept;
int main(void) {
  kept = malloc(12345); /* line 4 */
  kept = 0;
  return 0;
}
"""


def expect(holds: bool, what: str) -> None:
    if not holds:
        sys.exit(f"wheel: {what}")


def files_of(folder: pathlib.Path) -> set[pathlib.Path]:
    return {path for path in folder.rglob("*") if "__pycache__" not in path.parts}


def main() -> None:
    options = read_arguments(__doc__, wheel="FILE", document="PAGE")
    use = emptied(options.work / "use")

    wheel = options.wheel
    if wheel is None:
        said = run(sys.executable, options.root / "packaging/make_wheel.py", options.work / "build")
        wheel = pathlib.Path(said.splitlines()[-1])
    expect(re.fullmatch(r"ashlar-[\d.]+-py3-none-manylinux_2_\d+_\w+\.whl", wheel.name) is not None,
           f"the file is called {wheel.name}")

    run(sys.executable, "-m", "venv", "environment", folder=use)
    environment = use / "environment"
    python = environment / "bin/python"
    before = files_of(environment)
    (use / "app.py").write_text("print(len([str(i) for i in range(100000)]))\n")
    begin = time.monotonic()
    run(python, "-m", "pip", "install", "--no-index", "--no-deps", wheel, folder=use)
    # Only what the environment has, so that nothing of this machine's ashlar helps.
    path = f"{environment}/bin:/usr/bin:/bin"
    said = run("ashlar", "run", "--", "python", "app.py", folder=use, PATH=path, PYTHONMALLOC="malloc")
    seconds = time.monotonic() - begin
    expect("100000" in said and "at peak" in said, f"ashlar run says: {said}")
    write_row(options.document, "Python wheel", "pip install ashlar-*.whl", "ashlar run -- python app.py", seconds, [wheel])
    run("ashlar", "record", "-o", "app.atrace", "--stacks", "--", "python", "app.py", folder=use, PATH=path)
    said = run("ashlar", "report", "--text", "app.atrace", folder=use, PATH=path)
    expect("malloc" in said and "peak" in said, f"ashlar report --text says: {said}")
    run(python, "-m", "ashlar", "replay", "-n", "1", "app.atrace", folder=use)  # it finds its workers
    said = run("ashlar", "nonesuch", folder=use, status=2, PATH=path)
    expect("unknown command" in said, f"ashlar nonesuch says: {said}")
    # libdw is inside.
    (use / "leaking.c").write_text(LEAKING.lstrip("\n"))
    run("gcc", "-g", "-O0", "leaking.c", "-o", "leaking", folder=use)
    said = run("ashlar", "leaks", "--", "./leaking", folder=use, PATH=path)
    expect("leaking.c:4" in said, f"ashlar leaks names no line: {said}")

    audit = use / "audit"
    run(sys.executable, "-m", "venv", audit, folder=use)
    installed = subprocess.run([audit / "bin/python", "-m", "pip", "install", "-q", "auditwheel"], check=False,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0
    if installed:
        said = run(audit / "bin/auditwheel", "show", wheel, folder=use)
        tag = re.search(r"manylinux_2_\d+_\w+", wheel.name)[0]
        expect(f'"{tag}"' in said.replace("\n", " "), f"auditwheel says: {said}")
    else:
        print("no auditwheel here (PyPI: auditwheel), so that only make_wheel.py has read the symbols")

    run(python, "-m", "pip", "uninstall", "-y", "ashlar", folder=use)
    left = files_of(environment) - before
    expect(not left, f"left after the uninstallation: {sorted(map(str, left))}")
    size = wheel.stat().st_size
    print(f"{wheel.name}: {size:,} bytes; installed, used, uninstalled")


if __name__ == "__main__":
    main()
