"""Compiles the kernels of crates/cuda-harness for every target, without a GPU, with NVRTC from its pip package.

    python checks/targets.py             compile, and compare the table with the published one
    python checks/targets.py --write     write the table anew
    python checks/targets.py sm_90a      only these targets; print what the compiler says

The table, crates/cuda-harness/targets.md, gives for each opcode and target the registers of a thread, the bytes that it
spills and the bytes of its stack. A target that does not compile, or an opcode that the compiler does not report, fails.
"""

import ctypes
import importlib.util
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "crates/cuda-harness/cuda"
TABLE = ROOT / "crates/cuda-harness/targets.md"
TARGETS = ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120"]

HEADER = """# Registers by opcode and target

What NVRTC {version} makes of the kernels in `cuda/`, with 256 threads in a block at most: registers of a thread, then, where
there are any, bytes of spills and of stack. `vm` is the whole virtual machine. Shared memory is dynamic, and the same for all:
4 bytes for each warp and each thread, and 2 KiB. Written by `python checks/targets.py --write`, compared without `--write`.

"""


def library():
    """NVRTC's shared library, from the package nvidia-cuda-nvrtc."""
    package = importlib.util.find_spec("nvidia")
    folders = list(package.submodule_search_locations) if package else []
    found = [path for folder in folders for path in sorted(Path(folder).glob("**/libnvrtc.so.*"))]
    if not found:
        sys.exit("error: NVRTC is not installed here; `pip install -r checks/requirements-nvrtc.txt` brings it")
    return ctypes.CDLL(str(found[0]))


def compile_for(nvrtc, target):
    """The compiler's log, and the CUBIN's size."""
    program = ctypes.c_void_p()

    def call(name, *arguments):
        return getattr(nvrtc, name)(*arguments)

    source = b'#include "single.cuh"\n'
    call("nvrtcCreateProgram", ctypes.byref(program), source, b"kernels.cu", 0, None, None)
    options = [f"--gpu-architecture={target}", "--std=c++17", "--fmad=false", f"-I{SOURCES}", "--maxrregcount=128", "--ptxas-options=-v"]
    array = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
    status = call("nvrtcCompileProgram", program, len(options), array)
    size = ctypes.c_size_t()
    call("nvrtcGetProgramLogSize", program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    call("nvrtcGetProgramLog", program, log)
    call("nvrtcGetCUBINSize", program, ctypes.byref(size))
    text = log.value.decode()
    if status != 0:
        sys.exit(f"error: the kernels do not compile for {target}:\n{text}")
    return text, size.value


def figures(log):
    """By kernel: registers, spilled bytes, stack."""
    found = {}
    for kernel, rest in re.findall(r"Compiling entry function '(\w+)'(.*?)(?=Compiling entry|\Z)", log, re.S):
        registers = re.search(r"Used (\d+) registers", rest)
        stack = re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", rest)
        if registers and stack:
            frame, stores, loads = (int(number) for number in stack.groups())
            found[kernel.removeprefix("amk_").removeprefix("single_")] = (int(registers[1]), stores + loads, frame)
    return found


def cell(values):
    registers, spills, stack = values
    return f"{registers}" + (f", {spills} spilled" if spills else "") + (f", {stack} stack" if stack else "")


def main():
    arguments = sys.argv[1:]
    write = "--write" in arguments
    chosen = [argument for argument in arguments if argument != "--write"] or TARGETS
    nvrtc = library()
    major, minor = ctypes.c_int(), ctypes.c_int()
    nvrtc.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
    # The calls leave the interpreter's lock, so two threads use two cores.
    with ThreadPoolExecutor(2) as pool:
        logs = dict(zip(chosen, pool.map(lambda target: compile_for(nvrtc, target), chosen)))
    if chosen != TARGETS:
        for target, (log, size) in logs.items():
            print(f"== {target}: {size} bytes of CUBIN\n{log}")
        return
    table = {target: figures(log) for target, (log, _) in logs.items()}
    opcodes = re.findall(r"^AMK_SINGLE\((\w+)\)", (SOURCES / "single.cuh").read_text(), re.M)
    lines = ["| | " + " | ".join(TARGETS) + " |", "| --- |" + " ---: |" * len(TARGETS)]
    for kernel in ["vm", *opcodes]:
        missing = [target for target in TARGETS if kernel not in table[target]]
        if missing:
            sys.exit(f"error: the compiler reports nothing about {kernel} for {', '.join(missing)}")
        lines.append(f"| {kernel} | " + " | ".join(cell(table[target][kernel]) for target in TARGETS) + " |")
    text = HEADER.format(version=f"{major.value}.{minor.value}") + "\n".join(lines) + "\n"
    if write:
        TABLE.write_text(text)
        print(f"{TABLE.relative_to(ROOT)} written")
    elif TABLE.read_text() != text:
        sys.exit(f"error: {TABLE.relative_to(ROOT)} is out of date: run `python checks/targets.py --write`")
    print(f"{len(opcodes)} opcodes compile for {len(TARGETS)} targets")


main()
