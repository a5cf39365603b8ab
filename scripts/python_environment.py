"""A folder of build/ with Python packages that a file names: what zig.py and site.py need from PyPI."""
import pathlib
import shutil
import subprocess
import venv

ROOT = pathlib.Path(__file__).resolve().parents[1]


def install(folder: pathlib.Path, requirements: pathlib.Path) -> None:
    """Effects: makes a virtual environment with what `requirements` names, unless it is there."""
    installed = folder / "installed.txt"
    if installed.is_file() and installed.read_text() == requirements.read_text():
        return
    print(f"{requirements.name}: installing what it names into {folder.relative_to(ROOT)}", flush=True)
    venv.create(folder, with_pip=True, clear=True)
    subprocess.run([folder / "bin/pip", "install", "--quiet", "--disable-pip-version-check", "-r", requirements], check=True)
    shutil.copy(requirements, installed)
