"""Compiles all CUDA C++ for every target, without a GPU, with NVRTC from its pip package: the kernels and the virtual machine
of crates/cuda-harness, what `megakernel-reference generate-code` makes of a small kernel graph for two ranks, with the
stand-ins for kernels of generated_code/, what `megakernel-reference generate-mcir` makes of documents of memory-centric IR, the
kernel of the workers of examples/cuda, and strangers' kernels of the harness's tests with CUDA's own headers, of which those tests use others.

    python checks/targets.py             compile, and compare the table with the published one
    python checks/targets.py --write     write the table anew
    python checks/targets.py sm_90a      only these targets
    python checks/targets.py --short ... leave out what takes longest: all opcodes but three, matrix units, strangers' kernels with wgmma, tcgen05
                                         and headers of libcu++; and make PTX of one in three of the others
    python checks/targets.py --log ...   print what the compiler says of the kernels, too

The table, crates/cuda-harness/targets.md, gives for each opcode and target the registers of a thread, the bytes that it
spills and the bytes of its stack; for kernels with matrix units (AMK_TENSOR_CORES), where the target has them, also how many blocks an SM holds. A
target that does not compile or of which the compiler warns, an opcode that it does not report, shared memory beyond what a block can have, or a
figure that is not the published one, fails.
"""

import ctypes
import importlib.util
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "crates/cuda-harness/cuda"
GENERATED = ROOT / "checks/generated_code"
TABLE = ROOT / "crates/cuda-harness/targets.md"
TARGETS = ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_103", "sm_110", "sm_120"]
# Those that have the instructions of tensor.cuh, and the opcodes that use them.
MATRIX_TARGETS = TARGETS[1:]
MATRIX_OPCODES = ["GEMV_TILE", "GEMM_TILE", "ATTENTION_TILE"]
# Those that --short compiles.
SHORT = ["ROPE", "RMSNORM", "ADD"]
# Each opcode by itself.
SINGLE = '#include "single.cuh"\n'
# In place of an opcode that is not asked for.
TRAP = "AMK_DEVICE void left_out(const amk_program_t&, const amk_instruction_t&) { __trap(); }\n"
# What an SM keeps of shared memory for each block.
RESERVED = 1024
# Kernels that others could have written, which run on the CPU by the harness's stand-ins for CUDA's headers.
STRANGERS = ROOT / "crates/cuda-harness/tests/kernels/strangers"
# Documents of memory-centric IR below corpus/programs/mcir/ of which generated code is compiled.
MCIR = ["small-attention-causal", "small-attention-bf16", "small-chain", "small-norm", "small-product-gelu"]
# Of every source that uses the kernels.
OPTIONS = ["--fmad=false", f"-I{SOURCES}"]

HEADER = """# Registers by opcode and target

What NVRTC {version} makes of the kernels in `cuda/`, with 256 threads in a block at most: registers of a thread, then, where
there are any, bytes of spills and of stack. `vm` is the whole virtual machine. Shared memory is dynamic, and the same for all:
16 bytes for each warp, 32 for each thread, and 3,440 bytes. The last rows are of kernels with matrix units (`--tensor-cores`), which a GPU of 7.5 has
none of, and whose shared memory is {shared:,} bytes, and of how many of their blocks an SM then holds; for `sm_103` and `sm_110` there is no record
under `targets/` that would say. Written by `python checks/targets.py --write`, compared without `--write`.

"""


def library(path=None):
    """NVRTC's shared library, by default from the package nvidia-cuda-nvrtc, and its version."""
    nvrtc = ctypes.CDLL(str(path or packaged("**/libnvrtc.so.*", "NVRTC", "requirements-nvrtc.txt")))
    major, minor = ctypes.c_int(), ctypes.c_int()
    nvrtc.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
    return nvrtc, (major.value, minor.value)


def packaged(pattern, what, requirements):
    """The file that NVIDIA's packages have by a pattern; ends the program where none has, with what is missing and which requirements bring it."""
    package = importlib.util.find_spec("nvidia")
    folders = list(package.submodule_search_locations) if package else []
    found = [path for folder in folders for path in sorted(Path(folder).glob(pattern))]
    if not found:
        sys.exit(f"error: {what} is not installed here; `pip install -r checks/{requirements}` brings it")
    return found[0]


