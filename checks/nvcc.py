"""Compiles the worker of examples/cuda with NVIDIA's nvcc for every target, into one program, and starts it. Needs no GPU, but a C++
compiler and the packages of requirements-nvcc.txt, which `checks/run nvcc` installs in an environment of their own.

A warning fails, as do a program that lacks a target, and one that without a GPU says anything but one sentence.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

from targets import ROOT, TARGETS, packaged

SOURCE = ROOT / "examples/cuda/worker.cu"


def main():
    # The folder of CUDA that the packages make together.
    cuda = packaged("*/bin/nvcc", "nvcc", "requirements-nvcc.txt").parents[1]
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "cuda-worker")
        code = [f"-gencode=arch={target.replace('sm', 'compute')},code={target}" for target in TARGETS]
        command = [cuda / "bin/nvcc", "-std=c++17", "-Werror=all-warnings", "-Xcompiler=-Wall,-Wextra", *code, "-I", ROOT / "adapters/cpp",
                   "-L", cuda / "lib", SOURCE, "-o", program]
        made = subprocess.run(command, capture_output=True, text=True)
        if made.returncode != 0 or made.stderr.strip():
            sys.exit(f"error: {SOURCE.relative_to(ROOT)}:\n{made.stdout}{made.stderr}")
        # Beside each code for a GPU stand the options that it was assembled with.
        held = set(re.findall(r"-arch (sm_\w+)", program.read_bytes().decode("latin-1"))) & set(TARGETS)
        if held != set(TARGETS):
            sys.exit(f"error: the program has nothing for {', '.join(sorted(set(TARGETS) - held))}")
        started = subprocess.run([program], stdin=subprocess.DEVNULL, capture_output=True, text=True)
        sentence = re.fullmatch(r"there is no GPU: .+\n", started.stderr)
        if (started.returncode, started.stdout) not in ((0, ""), (2, "")) or (started.returncode == 2 and not sentence):
            sys.exit(f"error: it ends with {started.returncode}: {started.stdout}{started.stderr}")
    print(f"{SOURCE.relative_to(ROOT)} compiles for {', '.join(TARGETS)}; here it says: {started.stderr.strip() or 'nothing, and has a GPU'}")


main()
