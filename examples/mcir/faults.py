"""Faults: how many cases find that this validator is wrong in one place.

    python3 faults.py            every fault with the number of cases that reject it
    python3 faults.py NAME ..    these faults, and the cases

A fault is one edit of a source beside this file, or a few. A fault of the executor is played the cases that compute, any other one all others of
the profile. Variants are edits that change nothing about what is right. Exit code 1: a fault is rejected by fewer than three cases, or a
variant or these sources without a fault by any.
"""

import base64
import json
import math
import sys
import types
from pathlib import Path

from executor import cast, decode

HERE = Path(__file__).resolve().parent
CORPUS = HERE.parent.parent / "corpus"
REQUIRED = 3
SOURCES = ("documents", "graphs", "model", "structure", "shapes", "validator", "measures", "executor", "adapter")
D, G, X, S, H, V, M, E = SOURCES[:8]

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
    ("directions-of-null", D, '{"along": name("rows", "columns")}', '{"along": nullable(name("rows", "columns"))}'),
    ("directions-of-every-function", D, 'OF_FUNCTION.get(value["fn"], ([], {}))', 'OF_FUNCTION.get(value["fn"], ([], {"along": name("rows", "columns")}))'),
    ("null-is-no-member", D, "            if key in value:", "            if value.get(key) is not None:"),
    # Graphs
    ("ig01-left-out", G, "if not least <= value <= most:", "if False:"),
    ("graphs-zero-allowed", G, "not least <= value <= most", "not min(least, 0) <= value <= most"),
    ("graphs-most-one-more", G, "not least <= value <= most", "not least <= value <= most + 1"),
    ("values-of-any-size", G, "> MOST_BYTES:", "< 0:"),
    ("graph-values-of-any-rank", G, 'if len(value["shape"]) > MOST_EXTENTS:', "if False:"),
    ("masks-unjudged", G, "if masked is not None:", "if False:"),
    ("graph-values-unknown", G, 'if key not in graph["values"]:', "if False:"),
    ("graph-names-twice", G, "            if key in seen:", "            if False:"),
    ("any-number-in-a-graph", G, 'len(each["in"]) != OPS', 'len(each["in"]) < OPS'),
    ("nodes-in-any-order", G, "            if key not in there:\n                yield", "            if False:\n                yield"),
    ("produced-twice", G, 'if each["out"] in there:', "if False:"),
    ("produced-by-nobody", G, "        if key not in there:\n            yield", "        if False:\n            yield"),
    ("inputs-as-outputs", G, "        if key in there:", "        if False:"),
    ("shapes-of-results-unjudged", G, '    if made != graph["values"]', '    if made is None and None != graph["values"]'),
    ("axes-of-any-number", G, 'fits = 0 <= each["axis"] < len(a)', 'fits = each["axis"] < 9'),
    ("ranks-of-products", G, "a[-1] != b[-2] or", "False or"),
    ("graph-members-of-ops-unjudged", G, "        record(*needs, **kinds)(value, at, found)", "        pass"),
    ("graphs-are-documents", G, '"nodes" in document and "regions" not in document', "False"),
    # Numbers and names
    ("is01-left-out", S, "        if value is not None and not least <= value <= most:", "        if False:"),
    ("zero-allowed", S, "not least <= value <= most", "not min(least, 0) <= value <= most"),
    ("most-one-more", S, "not least <= value <= most", "not least <= value <= most + 1"),
    ("tiles-of-any-size", S, "and size > MOST_ELEMENTS", "and size > MOST_BYTES"),
    ("tensors-of-any-size", S, "> MOST_BYTES:", "< 0:"),
    ("values-of-any-rank", S, 'if len(value["shape"]) > MOST_EXTENTS:', "if False:"),
    ("streams-with-any-ends", S, '.get(which, [])) > MOST_EXTENTS:', ".get(which, [])) < 0:"),
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
    # Executors: streams and states
    ("rescale-left-out-in-the-last-tile", E, "            factors, added = ins[1].numbers, ins[2].numbers", '            factors, added = ins[1].numbers, ins[2].numbers\n            if point.get("j", -1) + 4 >= LAST[0]:\n                factors = [1.0] * len(factors)', E, "        self.stream = values\n", "        self.stream = values\n        LAST[0] = values.stop if axis else 0\n", E, "INF, NAN = math.inf, math.nan", "INF, NAN = math.inf, math.nan\nLAST = [0]"),
    ("accumulator-not-rescaled", E, "[s * factors[at // a.columns] + added[at] for", "[s + added[at] for"),
    ("sum-not-rescaled", E, "sums.append(total * factor + sum(line))", "sums.append(total + sum(line))"),
    ("factor-of-the-new-maximum", E, "factor = 1.0 if masked else exp(old - top)", "factor = 1.0 if masked else exp(top - top)"),
    ("factor-upside-down", E, "exp(old - top)", "exp(top - old)"),
    ("maximum-of-the-tile-alone", E, "        top = old\n", "        top = -INF\n"),
    ("no-maximum", E, "        for score in x.row(row):\n            top = most(top, score)", "        for score in x.row(row):\n            top = max(top, 0.0)"),
    ("maximum-begins-at-0", E, '{"-inf": -INF,', '{"-inf": 0.0,'),
    ("maximum-begins-at-a-finite-number", E, '{"-inf": -INF,', '{"-inf": -100.0,'),
    ("least-for-most", E, "highest = -INF", "highest = 0.0"),
    ("masked-rows-are-nan", E, "        masked = top == -INF\n", "        masked = False\n"),
    ("masked-rows-weigh-1", E, "line = [0.0 if masked", "line = [1.0 if masked"),
    ("masked-rows-forget", E, "factor = 1.0 if masked else", "factor = 0.0 if masked else"),
    ("states-not-reset", E, "            self.tiles[name] = Tile(shape, [number] * math.prod(shape))\n", "            kept = KEPT.setdefault(name, Tile(shape, [number] * math.prod(shape)))\n            self.tiles[name] = kept if kept.shape == shape else Tile(shape, [number] * math.prod(shape))\n        self.kept = [state['value'] for state in streaming.get('state', [])]\n", E, '        self.body("end", 0, self.point)', '        KEPT.update({name: self.tiles[name] for name in self.kept})\n        self.body("end", 0, self.point)', E, "INF, NAN = math.inf, math.nan", "INF, NAN = math.inf, math.nan\nKEPT = {}", E, "    values = document[\"values\"]\n    tensors = {}", "    values = document[\"values\"]\n    tensors = {}\n    KEPT.clear()"),
    ("states-filled-with-0", E, "[number] * math.prod(shape))\n        axis", "[0.0] * math.prod(shape))\n        axis"),
    ("states-not-cast", E, 'number = cast(self.values[name]["dtype"], float(number))', "number = float(number)"),
    ("last-iteration-left-out", E, "values = range(first, last, self.axes.steps[axis])", "values = range(first, last, self.axes.steps[axis])[:-1] or range(first, last, self.axes.steps[axis])"),
    ("tails-left-out", E, "values = range(first, last, self.axes.steps[axis])", "values = range(first, last, self.axes.steps[axis])\n            values = [v for v in values if v + self.axes.steps[axis] <= last] or values", E, "self.stream = values", "self.stream = values = range(values[0], values[-1] + 1, self.axes.steps[axis]) if axis and len(values) else values"),
    ("streams-begin-at-0", E, "            first = max(at_point(index, self.point) for index in self.axes.first)", "            first = 0"),
    ("streams-end-late", E, "last = min(at_point(index, self.point) for index in self.axes.last)", "last = max(at_point(index, self.point) for index in self.axes.last)"),
    ("an-iteration-at-least", E, "values = range(first, last, self.axes.steps[axis])", "values = range(first, max(last, first + 1), self.axes.steps[axis])"),
    ("backwards", E, "for iteration, value in enumerate(values):", "for iteration, value in reversed(list(enumerate(values))):"),
    ("end-after-the-first-iteration", E, '        self.body("end", 0, self.point)\n', '        if axis is None or not len(values):\n            self.body("end", 0, self.point)\n', E, '            self.body("each", iteration, self.point if value is None else {**self.point, axis: value})', '            self.body("each", iteration, self.point if value is None else {**self.point, axis: value})\n            if axis and iteration == 0:\n                self.body("end", 0, self.point)'),
    # Tiles at an edge
    ("tails-padded-with-0", E, "        return Tile(shape, [self.tensors[tensor][place] for place in places])", "        read = [self.tensors[tensor][place] for place in places]\n        rest = self.region.part(node, tensor, tile)[0][1]\n        if len(shape) == 2 and rest and any(axis == self.axes.stream for axis, _ in rest[0]):\n            more = self.values[tile]['shape'][0] - shape[0]\n            return Tile([shape[0] + more, shape[1]], read + [0.0] * (more * shape[1]))\n        return Tile(shape, read)"),
    ("tails-shifted-back", E, "        at = [at_point(index, point) for index in node[\"at\"]]", "        sizes = self.values[tile]['shape']\n        at = [at_point(index, point) for index in node[\"at\"]]\n        lacking = len(whole) - len(sizes)\n        at = at[:lacking] + [max(0, min(a, e - s)) for a, e, s in zip(at[lacking:], whole[lacking:], sizes)]"),
    ("columns-as-if-whole", E, "return self.shape[1] if len(self.shape) > 1 else 1", "return max(self.shape[1], 4) if len(self.shape) > 1 else 1"),
    # Prefetches
    ("read-before-it-landed", E, "            return self.slots[self.slot(name, iteration)]", "            return self.slots.get(self.slot(name, iteration - 1)) or self.slots[self.slot(name, iteration)]"),
    ("first-version-for-ever", E, "            return self.slots[self.slot(name, iteration)]", "            return self.slots[self.slot(name, 0)]"),
    ("version-of-this-iteration-loaded", E, "point = {**self.point, self.axes.stream: self.stream[version]}", 'point = {**self.point, self.axes.stream: self.stream[max(0, version - load[2]["version"])]}'),
    ("version-one-further", E, "point = {**self.point, self.axes.stream: self.stream[version]}", "point = {**self.point, self.axes.stream: self.stream[min(version + 1, len(self.stream) - 1)]}"),
    ("prologue-loads-version-0", E, "self.prefetch(node, iteration + node[\"version\"])", 'self.prefetch(node, iteration + node["version"] if body == "each" else 0)'),
    ("one-slot-for-all", E, 'return name, version % self.values[name].get("buffers", 1)', "return name, 0", E, "        if version < len(self.stream):\n            self.pending.append((node[\"out\"][0], version, node))", "        if version < len(self.stream):\n            self.pending.append((node[\"out\"][0], version, node))\n            self.wait(node[\"out\"][0], version)"),
    ("slots-of-one-more", E, '% self.values[name].get("buffers", 1)', '% (self.values[name].get("buffers", 1) + 1)', E, "            return self.slots[self.slot(name, iteration)]", '            return self.slots[name, iteration % self.values[name].get("buffers", 1)]'),
    ("waits-for-this-version-alone", E, "self.wait(name, iteration + version)", "self.wait(name, iteration)"),
    ("prefetch-at-the-element", E, "point = {**self.point, self.axes.stream: self.stream[version]}", "point = {**self.point, self.axes.stream: version}"),
    # Rounding points
    ("nothing-is-cast", E, "[cast(dtype, number) for number in tile.numbers]", "tile.numbers", E, '    if dtype == "F16":\n        return struct.unpack("<H"', '    number = cast(dtype, number)\n    if dtype == "F16":\n        return struct.unpack("<H"'),
    ("states-are-cast-no-more", E, "[cast(dtype, number) for number in tile.numbers]", "tile.numbers if node[\"op\"] == \"UpdateState\" else [cast(dtype, number) for number in tile.numbers]", E, '    if dtype == "F16":\n        return struct.unpack("<H"', '    number = cast(dtype, number)\n    if dtype == "F16":\n        return struct.unpack("<H"'),
    ("weights-in-f16", E, "        weights += line\n", '        weights += [cast("F16", weight) for weight in line]\n'),
    ("weights-in-bf16", E, "        weights += line\n", '        weights += [cast("BF16", weight) for weight in line]\n'),
    ("sums-of-cast-weights", E, "sums.append(total * factor + sum(line))", 'sums.append(total * factor + sum(cast("F16", weight) for weight in line))'),
    ("products-in-f16", E, "sum(x * y for x, y in zip(a.row(r), b.row(c)))", 'cast("F16", sum(x * y for x, y in zip(a.row(r), b.row(c))))'),
    ("accumulators-in-f16", E, "[s * factors[at // a.columns] + added[at] for", '[cast("F16", s * factors[at // a.columns] + added[at]) for'),
    ("partial-sums-in-bf16", E, "            numbers.append(sum(line))", '            total = 0.0\n            for x in line:\n                total = cast("BF16", total + x)\n            numbers.append(total)'),
    ("operands-cut-to-bf16", E, "sum(x * y for x, y in zip(a.row(r), b.row(c)))", 'sum(cast("BF16", x) * cast("BF16", y) for x, y in zip(a.row(r), b.row(c)))'),
    ("truncates", E, "round(number / unit)", "int(number / unit)"),
    ("rounds-up", E, "round(number / unit)", "math.ceil(number / unit)"),
    ("ties-away-from-0", E, "round(number / unit)", "math.floor(abs(number / unit) + 0.5)"),
    ("saturates", E, "return math.copysign(INF, number) if abs(rounded) > largest else rounded", "return math.copysign(min(abs(rounded), largest), number)"),
    ("flushes-subnormals", E, "    rounded = math.copysign(", "    if abs(number) < 2.0**least:\n        return math.copysign(0.0, number)\n    rounded = math.copysign("),
    ("f16-by-way-of-bf16", E, "    fraction, least, largest = FORMATS[dtype]", '    if dtype == "F16":\n        number = cast("BF16", number)\n        if math.isinf(number):\n            return number\n    fraction, least, largest = FORMATS[dtype]'),
    # Functions
    ("fast-gelu", E, "    return a / 2 * (math.erfc(-a / math.sqrt(2)) if a > -INF else 0.0)", "    return a / 2 * (1 + math.tanh(math.sqrt(2 / math.pi) * (a + 0.044715 * a**3))) if abs(a) < 1e9 else a"),
    ("silu-without-its-factor", E, 'div(a, 1 + exp(-a))', 'div(1, 1 + exp(-a))'),
    ("powers-of-2", E, "        return math.exp(x)", "        return 2.0**x"),
    ("rough-exponential", E, "        return math.exp(x)", "        return math.exp(x) * (1 + 3e-6)"),
    ("rough-root", E, "1 / math.sqrt(a)", "(1 + 2e-6) / math.sqrt(a)"),
    ("rough-division", E, "    return a / b", "    return a / b * (1 + 1e-6)"),
    ("subnormal-operands-are-0", E, "    return a / b", "    a, b = (math.copysign(0.0, x) if abs(x) < 2.0**-126 else x for x in (a, b))\n    return a / b if b else NAN"),
    ("small-quotients-are-0", E, "    return a / b", "    return math.copysign(0.0, a / b) if abs(a / b) < 2.0**-14 else a / b"),
    ("division-by-any-reciprocal", E, "    return a / b", '    return a * cast("F32", 1 / b)'),
    ("root-not-reciprocal", E, "1 / math.sqrt(a)", "math.sqrt(a)"),
    ("scale-upside-down", E, "[x * p / q for x", "[x * q / p for x"),
    ("scale-without-numerator", E, "[x * p / q for x", "[x / q for x"),
    ("maximum-skips-nan", E, "return NAN if math.isnan(a) or math.isnan(b) else max(a, b)", "return max(b, a) if math.isnan(a) else max(a, b)"),
    ("subtracts-the-other-way", E, '"sub": lambda a, b: a - b', '"sub": lambda a, b: b - a'),
    ("rows-for-columns-in-maps", E, '"rows": lambda at: at // wide, "columns": lambda at: at % wide', '"rows": lambda at: at % wide % len(b), "columns": lambda at: at // wide % len(b)'),
    ("products-not-transposed", E, 'matmul(a, transpose(ins[1]) if fn == "matmul_nn" else ins[1])', 'matmul(a, transpose(ins[1]) if fn == "matmul_nt" else ins[1])'),
    ("transpose-keeps-the-order", E, "[a.numbers[r * columns + c] for c in range(columns) for r in range(rows)]", "list(a.numbers)"),
    ("last-product-left-out", E, "zip(a.row(r), b.row(c)))", "list(zip(a.row(r), b.row(c)))[: max(1, len(a.row(r)) - 1)])"),
    ("reduces-the-first-axis", E, "first = at // inner * inner * extent + at % inner", "first = at * extent % (len(a.numbers) - (extent - 1) * inner)"),
    ("mask-one-off", E, "kept = column <= row and", "kept = column < row and"),
    ("mask-one-more", E, "kept = column <= row and", "kept = column <= row + 1 and"),
    ("mask-by-places-in-the-tile", E, "top, left, window = at_point(node[\"rows\"], point), at_point(node[\"columns\"], point), node.get", "top, left, window = 0, 0, node.get"),
    ("window-forgotten", E, "(window is None or column > row - window)", "True"),
    ("window-one-more", E, "column > row - window", "column >= row - window"),
    ("columns-begin-at-0", E, 'at_point(node["columns"], point), node.get', 'max(0, at_point(node["columns"], point)), node.get'),
    ("columns-below-0-are-masked", E, "kept = column <= row and", "kept = 0 <= column <= row and"),
    ("columns-without-a-sign", E, 'at_point(node["columns"], point), node.get', 'at_point(node["columns"], point) % 2**32, node.get'),
    ("masked-is-0", E, "numbers.append(x if kept else -INF)", "numbers.append(x if kept else 0.0)"),
    ("masked-is-large", E, "numbers.append(x if kept else -INF)", "numbers.append(x if kept else -10.0)"),
    ("masked-adds", E, "numbers.append(x if kept else -INF)", "numbers.append(x if kept else x + -INF)"),
    # Blocks and tensors
    ("first-blocks-only", E, "axes.blocks[axis], axes.steps[axis]) for axis", "axes.blocks[axis] - axes.steps[axis] or 1, axes.steps[axis]) for axis"),
    ("stores-at-0", E, "            whole[place] = number", "            whole[place % len(tile.numbers)] = number"),
    ("stores-add", E, "            whole[place] = number", "            whole[place] = number + (0 if math.isnan(whole[place]) else whole[place])"),
    ("signs-of-zeros-lost", E, "    if number == 0 or math.isinf", "    if number == 0:\n        return 0.0\n    if math.isinf"),
    ("f16-read-as-bf16", E, "bits << 16 if dtype == \"BF16\" else bits", "bits << 16 if dtype != \"F32\" else bits", E, '    if dtype == "F16":\n        return struct.unpack("<e"', '    if False:\n        return struct.unpack("<e"'),
]


