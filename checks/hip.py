"""Compiles the kernels of crates/cuda-harness for GPUs of AMD, without one, with Clang for HIP. Nothing is run.

    python3 checks/hip.py [--write]

Needs Clang 17, HIP's headers and the device libraries: on Debian 13 `apt install clang-17 lld-17 rocm-device-libs-17 libamdhip64-dev`; CLANG names
another compiler. The table, crates/cuda-harness/hip.md, is compared with what is found, or written with `--write`. A target that does
not compile, a warning, or a table that says otherwise fails. Exit code 3 where there is no such compiler.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "crates/cuda-harness/cuda"
TABLE = ROOT / "crates/cuda-harness/hip.md"
CLANG = os.environ.get("CLANG", "clang++-17")
# Targets, and the size of their waves. HIP 5 has no waves of 64 for gfx1100.
TARGETS = [("gfx90a", 64), ("gfx942", 64), ("gfx1100", 32)]
OPTIONS = ["-x", "hip", "--offload-device-only", "-std=c++17", "-O2", "-ffp-contract=off", "--gpu-max-threads-per-block=512", "-Wall", f"-I{SOURCES}"]
# A kernel for each function that orders memory.
PROBES = """#include "platform.cuh"
AMK_GLOBAL void fence() { amk_fence(); }
AMK_GLOBAL void acquire(const amk_u32* counter, amk_u32* value) { *value = amk_poll_acquire(counter); }
AMK_GLOBAL void release(amk_u32* counter) { amk_increment_release(counter); }
"""
# What they become with the scope of the device and with no smaller one: instructions that drop what the caches of a compute unit hold, on gfx942
# write it back, and on gfx90a wait for stores to global memory, too. The release of gfx1100 waits for stores, but does so for a block as well.
ORDERS = {
    "gfx90a": {"fence": ["buffer_wbinvl1_vol"], "acquire": ["buffer_wbinvl1_vol"], "release": ["s_waitcnt vmcnt(0) lgkmcnt(0)"]},
    "gfx942": {"fence": ["buffer_inv sc1", "buffer_wbl2 sc1"], "acquire": ["buffer_inv sc1"], "release": ["buffer_wbl2 sc1"]},
    "gfx1100": {"fence": ["buffer_gl1_inv"], "acquire": ["buffer_gl1_inv"], "release": ["s_waitcnt_vscnt null, 0x0"]},
}
# What is reported of a kernel, and what it is called in the table.
FIGURES = {"VGPRs": "vector", "SGPRs": "scalar", "VGPRs Spill": "spilled", "ScratchSize [bytes/lane]": "scratch"}

HEADER = """# The kernels for AMD's GPUs

What {version} makes of the whole virtual machine of `cuda/` by HIP, without a GPU: vector and scalar registers of a thread and a wave, vector
registers spilled, and bytes of scratch memory a lane. **Nothing of it has been run.** Written by `python3 checks/hip.py --write`, compared without `--write`.

"""

REST = """
All opcodes compile without a warning. What only NVIDIA's compilers know (PTX, functions of a warp with masks) stands in `cuda/platform.cuh`, what
only HIP knows in `cuda/hip.cuh`, and in `cuda/ptx.cuh` what only NVIDIA's matrix units know: `--tensor-cores` is refused there.

- **Warps.** A warp of the kernels is 32 threads. Where a wave has 64, two warps share it, and lanes exchange values within their half alone
  (`__shfl` with the width 32), so that a sum over a warp is the same in either.
- **Order.** Counters are polled and incremented with atomics of the scope of the device (`__HIP_MEMORY_SCOPE_AGENT`). Of the fence, the
  acquire and the release, each compiled alone, the check looks for instructions that no smaller scope has; the release of gfx1100 is the same for a block.

They are compiled by Clang, and not by hiprtc, which is the same compiler behind a library: without a GPU it would show no more, and Clang tells registers and
instructions.

What is missing to run them: a host that launches by HIP in place of CUDA's driver (`src/cuda/gpu.rs`) and compiles by hiprtc in place of NVRTC
(`src/cuda/nvrtc.rs`); in `src/cuda/cubins.rs` the names of targets, which are of compute capabilities, the options of the compiler, and how a file
is known as compiled, by the first bytes of ELF or a `.version` of PTX, all of which are NVIDIA's; a launch of all blocks at once,
`hipModuleLaunchCooperativeKernel`; targets of AMD in `targets/`; and a GPU.
"""


def version():
    """Of the compiler, in words; ends the program where there is none."""
    if not shutil.which(CLANG):
        print(f"there is no {CLANG}: nothing was compiled for AMD's GPUs")
        sys.exit(3)
    said = subprocess.run([CLANG, "--version"], capture_output=True, text=True, check=True).stdout
    return re.search(r"clang version (\d+\.\d+\.\d+)", said)[1]


def assembly(name, source):
    """Of a source for a target, and the compiler's report."""
    with tempfile.TemporaryDirectory() as folder:
        file, made = Path(folder, "source.cu"), Path(folder, "source.s")
        file.write_text(source)
        command = [CLANG, *OPTIONS, f"--offload-arch={name}", "-Rpass-analysis=kernel-resource-usage", "-S", file, "-o", made]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0 or "warning:" in done.stderr:
            sys.exit(f"error: {name}:\n{done.stderr}")
        return made.read_text(), done.stderr


def ordered(name):
    """Ends the program if what orders memory lacks an instruction of its scope."""
    text, _ = assembly(name, PROBES)
    for function, instructions in ORDERS[name].items():
        body = re.search(rf"^{function}:.*?s_endpgm", text, re.M | re.S)
        found = [" ".join(line.split(";")[0].split()) for line in body[0].splitlines()] if body else []
        for instruction in instructions:
            if instruction not in found:
                sys.exit(f"error: {name}: the {function} has no {instruction}")


def compiled(target):
    """Figures by name, of the virtual machine."""
    name, wave = target
    ordered(name)
    text, said = assembly(name, '#include "device.cu"\n')
    if not re.search(rf"\.wavefront_size:\s+{wave}\b", text):
        sys.exit(f"error: {name}: no waves of {wave}")
    report = re.search(r"Function Name: amk_vm\b(.*?)(?=Function Name:|\Z)", said, re.S)
    found = dict(re.findall(r"remark:[^\n]*?\s(\S[^:\n]*): (\d+) \[-Rpass", report[1] if report else ""))
    if not all(figure in found for figure in FIGURES):
        sys.exit(f"error: {name}: the compiler reports {found}")
    return found


def main():
    if sys.argv[1:] not in ([], ["--write"]):
        sys.exit(__doc__)
    by = version()
    with ThreadPoolExecutor(2) as pool:
        rows = list(pool.map(compiled, TARGETS))
    lines = ["| target | threads of a wave | " + " | ".join(FIGURES.values()) + " |", "| --- |" + " ---: |" * (1 + len(FIGURES))]
    lines += [f"| {name} | {wave} | " + " | ".join(row[figure] for figure in FIGURES) + " |" for (name, wave), row in zip(TARGETS, rows)]
    text = HEADER.format(version=f"Clang {by}") + "\n".join(lines) + "\n" + REST
    if sys.argv[1:]:
        TABLE.write_text(text)
        print(f"{TABLE.relative_to(ROOT)} written")
    elif not TABLE.exists() or TABLE.read_text() != text:
        sys.exit(f"error: {TABLE.relative_to(ROOT)} says otherwise; this was found:\n{text}")
    print(f"the kernels compile for {', '.join(f'{name} with waves of {wave}' for name, wave in TARGETS)}")


main()
