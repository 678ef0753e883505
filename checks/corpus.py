"""Reads what the checks compare with: the `execute` cases of corpus/, their programs and tensor files.

Written from spec/conformance.md (CON-05, CON-09, CON-11) and spec/numerics.md (NUM-11, NUM-13), without any code of the suite.
"""

import copy
import json
import math
from pathlib import Path

import ml_dtypes
import numpy as np

from formats import FORMATS, rounded

ROOT = Path(__file__).resolve().parent.parent / "corpus"

# dtype names of tensor files, as numpy types; ml_dtypes supplies those that numpy lacks
TYPES = {
    "F64": np.float64, "F32": np.float32, "F16": np.float16, "BF16": ml_dtypes.bfloat16,
    "F8_E4M3": ml_dtypes.float8_e4m3fn, "F8_E5M2": ml_dtypes.float8_e5m2,
    "I32": np.int32, "I8": np.int8, "U8": np.uint8, "BOOL": np.uint8,
}


def tensors(path):
    """The tensors of a safetensors file, by name."""
    data = Path(path).read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    found = {}
    for name, item in json.loads(data[8:start]).items():
        if name == "__metadata__":
            continue
        first, end = item["data_offsets"]
        found[name] = np.frombuffer(data[start + first : start + end], TYPES[item["dtype"]]).reshape(item["shape"])
    return found


def drawn(seed, number):
    """The values of next() with these numbers, of the generator with this seed, as 64-bit words."""
    with np.errstate(over="ignore"):
        z = np.uint64(seed) + (number.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def below(words, count):
    """The high 64 bits of the products of words and a count below 2^54, as integers."""
    high, low = words >> np.uint64(32), words & np.uint64(0xFFFFFFFF)
    if count < 2**32:
        count = np.uint64(count)
        return ((high * count + (low * count >> np.uint64(32))) >> np.uint64(32)).astype(np.int64)
    return np.array([int(word) * count >> 64 for word in words.ravel()]).reshape(words.shape)


def by_formula(path):
    """The tensors that a file of formulas stands for, by name (NUM-13)."""
    found = {}
    for name, item in json.loads(path.read_text()).items():
        size = math.prod(item["shape"])
        numbers = np.zeros(size, np.int64)
        for term in item.get("terms", []):
            j = np.arange(-(-size // term.get("every", 1)))
            if "repeat" in term:
                j = j[: term["repeat"]]
            if "seed" in term:
                values = term["low"] + below(drawn(term["seed"], j), term["high"] - term["low"] + 1)
            else:
                values = term["start"] + term["step"] * j
            if "repeat" in term:
                values = np.resize(values, -(-size // term.get("every", 1)))
            numbers += np.repeat(values, term.get("every", 1))[:size]
        for place in item.get("set", []):
            stride, count = place.get("stride", 1), place.get("count", 1)
            numbers[place["first"] : place["first"] + stride * (count - 1) + 1 : stride] = place["value"]
        dtype = item["dtype"]
        if dtype == "I4":
            pairs = np.append(numbers & 15, np.zeros(size % 2, np.int64)).reshape(-1, 2)
            found[name] = (pairs[:, 0] + 16 * pairs[:, 1]).astype(np.uint8)
        elif dtype in FORMATS:
            # What binary64 holds exactly is rounded once.
            reals = rounded(dtype, np.ldexp(numbers.astype(np.float64), item.get("exponent", 0)))
            found[name] = reals.astype(np.float64).reshape(item["shape"])
        else:
            found[name] = numbers.astype(TYPES[dtype]).reshape(item["shape"])
    return found


def patched(document, operations):
    """A copy of the document with an RFC 6902 patch applied: the operations that cases use."""
    document = copy.deepcopy(document)
    for operation in operations:
        *path, last = [part.replace("~1", "/").replace("~0", "~") for part in operation["path"].split("/")[1:]]
        parent = document
        for part in path:
            parent = parent[int(part)] if isinstance(parent, list) else parent[part]
        key = last if isinstance(parent, dict) else len(parent) if last == "-" else int(last)
        kind = operation["op"]
        if kind == "add" and isinstance(parent, list):
            parent.insert(key, operation["value"])
        elif kind in ("add", "replace"):
            parent[key] = operation["value"]
        elif kind == "remove":
            del parent[key]
        else:
            raise ValueError("patch operation `%s` is not known here" % kind)
    return document


class Case:
    """An `execute` case: its launches, each a program, its input tensors and what is expected."""

    def __init__(self, path):
        case = json.loads(path.read_text())
        self.id, self.method = case["id"], case["method"]
        if self.method != "execute":
            return
        source = case["document"]
        if "base" in source:
            base = json.loads((ROOT / source["base"]).read_text())
            base = patched(base, source.get("edit", []))
        else:
            base = json.loads(source["text"])
        self.launches = [
            (patched(base, launch.get("edit", [])), launch["tensors"], launch["expected"])
            for launch in case["execute"]["launches"]
        ]

    def __iter__(self):
        for program, files, expected in self.launches:
            bound = {}
            for name in files:
                read = by_formula if name.endswith(".formula.json") else tensors
                bound.update(read(ROOT / name))
            yield program, bound, tensors(ROOT / expected)


def cases():
    for path in sorted((ROOT / "cases").rglob("*.json")):
        # Most cases are not about numbers; a look at the text spares parsing them.
        if '"execute"' in path.read_text():
            case = Case(path)
            if case.method == "execute":
                yield case