# Other ways to compute that are as good.
VARIANTS = [
    ("blocks-backwards", E, "itertools.product(*(range(0, axes.blocks[axis], axes.steps[axis]) for axis in axes.blocks))", "reversed(list(itertools.product(*(range(0, axes.blocks[axis], axes.steps[axis]) for axis in axes.blocks))))"),
    ("lands-at-once", E, '            self.pending.append((node["out"][0], version, node))', '            self.pending.append((node["out"][0], version, node))\n            self.wait(node["out"][0], version)'),
    ("sums-backwards", E, "sum(x * y for x, y in zip(a.row(r), b.row(c)))", "sum(x * y for x, y in reversed(list(zip(a.row(r), b.row(c)))))"),
    ("sums-in-binary32", E, "sum(x * y for x, y in zip(a.row(r), b.row(c)))", "chain(x * y for x, y in zip(a.row(r), b.row(c)))", E, "def transpose(a):", 'def chain(terms):\n    total = 0.0\n    for term in terms:\n        total = cast("F32", total + cast("F32", term))\n    return total\n\n\ndef transpose(a):', E, "            numbers.append(sum(line))", "            numbers.append(chain(line))"),
    ("exponential-in-binary32", E, "        return math.exp(x)", '        return cast("F32", math.exp(x) * (1 + 2.0**-24))'),
    ("exponential-by-powers-of-2", E, "        return math.exp(x)", '        return cast("F32", 2.0 ** cast("F32", x * 1.4426950216293335)) if -1e4 < x < 1e4 else math.exp(x)'),
    ("division-by-the-reciprocal", E, "    return a / b", '    return cast("F32", a * cast("F32", 1 / b)) if 1e-30 < abs(b) < 1e30 and abs(a) < 1e30 and abs(a / b) > 1e-30 else a / b'),
    ("silu-by-the-logistic-function", E, "div(a, 1 + exp(-a))", "a * div(1, 1 + exp(-a)) if a > -80 else div(a, 1 + exp(-a))"),
    ("gelu-with-erf", E, "math.erfc(-a / math.sqrt(2)) if", "1 + math.erf(a / math.sqrt(2)) if"),
    ("fused-rescale", E, "[s * factors[at // a.columns] + added[at] for", '[cast("F32", cast("F32", s * factors[at // a.columns]) + added[at]) for'),
    ("softmax-in-binary32", E, "line = [0.0 if masked else exp(score - top)", 'line = [0.0 if masked else cast("F32", exp(cast("F32", score - top)))'),
    ("scale-by-the-rounded-factor", E, "[x * p / q for x", '[x * cast("F32", p / q) for x'),
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
    if "outputs" in expect and answer["outcome"] == "accept":
        data = json.loads(answer["document"])["data"]
        if not all(admitted(wanted, data.get(name)) for name, wanted in expect["outputs"].items()):
            return False
    if "document" in expect and json.loads(answer["document"]) != expect["document"]:
        return False
    return "warnings" not in expect or set(expect["warnings"]) == warned


def admitted(wanted, bits):
    """NUM-10. The ends of an interval are a little wide, since binary64 rounds them."""
    dtype, values = wanted["dtype"], [float(value) for value in wanted["values"]]
    bounds = [float(bound) for bound in wanted.get("bounds", [0] * len(values))]
    if not isinstance(bits, list) or len(bits) != len(values):
        return False
    for value, bound, found in zip(values, bounds, bits):
        number = decode(dtype, found)
        if math.isinf(bound):
            continue
        if math.isnan(value) or math.isnan(number):
            fits = math.isnan(value) and math.isnan(number)
        elif bound == 0:
            only = cast(dtype, value)
            fits = number == only and math.copysign(1, number) == math.copysign(1, only)
        else:
            low, high = math.nextafter(value - bound, -math.inf), math.nextafter(value + bound, math.inf)
            fits = cast(dtype, low) <= number <= cast(dtype, high)
        if not fits:
            return False
    return True


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


def played(edits, cases):
    """The cases for which a fault counts."""
    of_executor = all(file == E for file in edits[::3])
    return [each for each in cases if (each[0]["method"] == "compute") == of_executor]


def main():
    cases = list(requests())
    print("%d cases" % len(cases))
    wrong = failed(judge_with(), cases)
    if wrong or not cases:
        sys.exit("the sources without a fault are rejected: %s" % wrong[:9])
    chosen = [fault for fault in FAULTS if not sys.argv[1:] or fault[0] in sys.argv[1:]]
    few = []
    for name, *edits in chosen:
        names = failed(judge_with(edits), played(edits, cases))
        print("| `%s` | %d |" % (name, len(names)), *(names[:9] if sys.argv[1:] else []), flush=True)
        few += ["%s (%d)" % (name, len(names))] * (len(names) < REQUIRED)
    print("%d faults; to be looked at: %s" % (len(chosen), ", ".join(few) or "none"))
    chosen = [variant for variant in VARIANTS if not sys.argv[1:] or variant[0] in sys.argv[1:]]
    refused = []
    for name, *edits in chosen:
        names = failed(judge_with(edits), played(edits, cases))
        refused += ["%s (%s)" % (name, ", ".join(names[:9]))] * bool(names)
    print("%d variants; refused: %s" % (len(chosen), "; ".join(refused) or "none"))
    return 1 if few or refused else 0


if __name__ == "__main__":
    sys.exit(main())
