"""Every opcode in extended precision, written from the clauses in spec/opcodes, and launches of whole programs.

This is the second opinion on the values that the corpus expects; the first is the reference implementation. So that both do
not make the same mistake, each opcode is formulated in another way than its clause suggests: dot products as einsum over
named axes, softmax through logarithms, the sigmoid through logaddexp, GELU through erfc, rotations as products of complex
numbers, quantised products factored by group.
"""

import math
from dataclasses import dataclass

import numpy as np

from formats import FORMATS, REAL, rounded

OPCODES = {}
U = 2.0**-24  # half an ulp of binary32, relative
SMALLEST = 2.0**-149  # the smallest subnormal of binary32
FLUSHED = 2.0**-126  # what functions yield below this may become 0 (NUM-07)
WHOLE = ...


@dataclass
class Result:
    """What a task writes, and what is known of the errors on the way.

    `scale` is the magnitude of the terms from which a value is made: an evaluation in a precision with relative error u
    errs by some small multiple of u * scale. `steps` is that multiple, roughly, for an evaluation by the textbook in
    binary32. `floor` is an absolute error beside it, where numbers on the way may be too small for binary32, and `peak`
    the largest magnitude on the way, where that is not `scale`. `terms` is the length of the longest sum, where it is long. Where `scale` is 0 the value is exact. `free` marks
    values that the clause leaves open, `exact` sums that NUM-09 calls exact, where this model knows.
    """

    values: np.ndarray
    region: object = WHOLE
    scale: object = 0.0
    steps: object = 0.0
    floor: object = 0.0
    peak: object = 0.0
    terms: object = 0
    free: object = False
    exact: object = False


@dataclass
class Task:
    """What an opcode sees of its task beside the input values: parameters, and the dtypes and shapes of its buffers."""

    params: dict
    dtype: str
    shape: tuple
    dtypes: list

    def real(self, name, default=None):
        """A float parameter: the binary32 nearest to the number in the document."""
        return REAL(np.float32(self.params.get(name, default)))

    def __getitem__(self, name):
        return self.params[name]


def opcode(name):
    return lambda function: OPCODES.setdefault(name, function)


def exact_sum(terms):
    """NUM-09, over the last axis: are all terms multiples of a q with sum |term| <= 2^24 q?"""
    if terms.shape[-1] == 0:
        return np.ones(terms.shape[:-1], bool)
    with np.errstate(all="ignore"):
        mantissa, exponent = np.frexp(terms)
        # the lowest set bit of a 64-bit significand
        bits = np.abs(np.ldexp(mantissa, 62)).astype(np.int64)
        whole = np.ldexp(mantissa, 62) == np.rint(np.ldexp(mantissa, 62))
        lowest = np.where(bits > 0, np.log2((bits & -bits).astype(np.float64)) + exponent - 62, np.inf)
        q = np.exp2(lowest.min(axis=-1))
        total = np.abs(terms).sum(axis=-1)
        return whole.all(axis=-1) & np.isfinite(total) & (total <= 2.0**24 * q) & (q >= SMALLEST) & (total < 2.0**128)


def exact_quotient(x, y):
    """NUM-07: is y a power of two, and the quotient no subnormal number?"""
    with np.errstate(all="ignore"):
        return (np.frexp(y)[0] == 0.5) & ((x == 0) | (np.abs(x / y) >= FLUSHED))


# ---- Movement -------------------------------------------------------------------------------------------------------


@opcode("COPY")
def copy(t, x):
    return Result(x.reshape(t.shape))


@opcode("EMBED")
def embed(t, ids, table):
    rows = table.reshape(table.shape[0], -1)
    inside = (ids >= 0) & (ids < len(rows))
    values = np.take(rows, ids.ravel(), axis=0, mode="clip")
    free = np.broadcast_to(~inside.ravel()[:, None], values.shape)
    return Result(values.reshape(t.shape), free=free.reshape(t.shape))


