"""Times numpy in binary64 on the shapes of the reference's benchmark, beside the reference's own figures.

    cargo bench -p megakernel-reference --bench vm
    python checks/bench.py

The shapes are read from the results of the first command. numpy computes values alone, with the functions of
examples/python/vm.py on arrays of binary64; the reference computes a bound for each value beside it. One core for both.
"""

import json
import math
import os
import sys
import timeit
from pathlib import Path

os.environ["OPENBLAS_NUM_THREADS"] = "1"
import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "examples/python"))
import vm

TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))


def layernorm(p, x, w, b):
    mean = x.mean(axis=-1, keepdims=True)
    return (x - mean) / np.sqrt(x.var(axis=-1, keepdims=True) + p["eps"]) * w + b


def dequant(p, q, scales):
    return q * np.repeat(scales, p["group"], axis=-1)


def quantised_gemv(p, x, packed, scales):
    q = np.stack([packed & 15, packed >> 4], axis=-1).reshape(len(packed), -1) - 8.0
    return x @ dequant(p, q, scales).T


def parameters(op, shapes):
    """The parameters that the reference's benchmark gives the task: most of them follow from the shapes."""
    first, last = shapes[0], shapes[-1]
    common = {"eps": 1e-5, "theta": 10000.0, "pos": 7, "n_off": 0, "hidden": first[-1] if first else 1}
    common.update(K=first[-1], N_tile=shapes[1][0] if len(shapes) > 1 else 1, M_tile=first[0], head_dim=first[-1])
    if op == "ATTENTION_TILE":
        rows, kv_heads, _ = last
        common.update(kv_start=0, kv_len=rows, scale=0.125, n_heads=first[0], n_kv_heads=kv_heads)
    if op in ("DEQUANT", "GEMV_TILE") and len(shapes) > 1:
        common["group"] = first[-1] // last[-1] or 1
    return common


def function(op, dtypes):
    if op == "GEMV_TILE" and dtypes[1] == "U8":
        return quantised_gemv
    more = {"LAYERNORM": layernorm, "DEQUANT": dequant, "ALLREDUCE_SHARD": lambda p, *shards: sum(shards),
            "COPY": lambda p, x: x.copy(), "KV_APPEND": lambda p, new, cache: new.copy()}
    return more.get(op) or vm.OPCODES[op]


def measured():
    """(opcode, buffers, seconds) of each opcode in the results of the reference's benchmark."""
    for path in sorted(TARGET.glob("criterion/opcode/*/*/new/benchmark.json")):
        about = json.loads(path.read_text())
        estimates = json.loads((path.parent / "estimates.json").read_text())
        yield about["function_id"], about["value_str"], estimates["median"]["point_estimate"] / 1e9


def seconds(call):
    """The median time of a call, over at least a fifth of a second."""
    timer = timeit.Timer(call)
    count, _ = timer.autorange()
    return np.median(timer.repeat(7, max(1, count // 7))) / max(1, count // 7)


def main():
    random, rows, ratios = np.random.default_rng(1), list(measured()), []
    if not rows:
        sys.exit("no results in %s: run `cargo bench -p megakernel-reference --bench vm` first" % (TARGET / "criterion"))
    print("| opcode | operands | reference, with bounds | numpy, values alone | ratio |")
    print("| --- | --- | ---: | ---: | ---: |")
    for op, buffers, reference in rows:
        operands = [text.rstrip("]").split("[") for text in buffers.split() if text != "cache"]
        dtypes = [dtype for dtype, _ in operands]
        shapes = [[int(extent) for extent in shape.split(",")] for _, shape in operands]
        arrays = [random.integers(0, 99 if dtype == "U8" else 2, shape) if dtype in ("I32", "U8") else
                  np.abs(random.standard_normal(shape)) for dtype, shape in zip(dtypes, shapes)]
        p, compute = parameters(op, shapes), function(op, dtypes)
        numpy = seconds(lambda: compute(p, *arrays))
        ratios.append(reference / numpy)
        print("| %s | %s | %.1f µs | %.1f µs | %.1f |" % (op, buffers, reference * 1e6, numpy * 1e6, ratios[-1]))
    print("\ngeometric mean of the ratios: %.1f" % math.exp(np.log(ratios).mean()))


if __name__ == "__main__":
    main()
