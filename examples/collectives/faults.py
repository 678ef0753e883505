"""Faults: what the cases and the checker find of checkers, simulators and algorithms that are wrong in one place.

    python3 faults.py            every fault with the number of cases, or of systems, that reject it

A fault is an edit of a source beside this file. A checker or simulator is played all cases of the profile; an algorithm is recorded
on some systems and judged. Exit code 1: a fault is rejected by fewer than three, or what is right is rejected.
"""

import contextlib
import io
import json
import sys
import types
from argparse import Namespace
from pathlib import Path

HERE = Path(__file__).resolve().parent
CORPUS = HERE.parent.parent / "corpus"
REQUIRED = 3

# Name, file, what stands there, what stands there instead.
CHECKERS = [
    ("capacity-one-more", "checker", "if len(ways[op[3]]) >= max(", "if len(ways[op[3]]) > max("),
    ("infinite-queues", "checker", "if len(ways[op[3]]) >= max(capacity, queues[op[3]][\"capacity\"]):", "if False:"),
    ("leftovers-ignored", "checker", "if len(sent) > len(received):", "if False:"),
    ("lost-receives-ignored", "checker", "if len(received) > len(sent):", "if False:"),
    ("contributions-as-a-set", "checker", "any(times > 1 for times in given.values())", "False"),
    ("foreign-ignored", "checker", '("CT04", once - asked)', '("CT04", False)'),
    ("missing-ignored", "checker", '("CT02", asked - once)', '("CT02", False)'),
    ("operands-in-order", "checker", "dtype, min(a, b), max(a, b))", "dtype, a, b)"),
    ("all-trees-alike", "checker", "!= tree and document", "is None and document"),
    ("bits-as-contributions", "checker", 'first.setdefault((number, position), tree) != tree', 'trees.contributions(first.setdefault((number, position), tree)) != trees.contributions(tree)'),
    ("per-element-is-identical", "checker", '.get("bits", "identical") == "identical"', '.get("bits") is not None'),
    ("casts-are-trees", "checker", 'if node[0] == "f32":\n            return node[1]', 'if False:\n            return node[1]'),
    ("first-element-only", "checker", "for participant, element in enumerate(members):", "for participant, element in enumerate(members[:1]):"),
    ("link-cubes-only", "checker", "        for participant, element in enumerate(members):", "        for participant, element in enumerate(members):\n            if element % network.cubes != network.link:\n                continue"),
    ("stale-unnoticed", "checker", 'rules = {"CT05"}', "pass"),
    ("unwritten-is-missing", "checker", 'rules = {"CT01"}', "pass"),
    ("blocks-rounded-up", "checker", "range(j * n_elem // q, (j + 1) * n_elem // q)", "range(j * -(-n_elem // q), min(n_elem, (j + 1) * -(-n_elem // q)))"),
    ("root-is-an-element", "checker", "root = root * network.cubes + network.link if over_elements", "root = root if over_elements"),
    ("shape-without-dtype", "checker", "if sent != shape]", "if sent[0] != shape[0]]"),
    ("dtype-without-shape", "checker", "if sent != shape]", "if sent[1] != shape[1]]"),
    ("slot-in-numbers", "checker", "shape[0] * BYTES[shape[1]] > slot", "shape[0] > slot"),
    ("scratch-is-zero", "checker", "if ok and any(p not in self.stored", "if False and any(p not in self.stored"),
    ("scratch-wherever", "checker", 'everything = self.document["n_elem"] + self.document.get("scratch", 0)', "everything = 2**31"),
    ("negative-addresses", "checker", "if first < 0 or first + length", "if first + length"),
    ("empty-handles", "checker", "if length < 1:", "if length < 0:"),
    ("mixed-operands", "checker", "if one and other and one != other:", "if False:"),
    ("wide-stores", "checker", 'if shape[1] != "f16":', "if False:"),
    ("modulo-as-in-c", "checker", 'inner %= number["mod"]', 'inner = abs(inner) % number["mod"] * (1 if inner >= 0 else -1)'),
    ("loops-from-one", "checker", '{**variables, op["for"]: turn}', '{**variables, op["for"]: turn + 1}'),
    ("steps-ignored", "checker", "for element in range(first, last + 1, step):", "for element in range(first, last + 1):"),
    ("last-left-out", "checker", "for element in range(first, last + 1, step):", "for element in range(first, last, step):"),
    ("crossed-is-full", "checker", 'rule, more = "CD04"', 'rule, more = "CD03"'),
    ("slots-never-outlived", "checker", '>= self.queues[queue]["capacity"]:', ">= 10**9:"),
    ("last-in-first-out", "checker", "ways[op[3]].pop(0)", "ways[op[3]].pop()"),
    ("loads-see-the-beginning", "checker", "            memory.update(enumerate(held[op[2]], op[3]))", "            self.later = getattr(self, 'later', []) + [(memory, held[op[2]], op[3])]"),
    ("wide-sums", "checker", "[rounded(decoded(a, op[5]) + decoded(b, op[5]), op[5])", "[rounded(int((decoded(a, op[5]) + decoded(b, op[5])) * 1024) / 1024 if abs(decoded(a, op[5])) < 1e4 and abs(decoded(b, op[5])) < 1e4 else decoded(a, op[5]) + decoded(b, op[5]), op[5])"),
    ("rounded-to-zero", "checker", 'return int.from_bytes(packed, "little")', 'bits = int.from_bytes(packed, "little")\n    return bits - (dtype == "f16" and abs(decoded(bits, dtype)) > abs(number) and bits & 0x7FFF > 0)'),
    ("subnormals-flushed", "checker", 'return int.from_bytes(packed, "little")', 'return 0 if dtype == "f16" and 0 < abs(number) < 2**-14 else int.from_bytes(packed, "little")'),
    ("overflow-saturates", "checker", "math.copysign(math.inf, number)", "math.copysign(65504.0 if dtype == 'f16' else math.inf, number)"),
    ("no-minus-zero", "checker", 'return int.from_bytes(packed, "little")', 'return int.from_bytes(packed, "little") & (0xFFFFFFFF if number else 0)'),
    ("nan-as-it-comes", "checker", 'return 0x7E00 if dtype == "f16"', 'return 0xFE00 if dtype == "f16"'),
    ("south-is-up", "algorithms", 'direction[-1] in "ES"', 'direction[-1] in "EN"'),
    ("ranks-by-column", "algorithms", "along, extent = ([rank % self.w, rank // self.w]", "along, extent = ([rank // self.h, rank % self.h]"),
    ("mesh-wraps", "algorithms", 'if self.kind == "mesh_2d_no_wrap":', "if False:"),
    ("torus-does-not-wrap", "algorithms", 'if self.kind == "mesh_2d_no_wrap":', 'if self.kind != "ring_1d":'),
    ("opposite-not-taken", "algorithms", "return (other, OPPOSITE[direction]), element", "return (other, direction), element"),
    ("link-is-the-first-cube", "algorithms", "self.cube_h // 2 * self.cube_w + self.cube_w // 2", "0"),
    ("cubes-by-column", "algorithms", "column = cube % self.cube_w + step", "column = cube // self.cube_h + step"),
    ("queue-to-itself", "algorithms", "elif extent[axis] == 1:\n            return None", "elif False:\n            return None"),
    ("default-capacity-1", "algorithms", 'self.capacity = top.get("capacity", 4)', 'self.capacity = top.get("capacity", 1)'),
]

