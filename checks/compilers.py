"""Compiles the kernels of crates/cuda-harness with several versions of NVRTC for every target, to a CUBIN and to PTX, and says which
drivers take what. Needs no GPU.

    python checks/compilers.py [--jobs N] [--write] FOLDER ...
    python checks/compilers.py --ptx FOLDER ...

Each FOLDER holds one version of NVRTC: libnvrtc.so.* with its builtins, as the pip packages nvidia-cuda-nvrtc-cu12 and nvidia-cuda-nvrtc
bring them. The table, crates/cuda-harness/compilers.md, is compared with what is found, or written with `--write`. Kernels that do not
compile for a target which the compiler knows, or a table that says otherwise, fail. With `--ptx`, each version makes PTX of sm_90 alone,
which takes seconds, and no table is compared.
"""

import ctypes
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from targets import OPTIONS, ROOT, TARGETS, compile_for, library, name

TABLE = ROOT / "crates/cuda-harness/compilers.md"

# The CUDA whose driver is the first that knows a GPU of the target.
KNOWN_FROM = {
    "sm_75": (10, 0), "sm_80": (11, 0), "sm_86": (11, 1), "sm_89": (11, 8), "sm_90a": (11, 8), "sm_100a": (12, 8), "sm_103": (12, 9),
    "sm_110": (13, 0), "sm_120": (12, 8),
}
# What a process of one version is started with.
ONE = "--one"

DRIVERS = [(12, 4), (12, 8), (13, 0), (13, 5)]

HEADER = """# Compilers, targets and drivers

What versions of NVRTC make of the kernels in `cuda/`, without a GPU: *yes* where they compile, with matrix units where the target has them and without, to a
CUBIN and to PTX (the PTX of the same number without its letter), *not known* where the compiler is older than the target. Written by
`python checks/compilers.py --write FOLDER ...`, compared without `--write`.

"""

RULES = """
## What a driver takes

By NVIDIA's rules of compatibility: a driver knows a GPU from a CUDA of its own on; of GPUs that it knows it takes CUBINs of its major
version of CUDA and of earlier ones, whatever the minor version, and PTX of no later version than its own, made for this GPU or, as it has no
letter, for an earlier one. The stand-in for a driver in
`tests/driver/` refuses by the same rules. A cell has the versions of NVRTC whose *CUBINs*, and whose *PTX*, a driver takes for a target; a bundle
made with one of them runs there.

"""


def compiled_here(path, target):
    """`yes`, `not known`, or what is wrong. In a process of its own for each version and target: two versions do not live in one. Of a virtual target only
    PTX is made."""
    nvrtc, _ = library(path)
    count = ctypes.c_int()
    if nvrtc.nvrtcGetNumSupportedArchs(ctypes.byref(count)):
        sys.exit("NVRTC does not say what it knows")
    known = (ctypes.c_int * count.value)()
    nvrtc.nvrtcGetSupportedArchs(known)
    if int("".join(c for c in target if c.isdigit())) not in known:
        return "not known"
    source = '#include "device.cu"\n'
    number = int(target.partition("_")[2].rstrip("a"))
    for units in [[], ["-DAMK_TENSOR_CORES"]][:1 if number < 80 else 2]:
        virtual = target.startswith("compute")
        # What a compiler does not take it says before it optimises, which takes ten times as long as the rest.
        _, ptx = compile_for(nvrtc, f"compute_{number}", source, [*OPTIONS, *["--device-debug"] * virtual, *units], form="PTX")
        _, cubin = (None, ptx) if virtual else compile_for(nvrtc, target, source, [*OPTIONS, "--maxrregcount=128", *units])
        if len(cubin) < 1000 or len(ptx) < 1000:
            return f"{len(cubin)} bytes of CUBIN, {len(ptx)} of PTX"
    return "yes"


