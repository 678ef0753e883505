"""Rounding to the element types, by scaling and np.rint: written from NUM-01 and NUM-02."""

import ml_dtypes
import numpy as np

REAL = np.longdouble  # 64 bits of precision on x86; where it is no wider than binary64, all checks still hold

# name: (bits of precision, exponent of the smallest normal number, largest finite number, has infinities)
FORMATS = {
    "F32": (24, -126, REAL(2.0**128 - 2.0**104), True),
    "F16": (11, -14, REAL(65504.0), True),
    "BF16": (8, -126, REAL(2.0**128 - 2.0**120), True),
    "F8E4M3": (4, -6, REAL(448.0), False),
    "F8E5M2": (3, -14, REAL(57344.0), True),
}


def rounded(dtype, values):
    """`cast` of the spec: the nearest number of the format, ties to even, as a real."""
    precision, lowest, largest, infinities = FORMATS[dtype]
    values = np.asarray(values, REAL)
    with np.errstate(all="ignore"):
        _, exponent = np.frexp(values)
        step = np.maximum(exponent - 1, lowest) - (precision - 1)
        result = np.ldexp(np.rint(np.ldexp(values, -step)), step)
        beyond = REAL("inf") if infinities else REAL("nan")
        result = np.where(np.abs(result) > largest, np.copysign(beyond, values), result)
        if not infinities:
            result = np.where(np.isinf(values), REAL("nan"), result)
    return result


def near_tie(dtype, values, slack):
    """Where an error of `slack` could make a value round to another number."""
    return rounded(dtype, values - slack) != rounded(dtype, values + slack)


def check():
    """Compares `rounded` with numpy's and ml_dtypes' conversions from binary32, over its whole range."""
    types = {"F16": np.float16, "BF16": ml_dtypes.bfloat16, "F8E4M3": ml_dtypes.float8_e4m3fn,
             "F8E5M2": ml_dtypes.float8_e5m2}
    # every sign and exponent, with all that the upper bits can be, at and beside the ties
    bits = (np.arange(2**20, dtype=np.uint32) << 12)[:, None] + np.array([0, 1, 2**12 - 1], np.uint32)
    values = bits.view(np.float32).ravel()
    with np.errstate(all="ignore"):
        for name, kind in types.items():
            assert np.array_equal(rounded(name, values), values.astype(kind).astype(REAL), equal_nan=True), name
