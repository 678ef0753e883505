"""Faults: how many cases find that this selector is wrong in one place.

    python3 faults.py            every fault with the number of cases that reject it
    python3 faults.py NAME ..    these faults, and the cases

A fault is one edit of a source beside this file, or two. It is played all cases of the profile. Exit code 1: a fault is rejected by
fewer than three, or the selector without a fault is rejected.
"""

import base64
import json
import signal
import sys
import types
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "python"), str(HERE.parent / "schedule")]

from patches import patched  # noqa: E402

CORPUS = HERE.parent.parent / "corpus"
REQUIRED = 3
SECONDS = 10
SOURCES = ("documents", "rows", "selector", "adapter")
D, R, S, A = SOURCES

# Name, and edits: file, what stands there, what stands there instead.
FAULTS = [
    # Text and members
    ("texts-of-39", D, "len(text) <= 40", "len(text) <= 39"),
    ("texts-of-41", D, "len(text) <= 40", "len(text) <= 41"),
    ("digits-of-any-script", D, 'r"[0-9]+|[0-9]+\\.[0-9]+|[0-9]+/0*[1-9][0-9]*"', 'r"\\d+|\\d+\\.\\d+|\\d+/0*[1-9]\\d*"'),
    ("texts-begin-right", D, "RATIONAL.fullmatch(text)", 're.match(r"(%s)\\Z|(%s)\\n" % (RATIONAL.pattern, RATIONAL.pattern), text)', D, "Fraction(text) if", "Fraction(text.strip()) if"),
    ("numbers-in-binary64", D, "Fraction(text) if", "Fraction(float(Fraction(text))) if"),
    ("no-leading-zeros-below", D, "/0*[1-9]", "/[1-9]"),
    ("no-leading-zeros", D, 'r"[0-9]+|', 'r"0|[1-9][0-9]*|'),
    ("zero-costs-refused", D, "at, found, positive=False):", "at, found, positive=True):"),
    ("zero-machines", D, "found, positive=True)", "found)"),
    ("extents-one-more", D, "MOST = 2**31 - 1", "MOST = 2**31"),
    ("alignments-one-less", D, "ALIGNED = 2**32", "ALIGNED = 2**32 - 1"),
    ("positions-to-256", D, "within(position, 0, 255,", "within(position, 0, 256,"),
    ("positions-to-254", D, "within(position, 0, 255,", "within(position, 0, 254,"),
    ("positions-from-1", D, "within(position, 0, 255,", "within(position, 1, 255,"),
    ("vectors-to-4095", D, '"vector"), 1, 4096,', '"vector"), 1, 4095,'),
    ("beams-to-4095", D, "within((options or {}).get(key), 1, 4096,", "within((options or {}).get(key), 1, 4095,"),
    ("beams-unlimited", D, "within((options or {}).get(key), 1, 4096,", "within((options or {}).get(key), 1, 4096 if key == 'limit' else MOST,"),
    ("beams-from-0", D, "within((options or {}).get(key), 1, 4096,", "within((options or {}).get(key), 0, 4096,"),
    ("twice-side-by-side", D, "if entry in entries[:index]:", "if index and entry == entries[index - 1]:"),
    ("twice-in-any-case", D, "if entry in entries[:index]:", "if type(entry) is str and entry.lower() in [str(e).lower() for e in entries[:index]] or entry in entries[:index]:"),
    ("chains-may-repeat", D, '            once(stage.get("chain"), where, found)', "            pass"),
    ("operands-once", D, '        for row in ("flags", "reads", "writes"):', '        once(op["reads"], at + "/reads", found)\n        for row in ("flags", "reads", "writes"):'),
    ("kernel-effects-may-repeat", D, '        once(kernel.get("effects"), at + "/effects", found)', "        pass"),
    ("storages-may-repeat", D, 'for row in ("flags", "reads", "writes"):', 'for row in ("flags",):'),
    ("half-chain-without-in", D, '("in" in op.get("dtype", {})) != ("out" in op.get("dtype", {}))', '"in" in op.get("dtype", {}) and "out" not in op.get("dtype", {})'),
    ("flags-of-kernels-in-ops", D, "flags=array(name(OP_FLAGS))", "flags=array(name(FLAGS))"),
    ("flags-of-ops-in-kernels", D, "effects=array(name(FLAGS))", "effects=array(name(OP_FLAGS))"),
    ("shape-members-checked", D, "    shape=mapping(extent),", "    shape=record(m=extent, n=extent, k=extent),"),
    ("review-before-request", D, '    if "plan" in members:\n', '    if "plan" in members and "sequence" in members:\n'),
    ("request-needs-both", D, 'if "sequence" in members or "index" in members:', 'if "sequence" in members and "index" in members:'),
    ("index-first", D, '    if "plan" in members:\n', '    if "kernels" in members:\n        return "index", INDEX\n    if "plan" in members:\n'),
    # KQ
    ("own-values-read", D, "if writers.get(value, -1) >= i:", "if writers.get(value, -1) > i:"),
    ("writes-of-one-op", D, "            writers.setdefault(write[\"value\"], i)", "            writers[write[\"value\"]] = i", D, 'if write["value"] in writers:', 'if writers.get(write["value"]) == i:'),
    ("writes-of-two-ops", D, 'if write["value"] in writers:', 'if writers.get(write["value"], i) != i:'),
    ("readers-beside-forward-reads", D, '                found.append(finding("KQ01", "%s/ops/%d/reads/%d" % (before, i, j)))\n                wrong.add(value)', '                found.append(finding("KQ01", "%s/ops/%d/reads/%d" % (before, i, j)))'),
    ("readers-beside-double-writes", D, "writes/%d/value\" % (before, i, j)))\n                wrong.add(write[\"value\"])", "writes/%d/value\" % (before, i, j)))"),
    ("readers-in-any-order", D, 'write["readers"] != list(', 'sorted(write["readers"]) != list('),
    ("readers-as-a-set", D, 'write["readers"] != list(readers.get(write["value"], {}))', 'set(write["readers"]) != set(readers.get(write["value"], {}))'),
    ("readers-once-an-operand", D, "readers.setdefault(value, {})[i] = True", "readers.setdefault(value, {})[(i, j)] = True", D, 'list(readers.get(write["value"], {}))', '[one for one, _ in readers.get(write["value"], {})]'),
    ("readers-of-results-unjudged", D, 'if write["value"] not in wrong and', 'if not write.get("output") and write["value"] not in wrong and'),
    ("readers-of-unread-unjudged", D, 'if write["value"] not in wrong and', 'if write["value"] in readers and write["value"] not in wrong and'),
    ("readers-of-first-write-alone", D, 'if write["value"] not in wrong and', 'if j == 0 and write["value"] not in wrong and'),
    ("self-conflict-turned", D, 'needs["offered"] % needs["required"]', 'needs["required"] % needs["offered"]'),
    ("self-conflict-by-size", D, 'needs["offered"] % needs["required"]', 'needs["offered"] < needs["required"]'),
    # KI
    ("kernels-alike-side-by-side", D, '        ids.add(kernel["id"])', '        ids = {kernel["id"]}'),
    ("kernels-in-any-case", D, 'if kernel["id"] in ids:', 'if kernel["id"].lower() in ids:', D, 'ids.add(kernel["id"])', 'ids.add(kernel["id"].lower())'),
    ("ambiguous-at-the-beginning-alone", D, "for start in range(len(kernel[\"stages\"])):", "for start in range(1):"),
    ("ambiguous-past-required", D, "        if not stages[at].get(\"optional\"):\n            return", "        pass"),
    ("ambiguous-by-core-too", D, 'classes.add(kernel["stages"][stage]["class"])', 'classes.add(kernel["stages"][stage]["class"]) if not kernel["stages"][stage].get("core") else None'),
    ("any-multiple", D, "if top // step * step < asked.get(\"min\", 1):", "if top < asked.get(\"min\", 1):"),
    ("least-multiple-from-0", D, "if top // step * step < asked.get(\"min\", 1):", "if top // step * step < asked.get(\"min\", 0):"),
    ("no-largest-extent", D, 'top = asked.get("max") or MOST', 'top = asked.get("max") or 2**62'),
    ("allow-nothing-refused", D, '("epilogue", "activation")]\n', '("epilogue", "activation"), ("epilogue", "allow")]\n'),
    ("no-activation-refused-not", D, ' + [("epilogue", "activation")]', ""),
    ("require-beyond-default-allow", D, 'if epilogue.get("allow") is not None and set', 'if set', D, '- set(epilogue["allow"])', '- set(epilogue.get("allow") or [])'),
    # KW
    ("kw01-counts-optional", D, 'if not stage.get("optional") and stage.get("core")]', 'if stage.get("core")]'),
    ("kw01-side-by-side", D, "any(core != \"ew\" for core in cores[tops[0] + 1 :])", 'cores[tops[0] + 1 : tops[0] + 2] not in ([], ["ew"])'),
    ("kw01-of-products", D, "any(core != \"ew\" for core in cores[tops[0] + 1 :])", 'any(core in ("gemm", "attn", "opaque") for core in cores[tops[0] + 1 :])'),
    ("kw01-nothing-behind", D, "any(core != \"ew\" for core in cores[tops[0] + 1 :])", "any(cores[tops[0] + 1 :])"),
    ("kw02-min", D, 'and narrow.get("min", 1) >= wide.get("min", 1)', ""),
    ("kw02-max", D, 'and (wide.get("max") is None or (narrow.get("max") is not None and narrow["max"] <= wide["max"]))', ""),
    ("kw02-max-null", D, '(narrow.get("max") is not None and narrow["max"] <= wide["max"])', '(narrow.get("max") or 0) <= wide["max"]'),
    ("kw02-multiple", D, 'and narrow.get("multiple", 1) % wide.get("multiple", 1) == 0', ""),
    ("kw02-multiple-by-size", D, 'narrow.get("multiple", 1) % wide.get("multiple", 1) == 0', 'narrow.get("multiple", 1) >= wide.get("multiple", 1)'),
    ("kw02-roles-of-b", D, "narrow is not None\n", "True\n", D, 'narrow = b.get("shape", {}).get(name)', 'narrow = b.get("shape", {}).get(name, {})'),
    ("kw02-absent-is-all", D, "wide is None or (narrow is not None and set(narrow) <= set(wide))", "wide is None or narrow is None or set(narrow) <= set(wide)"),
    ("kw02-equal-arrays", D, "narrow is not None and set(narrow) <= set(wide)", "narrow is not None and set(narrow) == set(wide)"),
    ("kw02-dtypes", D, 'and all(narrower("dtype", sub) for sub in ("in", "out", "acc", "weight"))', 'and all(narrower("dtype", sub) for sub in ("in", "out"))'),
    ("kw02-layouts", D, 'and all(narrower("layout", sub) for sub in ("order", "pack", "trans"))', 'and narrower("layout", "order")'),
    ("kw02-allow", D, 'and narrower("epilogue", "allow")', ""),
    ("kw02-activation", D, 'and narrower("epilogue", "activation")', ""),
    ("kw02-require", D, 'and set(at(a, "epilogue", "require") or []) <= set(at(b, "epilogue", "require") or [])', ""),
    ("kw02-require-turned", D, 'set(at(a, "epilogue", "require") or []) <= set(at(b, "epilogue", "require") or [])', 'set(at(b, "epilogue", "require") or []) <= set(at(a, "epilogue", "require") or [])'),
    ("kw02-effects", D, 'and set(b.get("effects", [])) <= set(a.get("effects", []))', ""),
    ("kw02-effects-turned", D, 'set(b.get("effects", [])) <= set(a.get("effects", []))', 'set(a.get("effects", [])) <= set(b.get("effects", []))'),
    ("kw02-align", D, 'and divides("align")', ""),
    ("kw02-vector", D, '        and divides("vector")\n', ""),
    ("kw02-divides-by-size", D, "narrow % wide == 0)", "narrow >= wide)"),
    ("kw02-chains-in-order", D, "[None if s.get(\"chain\") is None else set(s[\"chain\"]) for s in (x, y)]", "[s.get(\"chain\") for s in (x, y)]"),
    ("kw02-no-chain-is-empty", D, "None if s.get(\"chain\") is None else set(s[\"chain\"])", "set(s.get(\"chain\") or [])"),
    ("kw02-rounds", D, '(x["class"], x.get("core"), x.get("rounds", True)) == (y["class"], y.get("core"), y.get("rounds", True))', '(x["class"], x.get("core")) == (y["class"], y.get("core"))'),
    ("kw02-cores", D, '(x["class"], x.get("core"), x.get("rounds", True)) == (y["class"], y.get("core"), y.get("rounds", True))', '(x["class"], x.get("rounds", True)) == (y["class"], y.get("rounds", True))'),
    ("kw02-optional-alike", D, "all(x.get(key) or not y.get(key) for key in", "all(bool(x.get(key)) == bool(y.get(key)) for key in"),
    ("kw02-optional", D, 'for key in ("optional", "out"))\n        )', 'for key in ("out",))\n        )'),
    ("kw02-out", D, 'for key in ("optional", "out"))\n        )', 'for key in ("optional",))\n        )'),
    ("kw02-terms", D, "not terms\n", "True\n"),
    ("kw02-terms-of-b", D, 'for kernel in (a, b) for part', "for kernel in (b,) for part"),
    ("kw02-ids-in-utf-16", D, 'kernel["id"].encode()) for kernel in (a, b)]', 'kernel["id"].encode("utf-16-be")) for kernel in (a, b)]'),
    ("kw02-ties-by-place", D, "any(dominated(kernel, other) for other in kernels)", "any(dominated(kernel, other) and (kernels.index(other) < i or rational(other['cost'].get('fixed', '0')) < rational(kernel['cost'].get('fixed', '0'))) for other in kernels)"),
    ("kw02-ties-unjudged", D, "and costs[0] < costs[1]\n", "and costs[0][0] < costs[1][0]\n"),
    ("kw03-optional-always", D, 'found = longer | found if stage.get("optional") else longer', "found = longer"),
    ("kw03-first-class-alone", D, "for size in range(1, len(word))}", "for size in range(1, min(2, len(word)))}"),
    ("kw03-within-a-kernel", D, "        if starts - whole:", "        if any({w[:n] for w in words(k) for n in range(1, len(w))} - words(k) for k in kernels):"),
    ("kw04-single-stages", D, '(stage["class"],) not in whole:', '(stage["class"],) not in {(k["stages"][0]["class"],) for k in kernels if len(k["stages"]) == 1}:'),
    ("kw04-first-stages", D, "for j, stage in enumerate(kernel[\"stages\"]):\n                if", "for j, stage in enumerate(kernel[\"stages\"][:1]):\n                if"),
    # Rows
    ("core-absent-is-ew", R, '    sub = {"core": sig.get("core"),', '    sub = {"core": sig.get("core", "ew"),'),
    ("core-of-the-op", R, '    return "norm+move"', "    return op"),
    ("core-norm-behind-both", R, 'if op in TOP or state in ("ew", op):', 'if op in TOP or state in ("ew", op) or state == "norm+move" and op == "norm":'),
    ("opaque-composes", R, "    if state in TOP:\n", '    if state == "opaque" and op in ("norm", "move"):\n        return state\n    if state in TOP:\n'),
    ("opaque-takes-nothing", R, '    if op == "ew":\n', '    if op == "ew" and state != "opaque":\n'),
    ("opaque-joins-nothing", R, "    if state in TOP:\n", '    if state in TOP or op == "opaque" and state != "ew":\n'),
    ("attn-behind-norm-and-move", R, "    if state in TOP:\n", '    if state in TOP or state == "norm+move" and op == "attn":\n'),
    ("linear-wins", R, "max(state, op)),  #", "min(state, op)),  #"),
    ("relu6-not-idempotent", R, '("relu", "relu6", "hardtanh")', '("relu", "hardtanh")'),
    ("hardtanh-not-idempotent", R, '("relu", "relu6", "hardtanh")', '("relu", "relu6")'),
    ("equal-activations", R, 'state == op and op in ("relu", "relu6", "hardtanh")', "state == op"),
    ("relu6-over-relu", R, "return state if state == op and", "return op if {state, op} == {'relu', 'relu6'} else state if state == op and"),
    ("scale-may-repeat", R, '("scale", twice("epilogue_repeat"))', '("scale", max)'),
    ("residual-may-repeat", R, '("residual", twice("epilogue_repeat"))', '("residual", max)'),
    ("chain-keeps-out", R, "return (state[0], op[1]) if", "return (state[0], state[1]) if"),
    ("chain-by-in", R, "if state[1] == op[0] else", "if state[0] == op[0] else"),
    ("chain-by-width", R, "if state[1] == op[0] else", "if state[1] == op[0] or {state[1], op[0]} == {'F16', 'BF16'} else"),
    ("chain-takes-new-in", R, "return (state[0], op[1]) if", "return (op[0], op[1]) if"),
    ("acc-e5m2-below-bf16", R, '"F8E5M2": ["F16", "F32"]', '"F8E5M2": ["F16", "BF16", "F32"]'),
    ("acc-i4-not-below-i32", R, '"I4": ["I8", "I32"]', '"I4": ["I8"]'),
    ("acc-i32-below-f32", R, '"I8": ["I32"]}', '"I8": ["I32", "F32"], "I32": ["F32"]}'),
    ("acc-the-later", R, "return both[0] if both else", "return op if both else"),
    ("acc-in-order-alone", R, "both = [dtype for dtype in upwards(state) if dtype in upwards(op)]", "both = [dtype for dtype in (state, op) if dtype in upwards(op) and dtype in upwards(state)]"),
    ("weights-widen", R, '("weight", same("dtype_mismatch"))', '("weight", accumulator)'),
    ("order-any-differs", R, 'None if layout.get("order") == "any" else layout.get("order")', 'layout.get("order")'),
    ("pack-any-is-absent", R, 'for key in ("pack", "trans"))', 'for key in ("pack", "trans") if layout.get(key) != "any")'),
    ("pack-once", R, '("pack", same("layout_mismatch"))', '("pack", twice("layout_mismatch"))'),
    ("trans-may-repeat", R, '("trans", twice("layout_mismatch"))', '("trans", same("layout_mismatch"))'),
    ("required-the-larger", R, "multiple = lcm(state, op)", "multiple = max(state, op)"),
    ("required-unlimited", R, "multiple if multiple <= ALIGNED else", "multiple if True else"),
    ("required-limit-excluded", R, "multiple if multiple <= ALIGNED else", "multiple if multiple < ALIGNED else"),
    ("offered-the-smaller", R, '("offered", gcd)', '("offered", min)'),
    ("offered-absent-is-1", R, 'result.get("offered", result["required"]) % result["required"]', 'result.get("offered", 1) % result["required"]'),
    ("requirements-never-conflict", R, '    if "required" in result and result.get(', '    if False and "required" in result and result.get('),
    ("required-fails-late", R, "    return multiple if multiple <= ALIGNED else fail(\"requirement_conflict\")", "    return min(multiple, 2**40)"),
    ("roles-are-symbols", R, 'shape.unite(node, ("symbol", value))', 'shape.unite(node, ("role", value)) if ("role", value) in shape.head else shape.unite(node, ("symbol", value))'),
    ("unknown-becomes-known", R, "Shape(self.head, self.extent, self.unknown | other.unknown)", "Shape(self.head, self.extent, {r for r in self.unknown if ('role', r) not in other.extent} | other.unknown)"),
    ("unknown-of-the-op-alone", R, "self.unknown | other.unknown)", "other.unknown)"),
    ("unknown-of-the-state-alone", R, "self.unknown | other.unknown)", "self.unknown)"),
    ("unknown-forgets-the-extent", R, "        return self.extent.get(self.find(node)) if node in self.head else None", "        return self.extent.get(self.find(node)) if node in self.head and role not in self.unknown else None"),
    ("unknown-spreads", R, "        return None if role in self.unknown else self.bound(role)", "        return None if any(self.find(('role', r)) == self.find(('role', role)) for r in self.unknown if ('role', role) in self.head) else self.bound(role)"),
    ("question-mark-is-a-symbol", R, '            if value == "?":\n                shape.unknown.add(role)\n            elif', '            if value == "?":\n                shape.unknown.add(role)\n                shape.unite(node, ("symbol", value))\n            elif'),
    ("classes-never-clash", R, "            if b in self.extent:\n                self.fix(a, self.extent.pop(b))", "            if b in self.extent:\n                self.extent.setdefault(a, self.extent.pop(b))"),
    ("classes-lose-extents", R, "            if b in self.extent:\n                self.fix(a, self.extent.pop(b))", "            pass"),
    ("symbols-of-one-op", R, "        for node in other.head:\n            shape.unite(other.find(node), node)", "        for node in other.head:\n            shape.unite(node, node) if node[0] == 'symbol' or other.find(node)[0] == 'symbol' and other.find(node) not in self.head else shape.unite(other.find(node), node)"),
    ("one-is-any-extent", R, "if self.extent.setdefault(self.find(node), extent) != extent:", "if self.extent.setdefault(self.find(node), extent) not in (extent, 1) and extent != 1:"),
    ("last-symbol-shown", R, 'min(symbols, key=str.encode, default="?")', 'max(symbols, key=str.encode, default="?")'),
    ("symbols-in-utf-16", R, 'min(symbols, key=str.encode, default="?")', 'min(symbols, key=lambda s: s.encode("utf-16-be"), default="?")'),
    ("first-symbol-shown", R, 'min(symbols, key=str.encode, default="?")', '(symbols or ["?"])[0]'),
    ("unknown-shown-by-symbol", R, '            if role in self.unknown:\n                shown[role] = "?"\n            else:', '            if role in self.unknown:\n                shown[role] = min(symbols, key=str.encode, default="?")\n            else:'),
    ("storages-written-twice", R, "        if self.writes & op.writes:\n            fail", "        if False:\n            fail"),
    ("conflict-when-read-too", R, "        if self.writes & op.writes:\n", "        if self.writes & op.writes and not self.writes & op.reads:\n"),
    ("conflict-is-overwrite", R, "        if self.writes & op.writes:\n            fail(\"effect_conflict\")\n        flags = self.flags | op.flags", '        flags = self.flags | op.flags | ({"overwrite"} if self.writes & op.writes else set())'),
    ("read-after-write-turned", R, "if self.writes & op.reads else", "if self.reads & op.writes else"),
    ("overwrite-turned", R, "if self.reads & op.writes else", "if self.writes & op.reads else"),
    ("either-or", R, 'flags |= {"overwrite"} if self.reads & op.writes else set()', 'flags |= {"overwrite"} if self.reads & op.writes and not self.writes & op.reads else set()'),
    ("own-business", R, 'sub["effects"] = Effects(*(effects.get(key, []) for key in ("flags", "reads", "writes")))', 'sub["effects"] = Effects(list(effects.get("flags", [])) + (["overwrite"] if set(effects.get("reads", [])) & set(effects.get("writes", [])) else []), effects.get("reads", []), effects.get("writes", []))'),
    ("effects-of-neighbours", R, "return Effects(flags, self.reads | op.reads, self.writes | op.writes)", "return Effects(flags, op.reads or self.reads, op.writes or self.writes)"),
    ("effects-unsorted", R, 'sorted(getattr(matrix["effects"], key), key=str.encode)', 'sorted(getattr(matrix["effects"], key), key=lambda s: s.encode("utf-16-be"))'),
    ("effects-in-any-case", R, 'sorted(getattr(matrix["effects"], key), key=str.encode)', 'sorted(getattr(matrix["effects"], key), key=lambda s: (s.lower(), s))'),
    ("empty-effects-shown", R, '{key: value for key, value in names.items() if value}', "names"),
    # Kernels
    ("cores-need-be-there", S, 'core_fits = stage.get("core") in (None, op["sig"].get("core"))', 'core_fits = stage.get("core") in (None, op["sig"].get("core")) and not (stage.get("core") is None and "core" in op["sig"])'),
    ("absent-core-fits", S, 'core_fits = stage.get("core") in (None, op["sig"].get("core"))', 'core_fits = op["sig"].get("core") is None or stage.get("core") in (None, op["sig"].get("core"))'),
    ("no-operands-is-any", S, 'stage.get("chain") is None or', 'not stage.get("chain") or'),
    ("chain-at-least", S, 'set(stage["chain"]) == written', 'set(stage["chain"]) <= written'),
    ("chain-at-most", S, 'set(stage["chain"]) == written', 'set(stage["chain"]) >= written'),
    ("chain-first-place-alone", S, "written = {position for position, value in enumerate(op[\"reads\"]) if self.values.get(value)}", "written = {position for position, value in enumerate(op[\"reads\"]) if self.values.get(value) and op['reads'].index(value) == position}"),
    ("chain-last-op-alone", S, "written = {position for position, value in enumerate(op[\"reads\"]) if self.values.get(value)}", "written = {position for position, value in enumerate(op[\"reads\"]) if value in [w['value'] for w in ops[at - 1]['writes']]}"),
    ("chain-what-is-read-too", S, "written = {position for position, value in enumerate(op[\"reads\"]) if self.values.get(value)}", "written = {position for position, value in enumerate(op[\"reads\"]) if value in self.values}"),
    ("first-stage-of-a-class", S, "core_fits and (stage", "core_fits and after < at and (stage", S, "for at in followers(self.stages, after + 1):", "for at in range(after + 1, len(self.stages)):"),
    ("min-excluded", S, 'if extent < asked.get("min", 1)', 'if extent <= asked.get("min", 0)'),
    ("max-excluded", S, "extent > top)", "extent >= top)"),
    ("multiple-from-min", S, 'extent % asked.get("multiple", 1)', '(extent - asked.get("min", asked.get("multiple", 1))) % asked.get("multiple", 1)'),
    ("max-null-is-0", S, "(top is not None and extent > top)", '(top is not None and extent > top) or ("max" in asked and top is None)'),
    ("weight-unasked", S, '            ("dtype", "weight", matrix.get("weight")),\n            ("layout", "order", matrix.get("order")),', '            ("layout", "order", matrix.get("order")),'),
    ("order-must-be-there", S, '            ("layout", "pack", matrix.get("pack")),\n            ("layout", "trans", matrix.get("trans")),\n            ("epilogue", "activation", matrix.get("activation", "none")),', '            ("layout", "order", matrix.get("order")),\n            ("layout", "pack", matrix.get("pack")),\n            ("layout", "trans", matrix.get("trans")),\n            ("epilogue", "activation", matrix.get("activation", "none")),'),
    ("pack-may-be-absent", S, '            ("layout", "pack", matrix.get("pack")),\n            ("layout", "trans", matrix.get("trans")),\n            ("epilogue", "activation", matrix.get("activation", "none")),', '            ("layout", "trans", matrix.get("trans")),\n            ("epilogue", "activation", matrix.get("activation", "none")),'),
    ("no-activation-fits", S, 'matrix.get("activation", "none")),\n        ):\n            allowed = self.ask(row, sub)\n            if allowed is not None and value not in allowed', 'matrix.get("activation")),\n        ):\n            allowed = self.ask(row, sub)\n            if allowed is not None and value not in allowed and (value, sub) != (None, "activation")'),
    ("no-activation-fits-nothing", S, 'matrix.get("activation", "none")),', 'matrix.get("activation")),'),
    ("acc-as-it-is", S, "not set(accs) & set(upwards(matrix[\"acc\"]))", 'matrix["acc"] not in accs'),
    ("out-as-viable", S, '            ("dtype", "weight", matrix.get("weight")),\n            ("layout", "order", matrix.get("order")),', '            ("dtype", "out", matrix.get("chain", (None, None))[1]),\n            ("dtype", "weight", matrix.get("weight")),\n            ("layout", "order", matrix.get("order")),'),
    ("allow-at-the-end", S, 'if allow is not None and any(flag in matrix and flag not in allow for flag in EPILOGUE):', 'if allow is not None and any(flag in matrix and flag not in allow for flag in EPILOGUE[:2]):'),
    ("allow-nothing-is-all", S, 'if allow is not None and any(flag', 'if allow and any(flag'),
    ("require-one", S, 'if any(flag not in matrix for flag in self.ask("epilogue", "require") or []):', 'if (self.ask("epilogue", "require") or []) and all(flag not in matrix for flag in self.ask("epilogue", "require")):'),
    ("effects-all-of-them", S, 'not matrix["effects"].flags <= self.effects', 'not matrix["effects"].flags & self.effects and matrix["effects"].flags'),
    ("align-divides", S, 'if offered % (self.ask("requirements", "align") or 1):', 'if (self.ask("requirements", "align") or 1) > offered:'),
    ("vector-in-bytes", S, "8 * offered % (vector", "offered % (vector"),
    ("vector-by-out", S, 'DTYPES[matrix["chain"][0]]', 'DTYPES[matrix["chain"][1]]'),
    ("vector-without-dtype", S, '        if "chain" not in matrix:\n            return unknown', '        if "chain" not in matrix:\n            return True'),
    ("vector-by-size", S, '8 * offered % (vector * DTYPES[matrix["chain"][0]]) == 0', '8 * offered >= vector * DTYPES[matrix["chain"][0]]'),
    ("vector-unasked-without-offer", S, "if not self.aligned(matrix, offered, False) or", 'if ("offered" in matrix and not self.aligned(matrix, offered, False)) or'),
    ("unaligned-while-it-grows", S, 'return "offered" not in matrix or self.aligned(matrix, matrix["offered"], True)', "return True"),
    ("offered-absent-while-it-grows", S, 'return "offered" not in matrix or self.aligned(matrix, matrix["offered"], True)', 'return self.aligned(matrix, matrix.get("offered", 1), True)'),
    ("required-without-offer", S, "or offered % matrix.get(\"required\", 1):", 'or "offered" in matrix and offered % matrix.get("required", 1):'),
    ("unknown-roles-do", S, "if any(shape.known(role) is None for role in", "if any(shape.bound(role) is None for role in"),
    ("symbols-do", S, "if any(shape.known(role) is None for role in", "if any(shape.known(role) is None and (role in shape.unknown or ('role', role) not in shape.head) for role in"),
    ("unknown-roles-cost", S, "extents = [shape.known(role) for role in term", "extents = [shape.bound(role) for role in term"),
    ("roles-counted-once", S, 'for role in term.get("dims", [])]', 'for role in dict.fromkeys(term.get("dims", []))]'),
    ("absent-roles-are-1", S, "extents = [shape.known(role) for role in term", "extents = [shape.known(role) if ('role', role) in shape.head else 1 for role in term"),
    ("bytes-and-flops-add-up", S, "self.fixed + max(total * price for", "self.fixed + sum(total * price for"),
    ("fixed-within", S, "self.fixed + max(total * price for total, price in zip(totals, self.prices))", "max(self.fixed, *(total * price for total, price in zip(totals, self.prices)))"),
    ("gigabytes-of-1024", S, "1000 / rational(machine", "Fraction(1024) / rational(machine"),
    ("costs-rounded-on-the-way", S, "self.prices = [1000 / rational(machine[\"gbs\"]), 1 / rational(machine[\"tflops\"])]", "self.prices = [Fraction(float(1000 / rational(machine[\"gbs\"]))), Fraction(float(1 / rational(machine[\"tflops\"])))]"),
    ("costs-in-whole-picoseconds", S, "return self.fixed + max(", "return self.fixed + 0 * Fraction(1) + (lambda x: Fraction(round(x * 1000), 1000))(max(", S, "zip(totals, self.prices))\n", "zip(totals, self.prices)))\n"),
    ("nothing-costs-nothing", S, "        if self.prices is None:\n            return None", "        if self.prices is None:\n            return None if any(totals) else self.fixed"),
    ("terms-without-machine", S, "        if self.prices is None:\n            return None", "        if self.prices is None:\n            return self.fixed"),
    ("terms-in-32-bits", S, "            totals.append(total)", "            totals.append(total % 2**32)"),
    ("terms-in-64-bits", S, "            totals.append(total)", "            totals.append(total % 2**64)"),
    # The walk
    ("barrier-behind-alone", S, "for i in (at, self.last)):", "for i in (self.last,)):"),
    ("barrier-ahead-alone", S, "for i in (at, self.last)):", "for i in (at,)):"),
    ("barrier-anywhere-behind", S, "for i in (at, self.last)):", "for i in range(max(0, self.anchor - 1), at + 1)):"),
    ("sync-before-barrier", S, '        if any("barrier" in ops[i].get("effects", {}).get("flags", []) for i in (at, self.last)):', '        if op.get("marker") is not None:\n            raise Stop("sync", None)\n        if any("barrier" in ops[i].get("effects", {}).get("flags", []) for i in (at, self.last)):'),
    ("limit-before-sync", S, '        if op.get("marker") is not None:\n            raise', '        if at - self.anchor >= self.task.limit:\n            raise Stop("limit", None)\n        if op.get("marker") is not None:\n            raise'),
    ("compose-before-limit", S, '        if at - self.anchor >= self.task.limit:\n            raise Stop("limit", None)\n        if not any', '        if not any'),
    ("join-marks-nothing", S, 'if op.get("marker") is not None:\n            raise', 'if op.get("marker") == "sync":\n            raise'),
    ("markers-after", S, 'if op.get("marker") is not None:\n            raise', 'if ops[self.last].get("marker") is not None:\n            raise'),
    ("limit-one-more", S, "at - self.anchor >= self.task.limit", "at - self.anchor > self.task.limit"),
    ("limit-63", S, 'options.get("limit", 64)', 'options.get("limit", 63)'),
    ("limit-65", S, 'options.get("limit", 64)', 'options.get("limit", 65)'),
    ("connected-by-writes-alone", S, 'if not any(value in self.values for value in op["reads"]):', 'if not any(self.values.get(value) for value in op["reads"]):'),
    ("connected-to-the-last", S, 'if not any(value in self.values for value in op["reads"]):', 'if not any(value in ops[self.last]["reads"] + [w["value"] for w in ops[self.last]["writes"]] for value in op["reads"]):'),
    ("connected-by-first-operand", S, 'if not any(value in self.values for value in op["reads"]):', 'if not any(value in self.values for value in op["reads"][:1]):'),
    ("writes-kept-in", S, 'return bool(op.get("effects", {}).get("writes")) or any(', "return any("),
    ("results-kept-in", S, 'write.get("output") or any(', "any("),
    ("readers-at-the-end-escape", S, "reader > self.last for reader", "reader >= self.last for reader"),
    ("next-reader-alone", S, "any(reader > self.last for reader in write[\"readers\"])", "any(reader > self.last for reader in write[\"readers\"][:1])"),
    ("unread-escapes", S, 'write.get("output") or any(', 'write.get("output") or not write["readers"] or any('),
    ("first-write-alone-escapes", S, 'for write in op["writes"]\n        )', 'for write in op["writes"][:1]\n        )'),
    ("the-rest-is-optional", S, 'if all(later.get("optional") for later in kernel.stages[stage + 1 :]) and', "if"),
    ("ties-by-place", S, "sorted(found, key=lambda pair: (pair[0], pair[1].encode()))", "sorted(found, key=lambda pair: pair[0])"),
    ("ties-in-utf-16", S, "(pair[0], pair[1].encode())", '(pair[0], pair[1].encode("utf-16-be"))'),
    ("ties-by-length", S, "(pair[0], pair[1].encode())", "(pair[0], len(pair[1]), pair[1].encode())"),
    ("ties-to-longer-kernels", S, "(pair[0], pair[1].encode())", "(pair[0], -len(next(k for k, *_ in self.race if k.id == pair[1]).stages), pair[1].encode())"),
    ("first-checkpoint", S, "checkpoint = (region, *complete[0]) if complete else checkpoint", "checkpoint = checkpoint or ((region, *complete[0]) if complete else None)"),
    ("cheapest-checkpoint", S, "checkpoint = (region, *complete[0]) if complete else checkpoint", "checkpoint = (region, *complete[0]) if complete and (checkpoint is None or complete[0][0] <= checkpoint[1]) else checkpoint"),
    ("last-extent-shown", S, "regions.append(best.closed(cost, kernel, trigger, reason))", "regions.append({**best.closed(cost, kernel, trigger, reason), 'attrs': region.show()})"),
    ("rewinds-without-reason", S, "regions.append(best.closed(cost, kernel, trigger, reason))", "regions.append(best.closed(cost, kernel, trigger, reason if best is region else None))"),
    ("stuck-at-the-end", S, "            if checkpoint is None:\n                raise NoPlan(at)", "            if checkpoint is None:\n                raise NoPlan(region.last)"),
    ("rewound-to-the-anchor", S, '"rewound": region.last - best.last', '"rewound": region.last - best.last + (region is not best)'),
    ("hint-of-the-checkpoint", S, '"score_hint": str(complete[0][0]) if complete else None', '"score_hint": str(checkpoint[1]) if checkpoint else None'),
    ("viable-in-order-of-the-index", S, "sorted((kernel.id for kernel, _, _ in region.race), key=str.encode)", "[kernel.id for kernel, _, _ in region.race]"),
    ("viable-in-utf-16", S, "sorted((kernel.id for kernel, _, _ in region.race), key=str.encode)", 'sorted((kernel.id for kernel, _, _ in region.race), key=lambda s: s.encode("utf-16-be"))'),
    ("complete-best-first", S, "sorted((kernel for _, kernel in complete), key=str.encode)", "[kernel for _, kernel in complete]"),
    ("flush-at-the-last", S, "region.last + 1 if region.last + 1 < len(self.ops) else None", "region.last + 1"),
    ("costs-as-decimals", S, '"cost": str(cost),', '"cost": str(cost) if cost.denominator == 1 or any(cost.denominator % p == 0 for p in (3, 7)) else repr(float(cost)),'),
    # The beam
    ("beam-of-1", S, "self.walk() if self.beam == 1 else self.search()", "self.search()"),
    ("beam-of-2-walks", S, "self.walk() if self.beam == 1 else self.search()", "self.walk() if self.beam <= 2 else self.search()"),
    ("beam-one-more", S, "key=order)[: self.beam]", "key=order)[: self.beam + 1]"),
    ("beam-one-less", S, "key=order)[: self.beam]", "key=order)[: max(1, self.beam - 1)]"),
    ("beam-unlimited", S, "key=order)[: self.beam]", "key=order)"),
    ("beam-keeps-the-last", S, "order(closed) < order(successors[at])", "order(closed) > order(successors[at])"),
    ("beam-keeps-the-first", S, "order(closed) < order(successors[at])", "False"),
    ("beam-keeps-the-latest", S, "order(closed) < order(successors[at])", "True"),
    ("beam-by-cost-alone", S, "return (state[0], len(state[1]), [region[\"last\"] for region in state[1]])", "return (state[0],)"),
    ("beam-without-number", S, "return (state[0], len(state[1]), [region[\"last\"] for region in state[1]])", "return (state[0], [region[\"last\"] for region in state[1]])"),
    ("beam-more-regions", S, "return (state[0], len(state[1]),", "return (state[0], -len(state[1]),"),
    ("beam-without-ends", S, "len(state[1]), [region[\"last\"] for region in state[1]])", "len(state[1]))"),
    ("beam-ends-from-the-right", S, "[region[\"last\"] for region in state[1]])", "[region[\"last\"] for region in state[1]][::-1])"),
    ("beam-later-ends", S, "[region[\"last\"] for region in state[1]])", "[-region[\"last\"] for region in state[1]])"),
    ("beam-open-cost", S, "states = sorted(successors.values(), key=order)", "states = sorted(successors.values(), key=lambda s: ((s[0] + s[2].complete()[0][0]) if s[2].complete() else s[0], *order(s)[1:]))"),
    ("beam-cuts-when-it-must", S, "                    successors[longer.anchor] = (cost, regions, longer)\n", "                    successors[longer.anchor] = (cost, regions, longer)\n                    continue\n"),
    ("beam-cut-is-the-trigger", S, '                except Stop as stop:\n                    trigger, reason = stop.args\n                closed', '                except Stop as stop:\n                    pass\n                closed'),
    ("beam-never-stops", S, "closed = fresh and cut((cost, regions, region), trigger, reason)", "closed = cut((cost, regions, region), trigger, reason)\n                if closed and not fresh:\n                    raise NoPlan(at)"),
    ("beam-stuck-at-the-anchor", S, "                raise NoPlan(at)\n        plans", "                raise NoPlan(region.anchor)\n        plans"),
    ("beam-stuck-before-the-end", S, "raise NoPlan(len(self.ops) - 1)", "raise NoPlan(states[0][2].anchor)"),
    ("beam-first-that-ends", S, "return min(plans, key=order)[1]", "return plans[0][1]"),
    ("beam-needs-limit", S, "at - self.anchor >= self.task.limit", "at - self.anchor >= (self.task.limit if self.task.beam == 1 else 64)"),
    ("explain-with-the-beam", S, "        self.walk(steps.append)\n", "        self.walk(steps.append)\n        self.plan()\n"),
    # Reviews
    ("kp02-touching", S, "or anchor <= before:", "or anchor < before:"),
    ("kp02-last-one-more", S, "last < len(task.ops)", "last <= len(task.ops)"),
    ("kp02-neighbours", S, "        before = last\n", "        before = max(before, last)\n"),
    ("kp02-of-empty", S, "if not 0 <= anchor <= last <", "if not 0 <= anchor <= last + 1 <"),
    ("kp03-beside-nothing", S, '    if len(covered) < len(task.ops):\n', '    if not found and len(covered) < len(task.ops):\n'),
    ("kp01-at-the-ends", S, "    if len(covered) < len(task.ops):\n", "    if task.ops and (0 not in covered or len(task.ops) - 1 not in covered):\n"),
    ("kp04-of-first-region", S, "    if found:\n        return found\n    try:", "    if found[:1]:\n        return found\n    try:"),
    ("kp04-escapes-too", S, '    whole = all(', '    rules |= {"KP04"} if lost else set()\n    whole = all('),
    ("kp05-markers-alone", S, 'if len(ops) > 1 and any("barrier"', 'if False and any("barrier"'),
    ("kp05-barrier-first", S, 'for op in ops):\n        rules.add("KP05")', 'for op in ops[1:]):\n        rules.add("KP05")'),
    ("kp05-first-marker", S, "any(op.get(\"marker\") is not None for op in ops[1:])", "any(op.get(\"marker\") is not None for op in ops)"),
    ("kp06-without-walk", S, '            return rules | {"KP04"}', '            return rules | {"KP04", "KP06"}'),
    ("kp07-one-more", S, "if len(ops) > task.limit:", "if len(ops) > task.limit + 1:"),
    ("kp07-default", S, "if len(ops) > task.limit:", "if len(ops) > max(64, task.limit):"),
    ("kp08-kernels-unjudged", S, 'region["last"], region["kernel"])', 'region["last"])'),
    ("kp08-of-beam-1", S, "        wanted = task.plan()\n", "        task.beam = 1\n        wanted = task.plan()\n"),
    ("kp08-stuck-is-fine", S, '        return [finding("KP08", "/plan/regions")]\n', "        return []\n"),
    ("kp08-cost-is-enough", S, 'if list(map(key, regions)) != list(map(key, wanted["regions"])):', 'if len(regions) != len(wanted["regions"]):'),
    ("kp09-costs-as-numbers", S, 'if member in given and not equal(given[member], region[member]):', 'if member in given and not (equal(given[member], region[member]) or member == "cost" and Fraction(given[member]) == Fraction(region[member])):'),
    ("kp09-plan-cost-as-number", S, 'plan["cost"] != wanted["cost"]', 'Fraction(plan["cost"]) != Fraction(wanted["cost"])'),
    ("kp09-plan-cost-unjudged", S, 'if "cost" in plan and', "if False and"),
    ("kp09-null-is-absent", S, "if member in given and not equal", "if given.get(member) is not None and not equal"),
    ("kp09-attrs-unjudged", S, '("trigger", "reason", "cost", "attrs"):', '("trigger", "reason", "cost"):'),
    ("kp09-triggers-unjudged", S, '("trigger", "reason", "cost", "attrs"):', '("reason", "cost", "attrs"):'),
    ("kp09-reasons-unjudged", S, '("trigger", "reason", "cost", "attrs"):', '("trigger", "cost", "attrs"):'),
    ("kp09-attrs-in-part", S, "return a.keys() == b.keys() and all(equal(a[key], b[key]) for key in a)", "return all(key in b and equal(a[key], b[key]) for key in a)"),
    ("kp09-true-is-1", S, "    if type(a) is not type(b):\n        return False\n", ""),
    ("kp09-arrays-as-sets", S, "return len(a) == len(b) and all(map(equal, a, b))", "return sorted(map(str, a)) == sorted(map(str, b))"),
    ("reviews-of-first-region", S, 'enumerate(zip(regions, wanted["regions"])):\n        for', 'enumerate(zip(regions[:1], wanted["regions"])):\n        for'),
    ("review-composition-unjudged", S, "                matrix = compose(matrix, matrix_of(op)) if any(value in values for value in op[\"reads\"]) else None", "                matrix = compose(matrix, matrix_of(op))"),
    # Answers
    ("warnings-of-indices-alone", A, "if not found and index is not None:\n        found = warn", 'if not found and kind == "index":\n        found = warn'),
    ("warnings-beside-reviews", A, 'if not found and index is not None:\n        found = warn', 'if not found and index is not None and kind != "review":\n        found = warn'),
    ("sequences-before-indices", A, "    if not found and index is not None:\n        found += judge_index", "    if index is not None:\n        found += judge_index"),
    ("stages-mixed", A, "    if not found and sequence is not None:\n", "    if sequence is not None:\n"),
    ("kernels-kept", A, "        task = Task(document)\n", "        task = Task(document)\n        kept = globals().setdefault('KEPT', {})\n        for kernel in task.kernels:\n            kernel.__dict__ = kept.setdefault(json.dumps(kernel.record), kernel).__dict__\n"),
]  # fmt: skip


