"""Runs what `megakernel-reference generate-mcir` makes of a document, on a CPU: prints what `compute-mcir` prints, computed by the generated code.

    python3 examples/mcir/generated.py PROGRAM document.json

PROGRAM is megakernel-reference; the document has its inputs in the member `data` (MCI-17). Needs a C++ compiler, `c++`.
"""

import json
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
SHIM = HERE.parent.parent / "crates/cuda-harness/cuda"
OPTIONS = ["-std=c++20", "-O1", "-ffp-contract=off", "-fno-strict-aliasing"]


def run(program, path, threads):
    document = json.loads(Path(path).read_text())
    made = subprocess.run([program, "lower-mcir", path], check=True, capture_output=True, text=True).stdout
    kernels = json.loads(made)
    names = sorted(kernels["tensors"], key=lambda name: name.encode())
    letter = {name: "I" if kernels["tensors"][name]["dtype"] == "F32" else "H" for name in names}
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        (folder / "kernels.json").write_text(made)
        command = [program, "generate-mcir", "--threads", str(threads), str(folder / "kernels.json")]
        code = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        (folder / "kernels.cuh").write_text(code)
        command = ["c++", *OPTIONS, "-I", str(SHIM), "-I", str(folder), '-DMCIR_CODE="kernels.cuh"', str(HERE / "host.cpp")]
        subprocess.run([*command, "-o", str(folder / "run")], check=True)
        for number, name in enumerate(names):
            if name in kernels["inputs"]:
                bits = document["data"][name]
                (folder / f"{number}.bin").write_bytes(struct.pack(f"<{len(bits)}{letter[name]}", *bits))
        subprocess.run([str(folder / "run"), str(folder)], check=True)
        found = {}
        for name in kernels["outputs"]:
            held = (folder / f"{names.index(name)}.bin").read_bytes()
            size = struct.calcsize("<" + letter[name])
            found[name] = list(struct.unpack(f"<{len(held) // size}{letter[name]}", held))
        return {"data": found}


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit("usage: generated.py PROGRAM DOCUMENT [THREADS]")
    try:
        print(json.dumps(run(sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) == 4 else 128)))
    except (OSError, KeyError, ValueError, struct.error, subprocess.CalledProcessError) as error:
        said = getattr(error, "stderr", None)
        sys.exit(f"error: {error}" + (f"\n{said}" if said else ""))
