"""The rows of the attribute matrix, written from spec/companions/selection/rows.md.

Each takes the region's value and the op's, neither of them None, and gives the new one or raises.
"""

from math import gcd, lcm

from documents import ALIGNED, EPILOGUE

TOP = ("gemm", "attn", "opaque")
UPWARDS = {"F8E4M3": ["F16", "F32"], "F8E5M2": ["F16", "F32"], "F16": ["F32"], "BF16": ["F32"], "I4": ["I8", "I32"], "I8": ["I32"]}


class Conflict(Exception):
    """A row fails; the reason is the argument."""


def fail(reason):
    raise Conflict(reason)


def core(state, op):
    if op == "ew":
        return state
    if state in TOP:
        fail("sig_conflict")
    if op in TOP or state in ("ew", op):
        return op
    return "norm+move"


def activation(state, op):
    return state if state == op and op in ("relu", "relu6", "hardtanh") else fail("activation_conflict")


def chain(state, op):
    return (state[0], op[1]) if state[1] == op[0] else fail("dtype_mismatch")


def upwards(dtype):
    return [dtype] + UPWARDS.get(dtype, [])


def accumulator(state, op):
    both = [dtype for dtype in upwards(state) if dtype in upwards(op)]
    return both[0] if both else fail("dtype_mismatch")


def same(reason):
    return lambda state, op: state if state == op else fail(reason)


def twice(reason):
    return lambda state, op: fail(reason)


def least_multiple(state, op):
    multiple = lcm(state, op)
    return multiple if multiple <= ALIGNED else fail("requirement_conflict")


ROWS = [
    ("core", core),
    ("linearity", lambda state, op: max(state, op)),  # "nonlinear" comes after "linear"
    ("activation", activation),
    ("bias", twice("epilogue_repeat")),
    ("scale", twice("epilogue_repeat")),
    ("residual", twice("epilogue_repeat")),
    ("shape", lambda state, op: state.joined(op)),
    ("chain", chain),
    ("acc", accumulator),
    ("weight", same("dtype_mismatch")),
    ("order", same("layout_mismatch")),
    ("pack", same("layout_mismatch")),
    ("trans", twice("layout_mismatch")),
    ("effects", lambda state, op: state.joined(op)),
    ("required", least_multiple),
    ("offered", gcd),
]


class Shape:
    """Roles and symbols as nodes, equal ones under one head, which may have an extent."""

    def __init__(self, head=(), extent=(), unknown=()):
        self.head, self.extent, self.unknown = dict(head), dict(extent), set(unknown)

    @staticmethod
    def of(row):
        shape = Shape()
        for role, value in row.items():
            node = ("role", role)
            shape.head[node] = node
            if value == "?":
                shape.unknown.add(role)
            elif isinstance(value, str):
                shape.unite(node, ("symbol", value))
            else:
                shape.fix(node, value)
        return shape

    def find(self, node):
        while self.head[node] != node:
            node = self.head[node]
        return node

    def unite(self, a, b):
        a, b = (self.find(self.head.setdefault(node, node)) for node in (a, b))
        if a != b:
            self.head[b] = a
            if b in self.extent:
                self.fix(a, self.extent.pop(b))

    def fix(self, node, extent):
        if self.extent.setdefault(self.find(node), extent) != extent:
            fail("shape_mismatch")

    def joined(self, other):
        shape = Shape(self.head, self.extent, self.unknown | other.unknown)
        for node in other.head:
            shape.unite(other.find(node), node)
        for node, extent in other.extent.items():
            shape.fix(node, extent)
        return shape

    def bound(self, role):
        node = ("role", role)
        return self.extent.get(self.find(node)) if node in self.head else None

    def known(self, role):
        return None if role in self.unknown else self.bound(role)

    def show(self):
        shown = {}
        for kind, role in [node for node in self.head if node[0] == "role"]:
            symbols = [n for k, n in self.head if k == "symbol" and self.find((k, n)) == self.find((kind, role))]
            if role in self.unknown:
                shown[role] = "?"
            else:
                shown[role] = self.known(role) or min(symbols, key=str.encode, default="?")
        return shown


class Effects:
    def __init__(self, flags, reads, writes):
        self.flags, self.reads, self.writes = frozenset(flags), frozenset(reads), frozenset(writes)

    def joined(self, op):
        if self.writes & op.writes:
            fail("effect_conflict")
        flags = self.flags | op.flags
        flags |= {"read_after_write"} if self.writes & op.reads else set()
        flags |= {"overwrite"} if self.reads & op.writes else set()
        return Effects(flags, self.reads | op.reads, self.writes | op.writes)


def matrix_of(op):
    """The filled sub-rows of an op, flat."""
    sig, dtype, layout = op["sig"], op.get("dtype", {}), op.get("layout", {})
    epilogue, effects = op.get("epilogue", {}), op.get("effects", {})
    sub = {"core": sig.get("core"), "linearity": sig.get("linearity")}
    sub.update((flag, True if epilogue.get(flag) else None) for flag in EPILOGUE)
    sub["activation"] = None if epilogue.get("activation") == "none" else epilogue.get("activation")
    sub["shape"] = Shape.of(op["shape"]) if op.get("shape") else None
    sub["chain"] = (dtype["in"], dtype["out"]) if "in" in dtype else None
    sub.update((key, dtype.get(key)) for key in ("acc", "weight"))
    sub.update((key, layout.get(key)) for key in ("pack", "trans"))
    sub["order"] = None if layout.get("order") == "any" else layout.get("order")
    if any(effects.get(key) for key in ("flags", "reads", "writes")):
        sub["effects"] = Effects(*(effects.get(key, []) for key in ("flags", "reads", "writes")))
    sub.update(op.get("requirements", {}))
    return {key: value for key, value in sub.items() if value is not None}


def compose(state, op):
    result = {}
    for key, operator in ROWS:
        if key in state and key in op:
            result[key] = operator(state[key], op[key])
        elif key in state or key in op:
            result[key] = state.get(key, op.get(key))
    if "required" in result and result.get("offered", result["required"]) % result["required"]:
        fail("requirement_conflict")
    return result


def show(matrix, word):
    """As in SEL-23."""
    rows = {"sig": {"word": word}}
    rows["sig"].update((key, matrix[key]) for key in ("core", "linearity") if key in matrix)
    if "shape" in matrix:
        rows["shape"] = matrix["shape"].show()
    rows["dtype"] = dict(zip(("in", "out"), matrix.get("chain", ())))
    rows["dtype"].update((key, matrix[key]) for key in ("acc", "weight") if key in matrix)
    rows["layout"] = {key: matrix[key] for key in ("order", "pack", "trans") if key in matrix}
    rows["epilogue"] = {key: matrix[key] for key in EPILOGUE + ["activation"] if key in matrix}
    if "effects" in matrix:
        names = {key: sorted(getattr(matrix["effects"], key), key=str.encode) for key in ("flags", "reads", "writes")}
        rows["effects"] = {key: value for key, value in names.items() if value}
    rows["requirements"] = {key: matrix[key] for key in ("required", "offered") if key in matrix}
    return {row: members for row, members in rows.items() if members}