def compile_for(nvrtc, target, source, options, headers=(), form="CUBIN"):
    """The compiler's log, and the bytes of a CUBIN or, of a virtual target, of PTX. Headers are pairs of a name and a text."""
    program = ctypes.c_void_p()

    def call(name, *arguments):
        return getattr(nvrtc, name)(*arguments)

    def strings(values):
        return (ctypes.c_char_p * len(values))(*(value.encode() for value in values))

    names, texts = strings([name for name, _ in headers]), strings([text for _, text in headers])
    call("nvrtcCreateProgram", ctypes.byref(program), source.encode(), b"source.cu", len(headers), texts, names)
    options = [f"--gpu-architecture={target}", "--std=c++17", *options]
    status = call("nvrtcCompileProgram", program, len(options), strings(options))
    size = ctypes.c_size_t()
    call("nvrtcGetProgramLogSize", program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    call("nvrtcGetProgramLog", program, log)
    text = log.value.decode()
    if status != 0:
        sys.exit(f"error: {source.strip()} does not compile for {target}:\n{text}")
    call(f"nvrtcGet{form}Size", program, ctypes.byref(size))
    made = ctypes.create_string_buffer(size.value)
    call(f"nvrtcGet{form}", program, made)
    return text, made.raw


def without(left):
    """Options that leave opcodes out of a source that has TRAP."""
    return [f"-DAMK_REPLACE_{opcode}=left_out" for opcode in left]


def kernels_for(nvrtc, target, source, options=()):
    """The log and CUBIN of the kernels, or of a source that uses them, which have to compile without a warning."""
    log, cubin = compile_for(nvrtc, target, source, [*OPTIONS, "--maxrregcount=128", "--ptxas-options=-v", *options])
    if re.search("warning", log, re.I):
        sys.exit(f"error: {source.strip()} for {target}:\n{log}")
    return log, cubin


def matrix_kernels_for(nvrtc, target):
    """The same of the virtual machine with matrix units, and of the opcodes that use them."""
    source = '#include "vm.cuh"\n'
    for opcode in MATRIX_OPCODES:
        source += f'AMK_GLOBAL void amk_single_{opcode}(amk_program_t program) {{ amk_op_{opcode.lower()}(program, amk_at_hand()->task); }}\n'
    limits = shared_limits(target)
    if limits:
        source += f'static_assert(AMK_SHARED_BYTES(512) <= {limits[0]}, "more shared memory than a block can have");\n'
    return kernels_for(nvrtc, target, source, ["-DAMK_TENSOR_CORES"])


def shared_limits(target):
    """The least that the records of GPUs of a target have of shared memory for a block, and on an SM; nothing where there is no record."""
    records = [json.loads(path.read_text())["target"] for path in sorted((ROOT / "targets").glob("*.json"))]
    own = [record for record in records if f"sm_{record['sm_arch']}" == target.rstrip("a")]
    return tuple(min(record[member] for record in own) for member in ("smem_bytes_per_block_optin", "smem_bytes_per_sm")) if own else ()


def matrix_shared():
    """Shared memory of kernels with matrix units, from the source."""
    text = (SOURCES / "task.cuh").read_text()
    return sum(int(re.search(rf"^#define {name} (\d+)$", text, re.M)[1]) for name in ("AMK_CONTROL_BYTES", "AMK_TENSOR_BYTES"))


def reference(*arguments, standard_input=None):
    """What the reference prints."""
    command = ["cargo", "run", "--quiet", "--bin", "megakernel-reference", "--"]
    if "MEGAKERNEL_BUILT" in os.environ:
        command = [Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "debug/megakernel-reference"]
    made = subprocess.run([*command, *arguments], cwd=ROOT, check=True, capture_output=True, text=True, input=standard_input)
    return made.stdout


def generated_code():
    """What the reference generates from the kernel graph here."""
    code = reference("generate-code", "--ranks", "2", GENERATED / "kernel_graph.json")
    kernels = set(re.findall(r"return kernels::(\w+)<", code))
    defined = set(re.findall(r"__device__ void (\w+)\(const megakernel::Task", (GENERATED / "kernels.cuh").read_text()))
    if kernels != defined - {"unknown_task"}:
        sys.exit(f"error: the generated code calls {sorted(kernels)}, and kernels.cuh has {sorted(defined)}")
    return code


def compile_generated(nvrtc, target, code):
    """Generated code has to compile without a warning."""
    source = '#include "main.cu"\n'
    log, cubin = compile_for(nvrtc, target, source, [f"-I{GENERATED}"], [("generated.cuh", code)])
    if log.strip() or not cubin:
        sys.exit(f"error: generated code for {target}, {len(cubin)} bytes of CUBIN:\n{log}")


def generated_mcir():
    """What the reference generates from documents that between them have each kind of node, dtype and memory, as one source."""
    source = ""
    for number, name in enumerate(MCIR):
        kernels = reference("lower-mcir", ROOT / f"corpus/programs/mcir/{name}.json")
        code = reference("generate-mcir", "/dev/stdin", standard_input=kernels)
        source += f"#undef MCIR_NAMESPACE\n#define MCIR_NAMESPACE mcir_{number}\n{code}\n"
    return source


def compile_mcir(nvrtc, target, source):
    """Generated code has to compile without a warning, with every kernel in it."""
    log, cubin = compile_for(nvrtc, target, source, [])
    kernels = set(re.findall(rb"\0(_ZN\d+mcir_\d+kernel_\d+E)", cubin))
    if log.strip() or len(kernels) != source.count("\n__global__ "):
        sys.exit(f"error: code of memory-centric IR for {target}, {len(cubin)} bytes of CUBIN:\n{log}")


def compile_worker(nvrtc, target):
    """The kernel of examples/cuda/worker.cuh has to compile without a warning."""
    log, cubin = compile_for(nvrtc, target, (ROOT / "examples/cuda/worker.cuh").read_text(), [])
    if log.strip() or b"machine_kernel" not in cubin:
        sys.exit(f"error: examples/cuda/worker.cuh for {target}, {len(cubin)} bytes of CUBIN:\n{log}")


def opcodes():
    return re.findall(r"^AMK_SINGLE\((\w+)\)", (SOURCES / "single.cuh").read_text(), re.M)


def strangers(short):
    """Of each stranger's kernel, or of one in three: its file's name and text, the source that includes it, and options that leave out the opcodes that it does not replace."""
    found = []
    for path in sorted(STRANGERS.glob("*.cu")):
        text, this = path.read_text(), f'#include "{path.name}"\n'
        if short and re.search("#include <(cuda/|cooperative_groups)|wgmma|tensor memory", text):
            continue
        # As vm.cuh takes the file of --kernels; that of --vm is a machine itself, with the suite's opcodes or without.
        machine = "" if "void amk_megakernel(" in text else '#include "vm.cuh"\n'
        if not machine and "dispatch.cuh" not in text:
            found.append((path.name, text, f'#include "platform.cuh"\n{this}', []))
            continue
        left = without(opcode for opcode in opcodes() if f"#define AMK_REPLACE_{opcode} " not in text)
        found.append((path.name, text, f'#include "task.cuh"\n{TRAP}{this}{machine}', left))
    return found[::3] if short else found


def compile_strangers(nvrtc, target, kernels, cuda, form):
    """They have to compile with CUDA's headers without a warning: what runs on the CPU shall be what CUDA has."""
    if form == "PTX":
        target = target.replace("sm_", "compute_")
    for name, text, source, left in kernels:
        options = [*OPTIONS, f"-I{cuda}", f"-I{cuda}/cccl", f"-I{STRANGERS}", *left]
        log, made = compile_for(nvrtc, target, source, options, [(name, text)], form)
        if re.search("warning", log, re.I) or not made:
            sys.exit(f"error: {name} for {target}, {len(made)} bytes of {form}:\n{log}")


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


def blocks_of(target, registers):
    """How many blocks of 256 threads with matrix units an SM holds."""
    limits = shared_limits(target)
    return str(min(limits[1] // (matrix_shared() + RESERVED), 65536 // (256 * registers))) if limits else "not known"


def rows_of(target, plain, matrix):
    """The cells of a target, by row."""
    rows = {kernel: cell(values) for kernel, values in plain.items()}
    for kernel in ("vm", *MATRIX_OPCODES):
        rows[f"{kernel}, matrix units"] = cell(matrix[kernel]) if kernel in matrix else "none"
    rows["blocks an SM, matrix units"] = blocks_of(target, matrix["vm"][0]) if "vm" in matrix else "none"
    return rows


def main():
    arguments = sys.argv[1:]
    write, log, short = "--write" in arguments, "--log" in arguments, "--short" in arguments
    chosen = [argument for argument in arguments if argument not in ("--write", "--log", "--short")] or TARGETS
    unknown = set(chosen) - set(TARGETS)
    if unknown or (write and (short or chosen != TARGETS)):
        sys.exit(f"error: no target {', '.join(sorted(unknown))}" if unknown else "error: --write takes all targets, and all kernels")
    nvrtc, version = library()
    # The calls leave the interpreter's lock, so two threads use two cores.
    with ThreadPoolExecutor(2) as pool:
        kernels_of = f'#include "task.cuh"\n{TRAP}{SINGLE}' if short else SINGLE
        left = without(opcode for opcode in opcodes() if short and opcode not in SHORT)
        logs = dict(zip(chosen, pool.map(lambda target: kernels_for(nvrtc, target, kernels_of, left), chosen)))
        capable = [target for target in chosen if target in MATRIX_TARGETS]
        with_matrix = [] if short else capable
        matrix_logs = dict(zip(with_matrix, pool.map(lambda target: matrix_kernels_for(nvrtc, target), with_matrix)))
        code = generated_code()
        list(pool.map(lambda target: compile_generated(nvrtc, target, code), chosen))
        source = generated_mcir()
        list(pool.map(lambda target: compile_mcir(nvrtc, target, source), chosen))
        list(pool.map(lambda target: compile_worker(nvrtc, target), chosen))
        theirs, cuda = strangers(short), packaged("*/include/cuda_fp16.h", "CUDA's headers", "requirements-nvrtc.txt").parent
        form = "PTX" if short else "CUBIN"
        list(pool.map(lambda target: compile_strangers(nvrtc, target, theirs, cuda, form), capable))
    if log:
        for target, (said, cubin) in [*logs.items(), *matrix_logs.items()]:
            print(f"== {target}: {len(cubin)} bytes of CUBIN\n{said}")
    found = {target: figures(said) for target, (said, _) in logs.items()}
    matrix = {target: figures(said) for target, (said, _) in matrix_logs.items()}
    kernels = SHORT if short else ["vm", *opcodes()]
    for kernel in kernels:
        missing = [target for target in chosen if kernel not in found[target]]
        if kernel in ("vm", *MATRIX_OPCODES):
            missing += [target for target in with_matrix if kernel not in matrix[target]]
        if missing:
            sys.exit(f"error: the compiler reports nothing about {kernel} for {', '.join(missing)}")
    table = {target: rows_of(target, {kernel: found[target][kernel] for kernel in kernels}, matrix.get(target, {})) for target in chosen}
    kernels = [kernel for kernel in table[chosen[0]] if not (short and kernel.endswith("matrix units"))]
    if write:
        TABLE.write_text(page(version, kernels, table))
        print(f"{TABLE.relative_to(ROOT)} written")
    known = published()
    for target in chosen:
        for kernel in kernels:
            now, before = table[target][kernel], known.get((kernel, target))
            if now != before:
                sys.exit(f"error: {kernel} for {target} is {now}, and {TABLE.relative_to(ROOT)} says {before}: run "
                         "`python checks/targets.py --write`")
    if chosen == TARGETS and not short and TABLE.read_text() != page(version, kernels, table):
        sys.exit(f"error: {TABLE.relative_to(ROOT)} is out of date: run `python checks/targets.py --write`")
    print(f"The machine with {len(kernels) if short else len(opcodes())} opcodes, each by itself, {'' if short else 'those with matrix units, '}both kinds of generated code, the workers' kernel and {len(theirs)} of strangers "
          f"compile for {', '.join(chosen)}")


def name(version):
    return f"{version[0]}.{version[1]}"


def page(version, kernels, table):
    """The table as it is published."""
    lines = ["| | " + " | ".join(TARGETS) + " |", "| --- |" + " ---: |" * len(TARGETS)]
    for kernel in kernels:
        lines.append(f"| {kernel} | " + " | ".join(table[target][kernel] for target in TARGETS) + " |")
    return HEADER.format(version=name(version), shared=matrix_shared()) + "\n".join(lines) + "\n"


def published():
    """The cells of the published table, by kernel and target."""
    rows = [line.strip("| ").split(" | ") for line in TABLE.read_text().splitlines() if line.startswith("| ")]
    return {(row[0], target): text for row in rows for target, text in zip(TARGETS, row[1:])}


if __name__ == "__main__":
    main()
