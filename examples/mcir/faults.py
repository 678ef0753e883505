"""Faults: how many cases find that this validator is wrong in one place.

    python3 faults.py            every fault with the number of cases that reject it
    python3 faults.py NAME ..    these faults, and the cases

A fault is one edit of a source beside this file, or two. It is played all cases of the profile. Exit code 1: a fault is rejected by
fewer than three, or the validator without a fault is rejected.
"""

import base64
import json
import sys
import types
from pathlib import Path

HERE = Path(__file__).resolve().parent
CORPUS = HERE.parent.parent / "corpus"
REQUIRED = 3
SOURCES = ("documents", "model", "structure", "shapes", "validator", "measures", "adapter")
D, X, S, H, V, M = SOURCES[:6]

# Name, and edits: file, what stands there, what stands there instead.
FAULTS = [
    # Text and members
    ("twice-is-fine", D, "    if twice:", "    if False:"),
    ("required-left-out", D, "            if key not in value:", "            if False:"),
    ("types-unjudged", D, "        if not test(value):", "        if False and not test(value):"),
    ("booleans-are-numbers", D, "type(v) is int and", "isinstance(v, int) and"),
    ("names-unjudged", D, "type(value) is str and value not in names", "False"),
    ("names-in-any-case", D, "value not in names:", "value.lower() not in [n.lower() for n in names]:"),
    ("rows-of-any-length", D, "len(value) != len(kinds):", "len(value) < len(kinds):"),
    ("members-of-ops-unjudged", D, '    needs, kinds = MEMBERS[value["op"]]\n    record(*needs, **kinds)(value, at, found)', '    pass'),
    # Numbers and names
    ("is01-left-out", S, "        if value is not None and not least <= value <= most:", "        if False:"),
    ("zero-allowed", S, "not least <= value <= most", "not min(least, 0) <= value <= most"),
    ("most-one-more", S, "not least <= value <= most", "not least <= value <= most + 1"),
    ("tiles-of-any-size", S, "and size > MOST_ELEMENTS", "and size > MOST_BYTES"),
    ("tensors-of-any-size", S, "> MOST_BYTES:", "< 0:"),
    ("stream-without-end", S, 'not streaming["stream"]["to"]:', "False:"),
    ("values-unknown", S, 'if name not in document["values"]:', "if False:"),
    ("axes-unknown", S, "isinstance(axis, str) and axis not in axes:", "False:"),
    ("stream-axis-anywhere", S, 'body == "each" or node["op"] == "Prefetch" else blocks', "True else blocks"),
    ("steps-unneeded", S, "        if axes - shape:", "        if False:"),
    ("steps-of-anything", S, "in sorted(shape - axes):", "in []:"),
    ("twice-named", S, "            if name in seen:", "            if False:"),
    ("stream-named-as-block", S, 'if stream and stream["axis"] in streaming["tile"].get("blocks", {}):', "if False:"),
    # Operands and lists
    ("any-number-of-operands", S, "(len(ins), len(outs)) != needs:", "len(ins) < needs[0] or len(outs) < needs[1]:"),
    ("anywhere", S, 'elif body not in PLACES.get(op, ("begin", "each", "end")):', "elif False:"),
    ("prefetch-without-stream", S, 'elif op == "Prefetch" and not', "elif False and not"),
    ("tensors-as-tiles", S, "if tensors != required.get(op, [False] * len(tensors)):", "if False:"),
    ("indices-of-any-number", S, 'len(node["at"]) != rank or', "False or"),
    ("tiles-of-any-rank", S, '> rank:', '> 99:'),
    ("waits-for-anything", S, "if name not in prefetched.get(number, ()):", "if False:"),
    ("outputs-that-are-inputs", S, 'elif at == "/outputs" and name in document["inputs"]:', "elif False:"),
    ("lists-that-lack", S, "if name not in region[which]:", "if False:"),
    ("lists-of-anything", S, "if name not in used and is_tile(document, name) is False:", "if False:"),
    # Producers and states
    ("two-producers", S, "if known.setdefault(name, this) != this:", "if False:"),
    ("inputs-stored", S, '{name: ("input",) for name in document["inputs"]}', "{}"),
    ("prefetches-anywhere", S, ', repr([sorted(terms(i)[0].items()) + [terms(i)[1]] for i in node["at"]]))', ")"),
    ("no-producer-needed", S, "                    if name not in seen:", "                    if False:"),
    ("v35-end-sees-each", S, 'seen = there["begin"] | there[body] |', 'seen = there["begin"] | there["each"] | there[body] |'),
    ("prefetched-anywhere", S, '(prefetched if body == "each" else set())', "prefetched"),
    ("any-region-s-tiles", S, '    for number, region in enumerate(document["regions"]):\n        prefetched = {', '    there = {"begin": set(), "each": set(), "end": set()}\n    for number, region in enumerate(document["regions"]):\n        prefetched = {', S, '        there = {"begin": set(), "each": set(), "end": set()}\n        mine = set()', "        mine = set()"),
    ("regions-in-any-order", S, "found, stored = [], set(document[\"inputs\"])", 'found, stored = [], set(document["values"])'),
    ("v34-old-state-read", S, "name in states and name not in updated and body != \"end\":", "False:"),
    ("states-updated-twice", S, 'elif any(node["out"][o] in updated for _, o in pairs)', "elif False"),
    ("states-never-updated", S, "            if name not in updated:", "            if False:"),
    ("states-written-by-anyone", S, "if place not in new and name in states:", "if False:"),
    ("states-crossed", S, 'or node["in"][i] != node["out"][o] for', "for"),
    ("states-of-two-regions", S, "if not is_tile(document, name) or name in declared:", "if not is_tile(document, name):"),
    # Shapes
    ("rests-forgotten", X, "return size, rest if least < size else None", "return size, None"),
    ("rests-always", X, "return size, rest if least < size else None", "return size, rest"),
    ("declared-shapes-unjudged", H, "if [size for size, _ in extents] != declared:", "if False:"),
    ("states-of-any-extent", H, "if name in self.states and moving:", "if False:"),
    ("stored-shapes-unjudged", H, 'same("the tile and of its place", self.extents[ins[0]], self.part(node, outs[0], ins[0]))', "pass"),
    ("no-transpose", H, 'same("the products", a[1], ins[1][1])\n        return [(a[0], ins[1][0])]', 'same("the products", a[1], ins[1][0])\n        return [(a[0], ins[1][1])]'),
    ("rows-for-columns", H, 'a[0 if along == "rows" else 1]', 'a[1 if along == "rows" else 0]'),
    ("reduces-the-other-axis", H, '[ins[0][: node["axis"]] + ins[0][node["axis"] + 1 :]]', "[ins[0][:-1]]"),
    ("moves-convert", H, 'if self.values[ins[0]]["dtype"] != self.values[outs[0]]["dtype"]:', "if False:"),
    ("moves-keep-the-size", H, 'if self.values[ins[0]]["dtype"] != self.values[outs[0]]["dtype"]:', 'if SIZES[self.values[ins[0]]["dtype"]] != SIZES[self.values[outs[0]]["dtype"]]:'),
    ("work-of-any-size", H, "if work > MOST_WORK:", "if False:"),
    ("work-without-streams", H, "times = max(1, axes.iterations)", "times = 1"),
    # Bounds and coverage
    ("indices-anywhere", V, "if least < 0 or most >= extent:", "if False:"),
    ("one-index-too-far", V, "if least < 0 or most >= extent:", "if least < 0 or most > extent:"),
    ("negative-indices", V, "if least < 0 or most >= extent:", "if most >= extent:"),
    ("whole-tiles-only", V, "if least < 0 or most >= extent:", "if least < 0 or most >= extent or most + (1 if store else 0) * ([1] * 9 + region.values[tile]['shape'])[place - len(shape)] > extent:"),
    ("coverage-unjudged", V, "            if wrong:\n                found.append(finding(\"IB02\"", "            if False:\n                found.append(finding(\"IB02\""),
    ("p21-sums-over-blocks", V, "        if places != 1:", "        if places > 1:"),
    ("v33-overlap-with-strides", V, "            if stride != size:", "            if stride > size:"),
    ("gaps-unseen", V, "            if stride != size:", "            if stride < size:"),
    ("last-blocks-unneeded", V, "        if size < extent:", "        if False:"),
    ("v32-unclipped", V, "        if size < extent:", "        if size != extent:"),
    ("streams-of-any-bounds", V, "        if not axes.fixed:", "        if False:"),
    ("no-iteration-is-fine", V, "        if axes.iterations == 0:", "        if False:"),
    ("own-output-read", V, 'node["op"] in ("LoadTile", "Prefetch") and node["in"][0] in stored:', "False:"),
    # Lifetimes
    ("residency-elsewhere", V, 'if document["values"][name]["residency"] != each["memory"] or name in lifetimes:', "if name in lifetimes:"),
    ("residency-twice", V, '!= each["memory"] or name in lifetimes:', '!= each["memory"]:'),
    ("residency-nowhere", V, "if is_tile(document, name) and name not in lifetimes:", "if False:"),
    ("v29-lifetimes-unjudged", V, "        if not right:", "        if False:"),
    ("states-of-any-lifetime", V, 'right = lifetime == "block"', "right = True"),
    ("node-for-prefetched", V, 'and all(op != "Prefetch" for _, _, _, op in where)', ""),
    ("node-over-bodies", V, 'right = len({body for _, body, _, _ in where}) == 1 and', "right ="),
    # Order
    ("v26-barrier-behind-the-read", V, "if not earlier and min(now) > place:", "if False:"),
    ("v25-any-version-counts", V, "now = [place for version, place in waits if version == 0]", "now = [place for version, place in waits]"),
    ("earlier-waits-alone", V, "earlier = least is not None and all(version in early for version in range(least))", "earlier = least is not None"),
    ("earlier-waits-never", V, "earlier = least is not None and all(version in early for version in range(least))", "earlier = False"),
    ("v27-one-slot-less", V, "if buffers < ahead or (buffers == ahead and issue < latest):", "if buffers < ahead:"),
    ("late-filling-refused", V, "if buffers < ahead or (buffers == ahead and issue < latest):", "if buffers <= ahead:"),
    ("few-slots-filled-late", V, "if buffers < ahead or (buffers == ahead and issue < latest):", "if buffers <= ahead and issue < latest:"),
    ("v28-in-flight-at-the-end", V, "    if not earlier and not now:\n", "    if not earlier and not now:\n        return\n    if False:\n"),
    ("any-prologue", V, "if len(steady) != 1 or sorted(begun) != list(range(ahead)) or len(begun) + 1 != len(prefetches):", "if len(steady) != 1:"),
    ("prologue-twice", V, " or len(begun) + 1 != len(prefetches):", ":"),
    ("two-prefetches-each", V, "if len(steady) != 1 or sorted(begun) != list(range(ahead)) or len(begun) + 1 != len(prefetches):", "if not steady or sorted(begun) != list(range(ahead)):"),
    ("waits-for-later", V, "wrong = version > ahead or (version == ahead and issue > place)", "wrong = False"),
    ("waits-one-further", V, "wrong = version > ahead or (version == ahead and issue > place)", "wrong = version > ahead + 1 or (version == ahead and issue > place)"),
    ("waits-before-the-load", V, "wrong = version > ahead or (version == ahead and issue > place)", "wrong = version > ahead"),
    ("waits-in-begin-unjudged", V, "wrong = version not in begun or begun[version] > place", "wrong = False"),
    # Storage and target
    ("p20-stored-under-another-name", V, 'name not in document["inputs"] and name not in allowed:', 'name in document["outputs"] and name not in allowed:'),
    ("outputs-without-boundary", V, 'name not in document["inputs"] and name not in allowed:', 'name not in document["inputs"] + document["outputs"] and name not in allowed:'),
    ("boundaries-of-nothing", V, "        if name not in stored:", "        if False:"),
    ("target-unjudged", V, "if limit is not None and most[memory] > limit:", "if False:"),
    ("target-just-full", V, "most[memory] > limit:", "most[memory] >= limit:"),
    ("v30-slots-counted-once", H, ' * value.get("buffers", 1)', ""),
    ("v31-all-at-once", V, "            changes[last + 1] -= size\n", ""),
    ("ends-of-nodes-only", V, "first, last = min(produced), max(used)", "first, last = min(produced), max(max(used) - 1, min(produced))"),
    ("prefetched-from-each", V, "first = min(in_begin) if in_begin else of_each[0]", "first = of_each[0]"),
    ("states-take-nothing", V, "    for name in list(region.states):\n        all_sites.setdefault(name, [])\n", "    for name in list(region.states):\n        all_sites.pop(name, None)\n"),
    # Warnings
    ("unused-unseen", V, "        if name not in used:", "        if False:"),
    ("updates-are-uses", V, "if place not in old or len(node[\"out\"]) > 1)", ")"),
    ("spare-slots-unseen", V, 'value.get("buffers", 1) > ahead.get(name, 0) + 1:', "False:"),
    ("spare-slots-everywhere", V, 'value.get("buffers", 1) > ahead.get(name, 0) + 1:', 'value.get("buffers", 1) > ahead.get(name, 0):'),
    ("waits-twice", V, "            if op == \"LoadTile\" and body == \"each\" and stream:\n                if not any(", "            if op == \"LoadTile\" and body == \"each\" and stream:\n                if False and not any("),
    ("same-wait-unseen", V, "                if (body, *wait) in said:", "                if False:"),
    ("dead-storage-unseen", V, 'if boundary["value"] not in document["outputs"] and boundary["value"] not in loaded:', "if False:"),
    # Measures
    ("m40-skipped-counted", M, "end = min(at_point(index, point) for index in self.axes.last)", "end = max(at_point(index, point) for index in self.axes.last)"),
    ("windows-counted", M, "first = max(at_point(index, point) for index in self.axes.first)", "first = min(at_point(index, point) for index in self.axes.first)"),
    ("prologues-counted-twice", M, 'chosen = slice(version, None) if body == "each"', 'chosen = slice(0, None) if body == "each"'),
    ("prologues-not-counted", M, 'if body == "each" else slice(version, version + 1)', 'if body == "each" else slice(0, 0)'),
    ("tails-as-whole", M, "        count *= min(size, left)", "        count *= size"),
    ("loads-once-a-tensor", M, "times = math.prod(self.axes.counts[axis] for axis in self.axes.blocks if axis not in wanted)", "times = 1"),
    ("fused-multiply-add", M, "return 2 * total(outs[0] + (ins[0][1],))", "return total(outs[0] + (ins[0][1],))"),
    ("reductions-of-n", M, "return total(ins[0]) - total(outs[0])", "return total(ins[0])"),
    ("softmax-of-5", M, "return 4 * total(ins[0]) + 3 * total(ins[0][:1])", "return 5 * total(ins[0])"),
    ("copies-counted", M, '"copy": 0', '"copy": 1'),
    ("elements-for-bytes", M, 'SIZES[region.values[tensor]["dtype"]] * counter', "1 * counter"),
    ("outputs-not-compulsory", M, ' in loaded] + document["outputs"]', " in loaded]"),
    ("results-are-materialized", M, ' - set(document["outputs"])', ""),
    ("peaks-added", M, "**{name: max((row[name] for row in rows), default=0)", "**{name: sum(row[name] for row in rows)"),
]


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
        sys.modules[name] = made
        exec(compile(source, name + ".py", "exec"), made.__dict__)
    return made.respond


