"""Runs a program on a buffer of more than 2^31 elements, which no case of the corpus has: 2.1 GB, and six times as much while it runs.
An index of 32 bits does not reach the row that is asked for.

    python checks/large.py WORKER OPTION ...

as in `python checks/large.py target/debug/megakernel-cuda --device cuda`. Exit code: 0 if the row is right, 1 if it is not or the
worker says why it has none.
"""

import json
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


def main():
    buffers = [("ids", "IO_INPUT", "I32", [1]), ("table", "WEIGHT", "F8E4M3", [ROWS, WIDTH]), ("y", "IO_OUTPUT", "F8E4M3", [1, WIDTH])]
    program = {
        "ir_version": "0.2.0", "abi_version": "0.2",
        "buffers": [dict(zip(("id", "name", "kind", "dtype", "shape"), (i, *of))) for i, of in enumerate(buffers)],
        "counters": [{"id": 0}],
        "tasks": [{"id": 0, "op": "EMBED", "inputs": [0, 1], "outputs": [2], "out_counter": 0}],
    }
    # Numbers of the format, none of them a NaN.
    row = bytes(1 + i % 126 for i in range(WIDTH))
    with tempfile.TemporaryDirectory() as folder:
        given, out = f"{folder}/in", f"{folder}/out"
        tensors(given, ids=("I32", [1], (ROWS - 1).to_bytes(4, "little"), 4), table=("F8_E4M3", [ROWS, WIDTH], row, ROWS * WIDTH))
        launch = {"document": json.dumps(program), "tensors": [given], "output": out}
        requests = [{"type": "hello", "protocol": "1.0"},
                    {"type": "request", "id": 1, "method": "execute", "profile": "execute", "launches": [launch]}]
        lines = "".join(json.dumps(request) + "\n" for request in requests)
        said = subprocess.run(sys.argv[1:], input=lines, stdout=subprocess.PIPE, text=True).stdout.splitlines()
        answer = json.loads(said[1]) if len(said) > 1 else {}
        if answer.get("outcome") != "accept":
            sys.exit(f"error: no answer: {answer.get('message') or answer.get('reason') or said}")
        found = read(out, "y")
        wrong = sum(a != b for a, b in zip(found, row))
        if wrong or len(found) != WIDTH:
            sys.exit(f"error: {wrong} of {WIDTH} elements of row {ROWS - 1} are wrong")
        print(f"row {ROWS - 1} of {ROWS} rows of {WIDTH} elements is right")


main()
