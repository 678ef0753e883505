"""Documents of the companion on online kernel selection: members and types (S03 to S05), and the rules KS, KQ, KI and KW.

Written from spec/companions/selection. A type is a function of a value, its pointer and the list of findings.
"""

import re
from fractions import Fraction
from itertools import chain as chained

CORES = "ew norm move gemm attn opaque".split()
DTYPES = {"F32": 32, "F16": 16, "BF16": 16, "F8E4M3": 8, "F8E5M2": 8, "I32": 32, "I8": 8, "I4": 4, "BOOL": 8}
ACTIVATIONS = "none relu relu6 hardtanh gelu gelu_tanh silu sigmoid tanh exp".split()
OP_FLAGS = "alias cache communication random barrier".split()
FLAGS = OP_FLAGS + ["read_after_write", "overwrite"]
EPILOGUE = "bias scale residual".split()
TRIGGERS = "barrier sync limit compose empty end cut".split()
REASONS = """not_connected sig_conflict activation_conflict epilogue_repeat shape_mismatch dtype_mismatch layout_mismatch
effect_conflict requirement_conflict no_viable_kernel""".split()
MOST = 2**31 - 1
ALIGNED = 2**32


def finding(rule, pointer, message="", severity="error"):
    return {"rule": rule, "severity": severity, "message": message or "see the rule", "pointer": pointer}


def child(pointer, name):
    return pointer + "/" + str(name).replace("~", "~0").replace("/", "~1")


# ---- Members: S03, S04, S05 -----------------------------------------------------------------------------------------


def basic(test, what):
    def check(value, at, found):
        if not test(value):
            found.append(finding("S04", at, "required " + what))

    return check


INTEGER = basic(lambda v: type(v) is int and -(2**63) <= v < 2**63, "an integer of 64 bits")
TEXT = basic(lambda v: type(v) is str, "a string")
BOOLEAN = basic(lambda v: type(v) is bool, "true or false")
OBJECT = basic(lambda v: type(v) is dict, "an object")


def extent(value, at, found):
    if type(value) is not str:
        INTEGER(value, at, found)


def name(names):
    def check(value, at, found):
        TEXT(value, at, found)
        if type(value) is str and value not in names:
            found.append(finding("S05", at, "`%s` is none of %s" % (value, ", ".join(names))))

    return check


def array(kind):
    def check(value, at, found):
        if type(value) is not list:
            return found.append(finding("S04", at, "required an array"))
        for index, element in enumerate(value):
            kind(element, child(at, index), found)

    return check


def nullable(kind):
    return lambda value, at, found: None if value is None else kind(value, at, found)


def mapping(kind):
    def check(value, at, found):
        OBJECT(value, at, found)
        if type(value) is dict:
            for key, element in value.items():
                kind(element, child(at, key), found)

    return check


def record(needs=(), **kinds):
    """Members by name. A name that Python keeps for itself ends in a line: `in_`."""
    kinds = {key.rstrip("_"): kind for key, kind in kinds.items()}

    def check(value, at, found):
        OBJECT(value, at, found)
        if type(value) is not dict:
            return
        for key in needs:
            if key not in value:
                found.append(finding("S03", at, "the member `%s` is missing" % key))
        for key, kind in kinds.items():
            if key in value:
                kind(value[key], child(at, key), found)

    return check


