"""Compares the suite's conversions between the element types with those of ml_dtypes and numpy, bit by bit.

    python checks/conversions.py [path of the suite's program `convert`]

Checked are: the value of every element of the 8- and 16-bit float types, and of two million of F32; the rounding of every
such number to every float type; and the rounding of more than a million binary32 and as many binary64 numbers that are
chosen to be hard: ties, what lies just beside them, subnormal numbers, the ends of the ranges, and random bits.

What is required. From binary32, ml_dtypes and numpy round once, and correctly. From binary64 ml_dtypes goes by way of
binary32, which is wrong just beside a tie. So from binary64 the nearest number is searched among all numbers of the type, as
ml_dtypes decodes them: the middle between two neighbours is exact in binary64, and so is each comparison. Both ways are
compared with each other where both apply. NaNs are compared as NaNs, whatever their bits.

The suite's side is crates/numerics/tests/bin/convert.rs. Without a path, cargo builds it.
Exit code: 0 if all agree, 1 if not, 3 if numpy or ml_dtypes is missing, so that nothing was checked.
"""

import subprocess
import sys
from pathlib import Path

try:
    import ml_dtypes
    import numpy as np
except ImportError as error:
    print(f"conversions: skipped, nothing was checked: {error}; see checks/requirements.txt")
    sys.exit(3)

REPOSITORY = Path(__file__).resolve().parent.parent
# name: numpy type, bits
NARROW = {
    "F16": (np.float16, 16),
    "BF16": (ml_dtypes.bfloat16, 16),
    "F8E4M3": (ml_dtypes.float8_e4m3fn, 8),
    "F8E5M2": (ml_dtypes.float8_e5m2, 8),
}
HARD = 1_000_000


def suite(what, dtype, numbers, result):
    """What the suite makes of the numbers."""
    command = sys.argv[1:] or ["cargo", "run", "--quiet", "--package", "megakernel-numerics", "--bin", "convert", "--"]
    command = [*command, what, dtype]
    done = subprocess.run(command, input=numbers.tobytes(), stdout=subprocess.PIPE, cwd=REPOSITORY, check=True)
    found = np.frombuffer(done.stdout, result)
    assert len(found) == len(numbers), f"{len(numbers)} numbers in, {len(found)} out"
    return found


def elements(bits, dtype):
    """Elements from their bits."""
    kind, width = NARROW[dtype]
    return bits.astype(np.uint16 if width == 16 else np.uint8).view(kind)


def all_elements(dtype):
    """Every element of a type."""
    return elements(np.arange(1 << NARROW[dtype][1]), dtype)


def bits_of(values):
    """The bits of elements, in 32 bits."""
    return values.view({4: np.uint32, 2: np.uint16, 1: np.uint8}[values.dtype.itemsize]).astype(np.uint32)


class Nearest:
    """Rounding by search among all numbers of a type."""

    def __init__(self, dtype):
        self.dtype = dtype
        self.sign = 1 << (NARROW[dtype][1] - 1)
        values = all_elements(dtype)[: self.sign].astype(np.float64)
        self.values = values[np.isfinite(values)]
        assert (np.diff(self.values) > 0).all(), "the finite numbers are in the order of their bits"
        # the number that would follow the largest has the same distance as the one before it
        following = 2 * self.values[-1] - self.values[-2]
        self.middles = (self.values + np.append(self.values[1:], following)) / 2

    def bits(self, numbers):
        size = np.abs(numbers)
        below = np.searchsorted(self.middles, size, side="left")  # how many middles are less than the number
        tie = self.middles[np.minimum(below, len(self.middles) - 1)] == size
        below = below + (tie & (below % 2 == 1))
        # behind the last middle is what an overflow gives: infinity, or NaN if there is none
        return (below + np.where(np.signbit(numbers), self.sign, 0)).astype(np.uint32)