@opcode("KV_APPEND")
def kv_append(t, new, cache):
    axis = cache.ndim - 3
    count = new.size * cache.shape[axis] // cache.size
    rows = tuple([slice(None)] * axis + [slice(t["pos"], t["pos"] + count)])
    return Result(new.reshape(cache[rows].shape), rows)


@opcode("SAMPLE_ARGMAX")
def sample_argmax(t, logits):
    largest = np.max(logits, axis=-1, keepdims=True)
    first = np.where(logits == largest, np.arange(logits.shape[-1]), logits.shape[-1]).min(axis=-1)
    # Of one logit the index is 0, whatever it is.
    unordered = np.isnan(logits).any(axis=-1) & (logits.shape[-1] > 1)
    first = np.where(logits.shape[-1] == 1, 0, first)
    return Result(first.reshape(t.shape), free=unordered.reshape(t.shape))


# ---- Element by element ---------------------------------------------------------------------------------------------


def single(t, values):
    """ADD and MUL are single operations: to F32 the one correctly rounded result, to less any within half an ulp."""
    if t.dtype == "F32":
        return Result(rounded("F32", values))
    return Result(values, scale=np.abs(values), steps=1)


@opcode("ADD")
def add(t, a, b):
    return single(t, np.sum([a, b], axis=0))


@opcode("MUL")
def mul(t, a, b=None):
    return single(t, np.multiply(a, t.real("scale", 1) if b is None else b))


@opcode("GELU")
def gelu(t, x):
    # x/2 (1 + erf(x/sqrt 2)) = x/2 erfc(-x/sqrt 2): no cancellation for negative x
    erfc = np.vectorize(math.erfc, otypes=[np.float64])
    return Result(x * erfc(-x / np.sqrt(REAL(2))) / 2, scale=np.abs(x), steps=8)


@opcode("SILU_MUL")
def silu_mul(t, gate, up):
    values = gate * np.exp(-np.logaddexp(REAL(0), -gate)) * up
    # What comes before the last product may be flushed, and exp(-gate) may be beyond binary32.
    flushed = np.where((-gate > 87) | (np.abs(values) <= FLUSHED * np.abs(up)), 1 / U, 0)
    return Result(values, scale=np.abs(values), steps=16 + 4 * np.minimum(np.abs(gate), 200) + flushed)


@opcode("ALLREDUCE_SHARD")
def allreduce_shard(t, *shards):
    if len(shards) == 1:
        return Result(shards[0])
    shards = np.stack(shards, axis=-1)
    total = np.einsum("...j->...", shards)
    if shards.shape[-1] == 2:
        return single(t, total)
    scale = np.abs(shards).sum(axis=-1)
    return Result(total, scale=scale, steps=shards.shape[-1], exact=exact_sum(shards))


@opcode("ROPE")
def rope(t, x, positions):
    half = t["head_dim"] // 2
    pairs = x.reshape(-1, x.shape[-2], 2, half)
    z = joined(pairs[:, :, 0], pairs[:, :, 1])
    power = np.arange(half, dtype=REAL) / half * np.log(t.real("theta"))
    angle = np.einsum("s,i->si", positions.ravel().astype(REAL), np.exp(-power))[:, None]
    turned = z * np.exp(joined(np.zeros_like(angle), angle))
    both = np.abs(pairs).sum(axis=2)
    # 1e-3: the angle itself is one product of two functions, a few units of precision, not thousands as a long sum
    scale, steps = both * (1 + np.abs(angle) * 1e-3), 16 + (16 + 4 * np.abs(power)) * np.abs(angle)
    steps = steps / (1 + np.abs(angle) * 1e-3)
    twice = lambda a: np.broadcast_to(np.stack([a, a], 2), pairs.shape).reshape(x.shape)
    return Result(np.stack([turned.real, turned.imag], 2).reshape(x.shape), scale=twice(scale),
                  steps=twice(np.broadcast_to(steps, both.shape)))


def joined(real, imaginary):
    """A complex array from its parts, without the product of `imaginary` with 1j that makes a NaN of an infinity."""
    z = np.empty(np.broadcast_shapes(real.shape, imaginary.shape), np.clongdouble)
    z.real, z.imag = real, imaginary
    return z


