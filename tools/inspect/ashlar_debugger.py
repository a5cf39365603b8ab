"""Commands for gdb and lldb: what ashlar's heap holds in the process or the core that is being debugged.

gdb:   source ashlar_debugger.py                   (in ~/.gdbinit, to have it always)
lldb:  command script import ashlar_debugger.py    (in ~/.lldbinit)

    ashlar heap            blocks in use, by size, by C++ type, by content
    ashlar leaks           what no pointer leads to
    ashlar what ADDRESS    the block there, its neighbours, what points to it

Each runs `ashlar inspect`, and prints what that says. The environment variable
ASHLAR_COMMAND names the command where it is not in the PATH.
"""

import os
import re
import subprocess

NOTHING = "ashlar: there is no process and no core: start the program, or open a core"
WORDS = {"heap": [], "leaks": ["--unreachable"]}


def run(arguments):
    """Returns: what the command prints. `arguments`: behind its name."""
    command = os.environ.get("ASHLAR_COMMAND", "ashlar")
    try:
        result = subprocess.run([command, *arguments], stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, check=False)
    except OSError as error:
        return (f"ashlar: {command} cannot be run ({error.strerror}): put it into the PATH, or name "
                "it by the environment variable ASHLAR_COMMAND\n")
    return result.stdout.decode(errors="replace")


def of_process(pid, registers, words):
    """A process that the debugger holds: nobody else can read its registers."""
    roots = [word for value in sorted(registers) for word in ("--root", hex(value))]
    return run(["inspect", *words, *roots, str(pid)])


# ---- gdb ----------------------------------------------------------------------------------------------

def registers_in_gdb(gdb):
    """Returns: what the general registers of all threads hold."""
    values = set()
    chosen = gdb.selected_thread()
    for thread in gdb.selected_inferior().threads():
        thread.switch()
        frame = gdb.newest_frame()
        for register in frame.architecture().registers("general"):
            try:
                values.add(int(frame.read_register(register)) % 2**64)
            except (gdb.error, TypeError, ValueError, OverflowError):
                pass  # flags, and what this machine has not
    if chosen is not None:
        chosen.switch()
    return values


def look_in_gdb(gdb, words):
    core = re.search(r"core dump file:\s*`(.*)', file type",
                     gdb.execute("info files", to_string=True))
    if core is not None:
        program = gdb.current_progspace().filename
        return run(["inspect", *words, core.group(1), *([program] if program else [])])
    inferior = gdb.selected_inferior()
    if inferior.pid == 0:
        return NOTHING + "\n"
    return of_process(inferior.pid, registers_in_gdb(gdb), words)


def add_to_gdb(gdb):
    class Ashlar(gdb.Command):
        """What ashlar's heap holds: ashlar heap, ashlar leaks, ashlar what ADDRESS."""

        def __init__(self):
            super().__init__("ashlar", gdb.COMMAND_DATA, prefix=True)

    class Look(gdb.Command):
        def __init__(self, name):
            super().__init__("ashlar " + name, gdb.COMMAND_DATA, gdb.COMPLETE_EXPRESSION)
            self.name = name

        def invoke(self, argument, _):
            words = WORDS.get(self.name)
            if words is None:
                if not argument:
                    raise gdb.GdbError("ashlar what ADDRESS: an address, or an expression, is missing")
                words = ["--what", hex(int(gdb.parse_and_eval(argument)) % 2**64)]
            gdb.write(look_in_gdb(gdb, words))

    Ashlar()
    for name in (*WORDS, "what"):
        Look(name)


# ---- lldb ---------------------------------------------------------------------------------------------

def registers_in_lldb(process):
    values = set()
    for thread in process:
        for group in thread.GetFrameAtIndex(0).GetRegisters():
            if "General" in group.GetName():
                values.update(register.GetValueAsUnsigned() for register in group)
    return values


def look_in_lldb(debugger, words, result):
    process = debugger.GetSelectedTarget().GetProcess()
    if not process.IsValid() or not process.is_alive:
        result.SetError(NOTHING)
        return
    core = process.GetCoreFile() if hasattr(process, "GetCoreFile") else None
    if core is not None and core.IsValid():
        path = os.path.join(core.GetDirectory() or "", core.GetFilename())
        result.AppendMessage(run(["inspect", *words, path]))
    elif process.GetPluginName() == "elf-core":
        result.SetError("ashlar: this lldb does not tell which core it reads: run `ashlar inspect CORE`")
    else:
        result.AppendMessage(of_process(process.GetProcessID(), registers_in_lldb(process), words))


def lldb_heap(debugger, _, result, __):
    """Blocks in use, by size, by C++ type, by content."""
    look_in_lldb(debugger, WORDS["heap"], result)


def lldb_leaks(debugger, _, result, __):
    """What no pointer leads to."""
    look_in_lldb(debugger, WORDS["leaks"], result)


def lldb_what(debugger, argument, result, __):
    """The block at an address, its neighbours, what points to it."""
    value = debugger.GetSelectedTarget().EvaluateExpression(argument)
    if not argument or value.GetError().Fail():
        result.SetError("ashlar what ADDRESS: an address, or an expression, is missing or wrong")
        return
    look_in_lldb(debugger, ["--what", hex(value.GetValueAsUnsigned())], result)


def __lldb_init_module(debugger, _):
    debugger.HandleCommand("command container add -h 'What the heap of ashlar holds' ashlar")
    for name in (*WORDS, "what"):
        debugger.HandleCommand(f"command script add -o -f {__name__}.lldb_{name} ashlar {name}")


try:
    import gdb as of_gdb
except ImportError:
    of_gdb = None
if of_gdb is not None:
    add_to_gdb(of_gdb)
