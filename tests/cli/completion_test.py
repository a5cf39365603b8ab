#!/usr/bin/env python3
"""What tells of the command's options agrees: --help, the manual pages, docs/cli.md, and what bash, zsh
and fish offer. Each shell that is here runs its script; the last lines name those that are not.

Run: completion_test.py COMMAND CHECKOUT SCRATCH_FOLDER
"""
import os
import pathlib
import pty
import re
import shutil
import subprocess
import sys

OF_OTHERS = {"--install"}  # of cmake
OPTION = re.compile(r"--?[a-z][a-z-]*")


def run(*words: object, **more: str) -> str:
    """What the program printed; ends the test if it fails or complains."""
    result = subprocess.run([str(w) for w in words], env={**os.environ, "LC_ALL": "C.UTF-8", **more}, text=True,
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if result.returncode != 0 or result.stderr:
        sys.exit(f"status {result.returncode}: {' '.join(map(str, words))}\n{result.stdout}\n{result.stderr}")
    return result.stdout


def same(found: set[str], wanted: set[str], where: str) -> None:
    if found != wanted:
        sys.exit(f"{where}: too much: {sorted(found - wanted)}; missing: {sorted(wanted - found)}")


def section(text: str, heading: str) -> str:
    """The lines below a heading, as far as they are indented."""
    return re.split(r"\n(?! )", text.partition(f"\n{heading}\n")[2])[0]


def options_of_help(text: str) -> list[set[str]]:
    """The names of each option, as {"-o", "--output"}."""
    first_words = re.findall(r"^  (-\S+)", section(text, "Options:"), re.MULTILINE)
    return [set(OPTION.findall(re.sub(r"\[.*?\]", "", word))) for word in first_words]


# ---- what a shell offers for the words of a line, of which the last is not complete ------------------------


class Bash:
    def __init__(self, script: pathlib.Path) -> None:
        self.script = script

    def offers(self, *line: str) -> set[str]:
        # A real line has the characters of COMP_WORDBREAKS as words of their own.
        words = [part for word in line for part in re.split("(=)", word) if part or not word]
        call = 'source "$1"; COMP_WORDS=("${@:2}"); COMP_CWORD=$(($# - 2)); _ashlar; printf "%s\\n" "${COMPREPLY[@]}"'
        return set(run("bash", "--norc", "-c", call, "bash", self.script, "ashlar", *words).split())


class Fish:
    def __init__(self, script: pathlib.Path) -> None:
        self.script = script

    def offers(self, *line: str) -> set[str]:
        said = run("fish", "--no-config", "-c", f"source {self.script}; complete -C '{' '.join(('ashlar', *line))}'",
                   HOME=str(self.script.parent), XDG_CONFIG_HOME=str(self.script.parent))
        return {offer.split("\t")[0] for offer in said.splitlines()}


class Zsh:
    """A session on a terminal of its own, since zsh completes on no other. It writes what it offers into a file."""

    START = """PS1="ready> "; autoload -Uz compinit; compinit -u -D; source {script}
compadd() {{
  local -a found
  [[ -n ${{(M)@:#-[OAD]}} ]] || {{ builtin compadd -O found "$@"; print -rl -- $found >>{offers} }}
  builtin compadd "$@"
}}
"""

    def __init__(self, script: pathlib.Path) -> None:
        self.offered = script.parent / "offers"
        self.child, self.terminal = pty.fork()
        if self.child == 0:
            os.execvpe("zsh", ["zsh", "-f", "-i"], {**os.environ, "TERM": "dumb", "HOME": str(script.parent)})
        self.number = 0
        self.type(self.START.format(script=script, offers=self.offered))

    def type(self, keys: str) -> None:
        """Waits until zsh has done what they say, and reads keys again: before that, they are the terminal's."""
        self.number += 1
        os.write(self.terminal, f"{keys}\nprint END-${{:-{self.number}}}-\n".encode())
        shown = b""
        while b"ready> " not in shown.partition(f"END-{self.number}-".encode())[2]:
            shown += os.read(self.terminal, 65536)

    def offers(self, *line: str) -> set[str]:
        self.offered.write_text("")
        self.type(f"ashlar {' '.join(line)}\t\x15")  # completes, and clears the line
        return set(self.offered.read_text().split("\n")) - {""}

    def __del__(self) -> None:
        os.close(self.terminal)
        os.waitpid(self.child, 0)


SHELLS = {"bash": Bash, "fish": Fish, "zsh": Zsh}


def check_shell(name: str, shell: Bash | Fish | Zsh, options: dict[str, set[str]]) -> None:
    commands = {name for name in options if name and " " not in name}
    offered = shell.offers("")
    if not commands <= offered:
        sys.exit(f"{name}: does not offer the commands {sorted(commands - offered)}")
    for command, wanted in options.items():
        found = {word for word in shell.offers(*command.split(), "-") if OPTION.fullmatch(word)}
        same(found, wanted, f"{name}, ashlar {command}")
    value = "heap" if name == "bash" else "--mode=heap"  # which takes it for a word of its own
    for line, wanted in ((("tune", "--mode", ""), {"static", "heap"}),
                         (("tune", "--mode=h"), {value}),
                         (("report", "--pools=only"), {"--pools=only.json" if name == "fish" else "only.json"}),
                         (("help", "--completion", ""), {"bash", "zsh", "fish"}),
                         (("help", "insp"), {"inspect"}),
                         (("tune", "ver"), {"verify"}),
                         (("report", "--pools", "only"), {"only.json"}),
                         (("tune", "verify", "only"), {"only.json"}),
                         (("run", "--", "./pro"), {"./program"}),
                         (("run", "--exact", "./pro"), {"./program"})):
        found = shell.offers(*line)
        if name == "zsh":  # it leaves out the folder
            wanted = {word.removeprefix("./") for word in wanted}
        if name == "bash" and wanted == {"only.json"}:
            wanted = set()  # bash completes files by itself then, and on a terminal only
        same(found, wanted, f"{name}, ashlar {' '.join(line)}")


def main() -> None:
    ashlar, checkout, folder = (pathlib.Path(word).resolve() for word in sys.argv[1:])
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    os.chdir(folder)
    (folder / "bin").mkdir()
    (folder / "bin/ashlar").symlink_to(ashlar)
    os.environ["PATH"] = f"{folder}/bin:{os.environ['PATH']}"  # what the scripts ask
    (folder / "only.json").touch()
    (folder / "program").touch(mode=0o755)

    overview = run(ashlar, "help")
    same({overview}, {run(ashlar, "--help")}, "ashlar help")
    names = re.findall(r"^  ([a-z]+)  ", overview, re.MULTILINE)
    names += re.findall(r"^  ashlar (tune [a-z]+)  ", run(ashlar, "help", "tune"), re.MULTILINE)
    helps = {name: run(ashlar, "help", *name.split()) for name in names}
    names_of = {"": options_of_help(overview), **{name: options_of_help(helps[name]) for name in names}}
    options = {name: set().union(*of_each) for name, of_each in names_of.items()}
    for name in names:
        same({helps[name]}, {run(ashlar, *name.split(), "--help")}, f"ashlar help {name}")

    run(ashlar, "help", "--pages", "pages/man1")
    pages = {page.name: page.read_text() for page in (folder / "pages/man1").iterdir()}
    same(set(pages), {"ashlar.1", *(f"ashlar-{name.replace(' ', '-')}.1" for name in names)}, "the manual pages")
    for name, wanted in options.items():
        page = pages[f"ashlar-{name.replace(' ', '-')}.1" if name else "ashlar.1"]
        terms = re.findall(r"^\.TP\n(\\fB\\-.*)", page, re.MULTILINE)
        same({option for term in terms for option in OPTION.findall(re.sub(r"\\f.", " ", term).replace("\\-", "-"))},
             wanted, f"the manual page of ashlar {name}")
    if shutil.which("man"):
        for page in pages:
            run("man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", f"pages/man1/{page}")

    # Help has every option; the page adds to some, and names none that is not there.
    page = (checkout / "docs/cli.md").read_text()
    named = set(re.findall(r"(?<=[` ])--[a-z][a-z-]*", page))
    same(named - OF_OTHERS - set().union(*options.values()), set(), "docs/cli.md")

    for name, shell in SHELLS.items():
        script = folder / "scripts" / name
        script.parent.mkdir(exist_ok=True)
        script.write_text(run(ashlar, "help", "--completion", name))
        if shutil.which(name):
            check_shell(name, shell(script), options)
    absent = [name for name in (*SHELLS, "man") if not shutil.which(name)]
    print("completion: they agree" + (f"; not here, and not tried: {', '.join(absent)}" if absent else ""))


if __name__ == "__main__":
    main()
