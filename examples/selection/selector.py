"""A selector of kernels, written from spec/companions/selection: kernels, the walk with one state, the beam.

A region is a linked list of ops, each link with the matrix so far and the kernels that are still in the race.
"""

from fractions import Fraction
from functools import reduce

from documents import DTYPES, EPILOGUE, finding, followers, rational
from rows import Conflict, Shape, compose, matrix_of, show, upwards

# ---- Kernels --------------------------------------------------------------------------------------------------------


class Kernel:
    def __init__(self, record, machine):
        self.id, self.stages, self.record = record["id"], record["stages"], record
        self.effects = set(record.get("effects", []))
        cost = record["cost"]
        self.fixed = rational(cost.get("fixed", "0"))
        self.sums = [cost.get("bytes", []), cost.get("flops", [])]
        if machine:
            self.prices = [1000 / rational(machine["gbs"]), 1 / rational(machine["tflops"])]
        else:
            self.prices = None

    def step(self, after, op, written):
        """The stage that an op takes after another one."""
        for at in followers(self.stages, after + 1):
            stage = self.stages[at]
            if stage["class"] == op["sig"]["class"]:
                core_fits = stage.get("core") in (None, op["sig"].get("core"))
                return at if core_fits and (stage.get("chain") is None or set(stage["chain"]) == written) else None
        return None

    def ask(self, row, sub):
        return self.record.get(row, {}).get(sub)

    def viable(self, matrix):
        for role, asked in self.record.get("shape", {}).items():
            extent = matrix["shape"].bound(role) if "shape" in matrix else None
            if extent is not None:
                top = asked.get("max")
                if extent < asked.get("min", 1) or (top is not None and extent > top) or extent % asked.get("multiple", 1):
                    return False
        first = matrix.get("chain", (None,))[0]
        for row, sub, value in (
            ("dtype", "in", first),
            ("dtype", "weight", matrix.get("weight")),
            ("layout", "order", matrix.get("order")),
            ("layout", "pack", matrix.get("pack")),
            ("layout", "trans", matrix.get("trans")),
            ("epilogue", "activation", matrix.get("activation")),
        ):
            allowed = self.ask(row, sub)
            if allowed is not None and value is not None and value not in allowed:
                return False
        accs = self.ask("dtype", "acc")
        if accs is not None and "acc" in matrix and not set(accs) & set(upwards(matrix["acc"])):
            return False
        allow = self.ask("epilogue", "allow")
        if allow is not None and any(flag in matrix and flag not in allow for flag in EPILOGUE):
            return False
        if "effects" in matrix and not matrix["effects"].flags <= self.effects:
            return False
        return "offered" not in matrix or self.aligned(matrix, matrix["offered"], True)

    def aligned(self, matrix, offered, unknown):
        if offered % (self.ask("requirements", "align") or 1):
            return False
        vector = self.ask("requirements", "vector")
        if vector is None:
            return True
        if "chain" not in matrix:
            return unknown
        return 8 * offered % (vector * DTYPES[matrix["chain"][0]]) == 0

    def price(self, matrix):
        """The cost, if the constraints are met for good; else None. Stages and escapes are for others."""
        shape = matrix.get("shape", Shape())
        if any(shape.known(role) is None for role in self.record.get("shape", {})):
            return None
        into, out = matrix.get("chain", (None, None))
        for row, sub, value in (
            ("dtype", "in", into),
            ("dtype", "out", out),
            ("dtype", "acc", matrix.get("acc")),
            ("dtype", "weight", matrix.get("weight")),
            ("layout", "pack", matrix.get("pack")),
            ("layout", "trans", matrix.get("trans")),
            ("epilogue", "activation", matrix.get("activation", "none")),
        ):
            allowed = self.ask(row, sub)
            if allowed is not None and value not in allowed:
                return None
        if any(flag not in matrix for flag in self.ask("epilogue", "require") or []):
            return None
        offered = matrix.get("offered", 1)
        if not self.aligned(matrix, offered, False) or offered % matrix.get("required", 1):
            return None
        if not any(self.sums):
            return self.fixed
        totals = []
        for terms in self.sums:
            total = Fraction(0)
            for term in terms:
                extents = [shape.known(role) for role in term.get("dims", [])]
                if None in extents:
                    return None
                total += reduce(lambda a, b: a * b, extents, rational(term.get("times", "1")))
            totals.append(total)
        if self.prices is None:
            return None
        return self.fixed + max(total * price for total, price in zip(totals, self.prices))


# ---- Regions --------------------------------------------------------------------------------------------------------


class Stop(Exception):
    """A trigger, and its reason."""


class NoPlan(Exception):
    """The op at which there is none."""


