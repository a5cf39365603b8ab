"""A folder of build/ with Python packages: what zig.py and site.py need from PyPI."""
import pathlib
import subprocess
import venv

ROOT = pathlib.Path(__file__).resolve().parents[1]


def install(folder: pathlib.Path, *packages: str) -> None:
    """Effects: makes a virtual environment with these packages ("name==version"), unless it is there."""
    installed = folder / "installed.txt"
    if installed.is_file() and installed.read_text().split() == list(packages):
        return
    print(f"installing {', '.join(packages)} into {folder.relative_to(ROOT)}", flush=True)
    venv.create(folder, with_pip=True, clear=True)
    subprocess.run([folder / "bin/pip", "install", "--quiet", "--disable-pip-version-check", *packages], check=True)
    installed.write_text("\n".join(packages))