# ---- Rows -----------------------------------------------------------------------------------------------------------


@opcode("RMSNORM")
def rmsnorm(t, x, w):
    n, w = t["hidden"], w.ravel()
    total = np.einsum("...i,...i->...", x, x)[..., None]
    root = np.sqrt(total + n * t.real("eps"))
    values = x * w * np.sqrt(REAL(n)) / root
    # x * s comes before * w: where s is 0 or infinite, that decides between infinity and NaN
    special = ~np.isfinite(root) | (root == 0)
    values = np.where(special, x * (np.sqrt(REAL(n)) / root) * w, values)
    # Squares that underflow, and a product of two factors that does before the third.
    floor = np.abs(values) * n * SMALLEST / (root * root) + SMALLEST * np.maximum(1, np.abs(w))
    # Where nothing is left of the squares, there is nothing to divide by.
    peak = np.where(total + n * t.real("eps") <= n * SMALLEST, np.inf, total + np.abs(x))
    return Result(values, scale=np.abs(values), steps=n / 2 + 16, floor=floor, peak=peak)


@opcode("LAYERNORM")
def layernorm(t, x, w, b=None):
    runs = x.reshape(-1, t["hidden"])
    b = REAL(0) if b is None else b.ravel()
    deviation = np.sqrt(np.var(runs, axis=-1, keepdims=True) + t.real("eps"))
    mean = np.mean(runs, axis=-1, keepdims=True)
    centred = runs - mean
    values = centred / deviation * w.ravel() + b
    size = (np.abs(runs) + np.abs(runs).mean(-1, keepdims=True)) / deviation * np.abs(w.ravel())
    scale = size * (1 + np.abs(centred) / deviation) + np.abs(b)
    # The mean is a quotient, which may be flushed.
    flushed = (np.minimum(np.abs(mean), FLUSHED) + SMALLEST) * (1 + np.abs(w.ravel())) / deviation
    floor = scale * SMALLEST / (deviation * deviation) + flushed + SMALLEST * np.maximum(1, np.abs(w.ravel()))
    peak = (runs * runs).sum(axis=-1, keepdims=True) + 0 * scale
    return Result(values, scale=scale, steps=t["hidden"] + 16, floor=floor, peak=peak)


@opcode("SOFTMAX")
def softmax(t, x):
    axis = t.params.get("dim", -1)
    lines = np.moveaxis(x, axis, -1)
    total = np.logaddexp.reduce(lines, axis=-1, keepdims=True)
    values = np.exp(lines - total)
    # A NaN, or a maximum that is infinite: exp(x - m) is NaN somewhere, and so is the sum.
    values = np.where(np.isfinite(lines.max(axis=-1, keepdims=True)), values, np.nan)
    # In base 2 the elements are rounded before they are subtracted.
    live, top = np.isfinite(lines), np.abs(lines.max(axis=-1, keepdims=True))
    spread = np.where(live, total - lines + np.abs(lines) + top, 0)
    scale, peak = values * (1 + spread), np.broadcast_to(spread.max(axis=-1, keepdims=True), lines.shape)
    zeros = ((lines == 0) | np.isneginf(lines)).all(axis=-1, keepdims=True)
    exact = np.broadcast_to(zeros & exact_quotient(REAL(1), live.sum(axis=-1, keepdims=True).astype(REAL)), lines.shape)
    values, scale, peak, exact = (np.moveaxis(a, -1, axis) for a in (values, scale, peak, exact))
    return Result(values, scale=scale, steps=6 * lines.shape[-1] + 16, peak=peak, exact=exact, terms=lines.shape[-1])


# ---- Products with weights ------------------------------------------------------------------------------------------