class Region:
    """Ops from an anchor on. Longer regions are made of shorter ones; none is changed."""

    def __init__(self, task, anchor, last, matrix, race, values):
        self.task, self.anchor, self.last, self.matrix = task, anchor, last, matrix
        self.race = race  # (kernel, its last stage, the ops whose values it does not write out)
        self.values = values  # value: whether the region wrote it

    @staticmethod
    def begin(task, at):
        op = task.ops[at]
        race = [(kernel, kernel.step(-1, op, set()), ()) for kernel in task.kernels]
        region = Region.entered(task, at, at, matrix_of(op), race, {})
        if not region.race:
            raise NoPlan(at)
        return region

    @staticmethod
    def entered(task, anchor, at, matrix, race, values):
        op = task.ops[at]
        race = [
            (kernel, stage, kept if kernel.stages[stage].get("out") else kept + (at,))
            for kernel, stage, kept in race
            if stage is not None and kernel.viable(matrix)
        ]
        values = dict(values)
        for value in op["reads"]:
            values.setdefault(value, False)
        values.update((write["value"], True) for write in op["writes"])
        return Region(task, anchor, at, matrix, race, values)

    def grown(self):
        at = self.last + 1
        ops = self.task.ops
        if at == len(ops):
            raise Stop("end", None)
        op = ops[at]
        if any("barrier" in ops[i].get("effects", {}).get("flags", []) for i in (at, self.last)):
            raise Stop("barrier", None)
        if op.get("marker") is not None:
            raise Stop("sync", None)
        if at - self.anchor >= self.task.limit:
            raise Stop("limit", None)
        if not any(value in self.values for value in op["reads"]):
            raise Stop("compose", "not_connected")
        try:
            matrix = compose(self.matrix, matrix_of(op))
        except Conflict as conflict:
            raise Stop("compose", conflict.args[0]) from None
        written = {position for position, value in enumerate(op["reads"]) if self.values.get(value)}
        race = [(kernel, kernel.step(stage, op, written), kept) for kernel, stage, kept in self.race]
        region = Region.entered(self.task, self.anchor, at, matrix, race, self.values)
        if not region.race:
            raise Stop("empty", "no_viable_kernel")
        return region

    def loses(self, at):
        op = self.task.ops[at]
        return bool(op.get("effects", {}).get("writes")) or any(
            write.get("output") or any(reader > self.last for reader in write["readers"]) for write in op["writes"]
        )

    def complete(self):
        """Costs and kernels, the best first."""
        found = []
        for kernel, stage, kept in self.race:
            if all(later.get("optional") for later in kernel.stages[stage + 1 :]) and not any(map(self.loses, kept)):
                price = kernel.price(self.matrix)
                if price is not None:
                    found.append((price, kernel.id))
        return sorted(found, key=lambda pair: (pair[0], pair[1].encode()))

    def word(self):
        return [self.task.ops[at]["sig"]["class"] for at in range(self.anchor, self.last + 1)]

    def show(self):
        return show(self.matrix, self.word())

    def closed(self, cost, kernel, trigger, reason):
        return {
            "anchor": self.anchor,
            "last": self.last,
            "kernel": kernel,
            "trigger": trigger,
            "reason": reason,
            "cost": str(cost),
            "attrs": self.show(),
        }


class Task:
    """A request, ready to be worked on."""

    def __init__(self, request):
        options = request.get("options", {})
        self.ops = request["sequence"]["ops"]
        self.kernels = [Kernel(record, options.get("machine")) for record in request["index"]["kernels"]]
        self.limit, self.beam = options.get("limit", 64), options.get("beam", 1)

    def walk(self, tell=lambda step: None):
        """The regions of SEL-20."""
        at, regions = 0, []
        while at < len(self.ops):
            region, checkpoint, action = Region.begin(self, at), None, "start"
            while True:
                complete = region.complete()
                checkpoint = (region, *complete[0]) if complete else checkpoint
                tell(
                    {
                        "action": action,
                        "op": region.last,
                        "viable": sorted((kernel.id for kernel, _, _ in region.race), key=str.encode),
                        "complete": sorted((kernel for _, kernel in complete), key=str.encode),
                        "score_hint": str(complete[0][0]) if complete else None,
                        "attrs": region.show(),
                    }
                )
                action = "join"
                try:
                    region = region.grown()
                except Stop as stop:
                    trigger, reason = stop.args
                    break
            if checkpoint is None:
                raise NoPlan(at)
            best, cost, kernel = checkpoint
            regions.append(best.closed(cost, kernel, trigger, reason))
            tell(
                {
                    "action": "flush",
                    "op": region.last + 1 if region.last + 1 < len(self.ops) else None,
                    "trigger": trigger,
                    "reason": reason,
                    "anchor": at,
                    "last": best.last,
                    "kernel": kernel,
                    "rewound": region.last - best.last,
                }
            )
            at = best.last + 1
        return regions

    def search(self):
        """The regions of SEL-25."""
        if not self.ops:
            return []

        def order(state):
            return (state[0], len(state[1]), [region["last"] for region in state[1]])

        def cut(state, trigger, reason):
            cost, regions, region = state
            complete = region.complete()
            if not complete:
                return None
            return cost + complete[0][0], regions + [region.closed(*complete[0], trigger, reason)]

        states = [(Fraction(0), [], Region.begin(self, 0))]
        for at in range(1, len(self.ops)):
            successors = {}
            try:
                fresh = Region.begin(self, at)
            except NoPlan:
                fresh = None
            for cost, regions, region in states:
                trigger, reason = "cut", None
                try:
                    longer = region.grown()
                    successors[longer.anchor] = (cost, regions, longer)
                except Stop as stop:
                    trigger, reason = stop.args
                closed = fresh and cut((cost, regions, region), trigger, reason)
                if closed and (at not in successors or order(closed) < order(successors[at])):
                    successors[at] = (*closed, fresh)
            states = sorted(successors.values(), key=order)[: self.beam]
            if not states:
                raise NoPlan(at)
        plans = [closed for closed in (cut(state, "end", None) for state in states) if closed]
        if not plans:
            raise NoPlan(len(self.ops) - 1)
        return min(plans, key=order)[1]

    def plan(self):
        regions = self.walk() if self.beam == 1 else self.search()
        return {"regions": regions, "cost": str(sum((Fraction(region["cost"]) for region in regions), Fraction(0)))}

    def explain(self):
        steps = []
        self.walk(steps.append)
        return {"steps": steps}