dtype, texts = name(list(DTYPES)), array(TEXT)
WRITE = record(["value", "readers"], value=TEXT, readers=array(INTEGER), output=BOOLEAN)
OP = record(
    ["reads", "writes", "sig"],
    reads=texts,
    writes=array(WRITE),
    marker=nullable(name(["sync", "join"])),
    label=TEXT,
    sig=record(["class"], class_=TEXT, core=name(CORES), linearity=name(["linear", "nonlinear"])),
    shape=mapping(extent),
    dtype=record(in_=dtype, out=dtype, acc=dtype, weight=dtype),
    layout=record(order=TEXT, pack=TEXT, trans=TEXT),
    epilogue=record(bias=BOOLEAN, scale=BOOLEAN, residual=BOOLEAN, activation=name(ACTIVATIONS)),
    effects=record(flags=array(name(OP_FLAGS)), reads=texts, writes=texts),
    requirements=record(required=INTEGER, offered=INTEGER),
)
STAGE = record(
    ["class"],
    class_=TEXT,
    core=nullable(name(CORES)),
    optional=BOOLEAN,
    chain=nullable(array(INTEGER)),
    out=BOOLEAN,
    rounds=BOOLEAN,
)
TERMS = array(record(times=TEXT, dims=texts))
KERNEL = record(
    ["id", "stages", "cost"],
    id=TEXT,
    stages=array(STAGE),
    note=TEXT,
    shape=mapping(record(min=INTEGER, max=nullable(INTEGER), multiple=INTEGER)),
    dtype=record(**{key: nullable(array(dtype)) for key in ("in_", "out", "acc", "weight")}),
    layout=record(order=nullable(texts), pack=nullable(texts), trans=nullable(texts)),
    epilogue=record(
        allow=nullable(array(name(EPILOGUE))),
        require=array(name(EPILOGUE)),
        activation=nullable(array(name(ACTIVATIONS))),
    ),
    effects=array(name(FLAGS)),
    requirements=record(align=nullable(INTEGER), vector=nullable(INTEGER)),
    cost=record(fixed=TEXT, bytes=TERMS, flops=TERMS),
)
SEQUENCE = record(["ops"], ops=array(OP))
INDEX = record(["kernels"], kernels=array(KERNEL))
OPTIONS = record(
    limit=INTEGER, beam=INTEGER, machine=nullable(record(["gbs", "tflops"], gbs=TEXT, tflops=TEXT))
)
REGION = record(
    ["anchor", "last", "kernel"],
    anchor=INTEGER,
    last=INTEGER,
    kernel=TEXT,
    trigger=name(TRIGGERS),
    reason=nullable(name(REASONS)),
    cost=TEXT,
    attrs=OBJECT,
)
ASKED = dict(sequence=SEQUENCE, index=INDEX, options=OPTIONS)
REQUEST = record(["sequence", "index"], **ASKED)
REVIEW = record(["sequence", "index", "plan"], plan=record(["regions"], regions=array(REGION), cost=TEXT), **ASKED)


def kind_of(document):
    members = document if isinstance(document, dict) else {}
    if "plan" in members:
        return "review", REVIEW
    if "sequence" in members or "index" in members:
        return "request", REQUEST
    return ("index", INDEX) if "kernels" in members else ("sequence", SEQUENCE)


# ---- Numbers, texts, lists: KS --------------------------------------------------------------------------------------

RATIONAL = re.compile(r"[0-9]+|[0-9]+\.[0-9]+|[0-9]+/0*[1-9][0-9]*")


def rational(text):
    return Fraction(text) if len(text) <= 40 and RATIONAL.fullmatch(text) else None


def within(value, low, high, at, found):
    if value is not None and not low <= value <= high:
        found.append(finding("KS01", at, "found %d, required %d to %d" % (value, low, high)))


def once(entries, at, found):
    for index, entry in enumerate(entries or []):
        if entry in entries[:index]:
            return found.append(finding("KS03", child(at, index), "stands there twice"))


def number(text, at, found, positive=False):
    value = rational(text)
    if value is None or (positive and value == 0):
        found.append(finding("KS02", at, "`%s` is no such number" % text))