# Name, module, what stands there, what stands there instead.
ALGORITHMS = [
    ("one-round-too-few", "published", "for _ in range(extent - 1):", "for _ in range(extent - 2):"),
    ("one-round-too-many", "published", "for _ in range(extent - 1):", "for _ in range(extent):"),
    ("forwards-the-sum", "published", "tl.send(dir=to, src=passing)", "tl.send(dir=to, src=acc)"),
    ("receives-where-it-sends", "published", "passing = tl.recv(dir=back,", "passing = tl.recv(dir=to,"),
    ("ring-code-on-every-kind", "published", "        elif sip_topo_kind == SIP_TOPO_TORUS:", "        elif sip_topo_kind == 9:"),
    ("ring-kernel-for-meshes", "published", "if sip_topo_kind == SIP_TOPO_RING:", "if sip_topo_kind != SIP_TOPO_TORUS:"),
    ("does-not-add-the-upper-arm", "published", "acc = take(up) if to + 1 < extent else acc", "to + 1 < extent and take(up)"),
    ("arm-sends-its-own", "published", "acc = take(down) if place > 0 else acc\n        tl.send(dir=up, src=acc)", "own = acc\n        acc = take(down) if place > 0 else acc\n        tl.send(dir=up, src=own)"),
    ("does-not-store", "published", "tl.store(pe_addr, acc)", "pass"),
    ("stores-at-the-root-alone", "published", "    tl.store(pe_addr, acc)", "    if (row, col) == (root_row, root_col):\n        tl.store(pe_addr, acc)"),
    ("root-does-not-store", "published", "    tl.store(pe_addr, acc)", "    if (row, col) != (root_row, root_col):\n        tl.store(pe_addr, acc)"),
    ("stores-what-it-had", "published", "    tl.store(pe_addr, acc)", "    tl.store(pe_addr, tl.load(pe_addr, shape=(n_elem,), dtype=\"f16\"))"),
    ("address-in-numbers", "published", "cube_id * n_elem * 2", "cube_id * n_elem"),
    ("tail-not-summed", "published", "acc = tl.load(pe_addr, shape=(n_elem,), dtype=\"f16\")", "n_elem -= 1\n    acc = tl.load(pe_addr, shape=(n_elem,), dtype=\"f16\")"),
    ("rows-and-columns-swapped", "published", "row, col = divmod(cube_id, cube_w)", "col, row = divmod(cube_id, cube_h)"),
    ("root-one-further", "published", "cube_h // 2, cube_w // 2", "(cube_h + 1) // 2, (cube_w + 1) // 2"),
    ("single-cube-sends", "published", "    if not single_cube:\n        acc = _gather", "    if True:\n        tl.send(dir=\"E\", src=acc)\n        acc = _gather"),
    ("receives-first", "published", "tl.send(dir=to, src=passing)\n        passing = tl.recv(dir=back, shape=(n,), dtype=\"f16\")", "old = passing\n        passing = tl.recv(dir=back, shape=(n,), dtype=\"f16\")\n        tl.send(dir=to, src=old)"),
    ("does-not-spread-down", "published", "if 0 < place <= root:", "if False:"),
    ("unknown-direction", "published", '"global_S", "global_N"', '"global_D", "global_U"'),
    ("forgets-an-argument", "published", "return (n_elem, cube_w, cube_h, world_size)", "return (n_elem, cube_w, cube_h)"),
    ("adds-by-chance", "published", "    single_cube =", "    import random\n    acc = acc + acc if random.random() < 0.5 else acc\n    single_cube ="),
    ("keeps-state", "published", "    single_cube =", "    TOPO_NAME_TO_KIND[len(TOPO_NAME_TO_KIND)] = 0\n    acc = acc + acc if len(TOPO_NAME_TO_KIND) % 3 else acc\n    single_cube ="),
    ("yields", "published", "    tl.store(pe_addr, acc)", "    tl.store(pe_addr, acc)\n    yield"),
    ("is-asynchronous", "published", "def my_allreduce(", "async def my_allreduce("),
    ("multiplies", "published", "return acc + tl.recv", "return acc * tl.recv"),
    ("line-without-way-back", "published", "return _spread(tl, acc, n, place, extent, extent - 1, up, down)", "return acc"),
]

