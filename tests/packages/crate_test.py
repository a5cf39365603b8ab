#!/usr/bin/env python3
"""Packs the Rust crate and follows it: its own tests run from the unpacked file in an empty folder, and so does
a program that depends on it.

Run: crate_test.py --root CHECKOUT --work SCRATCH_FOLDER [--document PAGE] [--drop_in LIBRARY]
Ends with 77 where cargo, or the crates that it builds with, cannot be had.
"""
import json
import pathlib
import shutil
import subprocess
import sys
import tarfile
import time

from steps import emptied, read_arguments, run, write_row

BARE_METAL = "thumbv7em-none-eabi"
PROJECT = """[package]
name = "program"
version = "0.0.0"
edition = "2021"
[workspace]
"""
PROGRAM = """use std::alloc::{alloc, dealloc, Layout};

#[global_allocator]
static GLOBAL: ashlar::Ashlar = ashlar::Ashlar;

fn main() {
    let words: Vec<String> = (0..1000).map(|i| i.to_string()).collect();
    println!("{}", words.concat().len());
    if std::env::args().count() > 1 {
        let layout = Layout::new::<[u64; 8]>();
        unsafe {
            let block = alloc(layout);
            dealloc(block, layout);
            dealloc(block, layout);
        }
    }
}
"""


def main() -> None:
    options = read_arguments(__doc__, document="PAGE", drop_in="LIBRARY")
    work = emptied(options.work)
    use = emptied(work / "use")
    if shutil.which("cargo") is None:
        print("no cargo here (Debian: cargo-web)")
        sys.exit(77)

    packed = pathlib.Path(run(options.root / "packaging/make_crate.sh", work / "crate", folder=work).splitlines()[-1])
    with tarfile.open(packed) as archive:
        archive.extractall(use)
    crate = use / packed.name.removesuffix(".crate")
    fetched = subprocess.run(["cargo", "fetch", "--quiet", "--locked"], cwd=crate, check=False).returncode == 0
    if not fetched:
        print("cargo cannot fetch the crates cc, which compiles the library's sources, and allocator-api2")
        sys.exit(77)
    shared = {"CARGO_TARGET_DIR": str(use / "target"), "CARGO_NET_OFFLINE": "true"}
    # Its own, the examples of its documentation among them.
    print(run("cargo", "test", "--locked", "--all-features", folder=crate, **shared))
    said = run("cargo", "run", "--locked", "--quiet", "--all-features", "--example", "tenants", folder=crate, **shared)
    if said.count("Ok(") != 2 or said.count("budget is used up") != 1:
        sys.exit(f"crate: the example says: {said}")
    # Pools and arenas alone need no C++ compiler.
    for features in ([], ["--features", "allocator-api2"]):
        print(run("cargo", "test", "--locked", "--no-default-features", *features, folder=crate, CXX="/nonexistent", **shared))
    run("cargo", "doc", "--locked", "--all-features", "--no-deps", folder=crate, RUSTDOCFLAGS="-D warnings", **shared)
    if shutil.which("cargo-clippy"):
        run("cargo", "clippy", "--locked", "--all-features", "--all-targets", "--", "-D", "warnings", folder=crate, **shared)
    # Tags of a program on Rust's default allocator. A Vec of cargo's test that runs beside it has none.
    if options.drop_in:
        figures = use / "figures.json"
        run("cargo", "test", "--locked", "--no-default-features", "--test", "tags", "--config",
            f'target.x86_64-unknown-linux-gnu.runner="env LD_PRELOAD={options.drop_in} ASHLAR_SAMPLE=1 ASHLAR_STATS_FILE={figures}"',
            folder=crate, CXX="/nonexistent", **shared)
        live = {tag["tag"]: tag["live_bytes"] for tag in json.loads(figures.read_text())["tags"]}
        if live["thread"] != 5000 or live["guard"] != 4000 or live["inner guard"] != 2000 or live["inner"] != 12_000 or not 20_000 <= live["outer"] < 30_000:
            sys.exit(f"crate: these tags were expected otherwise: {live}")
    installed = subprocess.run(["rustup", "target", "list", "--installed"], check=False, capture_output=True, text=True)
    if BARE_METAL in installed.stdout:
        run("cargo", "build", "--locked", "--no-default-features", "--target", BARE_METAL, folder=crate, **shared)
    else:
        print(f"no {BARE_METAL} here (rustup target add), so the pools are not built for it")

    program = use / "program"
    (program / "src").mkdir(parents=True)
    (program / "Cargo.toml").write_text(PROJECT)
    (program / "src/main.rs").write_text(PROGRAM)
    own = {**shared, "CARGO_TARGET_DIR": str(program / "target")}  # nothing of it is compiled yet
    begin = time.monotonic()
    run("cargo", "add", "ashlar", "--path", crate, folder=program, **own)
    said = run("cargo", "run", "--quiet", folder=program, **own)
    seconds = time.monotonic() - begin
    if said != "2890\n":
        sys.exit(f"crate: the program says first: {said}")
    write_row(options.document, "Rust crate", "cargo add ashlar --path FOLDER", "cargo run", seconds, [packed])
    made = program / "target/debug/program"
    for check in ("0", "1", "full"):
        said = run(made, folder=use, ASHLAR_CHECK=check)
        if said != "2890\n":
            sys.exit(f"crate: the program says with ASHLAR_CHECK={check}: {said}")
        said = run(made, "twice", folder=use, status=-6, ASHLAR_CHECK=check)
        if "ashlar: dealloc(" not in said:
            sys.exit(f"crate: a block that is freed twice is not told with ASHLAR_CHECK={check}: {said}")
    needed = run("readelf", "-d", made, folder=use)
    if "libstdc++" in needed:
        sys.exit(f"crate: the program needs the C++ library:\n{needed}")
    size = packed.stat().st_size
    shutil.rmtree(work)
    print(f"{packed.name}: {size:,} bytes; tested from its file, and used")


if __name__ == "__main__":
    main()
