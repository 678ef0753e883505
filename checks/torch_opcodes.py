"""Compares what the corpus expects of single tasks with PyTorch: the operators that the field computes with.

    python checks/torch_opcodes.py [part of a case id] ...

In binary64, PyTorch has to agree with the expected value to within 1e-10 of the magnitude of the terms, which leaves its
functions some room. Its result in binary32, on a GPU if there is one, is rounded by PyTorch to the dtype of the output,
and judged as an implementation is (NUM-10). PyTorch is not among the requirements; without it nothing is compared, and
that is said.

Left out is GELU in binary32 on a CPU: the error function of PyTorch's vector code is off by 6 * 2^-24, more than NUM-07
grants, and gelu(inf) is NaN there. And attention where NaN is expected, for which PyTorch has 0 in some places.
"""

import collections
import sys

import numpy as np

import corpus
import model
import opcodes
from formats import FORMATS, rounded

try:
    import torch
    import torch.nn.functional as F
except ModuleNotFoundError:
    print("skipped: PyTorch is not installed, and nothing is compared with it")
    sys.exit()

TOLERANCE = 1e-10
TYPES = {"F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16, "F8E4M3": torch.float8_e4m3fn,
         "F8E5M2": torch.float8_e5m2}
OPCODES = {}


def opcode(name):
    return lambda function: OPCODES.setdefault(name, function)


@opcode("ADD")
def add(t, a, b):
    return a + b


@opcode("MUL")
def mul(t, a, b=None):
    return a * (float(t.real("scale", 1)) if b is None else b)


@opcode("GELU")
def gelu(t, x):
    return F.gelu(x)


@opcode("SILU_MUL")
def silu_mul(t, gate, up):
    return F.silu(gate) * up


@opcode("SOFTMAX")
def softmax(t, x):
    return F.softmax(x, t.params.get("dim", -1))


@opcode("RMSNORM")
def rmsnorm(t, x, w):
    return F.rms_norm(x, (t["hidden"],), w.flatten(), float(t.real("eps")))


@opcode("LAYERNORM")
def layernorm(t, x, w, b=None):
    b = None if b is None else b.flatten()
    return F.layer_norm(x.reshape(-1, t["hidden"]), (t["hidden"],), w.flatten(), b, float(t.real("eps")))


@opcode("EMBED")
def embed(t, ids, table):
    return F.embedding(ids.flatten(), table.reshape(len(table), -1))


@opcode("SAMPLE_ARGMAX")
def sample_argmax(t, logits):
    return logits.argmax(-1)


@opcode("ALLREDUCE_SHARD")
def allreduce_shard(t, *shards):
    return torch.stack(shards).sum(0)


@opcode("GEMV_TILE")
def gemv_tile(t, x, weight, bias=None):
    tile = slice(t["n_off"], t["n_off"] + t["N_tile"])
    bias = None if bias is None else bias.flatten()[tile]
    return F.linear(x.reshape(-1, t["K"]), weight[tile], bias)


@opcode("GEMM_TILE")
def gemm_tile(t, x, weight, bias=None):
    first = t.params.get("m_off", 0)
    return gemv_tile(t, x[first : first + t["M_tile"]], weight, bias)


@opcode("ROPE")
def rope(t, x, positions):
    half = t["head_dim"] // 2
    frequency = 1 / float(t.real("theta")) ** (torch.arange(half, dtype=x.dtype, device=x.device) / half)
    angle = torch.outer(positions.flatten().to(x.dtype), frequency)[:, None]
    cos, sin = torch.cat([angle.cos()] * 2, -1), torch.cat([angle.sin()] * 2, -1)
    x = x.reshape(-1, x.shape[-2], 2 * half)
    return x * cos + torch.cat([-x[..., half:], x[..., :half]], -1) * sin


