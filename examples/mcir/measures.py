"""MCI-15: what a document moves and computes, added up tile by tile."""

import itertools
import math

from model import SIZES, at_point
from shapes import elements
from structure import UPDATE
from validator import peaks, residency

EACH = {"copy": 0, "transpose": 0, "mask": 0, "silu": 4, "gelu": 5}


class Counter:
    """Counts how often a node runs, and sums over its runs."""

    def __init__(self, axes):
        self.axes = axes

    def blocks(self, wanted):
        """All blocks, as far as they differ along the wanted axes: each with how many it stands for."""
        names = [axis for axis in self.axes.blocks if axis in wanted]
        times = math.prod(self.axes.counts[axis] for axis in self.axes.blocks if axis not in wanted)
        values = [range(0, self.axes.blocks[axis], self.axes.steps[axis]) for axis in names]
        for point in itertools.product(*values):
            yield dict(zip(names, point)), times

    def stream(self, point):
        """The values of the stream in a block."""
        if not self.axes.stream:
            return range(1)
        first = max(at_point(index, point) for index in self.axes.first)
        end = min(at_point(index, point) for index in self.axes.last)
        return range(first, end, self.axes.steps[self.axes.stream])

    def bound_axes(self):
        """The block axes that the bounds of the stream use."""
        return used(self.axes.first + (self.axes.last or [])) if self.axes.stream else set()

    def total(self, extents, body, chosen=None):
        """The sum, over all runs, of the product of extents. `chosen` picks the iterations for which a Prefetch loads."""
        wanted = {axis for _, rest in extents if rest for axis, _ in rest[0]}
        inside = body == "each" or chosen is not None
        sum_of_all = 0
        for point, times in self.blocks(wanted | (self.bound_axes() if inside else set())):
            if not inside:
                sum_of_all += times * product(extents, point)
                continue
            values = self.stream(point)
            values = values[chosen] if chosen is not None else values
            if self.axes.stream in wanted:
                sum_of_all += times * sum(product(extents, {**point, self.axes.stream: value}) for value in values)
            else:
                sum_of_all += times * len(values) * (product(extents, point) if len(values) else 0)
        return sum_of_all


def used(indices):
    return {each if isinstance(each, str) else each[1] for index in indices for each in flat(index) if not isinstance(each, int)}


def flat(index):
    return index if isinstance(index, list) else [index]


def product(extents, point):
    """The elements of a tile in one run."""
    count = 1
    for size, rest in extents:
        left = size if rest is None else rest[1] + sum(factor * point[axis] for axis, factor in rest[0])
        count *= min(size, left)
    return count


def operations(node, region, total):
    """The column *operations* of MCI-06."""
    ins = [region.extents[name] for name in node["in"]]
    outs = [region.extents[name] for name in node["out"]]
    if node["op"] == "Reduce":
        return total(ins[0]) - total(outs[0])
    if node["op"] == "UpdateState":
        if node["fn"] == "online_softmax":
            return 4 * total(ins[0]) + 3 * total(ins[0][:1])
        return (2 if node["fn"] == "scale_add" else 1) * total(ins[-1])
    if node["fn"].startswith("matmul"):
        return 2 * total(outs[0] + (ins[0][1],))
    return EACH.get(node["fn"], 1) * total(outs[0])


def measure_region(region, lifetimes):
    counter = Counter(region.axes)
    moved = {"in": 0, "out": 0}
    work = 0
    for body, _, node, _ in region.nodes:
        op = node["op"]
        if op in ("LoadTile", "StoreTile", "Prefetch"):
            side, tile = ("out", node["in"][0]) if op == "StoreTile" else ("in", node["out"][0])
            tensor = node[side][0]
            version = node.get("version")
            chosen = None
            if op == "Prefetch":
                chosen = slice(version, None) if body == "each" else slice(version, version + 1)
            extents = region.part(node, tensor, tile)
            moved[side] += SIZES[region.values[tensor]["dtype"]] * counter.total(extents, body, chosen)
        elif op != "Barrier":
            work += operations(node, region, lambda extents: counter.total(extents, body))
    iterations = counter.total((), "each")
    return {
        "id": region.region["id"],
        "blocks": counter.total((), "begin"),
        "iterations": iterations,
        "loaded": moved["in"],
        "stored": moved["out"],
        "operations": work,
        **peaks(region, lifetimes),
    }


def measure(document, regions):
    lifetimes = residency(document, [])
    rows = [measure_region(region, lifetimes) for region in regions]
    loaded = {name for region in document["regions"] for name in region["inputs"]}
    counted = [name for name in document["inputs"] if name in loaded] + document["outputs"]
    stored = {boundary["value"] for boundary in document.get("boundaries", [])} - set(document["outputs"])
    return {
        "regions": rows,
        **{name: sum(row[name] for row in rows) for name in ("loaded", "stored", "operations")},
        **{name: max((row[name] for row in rows), default=0) for name in ("shared", "register")},
        "compulsory": sum(
            elements(document["values"][name]) * SIZES[document["values"][name]["dtype"]] for name in counted
        ),
        "materialized": sorted(stored, key=lambda name: name.encode()),
    }