def judge_numbers(sequence, index, options, before):
    found = []
    for i, op in enumerate((sequence or {}).get("ops", [])):
        at = "%s/ops/%d" % (before[0], i)
        for role, value in op.get("shape", {}).items():
            within(value if type(value) is int else None, 1, MOST, child(at + "/shape", role), found)
        if ("in" in op.get("dtype", {})) != ("out" in op.get("dtype", {})):
            found.append(finding("KS04", at + "/dtype"))
        for row in ("flags", "reads", "writes"):
            once(op.get("effects", {}).get(row), at + "/effects/" + row, found)
        for row in ("required", "offered"):
            within(op.get("requirements", {}).get(row), 1, ALIGNED, at + "/requirements/" + row, found)
    for i, kernel in enumerate((index or {}).get("kernels", [])):
        at = "%s/kernels/%d" % (before[1], i)
        if not kernel["stages"]:
            found.append(finding("KS05", at + "/stages"))
        for j, stage in enumerate(kernel["stages"]):
            where = "%s/stages/%d/chain" % (at, j)
            for k, position in enumerate(stage.get("chain") or []):
                within(position, 0, 255, child(where, k), found)
            once(stage.get("chain"), where, found)
        for role, asked in kernel.get("shape", {}).items():
            for bound in ("min", "max", "multiple"):
                within(asked.get(bound), 1, MOST, child(at + "/shape", role) + "/" + bound, found)
        for row in ("dtype", "layout", "epilogue"):
            for sub, entries in kernel.get(row, {}).items():
                if isinstance(entries, list):
                    once(entries, "%s/%s/%s" % (at, row, sub), found)
        once(kernel.get("effects"), at + "/effects", found)
        within(kernel.get("requirements", {}).get("align"), 1, ALIGNED, at + "/requirements/align", found)
        within(kernel.get("requirements", {}).get("vector"), 1, 4096, at + "/requirements/vector", found)
        number(kernel["cost"].get("fixed", "0"), at + "/cost/fixed", found)
        for part in ("bytes", "flops"):
            for j, term in enumerate(kernel["cost"].get(part, [])):
                number(term.get("times", "1"), "%s/cost/%s/%d/times" % (at, part, j), found)
    for key in ("limit", "beam"):
        within((options or {}).get(key), 1, 4096, "/options/" + key, found)
    for key, text in ((options or {}).get("machine") or {}).items():
        if key in ("gbs", "tflops"):
            number(text, "/options/machine/" + key, found, positive=True)
    return found


# ---- Sequences and indices: KQ, KI ----------------------------------------------------------------------------------


def judge_sequence(sequence, before):
    found, writers, readers, wrong = [], {}, {}, set()
    for i, op in enumerate(sequence["ops"]):
        for j, write in enumerate(op["writes"]):
            if write["value"] in writers:
                found.append(finding("KQ02", "%s/ops/%d/writes/%d/value" % (before, i, j)))
                wrong.add(write["value"])
            writers.setdefault(write["value"], i)
    for i, op in enumerate(sequence["ops"]):
        for j, value in enumerate(op["reads"]):
            if writers.get(value, -1) >= i:
                found.append(finding("KQ01", "%s/ops/%d/reads/%d" % (before, i, j)))
                wrong.add(value)
            readers.setdefault(value, {})[i] = True
    for i, op in enumerate(sequence["ops"]):
        for j, write in enumerate(op["writes"]):
            if write["value"] not in wrong and write["readers"] != list(readers.get(write["value"], {})):
                found.append(finding("KQ03", "%s/ops/%d/writes/%d/readers" % (before, i, j)))
        needs = op.get("requirements", {})
        if "required" in needs and "offered" in needs and needs["offered"] % needs["required"]:
            found.append(finding("KQ04", "%s/ops/%d/requirements" % (before, i)))
    return found


def followers(stages, start):
    """The stages that can come next, from one on."""
    for at in range(start, len(stages)):
        yield at
        if not stages[at].get("optional"):
            return


def judge_index(index, before):
    found, ids = [], set()
    for i, kernel in enumerate(index["kernels"]):
        at = "%s/kernels/%d" % (before, i)
        if kernel["id"] in ids:
            found.append(finding("KI01", at + "/id"))
        ids.add(kernel["id"])
        twice = []
        for start in range(len(kernel["stages"])):
            classes = set()
            for stage in followers(kernel["stages"], start):
                if kernel["stages"][stage]["class"] in classes:
                    twice.append(stage)
                classes.add(kernel["stages"][stage]["class"])
        if twice:
            found.append(finding("KI02", "%s/stages/%d" % (at, min(twice))))
        lists = [("dtype", key) for key in ("in", "out", "acc", "weight")]
        lists += [("layout", key) for key in ("order", "pack", "trans")] + [("epilogue", "activation")]
        found += [finding("KI03", "%s/%s/%s" % (at, *path)) for path in lists if kernel.get(path[0], {}).get(path[1]) == []]
        for role, asked in kernel.get("shape", {}).items():
            top = asked.get("max") or MOST
            step = asked.get("multiple", 1)
            if top // step * step < asked.get("min", 1):
                found.append(finding("KI03", child(at + "/shape", role)))
        epilogue = kernel.get("epilogue", {})
        if epilogue.get("allow") is not None and set(epilogue.get("require", [])) - set(epilogue["allow"]):
            found.append(finding("KI03", at + "/epilogue/require"))
    return found