@opcode("ATTENTION_TILE")
def attention_tile(t, q, k, v, mask=None):
    rows = slice(t["kv_start"], t["kv_start"] + t["kv_len"])
    k, v = (c.reshape(-1, *c.shape[-3:])[:, rows].transpose(1, 2) for c in (k, v))  # [batch, head, row, element]
    k, v = (c.repeat_interleave(t["n_heads"] // t["n_kv_heads"], 1) for c in (k, v))
    q = q.reshape(len(k), t["n_heads"], 1, t["head_dim"])
    if mask is not None:
        mask = mask.reshape(len(k), -1, 1, t["kv_len"])
        mask = mask.bool() if t.dtypes[3] == "BOOL" else mask
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=float(t.real("scale")))


def plain(task):
    """Whether PyTorch has an operator for the task: none for movement between dtypes, partials and quantised weights."""
    params = task.get("params", {})
    return task["op"] in OPCODES and "qdtype" not in params and not params.get("flags", 0) & 2


def evaluated(task, inputs, real, device):
    """The result of the task in PyTorch, from the stored contents of its inputs."""
    about = model.Task(task.get("params", {}), None, None, [content.dtype for content in inputs])
    tensors = []
    for content in inputs:
        floats = content.dtype in FORMATS
        array = content.stored.astype(np.float64 if floats else np.int64)
        tensors.append(torch.from_numpy(array).to(device, real if floats else torch.int64))
    return OPCODES[task["op"]](about, *tensors)


def within(dtype, stored, reference, bound):
    """NUM-10, the sign of zeros aside."""
    low, high = rounded(dtype, reference - bound), rounded(dtype, reference + bound)
    beyond = np.isnan(low) | np.isnan(high)  # an end that overflows, in F8E4M3
    inside = ((stored >= low) | np.isnan(low)) & ((stored <= high) | np.isnan(high))
    return np.where(np.isnan(reference), np.isnan(stored), inside | (np.isnan(stored) & beyond)) | np.isinf(bound)


def compared(case, task, inputs, dtype, result, reference, limit, device):
    """Compares PyTorch's result of a task with what is expected; returns what is wrong."""
    shape = result.values.shape
    exact = evaluated(task, inputs, torch.float64, "cpu").reshape(shape).numpy()
    if dtype not in FORMATS:
        judged = [((exact == reference) | result.free, exact, "integers")]
    else:
        with np.errstate(all="ignore"):
            if dtype == "F32":
                # The result of a single operation may be expected rounded or not, and its scale is 0.
                alone = result.scale == 0
                exact, reference = (np.where(alone, rounded(dtype, a), a).astype(float) for a in (exact, reference))
            close = np.abs(exact - reference) <= TOLERANCE * (result.scale + np.abs(reference))
            close |= ~np.isfinite(reference) & ((exact == reference) | (np.isnan(exact) & np.isnan(reference)))
            skipped = np.isnan(reference) & (task["op"] == "ATTENTION_TILE") | np.isinf(limit) | result.free
            judged = [(close | skipped, exact, "binary64")]
            if device == "cuda" or task["op"] != "GELU":
                short = evaluated(task, inputs, torch.float32, device).to(TYPES[dtype])
                short = short.double().cpu().reshape(shape).numpy()
                judged.append((within(dtype, short, reference, limit) | skipped, short, "binary32"))
    wrong = []
    for good, found, how in judged:
        if not good.all():
            at = tuple(int(i) for i in np.argwhere(~good)[0])
            wrong.append("%s, task %d, %s: expected %r, bound %g; PyTorch in %s has %r" % (
                case.id, task["id"], list(at), reference[at], limit[at], how, found[at]))
    return wrong


def main():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    print("PyTorch %s; binary32 on %s" % (torch.__version__, device))
    counts, failed = collections.Counter(), []
    for case in corpus.cases():
        if len(sys.argv) > 1 and not any(part in case.id for part in sys.argv[1:]):
            continue
        program, bound, expected = next(iter(case))
        tasks = [task for task in program["tasks"] if task["op"] != "NOP"]
        if len(case.launches) > 1 or opcodes.kind(tasks) == opcodes.WHOLE:
            continue
        session = model.Session()
        for task, target, result in session.launch(program, bound):
            name = program["buffers"][task["outputs"][0]]["name"]
            in_place = set(task["inputs"]) & set(task["outputs"])  # the inputs are gone
            if plain(task) and name in expected and not in_place:
                inputs = [session.memory[n] for n in task["inputs"]]
                limit = expected.get(name + ".bound", expected[name])[result.region]
                failed += compared(case, task, inputs, target.dtype, result, expected[name][result.region], limit, device)
                counts[task["op"]] += result.values.size
    for name, count in sorted(counts.items()):
        print("%-18s %10d elements" % (name, count))
    for line in failed:
        print("WRONG", line)
    if failed or not counts:
        sys.exit("%d comparisons differ, of %d elements" % (len(failed), counts.total()))


if __name__ == "__main__":
    main()
