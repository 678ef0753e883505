"""Reads what the checks compare with: the `execute` cases of corpus/, their programs and tensor files.

Written from spec/conformance.md (CON-05, CON-11) and spec/numerics.md (NUM-11), without any code of the suite.
"""

import copy
import json
from pathlib import Path

import ml_dtypes
import numpy as np

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
                bound.update(tensors(ROOT / name))
            yield program, bound, tensors(ROOT / expected)


def cases():
    for path in sorted((ROOT / "cases").rglob("*.json")):
        # Most cases are not about numbers; a look at the text spares parsing them.
        if '"execute"' in path.read_text():
            case = Case(path)
            if case.method == "execute":
                yield case