def quantised(dtype, packed, columns):
    """The integers of a quantised weight: [rows, columns]."""
    if dtype == "I8":
        return packed
    if dtype == "U8":  # column 2b in the low nibble of byte b
        return np.stack([packed % 16, packed // 16], axis=-1).reshape(*packed.shape[:-1], columns) - 8
    return packed - 8  # I4, already apart


def by_group(values, group, columns):
    """Repeats what is given for each group for each of its columns; the last group may be short."""
    return np.repeat(values, group, axis=-1)[..., :columns]


@opcode("DEQUANT")
def dequant(t, q, scales, zeros=None):
    columns = t.shape[-1]
    q = quantised(t.dtypes[0], q, columns).astype(REAL)
    zeros = np.zeros_like(scales) if zeros is None else zeros.astype(REAL)
    s, z = by_group(scales, t["group"], columns), by_group(zeros, t["group"], columns)
    difference = q - z
    values, scale = difference * s, (np.abs(q) + np.abs(z)) * np.abs(s)
    if t.dtype == "F32":
        # Where binary32 holds the difference, the product is the only rounded operation, as in MUL.
        alone = (rounded("F32", difference) == difference) & (difference + z == q) & (q - difference == z)
        values, scale = np.where(alone, rounded("F32", values), values), np.where(alone, 0, scale)
    return Result(values, scale=scale, steps=2)


def matrix_product(t, x, weight, more, tile):
    """[m, k] times the rows `tile` of a weight [n, k], plain with a bias or quantised with scales and zeros."""
    if "qdtype" not in t.params:
        w = weight[tile].astype(REAL)
        bias = more[0].ravel()[tile] if more else np.zeros(len(w), REAL)
        values = np.einsum("mk,nk->mn", x, w) + bias
        scale = np.einsum("mk,nk->mn", np.abs(x), np.abs(w)) + np.abs(bias)
        exact = np.empty(values.shape, bool)
        # So many rows of the weight at a time that their terms are about a million.
        step = max(1, 2**20 // (len(x) * (t["K"] + 1)))
        for n in range(0, len(w), step):
            products = x[:, None] * w[None, n : n + step]
            biases = np.broadcast_to(bias[n : n + step, None], (*products.shape[:2], 1))
            exact[:, n : n + step] = exact_sum(np.concatenate([products, biases], axis=-1))
        return Result(values, scale=scale, steps=t["K"] + 3, exact=exact, terms=t["K"] + 1)
    k, group = t["K"], t["group"]
    q = quantised(t.dtypes[1], weight, k)[tile].astype(REAL)
    s = more[0][tile]
    z = (more[1][tile] if len(more) > 1 else np.zeros_like(s)).astype(REAL)
    scale = np.einsum("mk,nk->mn", np.abs(x), (np.abs(q) + np.abs(by_group(z, group, k))) * np.abs(by_group(s, group, k)))
    # Where scales come last, the sums before them are larger or smaller than the result.
    peak = np.einsum("mk,nk->mn", np.abs(x), np.abs(q) + np.abs(by_group(z, group, k)))
    floor = SMALLEST * k * (1 + np.abs(s).max(axis=-1) * (1 + np.abs(z).max(axis=-1)))[None] + 0 * scale
    if np.isfinite(scale).all():
        # by group: s * (sum of x q - z * sum of x); the short last group is filled with zeros
        fill = ((0, 0), (0, -k % group))
        x, q = (np.pad(a, fill).reshape(len(a), -1, group) for a in (x, q))
        values = np.einsum("mgk,ngk,ng->mn", x, q, s) - np.einsum("mg,ng->mn", x.sum(axis=-1), z * s)
    else:
        values = np.einsum("mk,nk->mn", x, (q - by_group(z, group, k)) * by_group(s, group, k))
    return Result(values, scale=scale, steps=k + 6, floor=floor, peak=peak, terms=k)


@opcode("GEMV_TILE")
def gemv_tile(t, x, weight, *more):
    tile = slice(t["n_off"], t["n_off"] + t["N_tile"])
    result = matrix_product(t, x.reshape(-1, t["K"]), weight, more, tile)
    result.region = (..., tile)
    return result


@opcode("GEMM_TILE")
def gemm_tile(t, x, weight, *more):
    rows = slice(t.params.get("m_off", 0), t.params.get("m_off", 0) + t["M_tile"])
    tile = slice(t["n_off"], t["n_off"] + t["N_tile"])
    result = matrix_product(t, x[rows], weight, more, tile)
    result.region = (rows, tile)
    return result


# ---- Attention ------------------------------------------------------------------------------------------------------


def cancelled(values, scale):
    """0 for what the rounding of weights made by logarithms leaves of a mean of 0; stored, it would not be 0 any more."""
    return np.where(np.isfinite(scale) & (np.abs(values) <= 2.0**-56 * scale), 0, values)


@opcode("ATTENTION_TILE")
def attention_tile(t, q, k, v, mask=None):
    shared = t["n_heads"] // t["n_kv_heads"]
    k, v = (cache.reshape(-1, *cache.shape[-3:])[:, t["kv_start"] : t["kv_start"] + t["kv_len"]] for cache in (k, v))
    # Heads are split as [g, r]: r query heads share key head g. b sequence, j row, d element.
    q = q.reshape(len(k), t["n_kv_heads"], shared, t["head_dim"])
    factor = t.real("scale")
    s = factor * np.einsum("bgrd,bjgd->bgrj", q, k)
    size = np.abs(factor) * np.einsum("bgrd,bjgd->bgrj", np.abs(q), np.abs(k))
    kept = np.ones(s.shape, bool)
    if mask is not None:
        # one line for all heads of a sequence, or one for each
        lines = np.broadcast_to(mask.reshape(len(k), -1, t["kv_len"]), (len(k), t["n_heads"], t["kv_len"]))
        lines = lines.reshape(s.shape)
        if t.dtypes[3] == "BOOL":
            kept = lines != 0
        else:
            s, size = s + lines, size + np.where(np.isfinite(lines), np.abs(lines), 0)
    s = np.where(kept, s, -np.inf)
    m = np.max(s, axis=-1, initial=-np.inf)
    e = np.exp(np.where(kept, s - m[..., None], -np.inf))
    summed = lambda weight, rows: np.einsum("bgrj,bgrjd->bgrd", weight, np.where(kept[..., None], rows, 0))
    rows = np.broadcast_to(v.transpose(0, 2, 1, 3)[:, :, None], (*s.shape, t["head_dim"]))
    spread = np.where(np.isfinite(s), size, 0).max(axis=-1, initial=0)[..., None]
    l = e.sum(axis=-1)[..., None]
    a, absolute = summed(e, rows), summed(e, np.abs(rows))
    # The scores' own errors go through the exponential. Where they are large, there is no bound by the textbook.
    exponent = 4 * U * spread * (t["head_dim"] + 8)
    steps = np.where(exponent < 0.25, 6 * t["kv_len"] + t["head_dim"] + 24, np.inf)
    largest = np.where(np.isfinite(s), np.abs(size / factor) + size + m[..., None] - s, 0)
    peak = largest.max(axis=-1, initial=0)[..., None] + 0 * absolute[..., :1]
    floor = FLUSHED * np.abs(np.where(kept[..., None], rows, 0)).sum(axis=-2)
    m = m[..., None]
    nothing = np.isneginf(m)
    # Rows with scores of 0 weigh 1; those with -inf, nothing.
    live = kept & (s == 0)
    known = (~kept | ((size == 0) & live) | np.isneginf(s)).all(axis=-1)[..., None]
    known = known & np.isfinite(np.where(kept[..., None], rows, 0)).all(axis=-2) & ~nothing
    exact = known & exact_sum(np.moveaxis(np.where(live[..., None], rows, 0), -2, -1))
    if t.params.get("flags", 0) & 2:
        a, l = np.where(nothing, 0, a), np.where(nothing, 0, l)
        values = np.concatenate([a, m, l], axis=-1)
        scale = np.concatenate([absolute * (1 + 2 * spread), spread, l * (1 + 2 * spread)], axis=-1)
        scale = np.where(nothing, 0, scale)
        steps, peak = np.broadcast_to(steps, scale.shape), np.broadcast_to(peak, scale.shape)
        floor = np.concatenate([floor, np.zeros_like(m), np.full_like(m, t["kv_len"] * FLUSHED)], axis=-1)
        exact = np.concatenate([exact, known[..., :1], known[..., :1]], axis=-1)
        return Result(values, scale=scale, steps=steps, floor=floor, peak=peak, exact=exact)
    lse = np.logaddexp.reduce(s, axis=-1, keepdims=True)
    weight = np.where(kept, np.exp(s - lse), 0)
    scale = absolute / l * (1 + 2 * spread)
    values = np.where(np.isfinite(m), cancelled(summed(weight, rows), scale), np.nan)
    steps, peak, free = (np.broadcast_to(a, values.shape) for a in (steps, peak, nothing))
    exact = exact & exact_quotient(values * l, l)
    return Result(values, scale=scale, steps=steps, floor=floor * (1 + 1 / l), peak=peak, free=free, exact=exact)


@opcode("ATTENTION_COMBINE")
def attention_combine(t, *partials):
    partials = np.stack(partials)
    a, m, l = partials[..., :-2], partials[..., -2:-1], partials[..., -1:]
    counts = l > 0
    # In logarithms, each window has the weight l exp(m), and contributes its mean a / l.
    log = np.where(counts, m + np.log(np.where(counts, l, 1)), -np.inf)
    weight = np.exp(log - np.logaddexp.reduce(log, axis=0))
    weight = np.where(counts, weight, 0)
    share = np.divide(a, l, out=np.zeros_like(a), where=np.broadcast_to(counts, a.shape))
    values, size = (weight * share).sum(axis=0), (weight * np.abs(share)).sum(axis=0)
    top = np.max(np.where(counts, m, -np.inf), axis=0)
    values = cancelled(values, size)
    apart = np.where(counts, top - m, 0)
    spread = np.where(weight > 0, apart + np.abs(m) + np.abs(top), 0).max(axis=0) + 1
    factors = np.where(counts, np.exp(-apart), 0)
    total = (factors * l).sum(axis=0)
    weighed = np.abs(a).sum(axis=0)
    underflow = FLUSHED * (weighed + np.abs(values) * np.abs(l).sum(axis=0)) / total + FLUSHED * weighed
    underflow += SMALLEST * len(partials) * (1 + np.abs(values)) / total
    sums = [apart.max(axis=0), np.abs(m).max(axis=0), total, (factors * np.abs(a)).sum(axis=0)]
    peak = np.max(np.broadcast_arrays(*sums), axis=0)
    # No window has such a denominator.
    peak = np.where(((l < 0) | ~np.isfinite(l) | np.isnan(m)).any(axis=0), np.inf, peak)
    # Maxima of 0 weigh 1, if none is above them.
    known = (np.where(counts, m == 0, m <= 0) & np.isfinite(a) & (np.isfinite(m) | ~counts)).all(axis=0)
    known &= exact_sum(np.moveaxis(l, 0, -1)) & exact_quotient(values * total, total)
    # A reciprocal of what is smaller may be infinite, and of what is larger flushed; weights that are divided first may overflow (OPC-18).
    known &= (total >= 2.0**-126) & (total <= 2.0**126) & (sums[3] / total <= 2.0**128 - 2.0**104)
    exact = known & exact_sum(np.moveaxis(np.where(counts, a, 0), 0, -1))
    return Result(values, scale=size * spread, steps=4 * len(partials) + 24, floor=underflow, peak=peak, exact=exact)


# ---- Launches -------------------------------------------------------------------------------------------------------


def unpacked(stored, shape):
    """An I4 buffer travels as bytes, with the element of even index in the low nibble."""
    nibbles = np.stack([stored % 16, stored // 16], axis=-1).ravel()
    return nibbles[: math.prod(shape)].reshape(shape)


def packed(nibbles):
    """The reverse of `unpacked`."""
    pairs = np.append(nibbles.ravel(), np.zeros(nibbles.size % 2, nibbles.dtype)).reshape(-1, 2)
    return pairs[:, 0] + 16 * pairs[:, 1]


class Content:
    """A buffer: the numbers that it stores, and those that were rounded to them, with what is known of their errors."""

    NUMBERS = ("scale", "steps", "floor", "peak", "terms")
    FIELDS = ("values", *NUMBERS, "free", "exact")

    def __init__(self, dtype, stored):
        self.dtype, self.stored, self.values = dtype, stored, stored.copy()
        for name in self.NUMBERS:
            setattr(self, name, np.zeros(stored.shape, REAL))
        self.free, self.exact = np.zeros(stored.shape, bool), np.zeros(stored.shape, bool)

    def at(self, places):
        """The elements at these places, row-major."""
        picked = Content(self.dtype, self.stored.ravel()[places])
        for name in self.FIELDS:
            setattr(picked, name, getattr(self, name).ravel()[places])
        return picked

    def write(self, result):
        """Stores what a task yields; brings the fields of the result to the shape of its region."""
        shape = self.stored[result.region].shape
        for name in self.FIELDS:
            array = np.asarray(getattr(result, name))
            array = array.reshape(shape) if array.size == math.prod(shape) else np.broadcast_to(array, shape)
            setattr(result, name, array)
            getattr(self, name)[result.region] = array
        rounds = self.dtype in FORMATS
        self.stored[result.region] = rounded(self.dtype, result.values) if rounds else result.values


class Session:
    """Launches of programs that share their KV_CACHE buffers, by name."""

    def __init__(self):
        self.caches = {}
        self.launches = 0
        self.memory = []

    def launch(self, program, bound):
        """Runs a launch; yields each task that writes, with its output's Content and its Result. Fills `memory`."""
        used = {n for task in program["tasks"] for n in task["inputs"] + task["outputs"]}
        self.memory = [self.content(buffer, bound) if buffer["id"] in used else None for buffer in program["buffers"]]
        self.launches += 1
        for task in scheduled(program):
            if task["op"] != "NOP":
                inputs, target = [self.memory[n] for n in task["inputs"]], self.memory[task["outputs"][0]]
                about = Task(task.get("params", {}), target.dtype, target.stored.shape, [c.dtype for c in inputs])
                with np.errstate(all="ignore"):
                    result = OPCODES[task["op"]](about, *(content.stored for content in inputs))
                    target.write(result)
                yield task, target, result

    def content(self, buffer, bound):
        name, kind, dtype, shape = (buffer[key] for key in ("name", "kind", "dtype", "shape"))
        if kind in ("WEIGHT", "CONST"):
            source = buffer.get("source")
            name = name if source is None else source
        if kind == "KV_CACHE" and name in self.caches:
            content = self.caches[name]
        elif kind in ("ACTIVATION", "IO_OUTPUT") or (kind == "KV_CACHE" and (self.launches > 0 or name not in bound)):
            content = Content(dtype, np.zeros(shape, REAL if dtype in FORMATS else np.int64))
        else:
            stored = bound[name].astype(REAL if dtype in FORMATS else np.int64)
            content = Content(dtype, unpacked(stored, shape) if dtype == "I4" else stored)
        assert list(content.stored.shape) == shape, "`%s` has shape %s" % (name, content.stored.shape)
        if kind == "KV_CACHE":
            self.caches[name] = content
        return content


def scheduled(program):
    """The tasks in an order that counters and queues allow: repeatedly the last one that may start."""
    count = [0] * len(program["counters"])
    queues = {}
    for task in program["tasks"]:
        queues.setdefault(("sm", task["sm"]) if task.get("sm") is not None else ("task", task["id"]), []).insert(0, task)
    while queues:
        able = [name for name, queue in queues.items()
                if all(count[wait["counter"]] >= wait["threshold"] for wait in queue[-1].get("waits", []))]
        assert able, "the program deadlocks"
        for name in reversed(able):
            task = queues[name].pop()
            yield task
            count[task["out_counter"]] += 1
            if not queues[name]:
                del queues[name]
