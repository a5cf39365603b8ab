"""What is not ours, from THIRD_PARTY.md's tables."""
import dataclasses
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent


@dataclasses.dataclass
class Linked:
    """A library that a wheel has inside."""
    name: str
    packages: list[str]  # of Debian, which it was linked from
    license: str


def linked() -> list[Linked]:
    table = (ROOT / "THIRD_PARTY.md").read_text().partition("| linked into a wheel |")[2]
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \| ([^|]+) \| [^|]+ \|$", table, re.MULTILINE)
    return [Linked(name, packages.split(", "), license) for name, packages, license in rows
            if name.strip("-") and "Debian package" not in packages]


def package_version(package: str) -> str:
    return subprocess.run(["dpkg-query", "-W", "-f=${Version}", package], check=True, text=True,
                          stdout=subprocess.PIPE).stdout


def package_of(file: str) -> str:
    """The Debian package that a file is of, without its architecture."""
    real = str(pathlib.Path(file).resolve())
    for name in (file, real, real.removeprefix("/usr")):
        found = subprocess.run(["dpkg-query", "-S", name], check=False, text=True, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL).stdout
        if found:
            return found.split(":")[0]
    raise SystemExit(f"third_party: no Debian package has {file}")