def judge_with(edits=()):
    """The worker's function that judges, made of sources of which some may be edited."""
    sources = {name: (HERE / (name + ".py")).read_text() for name in SOURCES}
    for place in range(0, len(edits), 3):
        file, old, new = edits[place : place + 3]
        if sources[file].count(old) != 1:
            raise ValueError("%s has %d times: %s" % (file, sources[file].count(old), old))
        sources[file] = sources[file].replace(old, new)
    for name, source in sources.items():
        made = types.ModuleType(name)
        made.__file__ = str(HERE / (name + ".py"))
        sys.modules[name] = made
        exec(compile(source, name + ".py", "exec"), made.__dict__)
    return made.respond


def requests():
    """The cases of the profile, with the member that holds the document."""
    for path in sorted(CORPUS.glob("cases/**/*.json")):
        text = path.read_text()
        if '"selection"' not in text:
            continue
        case = json.loads(text)
        if case["profiles"] != ["selection"]:
            continue
        given = case["document"]
        if "base64" in given:
            yield case, {"document_base64": given["base64"]}
        elif "text" in given:
            yield case, {"document": given["text"]}
        elif "edit" in given:
            base = json.loads((CORPUS / given["base"]).read_text())
            yield case, {"document": json.dumps(patched(base, given["edit"]))}
        else:
            whole = base64.b64encode((CORPUS / given["base"]).read_bytes())
            yield case, {"document_base64": whole.decode()}


