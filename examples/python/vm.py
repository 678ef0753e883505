"""A small virtual machine for AMK IR programs over F32 and BF16, in numpy. adapter.py has it judged (profile `execute`).

It computes in binary32 and rounds once, when a task stores its result: that is what spec/numerics.md expects of an
implementation, and nothing here knows the bounds by which it is judged. A program that needs an opcode, a dtype or a form
that is not here raises Unsupported: the suite counts that as skipped, not as wrong.
"""

import math
from collections import deque

import numpy as np

DTYPES = ["F32", "BF16", "I32", "BOOL"]
STORAGE = {"F32": np.float32, "BF16": np.uint16, "I32": np.int32, "BOOL": np.uint8}
READ_ONLY = ("WEIGHT", "CONST", "IO_INPUT")


class Unsupported(Exception):
    """What this machine lacks, in words."""


# ---- Elements -------------------------------------------------------------------------------------------------------


def decode(dtype, stored):
    """What stored elements stand for. A bfloat16 is the upper half of a binary32."""
    if dtype == "BF16":
        return (stored.astype(np.uint32) << 16).view(np.float32)
    return stored.astype(bool) if dtype == "BOOL" else stored


def encode(dtype, values):
    """The elements that store the values: `cast` in the spec. Rounds to nearest, ties to even (NUM-02)."""
    if dtype != "BF16":
        return values.astype(STORAGE[dtype])
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16  # half an ulp less one, and one more if the result is odd
    return np.where(np.isnan(values), 0x7FC0, rounded).astype(np.uint16)


# ---- Opcodes --------------------------------------------------------------------------------------------------------
#
# An opcode is a function of the parameters and the input buffers, as arrays of binary32 (or int32, or bool) in their own
# shapes. It returns the values that the task writes, and where: an index into the output buffer. The order of the values
# is that of the region; their shape need not be. Footprints and pseudocode: spec/opcodes.

OPCODES = {}
WHOLE = ...


def opcode(name):
    return lambda function: OPCODES.setdefault(name, function)


@opcode("COPY")
def copy(p, x):
    return x, WHOLE


@opcode("ADD")
def add(p, a, b):
    return a + b, WHOLE


@opcode("MUL")
def mul(p, a, b=None):
    return a * (np.float32(p.get("scale", 1)) if b is None else b), WHOLE


@opcode("GELU")
def gelu(p, x):
    # numpy has no erf. Binary64 inside an opcode is allowed: binary32 *or better*.
    erf = np.vectorize(math.erf, otypes=[np.float64])
    return x / 2 * (1 + erf(x / math.sqrt(2))), WHOLE


@opcode("SILU_MUL")
def silu_mul(p, gate, up):
    return gate / (1 + np.exp(-gate)) * up, WHOLE


@opcode("SOFTMAX")
def softmax(p, x):
    e = np.exp(x - x.max(axis=p.get("dim", -1), keepdims=True))
    return e / e.sum(axis=p.get("dim", -1), keepdims=True), WHOLE


@opcode("RMSNORM")
def rmsnorm(p, x, w):
    mean = (x * x).sum(axis=-1, keepdims=True) / np.float32(p["hidden"])
    return x / np.sqrt(mean + np.float32(p["eps"])) * w.reshape(-1), WHOLE


@opcode("EMBED")
def embed(p, ids, table):
    # An id beyond the table is the host's fault; it must not become an access beyond the table (OPC-02).
    rows = np.clip(ids.reshape(-1), 0, len(table) - 1)
    return table[rows], WHOLE


@opcode("GEMV_TILE")
def gemv_tile(p, x, w, bias=None):
    if "qdtype" in p:
        raise Unsupported("quantised weights are not implemented")
    tile = slice(p["n_off"], p["n_off"] + p["N_tile"])
    y = x.reshape(-1, p["K"]) @ w[tile].T
    return y if bias is None else y + bias.reshape(-1)[tile], (..., tile)