# Right, and different: rejected by nothing.
RIGHT = [
    ("as-it-is", "published", "", ""),
    ("around-the-other-way", "published", 'n_sips, "global_E", "global_W")', 'n_sips, "global_W", "global_E")'),
    ("operands-swapped", "published", "acc = acc + passing", "acc = passing + acc"),
    ("upper-arm-first", "published", "acc = take(down) if to > 0 else acc\n        acc = take(up) if to + 1 < extent else acc", "acc = take(up) if to + 1 < extent else acc\n        acc = take(down) if to > 0 else acc"),
    ("columns-first", "published", "            acc = _ring(tl, acc, n_elem, sip_topo_w, \"global_E\", \"global_W\")\n            acc = _ring(tl, acc, n_elem, sip_topo_h, \"global_S\", \"global_N\")", "            acc = _ring(tl, acc, n_elem, sip_topo_h, \"global_S\", \"global_N\")\n            acc = _ring(tl, acc, n_elem, sip_topo_w, \"global_E\", \"global_W\")"),
    ("stored-twice", "published", "    tl.store(pe_addr, acc)", "    tl.store(pe_addr, acc)\n    tl.store(pe_addr, acc)"),
]

RING, TORUS, MESH = "ring_1d", "torus_2d", "mesh_2d_no_wrap"
SYSTEMS = [
    (RING, 2, 1, 1, 1), (RING, 3, 1, 1, 1), (RING, 4, 1, 2, 3), (RING, 5, 1, 4, 4), (RING, 3, 1, 3, 2),
    (TORUS, 3, 2, 1, 1), (TORUS, 3, 3, 2, 3), (TORUS, 1, 4, 3, 3), (TORUS, 4, 3, 3, 2),
    (MESH, 3, 2, 1, 1), (MESH, 2, 3, 3, 2), (MESH, 1, 3, 2, 3), (MESH, 4, 4, 4, 4),
]  # fmt: skip


def edited(name, file, old, new):
    source = (HERE / file).read_text()
    if source.count(old) < 1:
        sys.exit("fault `%s`: %s has nothing to edit" % (name, file))
    return source.replace(old, new, 1) if old else source


def module(name, source, file):
    made = types.ModuleType(name)
    made.__file__ = str(file)
    sys.modules[name] = made
    exec(compile(source, str(file), "exec"), made.__dict__)
    return made