# ---- Plans of others: KP --------------------------------------------------------------------------------------------


def review(task, plan):
    regions, found, covered, before = plan["regions"], [], set(), -1
    kernels = {kernel.id: kernel for kernel in task.kernels}
    for i, given in enumerate(regions):
        at, anchor, last = "/plan/regions/%d" % i, given["anchor"], given["last"]
        if not 0 <= anchor <= last < len(task.ops) or anchor <= before:
            found.append(finding("KP02", at))
        before = last
        covered.update(range(max(anchor, 0), min(last + 1, len(task.ops))))
        if given["kernel"] not in kernels:
            found.append(finding("KP03", at + "/kernel"))
    if len(covered) < len(task.ops):
        found.append(finding("KP01", "/plan/regions"))
    if found:
        return found
    for i, given in enumerate(regions):
        rules = broken(task, kernels[given["kernel"]], given["anchor"], given["last"])
        found += [finding(rule, "/plan/regions/%d" % i) for rule in sorted(rules)]
    if found:
        return found
    try:
        wanted = task.plan()
    except NoPlan:
        return [finding("KP08", "/plan/regions")]
    key = lambda region: (region["anchor"], region["last"], region["kernel"])
    if list(map(key, regions)) != list(map(key, wanted["regions"])):
        differs = [i for i, pair in enumerate(zip(regions, wanted["regions"])) if key(pair[0]) != key(pair[1])]
        return [finding("KP08", "/plan/regions/%d" % differs[0] if differs else "/plan/regions")]
    for i, (given, region) in enumerate(zip(regions, wanted["regions"])):
        for member in ("trigger", "reason", "cost", "attrs"):
            if member in given and not equal(given[member], region[member]):
                found.append(finding("KP09", "/plan/regions/%d/%s" % (i, member)))
    if "cost" in plan and plan["cost"] != wanted["cost"]:
        found.append(finding("KP09", "/plan/cost"))
    return found


def equal(a, b):
    """As JSON values: in Python, True equals 1."""
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(equal(a[key], b[key]) for key in a)
    if isinstance(a, list):
        return len(a) == len(b) and all(map(equal, a, b))
    return a == b


def broken(task, kernel, anchor, last):
    rules = set()
    ops = task.ops[anchor : last + 1]
    if len(ops) > task.limit:
        rules.add("KP07")
    if any(op.get("marker") is not None for op in ops[1:]):
        rules.add("KP05")
    if len(ops) > 1 and any("barrier" in op.get("effects", {}).get("flags", []) for op in ops):
        rules.add("KP05")
    matrix, stage, values, lost = None, -1, {}, False
    for at, op in enumerate(ops, anchor):
        written = {position for position, value in enumerate(op["reads"]) if values.get(value)}
        stage = kernel.step(stage, op, written)
        if stage is None:
            return rules | {"KP04"}
        if matrix is None and at == anchor:
            matrix = matrix_of(op)
        elif matrix is not None:
            try:
                matrix = compose(matrix, matrix_of(op)) if any(value in values for value in op["reads"]) else None
            except Conflict:
                matrix = None
        for value in op["reads"]:
            values.setdefault(value, False)
        values.update((write["value"], True) for write in op["writes"])
        if not kernel.stages[stage].get("out"):
            lost |= Region(task, anchor, last, None, [], {}).loses(at)
    if lost:
        rules.add("KP06")
    whole = all(later.get("optional") for later in kernel.stages[stage + 1 :])
    if matrix is None or not whole or not kernel.viable(matrix) or kernel.price(matrix) is None:
        rules.add("KP04")
    return rules
