"""Reads what the compiler makes of the inner loops of products and attention: loads under way, registers, local memory, branches. Needs
no GPU, but nvdisasm and NVRTC, from the pip packages nvidia-cuda-nvdisasm and nvidia-cuda-nvrtc.

    python checks/sass.py [--jobs N] [--write] [--nvrtc LIBRARY] [--nvdisasm PROGRAM]

The table, crates/cuda-harness/inner-loops.md, is compared with what is found, or written with `--write`. Whatever it says, branches for
elements fail: more than one jump by a table, or call, for 8 multiplications.

An inner loop is the shortest one that has four loads of 16 bytes and a quarter of the fused multiplications and additions. Loads under way are the most
loads of 16 bytes from global memory that have none of these between them. Of kernels with matrix units instructions are counted; one without a
multiplication of fragments fails.
"""

import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

from targets import MATRIX_TARGETS, ROOT, TARGETS, kernels_for, library, name, packaged

TABLE = ROOT / "crates/cuda-harness/inner-loops.md"

DTYPES = {"F32": "AMK_DTYPE_F32", "F16": "AMK_DTYPE_F16", "BF16": "AMK_DTYPE_BF16", "I8": "AMK_DTYPE_I8", "I4": "AMK_DTYPE_I4"}
KERNELS = {
    **{f"product, {t}": f"amk_matrix_by_chunk<{DTYPES[t]}, AMK_DTYPE_COUNT>(p, t, 0, m)" for t in ("F32", "F16", "BF16")},
    **{f"product, BF16 by {q}": f"amk_matrix_by_chunk<AMK_DTYPE_BF16, {DTYPES[q]}>(p, t, 0, m)" for q in ("I8", "I4")},
    **{f"attention, BF16, {h} heads at once": f"amk_attention_by_chunk<AMK_DTYPE_BF16, {h}>(p, t)" for h in (1, 2, 4)},
}
# With matrix units, and what is counted of each: products of fragments, loads of fragments, copies to shared memory, local memory.
MATRIX = {
    "product, BF16, tiles of 128": "amk_rectangles<AMK_DTYPE_BF16, 4, 2, false>(p, t, 0, m)",
    "product, BF16, smaller tiles": "amk_rectangles<AMK_DTYPE_BF16, 2, 1, false>(p, t, 0, m)",
    "product, BF16 by 8 or 4 bits": "amk_rectangles<AMK_DTYPE_BF16, 2, 1, true>(p, t, 0, m)",
    "attention, BF16": "amk_attention_by_fragment<AMK_DTYPE_BF16>(p, t)",
}
COUNTED = [("HMMA",), ("LDSM",), ("LDGSTS",), ("LDL", "STL")]

HEADER = """# Inner loops by target

What NVRTC {version} makes of the inner loops of GEMV_TILE and ATTENTION_TILE: registers of a thread / loads of 16 bytes from global memory that
a thread has under way before it multiplies / bytes that an SM then has under way, with two blocks of 256 threads / instructions of the loop, and
how many of them are of local memory, where there are any. None branches for an element. 20 KB an SM are what the memory of an H100 takes to be
busy. Written by `python checks/sass.py --write`, compared without `--write`.

"""

MATRIX_HEADER = """
## With matrix units

Registers of a thread / instructions of the whole function that multiply fragments / that load them / that begin copies to shared memory, and how many
are of local memory, where there are any. The function has each loop once, in parts as the compiler has unrolled it.

"""


def cubin_for(nvrtc, target, call, options=()):
    """One kernel that calls the function, as a CUBIN, and its registers."""
    source = '#include "matrix.cuh"\n#include "ops/attention_tile.cuh"\n' \
        'extern "C" __global__ void one(amk_program_t p, long long m) ' \
        f"{{ const amk_instruction_t& t = amk_at_hand()->task; {call}; }}\n"
    log, cubin = kernels_for(nvrtc, target, source, options)
    return cubin, int(re.search(r"Used (\d+) registers", log)[1])


def disassembled(nvdisasm, cubin):
    """Instructions of the function with most of them, in order, and the places of its labels."""
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        text = subprocess.run([nvdisasm, "-c", file.name], check=True, capture_output=True, text=True).stdout
    code, labels = [], {}
    for line in text.splitlines():
        label = re.match(r"(\.L_x_\d+):", line)
        if label:
            labels[label[1]] = len(code)
        found = re.search(r"/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z][A-Z0-9_]*)([A-Z0-9_.]*)\s*([^;]*);", line)
        if found:
            code.append((found[1], found[1] + found[2], found[3]))
    return code, labels


