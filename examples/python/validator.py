"""A small reader and validator of AMK IR programs: the structure rules (S), and those about waits.

It knows nothing of the worker protocol; adapter.py wraps it. Headings name the rules of spec/rules that a part judges.
"""

import json
import re
from collections import defaultdict

RULES = ["S%02d" % n for n in range(1, 23)] + ["D01", "D02", "D03", "D04", "D07", "R01"]


class Rejected(Exception):
    """Raised where nothing more can be judged, with the diagnostics so far."""

    def __init__(self, diagnostics):
        super().__init__(diagnostics)
        self.diagnostics = diagnostics


def diagnostic(rule, pointer, message, **more):
    return {"rule": rule, "severity": "error", "message": message, "pointer": pointer, **more}


def child(pointer, name):
    """JSON pointer of a member or an element (RFC 6901)."""
    return pointer + "/" + str(name).replace("~", "~0").replace("/", "~1")


# ---- Text: S01, S02 -------------------------------------------------------------------------------------------------


def parse(data):
    """The JSON value of the bytes. Python's reader is more lenient than FMT-01; the hooks make up for it."""
    repeated = []

    def members(pairs):
        found = dict(pairs)
        if len(found) < len(pairs):
            names = [name for name, _ in pairs]
            repeated.extend(sorted({name for name in names if names.count(name) > 1}))
        return found

    def integer(text):
        if len(text) > 310:
            raise ValueError("a number of %d digits is beyond binary64" % len(text))
        return int(text)

    def real(text):
        value = float(text)
        if value in (float("inf"), float("-inf")):
            raise ValueError("number %s is beyond binary64" % text)
        return value

    def constant(text):
        raise ValueError("%s is not JSON" % text)

    try:
        value = json.loads(
            data.decode("utf-8"),
            object_pairs_hook=members,
            parse_int=integer,
            parse_float=real,
            parse_constant=constant,
        )
        # A lone surrogate, written as an escape, is no character: it cannot be encoded again.
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except ValueError as error:  # UnicodeDecodeError and JSONDecodeError are ValueErrors
        place = {"line": error.lineno, "column": error.colno} if isinstance(error, json.JSONDecodeError) else {}
        raise Rejected([diagnostic("S01", "", str(error), **place)]) from None
    if repeated:
        raise Rejected([diagnostic("S02", "", "member `%s` occurs twice in one object" % name) for name in repeated])
    return value


# ---- Versions: S06, S07 ---------------------------------------------------------------------------------------------

VERSION = re.compile(r"(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)(\.(0|[1-9][0-9]*))?")


def versions(document):
    found = []
    for rule, name in (("S06", "ir_version"), ("S07", "abi_version")):
        text = document.get(name) if isinstance(document, dict) else None
        if isinstance(text, str):
            match = VERSION.fullmatch(text)
            if not match or match.group(1) != "0":
                found.append(diagnostic(rule, "/" + name, "version `%s`, required 0.MINOR or 0.MINOR.PATCH" % text))
    return found


# ---- Members: S03, S04, S05, and S16 for a threshold that is no integer ---------------------------------------------
#
# A type is a function of a value, its pointer and the list of diagnostics. It returns the value with all defaults filled
# in and its members in canonical order; what it returns for a wrong value does not matter: the document is rejected.

REQUIRED = object()
ABSENT = object()
INT64 = range(-(2**63), 2**63)


def is_integer(value):
    return isinstance(value, int) and not isinstance(value, bool)  # in Python, True is an integer


def plain(test, what):
    def read(value, at, found):
        if not test(value):
            found.append(diagnostic("S04", at, "%s, required %s" % (type(value).__name__, what)))
        return value

    return read


TEXT = plain(lambda v: isinstance(v, str), "a string")
FLAG = plain(lambda v: isinstance(v, bool), "a boolean")
OBJECT = plain(lambda v: isinstance(v, dict), "an object")
INTEGER = plain(lambda v: is_integer(v) and v in INT64, "an integer of 64 bits")
NUMBER = plain(lambda v: is_integer(v) or isinstance(v, float), "a number")


def threshold(value, at, found):
    if isinstance(value, float):
        found.append(diagnostic("S16", at, "threshold %r, required an integer" % value))
        return value
    return NUMBER(value, at, found)


def name(names):
    def read(value, at, found):
        if isinstance(value, str) and value not in names:
            found.append(diagnostic("S05", at, "`%s` is none of %s" % (value, ", ".join(names))))
            return value
        return TEXT(value, at, found)

    return read