def judge_with(name="", file="", old="", new=""):
    """The worker's function that judges, made of sources of which one may be edited."""
    for each in ("algorithms", "checker", "adapter"):
        source = edited(name, each + ".py", old, new) if each == file else (HERE / (each + ".py")).read_text()
        made = module(each, source, HERE / (each + ".py"))
    return made.respond


def documents(patched):
    for path in sorted(CORPUS.glob("cases/**/*.json")):
        text = path.read_text()
        if '"collectives"' not in text:
            continue
        case = json.loads(text)
        # What modules do is judged by the runner.
        if case["profiles"] != ["collectives"] or "contract" in case["expect"]:
            continue
        given = case["document"]
        if "text" in given:
            yield case, given["text"]
        else:
            base = json.loads((CORPUS / given["base"]).read_text())
            yield case, json.dumps(patched(base, given.get("edit", [])))


def patched(document, operations):
    """RFC 6902, as far as cases use it."""
    for operation in operations:

        def parent(pointer):
            *path, last = [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]
            at = document
            for part in path:
                at = at[int(part)] if isinstance(at, list) else at[part]
            key = last if isinstance(at, dict) else len(at) if last == "-" else int(last)
            return at, key

        value = operation.get("value")
        if operation["op"] == "move":
            at, key = parent(operation["from"])
            value = at.pop(key)
        at, key = parent(operation["path"])
        if operation["op"] == "remove":
            at.pop(key)
        elif operation["op"] != "replace" and isinstance(at, list):
            at.insert(key, value)
        else:
            at[key] = value
    return document


def right(case, answer):
    """Whether an answer is the one that the case declares."""
    expect = case["expect"]
    rules = {each["rule"] for each in answer.get("diagnostics", []) if each["severity"] == "error"}
    warned = {each["rule"] for each in answer.get("diagnostics", []) if each["severity"] == "warning"}
    if answer["outcome"] == "reject":
        return expect["verdict"] != "accept" and bool(rules) and rules <= set(expect["rules"])
    if expect["verdict"] == "reject" or ("warnings" in expect and set(expect["warnings"]) != warned):
        return False
    return "document" not in expect or json.loads(answer.get("document", "null")) == expect["document"]


def failed(respond, cases):
    count = 0
    for case, text in cases:
        request = {"id": 1, "profile": "collectives", "method": case["method"], "document": text}
        try:
            count += not right(case, respond(request))
        except Exception:  # noqa: BLE001, a fault may lead anywhere
            count += 1
    return count


def rejected_systems(name, file, old, new):
    """On how many systems an algorithm is refused or rejected."""
    sys.modules.pop("published", None)
    respond, count = judge_with(), 0
    record = module("record", (HERE / "record.py").read_text(), HERE / "record.py")
    for kind, w, h, cube_w, cube_h in SYSTEMS:
        options = Namespace(
            topology=kind, ranks=w * h, w=w, h=h, cube_w=cube_w, cube_h=cube_h, capacity=1, n_elem=5,
            collective="all_reduce", over="elements", root=0, bits="per_element",
        )  # fmt: skip
        elements = range(options.ranks * cube_w * cube_h)
        source = edited(name, "modules/%s.py" % file, old, new)
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                runs = []
                for order in (elements, reversed(elements)):
                    algorithm = module(file, source, HERE / "modules" / (file + ".py"))
                    runs.append({element: record.record(algorithm, options, element) for element in order})
            if runs[0] != runs[1]:
                raise record.Refused("other operations the second time")
            text = json.dumps(record.document(options, [runs[0][element] for element in elements]))
        except Exception:  # noqa: BLE001, a module may raise anything
            count += 1
            continue
        answer = respond({"id": 1, "profile": "collectives", "method": "validate", "document": text})
        count += answer["outcome"] == "reject"
    return count


def main():
    cases = list(documents(patched))
    bad = []
    print("%d cases, %d systems" % (len(cases), len(SYSTEMS)))
    if not cases or failed(judge_with(), cases):
        sys.exit("the checker without a fault is rejected")
    for fault in CHECKERS:
        count = failed(judge_with(*fault), cases)
        print("| `%s` | %d |" % (fault[0], count), flush=True)
        bad += [fault[0]] * (count < REQUIRED)
    for fault in ALGORITHMS:
        count = rejected_systems(*fault)
        print("| `%s` | %d |" % (fault[0], count), flush=True)
        bad += [fault[0]] * (count < REQUIRED)
    for variant in RIGHT:
        count = rejected_systems(*variant)
        print("| `%s` | %d |" % (variant[0], count), flush=True)
        bad += [variant[0]] * (count > 0)
    print("%d faults; to be looked at: %s" % (len(CHECKERS) + len(ALGORITHMS), ", ".join(bad) or "none"))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
