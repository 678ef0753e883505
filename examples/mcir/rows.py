"""What StreamingConversionPass makes of nodes along rows: softmax, norms, reductions, rotations, and operands that are repeated (MCI-23)."""


class Unsupported(Exception):
    """Why there is no answer."""


class Rows:
    """Regions of such nodes, for a conversion that has the tiles."""

    def second(self, tile, at):
        """The second operand of a function of elements, and along what it has one number each."""
        shape, other = self.shape(0), self.shape(1)
        lacking = len(shape) - len(other)
        same = [extent == shape[lacking + axis] for axis, extent in enumerate(other)]
        places = [at[lacking + axis] if same[axis] else 0 for axis in range(len(other))]
        whole = ([False] * len(tile) + same)[-len(tile) :]
        if all(whole):
            return self.load("begin", 1, tile, places), None
        if whole == [False, True]:
            return self.load("begin", 1, tile[1:], places), "columns"
        if whole == [True, False] and len(other) > 1:
            column = self.load("begin", 1, [tile[0], 1], places)
            return self.compute("begin", "sum", [column], tile[:1], op="Reduce", axis=1), "rows"
        raise Unsupported("there are no tiles for %s of %s and %s" % (self.node["op"], shape, other))

    def softmax(self):
        shape = self.shape(0)
        if len(shape) < 2 or self.node["axis"] != len(shape) - 1:
            raise Unsupported("there are no tiles for `softmax` along that axis")
        at = self.lead(shape) + ["i", 0]
        rows = self.axis("i", shape[-2], self.step)
        tile = [rows, shape[-1]]
        scores = self.load("begin", 0, tile, at)
        top = self.compute("begin", "max", [scores], [rows], op="Reduce", axis=1)
        below = self.compute("begin", "sub", [scores, top], tile, along="rows")
        weights = self.compute("begin", "exp", [below], tile)
        total = self.compute("begin", "sum", [weights], [rows], op="Reduce", axis=1)
        self.store("begin", self.compute("begin", "div", [weights, total], tile, self.result(), along="rows"), at)

    def norm(self):
        shape, (p, q) = self.shape(0), self.node["eps"]
        if len(shape) < 2:
            raise Unsupported("there are no tiles for a norm of one axis")
        n = shape[-1]
        at = self.lead(shape) + ["i", 0]
        rows = [self.axis("i", shape[-2], self.step)]
        tile = rows + [n]
        x = self.load("each", 0, tile, at)
        # A state that stays p: what is added to it is 0, the exponential of the largest number where a mask keeps none.
        kept = self.keep(rows, p)
        none = self.compute("each", "mask", [x], tile, rows=-rows[0], columns=0)
        least = self.compute("each", "max", [none], rows, op="Reduce", axis=1)
        nothing = self.compute("each", "exp", [least], rows)
        self.add("each", "UpdateState", [kept, nothing], [kept], fn="add")
        if self.node["op"] == "layer_norm":
            total = self.compute("each", "sum", [x], rows, op="Reduce", axis=1)
            mean = self.compute("each", "scale", [total], rows, by=[1, n])
            x = self.compute("each", "sub", [x, mean], tile, along="rows")
        squares = self.compute("each", "mul", [x, x], tile)
        total = self.compute("each", "sum", [squares], rows, op="Reduce", axis=1)
        mean = self.compute("each", "scale", [total], rows, by=[1, n])
        eps = self.compute("each", "scale", [kept], rows, by=[1, q])
        mean = self.compute("each", "add", [mean, eps], rows)
        root = self.compute("each", "rsqrt", [mean], rows)
        made = self.compute("each", "mul", [x, root], tile, along="rows")
        weight = self.load("each", 1, [n], [0])
        if self.node["op"] == "layer_norm":
            made = self.compute("each", "mul", [made, weight], tile, along="columns")
            bias = self.load("each", 2, [n], [0])
            made = self.compute("each", "add", [made, bias], tile, self.result(), along="columns")
        else:
            made = self.compute("each", "mul", [made, weight], tile, self.result(), along="columns")
        self.store("each", made, at)

    def reduce(self):
        """One place of the axis after the other."""
        shape, gone = self.shape(0), self.node["axis"]
        at, place, tile = [], [], []
        for axis, extent in enumerate(shape):
            tiled = axis + 2 >= len(shape)
            if axis == gone:
                at.append("k")
                place.append(0)
                tile += [1] * tiled
            else:
                at.append("a%d" % axis)
                place.append("a%d" % axis)
                step = self.axis("a%d" % axis, extent, self.step if tiled else 1)
                tile += [step] * tiled
        self.stream, self.steps["k"] = {"axis": "k", "to": [shape[gone]]}, 1
        fn, init = ("add", 0) if self.node["fn"] == "sum" else ("max", "-inf")
        kept = self.keep(tile, init)
        part = self.load("each", 0, tile, at)
        self.add("each", "UpdateState", [kept, part], [kept], fn=fn)
        self.store("end", self.compute("end", "copy", [kept], tile, self.result()), place)

    def rope(self):
        """A block computes one half, x c - y s or x c + y s: two masks keep the right one."""
        shape = self.shape(0)
        half = shape[-1] // 2
        lead = self.lead(shape)
        rows = self.axis("i", shape[-2], self.step)
        columns = next(step for step in range(min(self.step, half), 0, -1) if half % step == 0)
        self.axis("j", half, columns)
        self.axis("half", 2 * half, half)
        tile = [rows, columns]
        x = self.load("begin", 0, tile, lead + ["i", ["half", "j"]])
        y = self.load("begin", 0, tile, lead + ["i", [half, [-1, "half"], "j"]])
        cosine, sine = self.load("begin", 1, tile, ["i", "j"]), self.load("begin", 2, tile, ["i", "j"])
        straight = self.compute("begin", "mul", [x, cosine], tile)
        across = self.compute("begin", "mul", [y, sine], tile)
        far = rows + columns
        first = self.compute("begin", "sub", [straight, across], tile)
        first = self.compute("begin", "mask", [first], tile, rows=[[-far, "half"], columns], columns=0)
        last = self.compute("begin", "add", [straight, across], tile)
        last = self.compute("begin", "mask", [last], tile, rows=[[far, "half"], -rows], columns=0)
        self.store("begin", self.compute("begin", "max", [first, last], tile, self.result()), lead + ["i", ["half", "j"]])