def nullable(kind):
    return lambda value, at, found: None if value is None else kind(value, at, found)


def array(kind):
    def read(value, at, found):
        if not isinstance(value, list):
            found.append(diagnostic("S04", at, "%s, required an array" % type(value).__name__))
            return []
        return [kind(item, child(at, n), found) for n, item in enumerate(value)]

    return read


def mapping(kind, ids=False):
    def read(value, at, found):
        if not isinstance(value, dict):
            return OBJECT(value, at, found)
        for key in value:
            if ids and not (re.fullmatch("0|[1-9][0-9]{0,18}", key) and int(key) in INT64):
                found.append(diagnostic("S04", child(at, key), "name `%s`, required an id in decimal" % key))
        return {key: kind(item, child(at, key), found) for key, item in value.items()}

    return read


def record(**members):
    """An object with known members: name=(type, default). Unknown members are kept, after the known ones."""

    def read(value, at, found):
        if not isinstance(value, dict):
            return OBJECT(value, at, found)
        result = {}
        for key, (kind, default) in members.items():
            if key in value:
                result[key] = kind(value[key], child(at, key), found)
            elif default is REQUIRED:
                found.append(diagnostic("S03", at, "no member `%s`" % key))
            elif default is not ABSENT:
                result[key] = default
        result.update((key, item) for key, item in value.items() if key not in members)
        return result

    return read


def strategy(value, at, found):
    if isinstance(value, dict):
        return mapping(INTEGER, ids=True)(value, at, found)
    return name(["round_robin", "load_balance"])(value, at, found)


SPACE = name(["HBM", "GLOBAL_SCRATCH", "SMEM", "REGISTER"])
READ_ONLY = ("WEIGHT", "CONST", "IO_INPUT")
BITS = {"F32": 32, "F16": 16, "BF16": 16, "F8E4M3": 8, "F8E5M2": 8, "I32": 32, "I8": 8, "I4": 4, "U8": 8, "BOOL": 8}
# opcode: fewest inputs, most inputs, outputs, required parameters
OPCODES = {
    # opcodes: rows, generated by `cargo xtask codegen`
    "NOP": (0, 0, 0, ""),
    "COPY": (1, 1, 1, ""),
    "EMBED": (2, 2, 1, "hidden"),
    "RMSNORM": (2, 2, 1, "eps hidden"),
    "LAYERNORM": (2, 3, 1, "eps hidden"),
    "GEMV_TILE": (2, 3, 1, "K N_tile n_off"),
    "GEMM_TILE": (2, 3, 1, "K N_tile M_tile n_off"),
    "ATTENTION_TILE": (3, 4, 1, "head_dim kv_start kv_len scale n_heads n_kv_heads"),
    "ROPE": (2, 2, 1, "head_dim theta"),
    "SILU_MUL": (2, 2, 1, ""),
    "GELU": (1, 1, 1, ""),
    "ADD": (2, 2, 1, ""),
    "MUL": (1, 2, 1, ""),
    "DEQUANT": (2, 3, 1, "qdtype group"),
    "SOFTMAX": (1, 1, 1, ""),
    "ALLREDUCE_SHARD": (1, 8, 1, ""),
    "KV_APPEND": (2, 2, 1, "pos"),
    "SAMPLE_ARGMAX": (1, 1, 1, ""),
    "ATTENTION_COMBINE": (2, 8, 1, ""),
    # end of rows
}
BUFFER = record(
    id=(INTEGER, REQUIRED), name=(TEXT, REQUIRED),
    kind=(name(["WEIGHT", "ACTIVATION", "KV_CACHE", "IO_INPUT", "IO_OUTPUT", "CONST"]), REQUIRED),
    dtype=(name(list(BITS)), REQUIRED), shape=(array(INTEGER), REQUIRED),
    space=(SPACE, "HBM"), source=(nullable(TEXT), None))
COUNTER = record(id=(INTEGER, REQUIRED), init=(INTEGER, 0), note=(TEXT, ""))
WAIT = record(counter=(INTEGER, REQUIRED), threshold=(threshold, REQUIRED))
TASK = record(
    id=(INTEGER, REQUIRED), op=(name(list(OPCODES)), REQUIRED), inputs=(array(INTEGER), REQUIRED),
    outputs=(array(INTEGER), REQUIRED), out_counter=(INTEGER, REQUIRED), waits=(array(WAIT), []), params=(OBJECT, {}),
    sm=(nullable(INTEGER), None), est_bytes=(INTEGER, 0), est_flops=(INTEGER, 0), label=(TEXT, ""))
