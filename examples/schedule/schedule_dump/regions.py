"""Regions: which elements of a tensor are touched (clause SCH-04)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


class DumpError(ValueError):
    """What cannot be dumped, and why."""


@dataclass(frozen=True)
class Region:
    """A box, and copies of it: of each run, `count` copies, `step` elements apart along `axis`."""

    intervals: tuple[tuple[int, int], ...]
    runs: tuple[tuple[int, int, int], ...] = ()

    def json(self) -> list | dict:
        intervals = [list(interval) for interval in self.intervals]
        return {"box": intervals, "runs": [list(run) for run in self.runs]} if self.runs else intervals

    def check(self, name: str, shape: Sequence[int]) -> None:
        """Refuses what is no part of a tensor of this shape."""
        if len(self.intervals) != len(shape):
            raise DumpError(
                "a region of `%s` has %d intervals, and the tensor has %d axes: give one (low, high) for each axis"
                % (name, len(self.intervals), len(shape))
            )
        for axis, ((low, high), extent) in enumerate(zip(self.intervals, shape)):
            reach = high + sum(step * (count - 1) for along, step, count in self.runs if along == axis)
            if not 0 <= low <= high or reach > extent:
                raise DumpError(
                    "a region of `%s` goes from %d to %d along axis %d, which has %d elements: the end is exclusive, and units are "
                    "elements, not bytes" % (name, low, reach, axis, extent)
                )
        for axis, step, count in self.runs:
            if not 0 <= axis < len(shape) or step < 0 or count < 1:
                raise DumpError("a run of `%s` is (axis, step, count), and (%d, %d, %d) is none" % (name, axis, step, count))


def box(*intervals: tuple[int, int]) -> Region:
    """From low to high, which is not included, along each axis."""
    return Region(tuple(intervals))


def strided(region: Region, *runs: tuple[int, int, int]) -> Region:
    """Copies of a region: (axis, step, count), each of all that was there before."""
    return Region(region.intervals, region.runs + tuple(runs))