@opcode("GEMM_TILE")
def gemm_tile(p, x, w, bias=None):
    rows = slice(p.get("m_off", 0), p.get("m_off", 0) + p["M_tile"])
    y, (_, tile) = gemv_tile(p, x[rows], w, bias)
    return y, (rows, tile)


@opcode("ROPE")
def rope(p, x, positions):
    half = p["head_dim"] // 2
    # Angles grow with the position: half an ulp of a binary32 angle would already be a visible rotation.
    frequency = float(np.float32(p["theta"])) ** -(np.arange(half) / half)
    angle = np.multiply.outer(positions.reshape(-1), frequency)[:, None, :]  # [S, 1, half]: one for all heads
    cos, sin = np.cos(angle), np.sin(angle)
    x = x.reshape(-1, x.shape[-2], 2 * half)
    a, b = x[..., :half], x[..., half:]
    return np.concatenate([a * cos - b * sin, b * cos + a * sin], axis=-1), WHOLE


def rope_of_neighbours(p, x, positions):
    """A planted bug, which adapter.py can put in the place of `rope`: elements 2i and 2i + 1 make a pair."""
    pairs = np.concatenate([x[..., 0::2], x[..., 1::2]], axis=-1)
    y, _ = rope(p, pairs, positions)
    return y.reshape(-1, 2, p["head_dim"] // 2).swapaxes(1, 2), WHOLE


@opcode("KV_APPEND")
def kv_append(p, new, cache):
    row = math.prod(cache.shape[-2:])
    if cache.ndim == 3:
        return new, slice(p["pos"], p["pos"] + new.size // row)
    return new, (slice(None), slice(p["pos"], p["pos"] + 1))  # a batch: one row for each sequence


@opcode("ATTENTION_TILE")
def attention_tile(p, q, k, v, mask=None):
    heads, dim, rows = p["n_heads"], p["head_dim"], slice(p["kv_start"], p["kv_start"] + p["kv_len"])
    batch = k.shape[0] if k.ndim == 4 else 1
    # Query heads share key heads in runs: heads 0 to n - 1 use key head 0, and so on.
    shared = lambda cache: np.repeat(cache.reshape(batch, *cache.shape[-3:])[:, rows], heads // p["n_kv_heads"], axis=2)
    k, v = shared(k), shared(v)
    s = np.float32(p["scale"]) * np.einsum("bhd,bjhd->bhj", q.reshape(batch, heads, dim), k)
    if mask is not None:
        mask = mask.reshape(batch, -1, p["kv_len"])  # one line for all heads, or one for each
        if mask.dtype == bool:
            s = np.where(mask, s, -np.inf)
            v = np.where(mask.swapaxes(1, 2)[..., None], v, 0)  # what is left out may hold inf, and 0 * inf is NaN
        else:
            s = s + mask
    m = s.max(axis=-1, keepdims=True, initial=-np.inf)
    e = np.exp(s - np.where(np.isneginf(m), 0, m))
    l = e.sum(axis=-1, keepdims=True)
    a = np.einsum("bhj,bjhd->bhd", e, v)
    partial = p.get("flags", 0) & 2
    return np.concatenate([a, m, l], axis=-1) if partial else a / l, WHOLE


@opcode("ATTENTION_COMBINE")
def attention_combine(p, *partials):
    partials = np.stack(partials)
    a, m, l = partials[..., :-2], partials[..., -2:-1], partials[..., -1:]
    weight = np.where(l > 0, np.exp(m - m.max(axis=0)), 0)  # an empty window has l = 0 and m = -inf
    l = (weight * l).sum(axis=0)
    return np.where(l > 0, (weight * a).sum(axis=0) / l, 0), WHOLE


@opcode("SAMPLE_ARGMAX")
def sample_argmax(p, logits):
    return logits.argmax(axis=-1), WHOLE  # of equal ones the first, as the clause asks


# ---- Launches -------------------------------------------------------------------------------------------------------


class Session:
    """Launches one after the other. Caches are bound in the first one and keep their contents; all else begins anew (EXE-09)."""

    def __init__(self):
        self.caches = {}
        self.first = True

    def launch(self, program, bound):
        """Runs a program, as validator.read_program returns it, on the tensors that `bound` gives by name.

        Returns the outputs and caches by name, and by task id what each task wrote; all as tensors.read returns them.
        """
        check(program)
        used = {n for task in program["tasks"] for n in task["inputs"] + task["outputs"]}
        memory = [self.contents(buffer, bound, buffer["id"] in used) for buffer in program["buffers"]]
        self.first = False
        trace = {}
        for task in order(program):
            written = run(program, task, memory)
            if written is not None:
                trace[str(task["id"])] = written
        outputs = {}
        for buffer, stored in zip(program["buffers"], memory):
            if buffer["kind"] == "KV_CACHE":
                self.caches[buffer["name"]] = stored
            if buffer["kind"] in ("KV_CACHE", "IO_OUTPUT"):
                outputs[buffer["name"]] = buffer["dtype"], stored
        return outputs, trace

    def contents(self, buffer, bound, used):
        """The stored elements of a buffer before the launch (EXE-08). One that no task lists need not be bound."""
        name, cached = buffer["name"], buffer["kind"] == "KV_CACHE"
        if cached and name in self.caches:
            return self.caches[name]
        if buffer["kind"] in ("WEIGHT", "CONST"):
            name = name if buffer["source"] is None else buffer["source"]
        if buffer["kind"] in READ_ONLY or (cached and self.first and name in bound):
            if name not in bound and not used:
                return np.zeros(buffer["shape"], STORAGE[buffer["dtype"]])
            if name not in bound:
                raise Unsupported("no tensor is given for the buffer `%s`" % name)
            dtype, stored = bound[name]
            if (dtype, list(stored.shape)) != (buffer["dtype"], buffer["shape"]):
                raise Unsupported("the tensor for the buffer `%s` has another dtype or shape" % name)
            return stored.copy()
        return np.zeros(buffer["shape"], STORAGE[buffer["dtype"]])


def check(program):
    """Raises Unsupported, before anything runs, if the program needs what is not here."""
    for buffer in program["buffers"]:
        if buffer["dtype"] not in DTYPES:
            raise Unsupported("dtype `%s` is not implemented" % buffer["dtype"])
    for task in program["tasks"]:
        if task["op"] not in OPCODES and task["op"] != "NOP":
            raise Unsupported("opcode `%s` is not implemented" % task["op"])


def order(program):
    """Yields the tasks as they may run, one at a time: when its counters allow it and its turn has come (EXE-01, EXE-02).

    The caller runs a task before it asks for the next one, so that a task has finished when its counter is incremented.
    """
    count = [0] * len(program["counters"])
    queues = {}
    for task in program["tasks"]:
        # Tasks of one SM run in the order of the list. A task without an SM stands behind nobody.
        queue = ("sm", task["sm"]) if task["sm"] is not None else ("task", task["id"])
        queues.setdefault(queue, deque()).append(task)
    while queues:
        progress = False
        for name, queue in list(queues.items()):
            while queue and all(count[wait["counter"]] >= wait["threshold"] for wait in queue[0]["waits"]):
                task = queue.popleft()
                yield task
                count[task["out_counter"]] += 1
                progress = True
            if not queue:
                del queues[name]
        if not progress:
            raise Unsupported("the program deadlocks, and this machine has no answer to that")


def run(program, task, memory):
    """Runs one task; returns what it wrote, or None for a NOP."""
    if task["op"] == "NOP":
        return None
    inputs = [decode(program["buffers"][n]["dtype"], memory[n]) for n in task["inputs"]]
    output = task["outputs"][0]
    dtype, stored = program["buffers"][output]["dtype"], memory[output]
    # Overflow to infinity and NaN are results like any other (NUM-03), and no reason to warn.
    with np.errstate(all="ignore"):
        values, region = OPCODES[task["op"]](task["params"], *inputs)
        stored[region] = encode(dtype, values).reshape(stored[region].shape)
    return dtype, stored[region].copy()