PAGE = record(
    id=(INTEGER, REQUIRED), space=(SPACE, REQUIRED), nbytes=(INTEGER, REQUIRED), live_start=(INTEGER, -1),
    live_end=(INTEGER, -1))
PAGES = record(buffer_to_page=(mapping(INTEGER, ids=True), REQUIRED), pages=(array(PAGE), REQUIRED))
TARGET_INTEGERS = ("sm_arch num_sms smem_bytes_per_sm smem_bytes_per_block_optin regs_per_sm max_threads_per_sm "
                   "max_regs_per_thread l2_bytes hbm_bytes").split()
TARGET = record(
    name=(TEXT, REQUIRED), **{key: (INTEGER, REQUIRED) for key in TARGET_INTEGERS},
    hbm_bandwidth_gbs=(NUMBER, REQUIRED), fp16_tflops=(NUMBER, REQUIRED), clock_ghz=(NUMBER, 0.0),
    supports_cooperative=(FLAG, True), wddm_tdr=(FLAG, False),
    measured_bw_gbs=(NUMBER, ABSENT), note=(TEXT, ""))
CONFIG = record(
    tiling=(mapping(mapping(INTEGER)), {}), fusion_grouping=(array(array(TEXT)), []),
    sm_assignment=(strategy, "load_balance"), pipelining_depth=(INTEGER, 2),
    page_allocation=(name(["linear", "graph_color", "none"]), "graph_color"),
    threads_per_block=(INTEGER, 256), smem_bytes_per_block=(INTEGER, 0))
PROGRAM = record(
    ir_version=(TEXT, REQUIRED), abi_version=(TEXT, REQUIRED), meta=(OBJECT, {}), target=(nullable(TARGET), None),
    buffers=(array(BUFFER), REQUIRED), counters=(array(COUNTER), REQUIRED), tasks=(array(TASK), REQUIRED),
    pages=(nullable(PAGES), None), config=(nullable(CONFIG), None))


# ---- Values and references: the other S rules -----------------------------------------------------------------------

AT_LEAST_1 = "K N M N_tile M_tile hidden vocab head_dim n_heads n_kv_heads group".split()
AT_LEAST_0 = "n_off m_off kv_start kv_len pos".split()
INTEGER_KEYS = AT_LEAST_1 + AT_LEAST_0 + ["qdtype", "flags", "dim"]
FLOAT_KEYS = ["eps", "scale", "theta"]
FLOAT_LIMIT = 2.0**128 - 2.0**103  # from here on, a number rounds to an infinite binary32
SMALLEST = 2.0**-150  # up to here, a number rounds to zero


