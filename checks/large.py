"""Runs a program on a buffer of more than 2^31 elements, which no case of the corpus has. An index of 32 bits does not reach the row that
is asked for.

    python checks/large.py [--product] WORKER OPTION ...

as in `python checks/large.py target/debug/megakernel-cuda --device cuda`. The program is EMBED on a table of 2.1 GB, of which the harness needs
six times as much while it runs; with --product, GEMV_TILE on weights of 4 bits that nobody has written, 1.1 GB, of which it needs a fourfold and
wants a sixfold to be free. Exit code: 0 if the row is right, 1 if it is not or the worker says why it has none.
"""

import json
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

WIDTH, ROWS = 1 << 16, (1 << 15) + 1


def tensors(path, **parts):
    """A file of safetensors: name = (dtype, shape, bytes at the end, size in all); what lies before those bytes is 0."""
    header, at = {}, 0
    for name, (dtype, shape, _, size) in parts.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        start = file.tell()
        for name, (_, _, last, _) in parts.items():
            file.seek(start + header[name]["data_offsets"][1] - len(last))
            file.write(last)


def read(path, name):
    """The bytes of a tensor."""
    data = Path(path).read_bytes()
    length = int.from_bytes(data[:8], "little")
    first, last = json.loads(data[8:8 + length])[name]["data_offsets"]
    return data[8 + length + first:8 + length + last]


def program(buffers, op, **params):
    """A program of one task, whose last buffer is its output."""
    n = len(buffers) - 1
    return {
        "ir_version": "0.2.0", "abi_version": "0.2",
        "buffers": [dict(zip(("id", "name", "kind", "dtype", "shape"), (i, *of))) for i, of in enumerate(buffers)],
        "counters": [{"id": 0}],
        "tasks": [{"id": 0, "op": op, "inputs": list(range(n)), "outputs": [n], "out_counter": 0, "params": params}],
    }


def embed():
    """The program, its tensors, and what the end of its output has to be."""
    buffers = [("ids", "IO_INPUT", "I32", [1]), ("table", "WEIGHT", "F8E4M3", [ROWS, WIDTH]), ("y", "IO_OUTPUT", "F8E4M3", [1, WIDTH])]
    # Numbers of the format, none of them a NaN.
    row = bytes(1 + i % 126 for i in range(WIDTH))
    given = {"ids": ("I32", [1], (ROWS - 1).to_bytes(4, "little"), 4), "table": ("F8_E4M3", [ROWS, WIDTH], row, ROWS * WIDTH)}
    return program(buffers, "EMBED"), given, row


def product():
    """The same of a product. Memory that starts undefined is all ones: 15 in 4 bits, which stands for 7."""
    buffers = [("x", "IO_INPUT", "F32", [1, WIDTH]), ("w", "ACTIVATION", "I4", [ROWS, WIDTH]), ("scales", "IO_INPUT", "F32", [ROWS, 1]),
               ("y", "IO_OUTPUT", "F32", [1, ROWS])]
    given = {"x": ("F32", [1, WIDTH], struct.pack("<f", 0.5) * WIDTH, 4 * WIDTH), "scales": ("F32", [ROWS, 1], struct.pack("<f", 0.25), 4 * ROWS)}
    params = {"K": WIDTH, "N_tile": 1, "n_off": ROWS - 1, "qdtype": 7, "group": WIDTH}
    return program(buffers, "GEMV_TILE", **params), given, struct.pack("<f", 7 * 0.125 * WIDTH)


def main():
    small = sys.argv[1:2] == ["--product"]
    document, bound, row = product() if small else embed()
    with tempfile.TemporaryDirectory() as folder:
        given, out = f"{folder}/in", f"{folder}/out"
        tensors(given, **bound)
        launch = {"document": json.dumps(document), "tensors": [given], "output": out}
        requests = [{"type": "hello", "protocol": "1.0"},
                    {"type": "request", "id": 1, "method": "execute", "profile": "execute", "launches": [launch]}]
        lines = "".join(json.dumps(request) + "\n" for request in requests)
        said = subprocess.run(sys.argv[2 if small else 1:], input=lines, stdout=subprocess.PIPE, text=True).stdout.splitlines()
        answer = json.loads(said[1]) if len(said) > 1 else {}
        if answer.get("outcome") != "accept":
            sys.exit(f"error: no answer: {answer.get('message') or answer.get('reason') or said}")
        found = read(out, "y")
        if found[-len(row):] != row:
            sys.exit(f"error: row {ROWS - 1} is wrong")
        print(f"row {ROWS - 1} of {ROWS} rows of {WIDTH} elements is right")


main()