def asked(path, *arguments):
    """What this program says in another process."""
    # The builtins lie beside the library.
    environment = os.environ | {"LD_LIBRARY_PATH": str(path.parent)}
    command = [sys.executable, __file__, ONE, path, *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True)


def libraries(folders):
    """By version, its library."""
    found = {}
    for folder in folders:
        paths = sorted(Path(folder).glob("**/libnvrtc.so.*"))
        if not paths:
            sys.exit(f"error: {folder} holds no NVRTC")
        path = paths[0].resolve()
        done = asked(path)
        done.check_returncode()
        found[tuple(int(part) for part in done.stdout.split("."))] = path
    return dict(sorted(found.items()))


def outcome(path, target):
    """`yes`, `not known`, or what is wrong."""
    done = asked(path, target)
    return done.stdout.strip() if done.returncode == 0 else f"NO: {done.stderr.strip()[:2000] or done.returncode}"


def taken(versions, compiled, target, driver):
    """The versions whose CUBINs, and whose PTX, a driver takes."""
    if driver < KNOWN_FROM[target]:
        return "no such GPU"
    # PTX without a letter goes on to every later GPU, so that of an earlier target is as good.
    earlier = TARGETS[:TARGETS.index(target) + 1]
    cubins = [name(v) for v in versions if compiled[v, target] == "yes" and v[0] <= driver[0]]
    ptx = [name(v) for v in versions if any(compiled[v, t] == "yes" for t in earlier) and v <= driver]
    return f"CUBIN {', '.join(cubins) or 'none'}; PTX {', '.join(ptx) or 'none'}"


def page(versions, compiled):
    lines = ["| target | " + " | ".join(f"NVRTC {name(v)}" for v in versions) + " |", "| --- |" + " --- |" * len(versions)]
    lines += [f"| {t} | " + " | ".join(compiled[v, t] for v in versions) + " |" for t in TARGETS]
    loads = ["| target | " + " | ".join(f"driver of CUDA {name(d)}" for d in DRIVERS) + " |", "| --- |" + " --- |" * len(DRIVERS)]
    loads += [f"| {t} | " + " | ".join(taken(versions, compiled, t, d) for d in DRIVERS) + " |" for t in TARGETS]
    return HEADER + "\n".join(lines) + "\n" + RULES + "\n".join(loads) + "\n"


def main():
    arguments = sys.argv[1:]
    if arguments[:1] == [ONE]:
        path, *target = arguments[1:]
        print(compiled_here(path, *target) if target else name(library(path)[1]))
        return
    jobs = 2
    if "--jobs" in arguments:
        at = arguments.index("--jobs")
        jobs = int(arguments[at + 1])
        del arguments[at:at + 2]
    write, is_quick = "--write" in arguments, "--ptx" in arguments
    versions = libraries(argument for argument in arguments if not argument.startswith("--"))
    if not versions:
        sys.exit(__doc__)
    pairs = [(version, target) for version in versions for target in (["compute_90"] if is_quick else TARGETS)]
    with ThreadPoolExecutor(jobs) as pool:
        compiled = dict(zip(pairs, pool.map(lambda pair: outcome(versions[pair[0]], pair[1]), pairs)))
    wrong = [f"NVRTC {name(v)} for {t}: {said}" for (v, t), said in compiled.items() if said not in ("yes", "not known")]
    if wrong:
        sys.exit("error: " + "\n".join(wrong))
    if is_quick:
        print(f"NVRTC {', '.join(name(v) for v in versions)} make PTX of the kernels for sm_90")
        return
    text = page(list(versions), compiled)
    if write:
        TABLE.write_text(text)
        print(f"{TABLE.relative_to(ROOT)} written")
    elif not TABLE.exists() or TABLE.read_text() != text:
        sys.exit(f"error: {TABLE.relative_to(ROOT)} says otherwise; this was found:\n{text}")
    print(f"{len(pairs)} pairs of a compiler and a target, {sum(said == 'yes' for said in compiled.values())} of which compile")


main()
