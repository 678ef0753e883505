"""Tensor files (NUM-11): safetensors, as much of the format as the suite uses."""

from __future__ import annotations

import json
import math
import struct
from dataclasses import dataclass
from typing import Any, Iterable, Mapping, Sequence, Union

# Bytes of an element, and how `struct` names it. BF16 is the upper half of a binary32; the 8-bit floats travel as bytes.
SIZES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I32": 4, "I8": 1, "U8": 1, "BOOL": 1, "F8_E4M3": 1, "F8_E5M2": 1}
FORMATS = {"F64": "d", "F32": "f", "F16": "e", "BF16": "H", "I32": "i", "I8": "b", "U8": "B", "BOOL": "B",
           "F8_E4M3": "B", "F8_E5M2": "B"}


@dataclass(frozen=True)
class Tensor:
    """A dtype as the file names it, a shape, and the elements: row-major, little-endian bytes."""

    dtype: str
    shape: tuple[int, ...]
    data: bytes

    def __post_init__(self) -> None:
        if self.dtype not in SIZES:
            raise ValueError("dtype `%s` is none of %s" % (self.dtype, ", ".join(SIZES)))
        if any(extent < 0 for extent in self.shape) or math.prod(self.shape) * SIZES[self.dtype] != len(self.data):
            raise ValueError("%d bytes are no %s of the shape %s" % (len(self.data), self.dtype, list(self.shape)))

    @classmethod
    def of(cls, dtype: str, shape: Sequence[int], values: Iterable[Union[int, float]]) -> Tensor:
        """A tensor of numbers, which the dtype has to hold as they are: to round is the business of who computes them."""
        given = list(values)
        if dtype == "BF16":
            wide = struct.pack("<%df" % len(given), *given)
            data = b"".join(wide[4 * n + 2 : 4 * n + 4] for n in range(len(given)))
        else:
            data = struct.pack("<%d%s" % (len(given), FORMATS[dtype]), *given)
        tensor = cls(dtype, tuple(shape), data)
        for value, held in zip(given, tensor.values()):
            if held != value and not (math.isnan(held) and math.isnan(value)):
                raise ValueError("%s does not hold %r" % (dtype, value))
        return tensor

    def values(self) -> list[Any]:
        """The elements as numbers of Python; of the 8-bit floats, their bits."""
        if self.dtype == "BF16":
            wide = b"".join(b"\0\0" + self.data[n : n + 2] for n in range(0, len(self.data), 2))
            return list(struct.unpack("<%df" % (len(wide) // 4), wide))
        return list(struct.unpack("<%d%s" % (len(self.data) // SIZES[self.dtype], FORMATS[self.dtype]), self.data))

    def array(self) -> Any:
        """The elements as an array of numpy, which has to be installed. It has no BF16 and no 8-bit floats: these are their bits."""
        import numpy

        kind = {"BF16": "<u2", "BOOL": "u1"}.get(self.dtype, "<" + FORMATS[self.dtype])
        return numpy.frombuffer(self.data, kind).reshape(self.shape)

    @classmethod
    def of_array(cls, dtype: str, array: Any) -> Tensor:
        """The tensor of an array as `array` returns it; the kind of its elements has to be that of the dtype."""
        kind = {"BF16": "<u2", "BOOL": "u1"}.get(dtype, "<" + FORMATS[dtype])
        if array.dtype != kind and not (dtype == "BOOL" and array.dtype == bool):
            raise ValueError("an array of %s are no elements of %s" % (array.dtype, dtype))
        return cls(dtype, tuple(array.shape), array.astype(kind).tobytes())


def read_tensors(path: str) -> dict[str, Tensor]:
    """The tensors of a file by name; raises `ValueError`, with the path, where it is no tensor file."""
    with open(path, "rb") as file:
        data = file.read()
    try:
        start = 8 + int.from_bytes(data[:8], "little")
        if len(data) < 8 or start > len(data):
            raise ValueError("the file ends within its header")
        header = read_json(data[8:start], without_repeats)
        header.pop("__metadata__", None)
        found = {}
        for name, tensor in header.items():
            shape, (first, end) = tensor["shape"], tensor["data_offsets"]
            if not isinstance(shape, list) or not all(type(number) is int for number in (*shape, first, end)):
                raise ValueError("tensor `%s` has a shape or a place that is no integer" % name)
            if not 0 <= first <= end <= len(data) - start:
                raise ValueError("tensor `%s` lies beyond the file" % name)
            found[name] = Tensor(tensor["dtype"], tuple(shape), data[start + first : start + end])
        return found
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError) as error:
        raise ValueError("%s is no tensor file: %s: %s" % (path, type(error).__name__, error)) from None


def write_tensors(path: str, tensors: Mapping[str, Tensor]) -> None:
    """Writes a file. It is complete when this returns."""
    header, place = {}, 0
    for name, tensor in tensors.items():
        if name == "__metadata__":
            raise ValueError("no tensor can travel by the name `__metadata__`")
        end = place + len(tensor.data)
        header[name] = {"dtype": tensor.dtype, "shape": list(tensor.shape), "data_offsets": [place, end]}
        place = end
    text = json.dumps(header, ensure_ascii=False).encode("utf-8")  # half of a surrogate pair is no character, and an error
    text += b" " * (-len(text) % 8)  # the elements begin at a multiple of 8
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for tensor in tensors.values():
            file.write(tensor.data)


def read_json(text: bytes, pairs: Any = None) -> Any:
    """A value, as FMT-01 asks but for names that occur twice, which `pairs` may refuse; raises `ValueError`, or `RecursionError` where it
    is nested deeper than Python's reader follows."""
    value = json.loads(text.decode("utf-8"), object_pairs_hook=pairs, parse_int=integer)
    # What Python reads and FMT-01 and FMT-04 do not admit: NaN, other numbers beyond binary64, and an escaped half of a character.
    json.dumps(value, ensure_ascii=False, allow_nan=False).encode("utf-8")
    return value


def integer(text: str) -> int:
    """An integer of a text; raises `ValueError` where it is beyond binary64 (FMT-04)."""
    if math.isinf(float(text)):
        raise ValueError("a number is beyond binary64")
    return int(text)


def without_repeats(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """The members of an object, each of which stands there once."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name occurs twice")
    return found