# ---- Warnings: KW ---------------------------------------------------------------------------------------------------


def words(kernel):
    """The words of a kernel, as tuples of classes."""
    found = {()}
    for stage in kernel["stages"]:
        longer = {word + (stage["class"],) for word in found}
        found = longer | found if stage.get("optional") else longer
    return found - {()}


def unreachable(kernel):
    cores = [stage["core"] for stage in kernel["stages"] if not stage.get("optional") and stage.get("core")]
    tops = [at for at, core in enumerate(cores) if core in ("gemm", "attn", "opaque")]
    return bool(tops) and any(core != "ew" for core in cores[tops[0] + 1 :])


def dominated(b, a):
    def at(kernel, row, sub):
        return kernel.get(row, {}).get(sub)

    def narrower(row, sub):
        wide, narrow = at(a, row, sub), at(b, row, sub)
        return wide is None or (narrow is not None and set(narrow) <= set(wide))

    def role(name, wide):
        narrow = b.get("shape", {}).get(name)
        return (
            narrow is not None
            and narrow.get("min", 1) >= wide.get("min", 1)
            and (wide.get("max") is None or (narrow.get("max") is not None and narrow["max"] <= wide["max"]))
            and narrow.get("multiple", 1) % wide.get("multiple", 1) == 0
        )

    def divides(sub):
        wide, narrow = at(a, "requirements", sub), at(b, "requirements", sub)
        return wide is None or (narrow is not None and narrow % wide == 0)

    def same(x, y):
        chain = [None if s.get("chain") is None else set(s["chain"]) for s in (x, y)]
        return (
            (x["class"], x.get("core"), x.get("rounds", True)) == (y["class"], y.get("core"), y.get("rounds", True))
            and chain[0] == chain[1]
            and all(x.get(key) or not y.get(key) for key in ("optional", "out"))
        )

    terms = any(kernel["cost"].get(part) for kernel in (a, b) for part in ("bytes", "flops"))
    costs = [(rational(kernel["cost"].get("fixed", "0")), kernel["id"].encode()) for kernel in (a, b)]
    return (
        not terms
        and costs[0] < costs[1]
        and len(a["stages"]) == len(b["stages"])
        and all(same(x, y) for x, y in zip(a["stages"], b["stages"]))
        and all(role(name, wide) for name, wide in a.get("shape", {}).items())
        and all(narrower("dtype", sub) for sub in ("in", "out", "acc", "weight"))
        and all(narrower("layout", sub) for sub in ("order", "pack", "trans"))
        and narrower("epilogue", "allow")
        and narrower("epilogue", "activation")
        and set(at(a, "epilogue", "require") or []) <= set(at(b, "epilogue", "require") or [])
        and set(b.get("effects", [])) <= set(a.get("effects", []))
        and divides("align")
        and divides("vector")
    )


def warn(index, before):
    found = []
    kernels = index["kernels"]
    for i, kernel in enumerate(kernels):
        at = "%s/kernels/%d" % (before, i)
        if unreachable(kernel):
            found.append(finding("KW01", at, severity="warning"))
        if any(dominated(kernel, other) for other in kernels):
            found.append(finding("KW02", at, severity="warning"))
    if all(len(kernel["stages"]) < 16 for kernel in kernels):
        whole = set(chained.from_iterable(map(words, kernels)))
        starts = {word[:size] for word in whole for size in range(1, len(word))}
        if starts - whole:
            found.append(finding("KW03", before + "/kernels", severity="warning"))
        seen = set()
        for i, kernel in enumerate(kernels):
            for j, stage in enumerate(kernel["stages"]):
                if stage["class"] not in seen and (stage["class"],) not in whole:
                    found.append(finding("KW04", "%s/kernels/%d/stages/%d" % (before, i, j), severity="warning"))
                seen.add(stage["class"])
    return found