def structure(program, found):
    def need(holds, rule, at, message):
        if not holds:
            found.append(diagnostic(rule, at, message))
        return holds

    buffers, counters, tasks = program["buffers"], program["counters"], program["tasks"]
    pages = program["pages"]["pages"] if program["pages"] else []
    for table, records in (("/buffers", buffers), ("/counters", counters), ("/tasks", tasks), ("/pages/pages", pages)):
        for n, item in enumerate(records):
            need(item["id"] == n, "S08", "%s/%d/id" % (table, n), "id %d at position %d" % (item["id"], n))
    produced = {output for task in tasks for output in task["outputs"]}
    for n, buffer in enumerate(buffers):
        at, elements = "/buffers/%d" % n, 1
        need(len(buffer["shape"]) <= 4, "S12", at + "/shape", "rank %d, required at most 4" % len(buffer["shape"]))
        for extent in buffer["shape"]:
            elements *= extent
        size = max(elements, -(-elements * BITS[buffer["dtype"]] // 8))
        fits = all(extent >= 1 for extent in buffer["shape"]) and size < 2**63
        required = "required extents of at least 1 and fewer than 2^63 elements and bytes"
        need(fits, "S20", at + "/shape", "shape %s, %s" % (buffer["shape"], required))
        in_hbm = buffer["kind"] == "ACTIVATION" or buffer["space"] == "HBM"
        need(in_hbm, "S21", at + "/space", "%s in %s, required HBM" % (buffer["kind"], buffer["space"]))
        need(buffer["kind"] != "IO_OUTPUT" or n in produced, "S19", at, "output `%s` has no producer" % buffer["name"])
    for n, counter in enumerate(counters):
        need(counter["init"] == 0, "S17", "/counters/%d/init" % n, "init %d, required 0" % counter["init"])
    for n, page in enumerate(pages):
        need(page["nbytes"] >= 1, "S22", "/pages/pages/%d/nbytes" % n, "size %d, required at least 1" % page["nbytes"])
    for n, task in enumerate(tasks):
        task_structure(program, "/tasks/%d" % n, task, found)
    for key, value in (program["target"] or {}).items():
        if key in TARGET_INTEGERS + ["hbm_bandwidth_gbs", "fp16_tflops", "clock_ghz", "measured_bw_gbs"]:
            least = 1 if key == "num_sms" else 0
            need(value >= least, "S22", "/target/" + key, "%s %r, required at least %d" % (key, value, least))
    if program["config"]:
        config = program["config"]
        need(config["pipelining_depth"] >= 0, "S22", "/config/pipelining_depth", "negative depth")
        for group, sizes in config["tiling"].items():
            for key, size in sizes.items():
                where = child(child("/config/tiling", group), key)
                need(size >= 1, "S22", where, "tile size %d, required at least 1" % size)
        if isinstance(config["sm_assignment"], dict):
            for key in config["sm_assignment"]:
                need(int(key) < len(tasks), "S09", child("/config/sm_assignment", key), "there is no task %s" % key)
    return found


def task_structure(program, at, task, found):
    def need(holds, rule, where, message):
        if not holds:
            found.append(diagnostic(rule, at + where, message))
        return holds

    buffers, counters = range(len(program["buffers"])), range(len(program["counters"]))
    fewest, most, outputs, required = OPCODES[task["op"]]
    required = required.split()
    if task["op"] in ("GEMV_TILE", "GEMM_TILE") and "qdtype" in task["params"]:
        fewest, most, required = 3, 4, required + ["group"]
    for key, limit, low, high in (("inputs", 8, fewest, most), ("outputs", 4, outputs, outputs), ("waits", 8, 0, 8)):
        count = len(task[key])
        repeated = key == "outputs" and len(set(task[key])) < count
        if need(count <= limit, "S12", "/" + key, "%d %s, required at most %d" % (count, key, limit)) and not repeated:
            message = "%s takes %d to %d %s, found %d" % (task["op"], low, high, key, count)
            need(low <= count <= high, "S11", "/" + key, message)
    for key in ("inputs", "outputs"):
        for n, buffer in enumerate(task[key]):
            where = "/%s/%d" % (key, n)
            known = need(buffer in buffers, "S09", where, "there is no buffer %d" % buffer)
            if key == "outputs":
                need(buffer not in task[key][:n], "S10", where, "buffer %d is listed twice" % buffer)
                kind = program["buffers"][buffer]["kind"] if known else None
                need(kind not in READ_ONLY, "S18", where, "buffer %d is a %s, which no task may write" % (buffer, kind))
    need(task["out_counter"] in counters, "S09", "/out_counter", "there is no counter %d" % task["out_counter"])
    for n, wait in enumerate(task["waits"]):
        where = "/waits/%d/" % n
        need(wait["counter"] in counters, "S09", where + "counter", "there is no counter %d" % wait["counter"])
        in_range = 1 <= wait["threshold"] < 2**32
        need(in_range, "S16", where + "threshold", "threshold %d, required 1 to 2^32 - 1" % wait["threshold"])
    for key in ("est_bytes", "est_flops"):
        need(task[key] >= 0, "S22", "/" + key, "%s %d, required at least 0" % (key, task[key]))
    for key in required:
        need(key in task["params"], "S13", "/params", "%s requires the parameter `%s`" % (task["op"], key))

    good = {}  # parameters with the right type and range
    for key, value in task["params"].items():
        where, number = child("/params", key), is_integer(value) or isinstance(value, float)
        if key in INTEGER_KEYS:
            typed = is_integer(value) and -(2**31) <= value < 2**31
        elif key in FLOAT_KEYS:
            typed = number and -FLOAT_LIMIT < value < FLOAT_LIMIT
        else:
            continue
        if need(typed, "S14", where, "%s is %r, required a number of 32 bits" % (key, value)) and need(
            in_parameter_range(key, value), "S15", where, "%s %r is out of range" % (key, value)
        ):
            good[key] = value
    if task["op"] == "ROPE" and "head_dim" in good:
        need(good["head_dim"] % 2 == 0, "S15", "/params/head_dim", "head_dim %d, required even" % good["head_dim"])
    if task["op"] == "ATTENTION_TILE":
        if "n_heads" in good and "n_kv_heads" in good:
            whole = good["n_heads"] % good["n_kv_heads"] == 0
            need(whole, "S15", "/params/n_heads", "n_heads is no multiple of n_kv_heads, %d" % good["n_kv_heads"])
        if "kv_len" in good and ("flags" in good or "flags" not in task["params"]):
            partial = good.get("flags", 0) & 2
            need(good["kv_len"] >= 1 or partial, "S15", "/params/kv_len", "empty window without PARTIAL_WRITE")


def in_parameter_range(key, value):
    if key in AT_LEAST_1:
        return value >= 1
    if key in AT_LEAST_0:
        return value >= 0
    special = {"qdtype": lambda: value in (6, 7), "flags": lambda: 0 <= value <= 3, "theta": lambda: value > SMALLEST,
               "eps": lambda: value >= -SMALLEST}
    return special.get(key, lambda: True)()


# ---- Deadlock and race, in part: D01, D02, D03, D04, D07, R01 -------------------------------------------------------


def waits(program, flaws=()):
    """Diagnostics about waits and assigned SMs. `flaw` plants a bug: see adapter.py."""
    found, tasks = [], program["tasks"]
    producers = defaultdict(list)
    for n, task in enumerate(tasks):
        producers[task["out_counter"]].append(n)
    for n, task in enumerate(tasks):
        for w, wait in enumerate(task["waits"]):
            at, counter, count = "/tasks/%d/waits/%d" % (n, w), wait["counter"], len(producers.get(wait["counter"], ()))
            message = "threshold %d on counter %d, which %d tasks increment" % (wait["threshold"], counter, count)
            rule = None
            if counter == task["out_counter"]:
                rule, message = "D03", "task %d waits on counter %d, which it increments itself" % (n, counter)
            elif count == 0:
                rule = "D01"
            elif wait["threshold"] > count:
                rule = "D02"
            elif wait["threshold"] < count and "first-k-of-n" not in flaws:
                rule, message = "R01", message + ": the wait does not say for which of them"
            if rule:
                found.append(diagnostic(rule, at, message, tasks=[n], counters=[counter]))
        beyond = program["target"] and task["sm"] is not None and task["sm"] >= program["target"]["num_sms"]
        if task["sm"] is not None and (task["sm"] < 0 or beyond):
            message = "sm %d is no SM of the target" % task["sm"]
            found.append(diagnostic("D07", "/tasks/%d/sm" % n, message, tasks=[n]))
    cycle = find_cycle(tasks, producers)
    if cycle:
        if "crash-on-cycle" in flaws:
            raise SystemExit("cannot order the tasks")
        steps = [{"task": n, "then": {"counter": tasks[n]["out_counter"]}} for n in cycle]
        found.append(diagnostic("D04", "/tasks/%d" % min(cycle), "tasks %s wait for each other" % sorted(cycle),
                                tasks=sorted(cycle), witness={"kind": "cycle", "steps": steps}))
    return found


def find_cycle(tasks, producers):
    """Tasks of which each has to come before the next, and the last before the first; None if there are none."""
    produced = [{w["counter"] for w in task["waits"] if w["counter"] in producers} for task in tasks]
    waiting = [counters - {task["out_counter"]} for counters, task in zip(produced, tasks)]
    consumers = defaultdict(list)
    for n, counters in enumerate(waiting):
        for counter in counters:
            consumers[counter].append(n)
    # Take away what can run. A counter is done when all its producers are, so no edge is looked at twice.
    open_counters = [len(counters) for counters in waiting]
    open_producers = {counter: len(of) for counter, of in producers.items()}
    ready = [n for n, count in enumerate(open_counters) if count == 0]
    done = set()
    while ready:
        n = ready.pop()
        done.add(n)
        counter = tasks[n]["out_counter"]
        open_producers[counter] -= 1
        if open_producers[counter] == 0:
            for consumer in consumers[counter]:
                open_counters[consumer] -= 1
                if open_counters[consumer] == 0:
                    ready.append(consumer)
    if len(done) == len(tasks):
        return None
    # Every task left waits for another one that is left: walk back until one comes again.
    n, path = next(n for n in range(len(tasks)) if n not in done), {}
    while n not in path:
        path[n] = len(path)
        n = next(p for c in sorted(waiting[n]) for p in producers[c] if p not in done)
    return list(path)[path[n]:][::-1]


def read_program(data):
    """The program with its defaults, in canonical order; raises Rejected if it breaks a structure rule."""
    document = parse(data)
    found = versions(document)
    program = None if found else PROGRAM(document, "", found)
    if found or structure(program, found):
        raise Rejected(found)
    return program
