"""What a document computes (MCI-07 to MCI-10, MCI-16, MCI-17): block by block, one node after the other."""

import itertools
import math
import struct

from model import at_point, bodies
from shapes import elements

# Bits of the fraction, least exponent of a normal number, largest number.
FORMATS = {
    "F32": (23, -126, (2 - 2.0**-23) * 2.0**127),
    "F16": (10, -14, 65504.0),
    "BF16": (7, -126, (2 - 2.0**-7) * 2.0**127),
}
INF, NAN = math.inf, math.nan


def cast(dtype, number):
    """NUM-02: to the nearest number of the dtype, ties to the even one. A NaN stays one."""
    if number == 0 or math.isinf(number) or math.isnan(number):
        return number
    fraction, least, largest = FORMATS[dtype]
    unit = 2.0 ** (max(math.frexp(number)[1] - 1, least) - fraction)
    rounded = math.copysign(round(number / unit) * unit, number)
    return math.copysign(INF, number) if abs(rounded) > largest else rounded


def decode(dtype, bits):
    if dtype == "F16":
        return struct.unpack("<e", struct.pack("<H", bits))[0]
    return struct.unpack("<f", struct.pack("<I", bits << 16 if dtype == "BF16" else bits))[0]


def encode(dtype, number):
    """The bits of a number that the dtype has."""
    if math.isnan(number):
        return {"F32": 0x7FC00000, "F16": 0x7E00, "BF16": 0x7FC0}[dtype]
    if dtype == "F16":
        return struct.unpack("<H", struct.pack("<e", number))[0]
    bits = struct.unpack("<I", struct.pack("<f", number))[0]
    return bits >> 16 if dtype == "BF16" else bits


def exp(x):
    try:
        return math.exp(x)
    except OverflowError:
        return INF


def div(a, b):
    if b == 0 or math.isnan(b):
        return NAN if a == 0 or math.isnan(a) or math.isnan(b) else math.copysign(INF, a) * math.copysign(1, b)
    return a / b


def most(a, b):
    return NAN if math.isnan(a) or math.isnan(b) else max(a, b)


def rsqrt(a):
    if a == 0:
        return INF
    return NAN if a < 0 else 1 / math.sqrt(a)


def gelu(a):
    return a / 2 * (math.erfc(-a / math.sqrt(2)) if a > -INF else 0.0)


UNARY = {
    "copy": lambda a: a,
    "neg": lambda a: -a,
    "exp": exp,
    "rsqrt": rsqrt,
    "silu": lambda a: div(a, 1 + exp(-a)),
    "gelu": gelu,
}
BINARY = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": div,
    "max": most,
}


class Tile:
    """Extents, and numbers in row-major order."""

    def __init__(self, shape, numbers):
        self.shape, self.numbers = list(shape), numbers

    @property
    def columns(self):
        return self.shape[1] if len(self.shape) > 1 else 1

    def row(self, number):
        return self.numbers[number * self.columns : (number + 1) * self.columns]


