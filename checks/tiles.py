"""What numpy takes for the tile iterations that `cargo bench -p megakernel-mcir-reference --bench validate` times: one thread, binary32.

The same blocks and iterations, tile by tile, as the interpreter of memory-centric IR runs them; and the same sums with all blocks at once, which no
document says. Prints the median of the time of a processor over several runs, and checks that the two ways agree, and that attention is attention.
"""

import os
import statistics
import time

os.environ.update({name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")})

import numpy

F32, F16 = numpy.float32, numpy.float16


def numbers(*shape):
    """What the bench has for inputs."""
    count = int(numpy.prod(shape))
    return (numpy.arange(count) % 17 / 8.0 - 1.0).reshape(shape)


def sums(x):
    """1,000 blocks of 1,000 iterations: a tile of four numbers is loaded, summed up, and added to a state."""
    y = numpy.empty(1000, F32)
    for i in range(0, 1000):
        s = numpy.zeros(1, F32)
        for j in range(0, 4000, 4):
            tile = x[i : i + 1, j : j + 4].copy()
            s += tile.sum(axis=1, dtype=F32)
        y[i : i + 1] = s
    return y


def sums_of_all_blocks(x):
    """The same sums, each iteration for all blocks."""
    s = numpy.zeros(1000, F32)
    for j in range(0, 4000, 4):
        s += x[:, j : j + 4].sum(axis=1, dtype=F32)
    return s


def attention(q, k, v):
    """Blocks of 64 queries, 64 keys in an iteration."""
    rows, wide = q.shape
    out = numpy.empty((rows, wide), F16)
    for i in range(0, rows, 64):
        tile = q[i : i + 64].astype(F32)
        top, total = numpy.full(64, -numpy.inf, F32), numpy.zeros(64, F32)
        acc = numpy.zeros((64, wide), F32)
        for j in range(0, rows, 64):
            keys, values = k[j : j + 64].astype(F32), v[j : j + 64].astype(F32)
            scores = tile @ keys.T * F32(0.125)
            new = numpy.maximum(top, scores.max(axis=1))
            factor = numpy.exp(top - new)
            weights = numpy.exp(scores - new[:, None])
            total = total * factor + weights.sum(axis=1)
            acc = acc * factor[:, None] + weights @ values
            top = new
        out[i : i + 64] = (acc / total[:, None]).astype(F16)
    return out


def timed(runs, name, count, what, *operands):
    times = []
    for _ in range(runs):
        start = time.process_time()
        what(*operands)
        times.append(time.process_time() - start)
    median = statistics.median(times)
    print("%-45s %9.1f ms, %8.3f us an iteration (%.1f to %.1f ms)" % (name, median * 1e3, median * 1e6 / count, min(times) * 1e3, max(times) * 1e3))


def main():
    x = numbers(1000, 4000).astype(F32)
    assert (sums(x) == sums_of_all_blocks(x)).all(), "the two ways to add differ"
    q, k, v = (numbers(1024, 64).astype(F16) for _ in range(3))
    scores = q.astype(float) @ k.astype(float).T / 8
    weights = numpy.exp(scores - scores.max(axis=1, keepdims=True))
    expected = weights @ v.astype(float) / weights.sum(axis=1, keepdims=True)
    assert abs(attention(q, k, v).astype(float) - expected).max() < 1e-2, "that is not attention"
    print("numpy %s" % numpy.__version__)
    timed(3, "a million iterations", 1_000_000, sums, x)
    timed(10, "a thousand iterations of a thousand blocks", 1000, sums_of_all_blocks, x)
    timed(10, "attention of 1,024 rows", 256, attention, q, k, v)


if __name__ == "__main__":
    main()
