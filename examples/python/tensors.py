"""Tensor files (NUM-11): safetensors, as much of the format as the suite uses. Needs numpy.

A file is the length of a JSON header in 8 bytes, the header, and the elements of all tensors, one after the other.
The header gives each tensor's dtype, shape, and place: {"x": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}}
"""

import json

import numpy as np

# How an element lies in memory. numpy has no bfloat16: its 16 bits travel as an integer, and vm.py knows what they mean.
STORAGE = {"F32": np.dtype("<f4"), "BF16": np.dtype("<u2"), "I32": np.dtype("<i4"), "BOOL": np.dtype("u1")}


def read(path):
    """The tensors of a file by name, each as a pair of a dtype and an array. Other dtypes than STORAGE's are left out."""
    with open(path, "rb") as file:
        data = file.read()
    start = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:start])
    header.pop("__metadata__", None)
    found = {}
    for name, tensor in header.items():
        if tensor["dtype"] in STORAGE:
            first, end = tensor["data_offsets"]
            array = np.frombuffer(data[start + first : start + end], STORAGE[tensor["dtype"]])
            found[name] = tensor["dtype"], array.reshape(tensor["shape"])
    return found


def write(path, tensors):
    """Writes a file with the tensors, given as `read` returns them."""
    header, parts, place = {}, [], 0
    for name, (dtype, array) in tensors.items():
        part = array.astype(STORAGE[dtype]).tobytes()
        header[name] = {"dtype": dtype, "shape": list(array.shape), "data_offsets": [place, place + len(part)]}
        parts.append(part)
        place += len(part)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)  # the elements begin at a multiple of 8
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text + b"".join(parts))