def right(expect, answer):
    """Whether an answer is the one that the case declares: CON-06, with `every_rule`."""
    given = answer.get("diagnostics", [])
    rules = {each["rule"] for each in given if each["severity"] == "error"}
    warned = {each["rule"] for each in given if each["severity"] == "warning"}
    if answer["outcome"] == "reject":
        if expect["verdict"] == "accept" or not rules or not rules <= set(expect.get("rules", rules)):
            return False
        return not expect.get("every_rule") or rules == set(expect["rules"])
    if answer["outcome"] != "accept" or expect["verdict"] == "reject":
        return False
    if "warnings" in expect and set(expect["warnings"]) != warned:
        return False
    return "document" not in expect or same(json.loads(answer.get("document", "null")), expect["document"])


def same(a, b):
    return json.dumps(a, sort_keys=True) == json.dumps(b, sort_keys=True)


def failed(respond, cases):
    names = []
    for case, document in cases:
        signal.alarm(SECONDS)
        try:
            request = {"id": 1, "profile": "selection", "method": case["method"], **document}
            well = right(case["expect"], respond(request))
        except Exception:  # noqa: BLE001, a fault may lead anywhere
            well = False
        if not well:
            names.append(case["id"])
    signal.alarm(0)
    return names


def too_long(*_):
    raise TimeoutError


def main():
    signal.signal(signal.SIGALRM, too_long)
    cases = list(requests())
    print("%d cases" % len(cases))
    wrong = failed(judge_with(), cases)
    if wrong or not cases:
        sys.exit("the selector without a fault is rejected: %s" % wrong[:9])
    chosen = [fault for fault in FAULTS if not sys.argv[1:] or fault[0] in sys.argv[1:]]
    few = []
    for name, *edits in chosen:
        names = failed(judge_with(edits), cases)
        print("| `%s` | %d |" % (name, len(names)), *(names[:9] if sys.argv[1:] else []), flush=True)
        few += ["%s (%d)" % (name, len(names))] * (len(names) < REQUIRED)
    print("%d faults; to be looked at: %s" % (len(chosen), ", ".join(few) or "none"))
    return 1 if few else 0


if __name__ == "__main__":
    sys.exit(main())