def function(node, ins, point):
    """MCI-06: what a node makes of its tiles, before it is cast."""
    fn, a = node["fn"], ins[0]
    if node["op"] == "Reduce":
        return [reduce(fn, node["axis"], a)]
    if node["op"] == "UpdateState":
        if fn == "online_softmax":
            return online_softmax(*ins)
        if fn == "scale_add":
            factors, added = ins[1].numbers, ins[2].numbers
            return [Tile(a.shape, [s * factors[at // a.columns] + added[at] for at, s in enumerate(a.numbers)])]
        return [Tile(a.shape, [BINARY[fn](s, x) for s, x in zip(a.numbers, ins[1].numbers)])]
    if fn in ("matmul_nn", "matmul_nt"):
        return [matmul(a, transpose(ins[1]) if fn == "matmul_nn" else ins[1])]
    if fn == "transpose":
        return [transpose(a)]
    if fn == "mask":
        return [mask(node, a, point)]
    if fn == "scale":
        p, q = node["by"]
        factor = p / q
        # One product where binary32 has the factor (MCI-16).
        if cast("F32", factor) == factor:
            return [Tile(a.shape, [x * factor for x in a.numbers])]
        return [Tile(a.shape, [x * p / q for x in a.numbers])]
    if fn in UNARY:
        return [Tile(a.shape, [UNARY[fn](x) for x in a.numbers])]
    b, wide = ins[1].numbers, a.columns
    places = {None: lambda at: at, "rows": lambda at: at // wide, "columns": lambda at: at % wide}
    place = places[node.get("along")]
    return [Tile(a.shape, [BINARY[fn](x, b[place(at)]) for at, x in enumerate(a.numbers)])]


def transpose(a):
    rows, columns = a.shape
    return Tile([columns, rows], [a.numbers[r * columns + c] for c in range(columns) for r in range(rows)])


def matmul(a, b):
    """a bᵀ, both by rows."""
    rows, columns = a.shape[0], b.shape[0]
    numbers = [sum(x * y for x, y in zip(a.row(r), b.row(c))) for r in range(rows) for c in range(columns)]
    return Tile([rows, columns], numbers)


def mask(node, a, point):
    top, left, window = at_point(node["rows"], point), at_point(node["columns"], point), node.get("window")
    numbers = []
    for at, x in enumerate(a.numbers):
        row, column = top + at // a.columns, left + at % a.columns
        kept = column <= row and (window is None or column > row - window)
        numbers.append(x if kept else -INF)
    return Tile(a.shape, numbers)


def reduce(fn, axis, a):
    extent, inner = a.shape[axis], math.prod(a.shape[axis + 1 :])
    left = a.shape[:axis] + a.shape[axis + 1 :]
    numbers = []
    for at in range(math.prod(left)):
        first = at // inner * inner * extent + at % inner
        line = [a.numbers[first + along * inner] for along in range(extent)]
        if fn == "sum":
            numbers.append(sum(line))
        else:
            highest = -INF
            for x in line:
                highest = most(highest, x)
            numbers.append(highest)
    return Tile(left, numbers)


def online_softmax(x, u, l):
    tops, sums, weights, factors = [], [], [], []
    for row, (old, total) in enumerate(zip(u.numbers, l.numbers)):
        top = old
        for score in x.row(row):
            top = most(top, score)
        masked = top == -INF
        factor = 1.0 if masked else exp(old - top)
        line = [0.0 if masked else exp(score - top) for score in x.row(row)]
        tops.append(top)
        sums.append(total * factor + sum(line))
        weights += line
        factors.append(factor)
    return [Tile(u.shape, tops), Tile(u.shape, sums), Tile(x.shape, weights), Tile(u.shape, factors)]


class Block:
    """One block of a region: its tiles, its states, its slots."""

    def __init__(self, document, region, point, tensors):
        self.values, self.region, self.point, self.tensors = document["values"], region, point, tensors
        self.axes = region.axes
        self.tiles, self.slots, self.pending = {}, {}, []
        self.nodes = dict(bodies(region.region))
        self.prefetched = {n["out"][0] for n in self.nodes["begin"] + self.nodes["each"] if n["op"] == "Prefetch"}

    def here(self, extents, point):
        shape = []
        for size, rest in extents:
            left = size if rest is None else rest[1] + sum(factor * point[axis] for axis, factor in rest[0])
            shape.append(min(size, left))
        return shape

    def places(self, node, tensor, tile, point):
        """The shape of a tile here, and where its elements lie in the tensor."""
        shape = self.here(self.region.part(node, tensor, tile), point)
        whole = self.values[tensor]["shape"]
        at = [at_point(index, point) for index in node["at"]]
        ranges = [range(1)] * (len(whole) - len(shape)) + [range(extent) for extent in shape]
        places = []
        for along in itertools.product(*ranges):
            place = 0
            for extent, first, offset in zip(whole, at, along):
                place = place * extent + first + offset
            places.append(place)
        return shape, places

    def load(self, node, point):
        tensor, tile = node["in"][0], node["out"][0]
        shape, places = self.places(node, tensor, tile, point)
        return Tile(shape, [self.tensors[tensor][place] for place in places])

    def slot(self, name, version):
        return name, version % self.values[name].get("buffers", 1)

    def run(self):
        streaming = self.region.region["streaming"]
        for state in streaming.get("state", []):
            name = state["value"]
            number = {"-inf": -INF, "inf": INF}.get(state["init"], state["init"])
            shape = self.here(self.region.extents[name], self.point)
            number = cast(self.values[name]["dtype"], float(number))
            self.tiles[name] = Tile(shape, [number] * math.prod(shape))
        axis, values = self.axes.stream, [None]
        if axis:
            first = max(at_point(index, self.point) for index in self.axes.first)
            last = min(at_point(index, self.point) for index in self.axes.last)
            values = range(first, last, self.axes.steps[axis])
        self.stream = values
        self.body("begin", 0, self.point)
        for iteration, value in enumerate(values):
            self.body("each", iteration, self.point if value is None else {**self.point, axis: value})
        self.body("end", 0, self.point)

    def body(self, body, iteration, point):
        for node in self.nodes[body]:
            op = node["op"]
            if op == "LoadTile":
                self.tiles[node["out"][0]] = self.load(node, point)
            elif op == "StoreTile":
                self.store(node, self.read(node["in"][0], iteration), point)
            elif op == "Prefetch":
                self.prefetch(node, iteration + node["version"])
            elif op == "Barrier":
                for name, version in node["wait"]:
                    self.wait(name, iteration + version)
            else:
                ins = [self.read(name, iteration) for name in node["in"]]
                for name, tile in zip(node["out"], function(node, ins, point)):
                    dtype = self.values[name]["dtype"]
                    self.tiles[name] = Tile(tile.shape, [cast(dtype, number) for number in tile.numbers])

    def read(self, name, iteration):
        if name in self.prefetched:
            return self.slots[self.slot(name, iteration)]
        return self.tiles[name]

    def prefetch(self, node, version):
        """The load is under way, and lands when a barrier waits for it."""
        if version < len(self.stream):
            self.pending.append((node["out"][0], version, node))

    def wait(self, name, version):
        for load in [load for load in self.pending if load[:2] == (name, version)]:
            self.pending.remove(load)
            point = {**self.point, self.axes.stream: self.stream[version]}
            self.slots[self.slot(name, version)] = self.load(load[2], point)

    def store(self, node, tile, point):
        tensor = node["out"][0]
        _, places = self.places(node, tensor, node["in"][0], point)
        whole = self.tensors.setdefault(tensor, [NAN] * elements(self.values[tensor]))
        for place, number in zip(places, tile.numbers):
            whole[place] = number


def compute(document, regions):
    """MCI-17: the bits of the outputs."""
    values = document["values"]
    tensors = {}
    for name in document["inputs"]:
        dtype = values[name]["dtype"]
        tensors[name] = [decode(dtype, bits) for bits in document["data"][name]]
    for region in regions:
        axes = region.axes
        for point in itertools.product(*(range(0, axes.blocks[axis], axes.steps[axis]) for axis in axes.blocks)):
            Block(document, region, dict(zip(axes.blocks, point)), tensors).run()
    encoded = {name: [encode(values[name]["dtype"], x) for x in tensors[name]] for name in document["outputs"]}
    return {"data": encoded}
