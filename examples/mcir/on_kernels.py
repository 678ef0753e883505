"""Runs what `megakernel-reference program-mcir` makes of a document on a worker of the profile `execute`, such as the CUDA kernels on a CPU: prints what
`compute-mcir` prints, computed by the worker.

    python3 examples/mcir/on_kernels.py [--greatest TENSOR] [--kernel-graph graph.json] WORKER program.json binding.json data.json

WORKER is a command line. The last file has the inputs in the member `data` (MCI-17). With --greatest, of each row of a tensor of F32 or BF16 the place of its
greatest element is printed instead: of logits, the tokens. With --kernel-graph, program and binding are those of `import-task-graph` (TGR-18), and the graph says
what its tensors are: those with `columns` have other ones beside each other, and a cache that there is no data of is empty.
"""

import argparse
import json
import math
import shlex
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

FORMATS = {"F32": "I", "F16": "H", "BF16": "H", "I32": "I", "I8": "B", "U8": "B", "BOOL": "B"}


def packed(tensors):
    """A tensor file (NUM-11) of elements as bits."""
    header, data = {}, b""
    for name, (dtype, shape, bits) in tensors.items():
        part = struct.pack(f"<{len(bits)}{FORMATS[dtype]}", *bits)
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(part)]}
        data += part
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


def unpacked(file):
    """The tensors of a file: their dtype, their shape, and their elements as bits."""
    length = struct.unpack_from("<Q", file)[0]
    found = {}
    for name, told in json.loads(file[8 : 8 + length]).items():
        if name != "__metadata__":
            begin, end = told["data_offsets"]
            form = FORMATS[told["dtype"]]
            bits = struct.unpack(f"<{(end - begin) // struct.calcsize('<' + form)}{form}", file[8 + length + begin : 8 + length + end])
            found[name] = told["dtype"], told["shape"], list(bits)
    return found


def ask(worker, message):
    """The answer to a message, which is one line (CON-02)."""
    worker.stdin.write(json.dumps(message) + "\n")
    worker.stdin.flush()
    answer = json.loads(worker.stdout.readline() or '{"message": "the worker ended"}')
    if answer.get("type") == "hello" or answer.get("outcome") == "accept":
        return answer
    raise ValueError(f"the worker says: {answer.get('message') or answer.get('reason') or answer}")


def of_document(program, binding, data):
    """What a program reads, by buffer: dtype, shape and bits; and what it writes, by tensor: shape, and the buffers with their pieces."""
    inputs, outputs = {}, {}
    for buffer in program["buffers"]:
        bound = binding.get(buffer["name"])
        if bound is None:
            continue
        if buffer["kind"] == "IO_OUTPUT":
            shape = buffer["shape"]
            piece = {"start": [0] * len(shape), "extents": shape, "at": 0}
            outputs[bound["tensor"]] = shape, [(buffer["name"], piece)]
        else:
            bits = data[bound["tensor"]] if "tensor" in bound else bound["values"]
            inputs[buffer["name"]] = buffer["dtype"], buffer["shape"], bits
    return inputs, outputs


def places(shape, piece):
    """Of a box of a tensor, the places of its elements in the tensor, row by row."""
    found = [0]
    for extent, start, count in zip(shape, piece["start"], piece["extents"], strict=True):
        found = [place * extent + start + index for place in found for index in range(count)]
    return found


def of_kernel_graph(program, binding, data, graph):
    """The same, of a program that was imported."""
    tensors = {tensor["name"]: tensor for tensor in graph["tensors"]}

    def bits(name, kind):
        tensor = tensors[name]
        if "columns" in tensor:
            parts = [data[part] for part in tensor["columns"]]
            rows = tensor["dims"][0]
            return [bit for row in range(rows) for part in parts for bit in part[row * len(part) // rows :][: len(part) // rows]]
        if name not in data and kind == "KV_CACHE":
            return [0] * math.prod(tensor["dims"])
        return data[name]

    buffers = {buffer.get("source") or buffer["name"]: buffer for buffer in program["buffers"]}
    inputs, outputs = {}, {}
    for bound in binding["buffers"]:
        name, buffer = bound["buffer"], buffers[bound["buffer"]]
        elements = bound.get("values", [0] * math.prod(buffer["shape"]))
        for piece in bound.get("pieces", []):
            shape = tensors[piece["tensor"]]["dims"]
            if buffer["kind"] == "IO_OUTPUT":
                outputs.setdefault(piece["tensor"], (shape, []))[1].append((name, piece))
            else:
                tensor = bits(piece["tensor"], buffer["kind"])
                for at, place in enumerate(places(shape, piece), piece["at"]):
                    elements[at] = tensor[place]
        if buffer["kind"] != "IO_OUTPUT":
            inputs[name] = buffer["dtype"], buffer["shape"], elements
    return inputs, outputs


def run(command, program, inputs, outputs):
    """The outputs of a program: by tensor, dtype, shape and bits."""
    with tempfile.TemporaryDirectory() as folder:
        tensors, output = Path(folder) / "inputs.safetensors", Path(folder) / "outputs.safetensors"
        tensors.write_bytes(packed(inputs))
        launch = {"document": json.dumps(program), "tensors": [str(tensors)], "output": str(output)}
        with subprocess.Popen(shlex.split(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as worker:
            ask(worker, {"type": "hello", "protocol": "1.0"})
            ask(worker, {"type": "request", "id": 1, "method": "execute", "profile": "execute", "launches": [launch]})
        found = unpacked(output.read_bytes())
    made = {}
    for tensor, (shape, pieces) in outputs.items():
        elements = [None] * math.prod(shape)
        for name, piece in pieces:
            dtype, _, bits = found[name]
            for at, place in enumerate(places(shape, piece), piece["at"]):
                elements[place] = bits[at]
        made[tensor] = dtype, shape, elements
    return made


def greatest(dtype, shape, bits):
    """Of each row of a tensor of F32 or BF16, the place of the first of its greatest elements."""
    if dtype not in ("F32", "BF16") or not shape:
        raise ValueError(f"the greatest elements are those of rows of F32 or BF16, not of {dtype} {shape}")
    if dtype == "BF16":
        bits = [one << 16 for one in bits]
    numbers = struct.unpack(f"<{len(bits)}f", struct.pack(f"<{len(bits)}I", *bits))
    rows = [numbers[at : at + shape[-1]] for at in range(0, len(numbers), shape[-1])]
    return [row.index(max(row)) for row in rows]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--greatest", metavar="TENSOR")
    parser.add_argument("--kernel-graph", metavar="FILE", type=Path)
    parser.add_argument("worker")
    parser.add_argument("files", nargs=3, metavar="FILE")
    options = parser.parse_args()
    program, binding, data = (json.loads(Path(file).read_text()) for file in options.files)
    if options.kernel_graph:
        arranged = of_kernel_graph(program, binding, data["data"], json.loads(options.kernel_graph.read_text()))
    else:
        arranged = of_document(program, binding, data["data"])
    found = run(options.worker, program, *arranged)
    if options.greatest:
        print(json.dumps(greatest(*found[options.greatest])))
    else:
        print(json.dumps({"data": {name: bits for name, (_, _, bits) in found.items()}}))


if __name__ == "__main__":
    try:
        main()
    except (OSError, KeyError, TypeError, ValueError, struct.error) as error:
        sys.exit(f"error: {type(error).__name__}: {error}")