def requests():
    """The cases of the profile, with the member that holds the document."""
    for path in sorted(CORPUS.glob("cases/**/*.json")):
        text = path.read_text()
        if '"mcir"' not in text:
            continue
        case = json.loads(text)
        if case["profiles"] != ["mcir"]:
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


def patched(document, operations):
    """RFC 6902, as far as cases use it."""
    for operation in operations:

        def parent(pointer):
            *path, last = [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]
            at = document
            for part in path:
                at = at[int(part)] if isinstance(at, list) else at[part]
            return at, last if isinstance(at, dict) else len(at) if last == "-" else int(last)

        value = json.loads(json.dumps(operation.get("value")))
        if operation["op"] in ("move", "copy"):
            at, key = parent(operation["from"])
            value = at.pop(key) if operation["op"] == "move" else json.loads(json.dumps(at[key]))
        if not operation["path"]:
            document = value
            continue
        at, key = parent(operation["path"])
        if operation["op"] == "remove":
            at.pop(key)
        elif operation["op"] != "replace" and isinstance(at, list):
            at.insert(key, value)
        else:
            at[key] = value
    return document


def right(expect, answer):
    """Whether an answer is the one that the case declares: CON-06, with `every_rule`."""
    given = answer.get("diagnostics", [])
    rules = {each["rule"] for each in given if each["severity"] == "error"}
    warned = {each["rule"] for each in given if each["severity"] == "warning"}
    if answer["outcome"] == "reject":
        if expect["verdict"] == "accept" or not rules or not rules <= set(expect.get("rules", rules)):
            return False
        if expect.get("every_rule") and rules != set(expect["rules"]):
            return False
    elif answer["outcome"] != "accept" or expect["verdict"] == "reject":
        return False
    if "document" in expect and json.loads(answer["document"]) != expect["document"]:
        return False
    return "warnings" not in expect or set(expect["warnings"]) == warned


def failed(respond, cases):
    names = []
    for case, document in cases:
        try:
            asked = {"id": 1, "profile": "mcir", "method": case["method"], **document}
            well = right(case["expect"], respond(asked))
        except Exception:  # noqa: BLE001, a fault may lead anywhere
            well = False
        if not well:
            names.append(case["id"])
    return names


def main():
    cases = list(requests())
    print("%d cases" % len(cases))
    wrong = failed(judge_with(), cases)
    if wrong or not cases:
        sys.exit("the validator without a fault is rejected: %s" % wrong[:9])
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
