#!/usr/bin/env python3
"""What the preset `library` leaves out, `landing` has; else nobody runs it before a landing. Run: check_presets.py ROOT."""
import json
import pathlib
import sys

root = pathlib.Path(sys.argv[1])
presets = {preset["name"]: preset.get("cacheVariables", {})
           for preset in json.loads((root / "CMakePresets.json").read_text())["configurePresets"]}
left_out = presets["library"]["ASHLAR_TEST_NOT_FOLDERS"].split("|")
taken = presets["landing"]["ASHLAR_TEST_FOLDERS"].split("|")
faults = [f"only one of library and landing names tests/{name}" for name in sorted(set(left_out) ^ set(taken))]
faults += [f"tests/{name} is not there" for name in sorted({*left_out, *taken})
           if not (root / "tests" / name / "CMakeLists.txt").is_file()]
print("\n".join(f"CMakePresets.json: {fault}" for fault in faults) or f"{len(taken)} folders are landing's")
sys.exit(1 if faults else 0)