def inner_loop(code, labels):
    """From the label of the loop to the branch back: of the loops with most of the arithmetic, the shortest."""
    loops = []
    for at, (name, _, operands) in enumerate(code):
        target = re.search(r"\.L_x_\d+", operands) if name == "BRA" else None
        if target and labels.get(target[0], at + 1) <= at:
            loops.append((labels[target[0]], at))
    most = max(fused(code, loop) for loop in loops)
    return min((loop for loop in loops if fused(code, loop) >= most / 4 and loads_of(code, loop) >= 4), key=lambda loop: loop[1] - loop[0])


def loads_of(code, loop):
    """The most loads of 16 bytes that have no multiplication between them, in a round that begins anywhere."""
    body = code[loop[0]:loop[1] + 1]
    most = now = 0
    for name, full, _ in body + body:
        if name == "LDG" and ".128" in full:
            now += 1
            most = max(most, now)
        elif name in ("FFMA", "FFMA2"):
            now = 0
    return most


def fused(code, loop):
    return sum(name in ("FFMA", "FFMA2") for name, _, _ in code[loop[0]:loop[1] + 1])


def looked_at(nvrtc, nvdisasm, target, kernel):
    cubin, registers = cubin_for(nvrtc, target, KERNELS[kernel])
    code, labels = disassembled(nvdisasm, cubin)
    first, last = inner_loop(code, labels)
    body = code[first:last + 1]
    local = [full for name, full, _ in body if name in ("LDL", "STL")]
    tables = [full for name, full, _ in body if name in ("BRX", "CALL")]
    loads = loads_of(code, (first, last))
    # Jumps by a table and calls are for scales and masks, of which there are few; more would be one for an element.
    many = tables if len(tables) * 8 > fused(code, (first, last)) else []
    return registers, loads, len(body), local, many


def counted(nvrtc, nvdisasm, target, kernel):
    """The cell of a kernel with matrix units, and how many products of fragments it has."""
    cubin, registers = cubin_for(nvrtc, target, MATRIX[kernel], ["-DAMK_TENSOR_CORES"])
    code, _ = disassembled(nvdisasm, cubin)
    *counts, local = (sum(name in names for name, _, _ in code) for names in COUNTED)
    return " / ".join(map(str, (registers, *counts))) + (f", {local} local" if local else ""), counts[0]


def table(targets, rows):
    """A table of cells by row and target."""
    lines = ["| | " + " | ".join(targets) + " |", "| --- |" + " ---: |" * len(targets)]
    return "\n".join([*lines, *(f"| {row} | " + " | ".join(cells) + " |" for row, cells in rows.items())]) + "\n"


def cell(figures):
    registers, loads, length, local, _ = figures
    return f"{registers} / {loads} / {2 * 256 * 16 * loads // 1024} KB / {length}" + (f", {len(local)} local" if local else "")


def main():
    arguments = sys.argv[1:]

    def option(name, otherwise):
        if name not in arguments:
            return otherwise
        at = arguments.index(name)
        value = arguments[at + 1]
        del arguments[at:at + 2]
        return value

    jobs = int(option("--jobs", 2))
    nvrtc, version = library(option("--nvrtc", None))
    nvdisasm = option("--nvdisasm", None) or packaged("**/bin/nvdisasm", "nvdisasm", "requirements-nvrtc.txt")
    pairs = [(kernel, target) for kernel in KERNELS for target in TARGETS]
    with ThreadPoolExecutor(jobs) as pool:
        found = dict(zip(pairs, pool.map(lambda pair: looked_at(nvrtc, nvdisasm, pair[1], pair[0]), pairs)))
        matrix_pairs = [(kernel, target) for kernel in MATRIX for target in MATRIX_TARGETS]
        matrix = dict(zip(matrix_pairs, pool.map(lambda pair: counted(nvrtc, nvdisasm, pair[1], pair[0]), matrix_pairs)))
    wrong = [f"{kernel} for {target}: {len(tables)} of {', '.join(sorted(set(tables)))} in its inner loop"
             for (kernel, target), (_, _, _, _, tables) in found.items() if tables]
    wrong += [f"{kernel} for {target} multiplies no fragments" for (kernel, target), (_, products) in matrix.items() if products == 0]
    text = HEADER.format(version=name(version)) + table(TARGETS, {k: [cell(found[k, t]) for t in TARGETS] for k in KERNELS})
    text += MATRIX_HEADER + table(MATRIX_TARGETS, {k: [matrix[k, t][0] for t in MATRIX_TARGETS] for k in MATRIX})
    if "--write" in arguments:
        TABLE.write_text(text)
        print(f"{TABLE.relative_to(ROOT)} written")
    elif not TABLE.exists() or TABLE.read_text() != text:
        wrong.append(f"{TABLE.relative_to(ROOT)} says otherwise; this was found:\n{text}")
    if wrong:
        sys.exit("error: " + "\n".join(wrong))
    print(f"{len(pairs)} inner loops, none of which branches for an element, and {len(matrix_pairs)} functions that multiply fragments")


main()
