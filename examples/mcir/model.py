"""Axes, indices and extents (MCI-03, MCI-09), for documents that break none of S01 to S05."""

SIZES = {"F32": 4, "F16": 2, "BF16": 2}


def terms(index):
    """An index as coefficients by axis, none of them 0, and an integer."""
    coefficients, constant = {}, 0
    for term in index if isinstance(index, list) else [index]:
        if isinstance(term, int):
            constant += term
        else:
            factor, axis = term if isinstance(term, list) else (1, term)
            coefficients[axis] = coefficients.get(axis, 0) + factor
    return {axis: factor for axis, factor in coefficients.items() if factor}, constant


def at_point(index, point):
    """An index where each axis has a value."""
    coefficients, constant = terms(index)
    return constant + sum(factor * point[axis] for axis, factor in coefficients.items())


class Axes:
    """The axes of a region, with the range of each and how many values it has at most."""

    def __init__(self, streaming):
        tile, stream = streaming["tile"], streaming.get("stream")
        self.steps, self.blocks = tile["tile_shape"], tile.get("blocks", {})
        self.ranges, self.counts = {}, {}
        for axis, extent in self.blocks.items():
            step = self.steps[axis]
            self.ranges[axis] = (0, (extent - 1) // step * step)
            self.counts[axis] = (extent - 1) // step + 1
        self.stream = stream and stream["axis"]
        self.first = (stream and stream.get("from")) or [0]
        self.last = stream and stream["to"]
        self.iterations = 1
        self.fixed = True
        if stream:
            step = self.steps[self.stream]
            first = max(self.least(index) for index in self.first)
            end = min(self.most(index) for index in self.last)
            self.iterations = max(0, -((first - end) // step))
            whole = all(not terms(index)[0] for index in self.first)
            self.fixed = whole and all(not terms(index)[0] for index in self.last)
            last = first + (self.iterations - 1) * step if whole else end - 1
            self.ranges[self.stream] = (first, max(first, last))

    def normal(self, index):
        """Without axes that have one value."""
        coefficients, constant = terms(index)
        left = []
        for axis, factor in coefficients.items():
            least, most = self.ranges[axis]
            if least == most:
                constant += factor * least
            else:
                left.append((axis, factor))
        return tuple(sorted(left)), constant

    def bounds(self, index):
        left, constant = self.normal(index)
        ends = [[factor * end for end in self.ranges[axis]] for axis, factor in left]
        return constant + sum(map(min, ends)), constant + sum(map(max, ends))

    def least(self, index):
        return self.bounds(index)[0]

    def most(self, index):
        return self.bounds(index)[1]

    def extent(self, size, tensor_extent, index):
        """MCI-09: the number, and the rest or None."""
        left, constant = self.normal(index)
        rest = tuple((axis, -factor) for axis, factor in left), tensor_extent - constant
        least = tensor_extent - self.bounds(index)[1]
        return size, rest if least < size else None


def bodies(region):
    """Each body of a region with its pointer."""
    tile = region["streaming"]["tile"]
    for body in ("begin", "each", "end"):
        yield body, tile.get(body, [])


def nodes(document):
    """Region, body, and each node with its pointer."""
    for number, region in enumerate(document["regions"]):
        for body, all_of_it in bodies(region):
            for place, node in enumerate(all_of_it):
                yield number, body, place, node, "/regions/%d/streaming/tile/%s/%d" % (number, body, place)


def is_tile(document, name):
    return document["values"][name]["residency"] != "global"