def hard_numbers():
    """Binary64 numbers near every decision that a rounding has to make; the first part of them fits binary32."""
    rng = np.random.default_rng(20)
    singles, doubles = [], []
    for dtype in NARROW:
        nearest = Nearest(dtype)
        for at in (nearest.values, nearest.middles):
            at = np.append(at, [2 * at[-1], 4 * at[-1]])
            single = at.astype(np.float32)
            assert (single == at)[:-2].all(), "binary32 holds all ties of the narrow types"
            for towards in (np.inf, 0):
                singles.append(np.nextafter(single, np.float32(towards)))
                doubles.append(np.nextafter(at, towards))
                # a little farther: by less than binary32 can tell
                doubles.append(at * (1 + (1 if towards else -1) * 2.0 ** -rng.integers(25, 52, len(at))))
            singles.append(single)
    with np.errstate(all="ignore"):
        # ties of binary32, normal and subnormal, and what lies beside them
        at = rng.integers(0, 0x7F7FFFFF, 60_000).astype(np.uint32)
        at = np.concatenate([at, np.arange(1000, dtype=np.uint32), 0x7F7FFFFF - np.arange(1000, dtype=np.uint32)])
        low, high = at.view(np.float32).astype(np.float64), (at + 1).view(np.float32).astype(np.float64)
        middle = np.where(np.isinf(high), 2.0**128 - 2.0**103, (low + high) / 2)
        doubles += [middle, np.nextafter(middle, np.inf), np.nextafter(middle, 0), low]
        special = [0, np.inf, np.nan, 5e-324, 2.0**-1022, 2.0**-1023, 2.0**-150, 2.0**-149, 1.7976931348623157e308]
        doubles.append(np.array(special))
        singles.append(np.array([0, np.inf, np.nan, 2.0**-149, 2.0**-126], np.float32))
        singles.append(np.arange(1, 2000, dtype=np.uint32).view(np.float32))
        # random bits, to fill up, half of them within reach of the narrow types
        short = max(0, HARD // 2 - sum(map(len, doubles)))
        doubles.append(rng.integers(0, 1 << 63, short + 50_000, dtype=np.uint64).view(np.float64))
        doubles.append(rng.standard_normal(100_000) * 2.0 ** rng.integers(-30, 20, 100_000))
        short = max(0, HARD // 2 - sum(map(len, singles)))
        singles.append(rng.integers(0, 1 << 31, short + 50_000, dtype=np.uint64).astype(np.uint32).view(np.float32))
    both = [np.concatenate(numbers) for numbers in (singles, doubles)]
    return [np.concatenate([numbers, -numbers]) for numbers in both]


class Count:
    """Comparisons made, and how many of them differ."""

    compared = 0
    different = 0

    def same(self, what, numbers, found, required, both_nan):
        wrong = np.flatnonzero((found != required) & ~both_nan)
        self.compared += len(found)
        self.different += len(wrong)
        for at in wrong[:5]:
            print(f"  {what}: {numbers[at]!r} gives bits {found[at]:#x}, required is {required[at]:#x}")
        if len(wrong) > 5:
            print(f"  {what}: {len(wrong)} differ")


def is_nan(bits, dtype):
    return np.isnan(bits.view(np.float32) if dtype == "F32" else elements(bits, dtype).astype(np.float32))


def check_decoded(count, dtype, bits, values):
    found = suite("decode", dtype, bits, np.float64)
    both_nan = np.isnan(found) & np.isnan(values)
    count.same(f"{dtype} decoded", bits, found.view(np.uint64), values.view(np.uint64), both_nan)


def check(count):
    singles, doubles = hard_numbers()
    assert len(singles) >= HARD and len(doubles) >= HARD, (len(singles), len(doubles))
    # every number of every narrow type is rounded to every type, too
    numbers = [all_elements(dtype).astype(np.float32) for dtype in NARROW]
    singles = np.concatenate([singles, *numbers])

    for dtype in NARROW:
        values = all_elements(dtype).astype(np.float64)
        bits = np.arange(len(values), dtype=np.uint32)
        found = suite("decode", dtype, bits, np.float64)
        count.same(f"{dtype} decoded", bits, found.view(np.uint64), values.view(np.uint64), np.isnan(found) & np.isnan(values))
    bits = bits_of(np.concatenate([singles, np.random.default_rng(1).integers(0, 1 << 32, HARD, dtype=np.uint32).view(np.float32)]))
    values = bits.view(np.float32).astype(np.float64)
    found = suite("decode", "F32", bits, np.float64)
    count.same("F32 decoded", bits, found.view(np.uint64), values.view(np.uint64), np.isnan(found) & np.isnan(values))

    twice = {}
    for dtype in ["F32", *NARROW]:
        kind = np.float32 if dtype == "F32" else NARROW[dtype][0]
        required = bits_of(singles.astype(kind))
        found = suite("encode_f32", dtype, singles, np.uint32)
        count.same(f"{dtype} from binary32", singles, found, required, is_nan(found, dtype) & is_nan(required, dtype))

        widened = np.concatenate([doubles, singles.astype(np.float64)])
        by_binary32 = bits_of(widened.astype(np.float32).astype(kind))
        if dtype == "F32":
            required = by_binary32  # one conversion of the processor
        else:
            nearest = Nearest(dtype)
            required = np.where(np.isnan(widened), bits_of(np.array([np.nan], kind)), nearest.bits(widened))
            # the search agrees with ml_dtypes where that rounds once
            agree = (required == by_binary32) | (is_nan(required, dtype) & is_nan(by_binary32, dtype))
            assert agree[len(doubles) :].all(), f"{dtype}: the search and ml_dtypes differ"
            twice[dtype] = int((~agree).sum())
            assert twice[dtype] > 0, f"{dtype}: no number tells one rounding from two"
        found = suite("encode", dtype, widened, np.uint32)
        count.same(f"{dtype} from binary64", widened, found, required, is_nan(found, dtype) & is_nan(required, dtype))
    return len(singles), len(doubles), twice


def main():
    count = Count()
    with np.errstate(all="ignore"):
        singles, doubles, twice = check(count)
    print(f"conversions: {singles} numbers in binary32, {doubles} in binary64, by numpy {np.__version__} "
          f"and ml_dtypes {ml_dtypes.__version__}")
    twice = ", ".join(f"{dtype} {number}" for dtype, number in twice.items())
    print(f"  rounding twice, by way of binary32, would err in: {twice}")
    print(f"  {count.compared} results compared, {count.different} differ")
    return 1 if count.different else 0


if __name__ == "__main__":
    sys.exit(main())
