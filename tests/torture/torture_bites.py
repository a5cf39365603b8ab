#!/usr/bin/env python3
"""torture.py on parts made up here: a failure is told and ends nothing, what is done is kept, Ctrl-C ends it all."""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import parts
import torture

SCRATCH = pathlib.Path(os.environ.get("ASHLAR_TORTURE_SCRATCH") or tempfile.mkdtemp(prefix="ashlar-torture-"))


def made_up(name, script, counts):
    return parts.Part(name, f"made up: {name}", lambda plan: ["sh", "-c", script.replace("SEED", str(plan.seed))],
                      counts, seeded=True)


PARTS = [
    made_up("counts", f"echo x >>{SCRATCH}/times; echo '1,200 operations, seed SEED'; echo 34 operations",
            {"operations": r"^([\d,]+) operations"}),
    made_up("fails", "echo 7 operations; echo went wrong; exit 3", {"operations": r"^([\d,]+) operations"}),
    made_up("silent", "true", {"operations": r"^([\d,]+) operations"}),
    parts.Part("absent", "made up: absent", lambda plan: ["./no/such/program"], {}),
    made_up("last", "echo 5 forks", {"forks": r"(\d+) forks"}),
]
SLOW = [PARTS[0], made_up("slow", f"sleep 600 & echo $! >{SCRATCH}/child; wait", {})]


def expect(what, right, told=""):
    print(f"{what}: {'yes' if right else 'NO'}")
    if not right:
        sys.exit(f"torture_bites: {what}: {told}")


def run(*arguments):
    """The exit status, and the newest results."""
    sys.argv = ["torture.py", "--folder", str(SCRATCH), *arguments]
    status = torture.main()
    return status, torture.read_results(SCRATCH / "results.jsonl")


def alive(pid):
    try:
        state = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def interrupted():
    """Ctrl-C while the second part runs: status and whether the part's child is still there."""
    process = subprocess.Popen([sys.executable, __file__, "slow"], start_new_session=True)
    child = SCRATCH / "child"
    for _ in range(200):
        if child.exists() and child.read_text().strip():
            break
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    status = process.wait(timeout=60)
    pid = int(child.read_text())
    for _ in range(100):
        if not alive(pid):
            return status, False
        time.sleep(0.05)
    os.kill(pid, signal.SIGKILL)
    return status, True


def main():
    torture.PARTS, torture.commit = PARTS, lambda: "abc"
    names = [part.name for part in PARTS]
    page = SCRATCH / "page.md"
    page.write_text(f"before\n{torture.BEGIN}\nold\n{torture.END}\nafter\n")

    status, results = run("--only", *names, "--seed", "17", "--document", str(page))
    expect("a failure makes the status 1", status == 1, status)
    expect("all parts have run", list(results) == names, list(results))
    expect("numbers are added up", results["counts"]["counts"] == {"operations": 1234}, results["counts"])
    expect("passed and failed are told apart", [results[n]["result"] for n in names] ==
           ["pass", "fail", "fail", "fail", "pass"], results)
    expect("the reasons are there", "went wrong" in results["fails"]["why"] and "no such" in
           results["absent"]["why"].lower() and "operations" in results["silent"]["why"], results)
    expect("the seed is passed on and kept", results["counts"]["seed"] == 17 and
           "seed 17" in (SCRATCH / "counts.log").read_text())
    text = page.read_text()
    expect("the table is in its place", re.fullmatch(r"before\n<!--.*-->\n\| part.*<!--.*-->\nafter\n", text, re.DOTALL)
           and "old" not in text and "1,234 operations" in text and "In all 1,241 operations, 5 forks." in text, text)

    (SCRATCH / "results.jsonl").rename(SCRATCH / "results_elsewhere.jsonl")
    run("--only", "last", "--document", str(page))
    expect("a part without a result keeps its row, and counts", "1,234 operations" in page.read_text() and
           "In all 1,241 operations" in page.read_text(), page.read_text())
    (SCRATCH / "results_elsewhere.jsonl").rename(SCRATCH / "results.jsonl")

    status, _ = run("--only", "counts", "fails", "--resume")
    expect("what has passed is kept", (SCRATCH / "times").read_text() == "x\n" and status == 1)
    torture.commit = lambda: "abd"
    run("--only", "counts", "--resume")
    expect("at another commit it runs again", (SCRATCH / "times").read_text() == "x\nx\n")
    status, _ = run("--only", "counts", "last")
    expect("success is status 0", status == 0, status)

    status, left = interrupted()
    results = [json.loads(line)["part"] for line in (SCRATCH / "results.jsonl").read_text().splitlines()]
    expect("Ctrl-C ends it with 130", status == 130, status)
    expect("and the part's children", not left)
    expect("and keeps what was done, nothing more", results[-1] == "counts" and "slow" not in results, results)


if __name__ == "__main__":
    if sys.argv[1:] == ["slow"]:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # as a shell has it for what it starts in the background
        torture.PARTS = SLOW
        sys.exit(run("--only", "counts", "slow")[0])
    os.environ["ASHLAR_TORTURE_SCRATCH"] = str(SCRATCH)
    try:
        main()
    finally:
        shutil.rmtree(SCRATCH)
