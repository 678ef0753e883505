"""Faults: how many cases find that this validator is wrong in one place.

    python3 faults.py            every fault with the number of cases that reject it
    python3 faults.py NAME ..    these faults, and the cases

A fault is one edit of a source beside this file, or two. It is played all cases of the profile. Exit code 1: a fault is rejected by
fewer than three, or the validator without a fault is rejected.
"""

import base64
import json
import resource
import signal
import sys
import types
from pathlib import Path

from patches import patched

HERE = Path(__file__).resolve().parent
CORPUS = HERE.parent.parent / "corpus"
REQUIRED = 3
MEMORY, SECONDS = 1 << 31, 5  # of a fault that would expand what is too large
SOURCES = ("documents", "structure", "validator", "minimise", "traces", "adapter")
D, S, V, _, T = SOURCES[:5]

# Name, and edits: file, what stands there, what stands there instead.
FAULTS = [
    # Text and members
    ("twice-is-fine", D, "    if twice:", "    if False:"),
    ("twice-before-text", D, "        twice.extend(", "        if len(set(n for n, _ in pairs)) < len(pairs):\n            raise NoText([finding('S02', '')])\n        twice.extend("),
    ("any-constant", D, "parse_constant=no_constant", "parse_constant=float"),
    ("half-a-surrogate", D, "        json.dumps(document, ensure_ascii=False)", "        0 and json.dumps(document, ensure_ascii=False)", D, '        "".join(twice).encode("utf-8")', "        pass", D, '.encode("utf-8")  # halves', "  # halves"),
    ("byte-order-mark", D, 'data.decode("utf-8")', 'data.decode("utf-8-sig")'),
    ("bytes-replaced", D, 'data.decode("utf-8")', 'data.decode("utf-8", "replace")'),
    ("required-left-out", D, "            if key not in value:", "            if False:"),
    ("types-unjudged", D, "        if not test(value):", "        if False and not test(value):"),
    ("null-is-absent", D, "            if key in value:", "            if value.get(key) is not None:"),
    ("booleans-are-numbers", D, "type(v) is int and", "isinstance(v, int) and"),
    ("integers-of-any-size", D, "type(v) is int and -(2**63) <= v < 2**63", "type(v) is int"),
    ("names-unjudged", D, "type(value) is str and value not in names", "False"),
    ("names-in-any-case", D, "value not in names:", "value.lower() not in names:"),
    ("init-is-a-boolean", D, 'init=boolean_or(name("once"))', 'init=boolean_or(basic(lambda v: False, "a boolean"))'),
    ("rows-of-any-length", D, "<= len(value) <= len(kinds):", "<= len(value):"),
    ("short-rows", D, "(len(kinds) if least is None else least) <=", "0 <="),
    ("group-required", D, "nullable(TEXT), least=2)", "nullable(TEXT))"),
    ("group-is-a-string", D, "nullable(TEXT), least=2)", "TEXT, least=2)"),
    ("region-is-no-object", D, "(BOX if type(value) is list else OBJECT_REGION)(value", "BOX(value"),
    ("box-may-lack", D, 'record("box", box=BOX', "record(box=BOX"),
    ("unknown-members-refused", D, "        for key in needs:", "        found.extend(finding('S05', at) for key in value if key not in kinds)\n        for key in needs:"),
    ("period-not-null", D, "record(period=nullable(INTEGER))", "record(period=INTEGER)"),
    ("queue-not-null", D, "queue=nullable(INTEGER),\n    name", "queue=INTEGER,\n    name"),
    ("queue-not-negative", D, "queue=nullable(INTEGER),\n    name", 'queue=nullable(basic(lambda v: type(v) is int and v >= 0, "a queue")),\n    name'),
    ("stages-mixed", "adapter", "judge_members(document) or judge(document)", "judge_members(document) + (judge(document) if type(document) is dict else [])"),
    # ES01
    ("es01-left-out", S, "        if value is not None and not least <= value <= most:", "        if False:"),
    ("zero-allowed", S, "not least <= value <= most", "not min(least, 0) <= value <= most"),
    ("most-excluded", S, "least <= value <= most:", "least <= value < most:"),
    ("most-one-more", S, "least <= value <= most:", "least <= value <= most + 1:"),
    ("negative-allowed", S, "not least <= value <= most", "not value <= most or value == 0 and least"),
    ("size-unlimited", S, '* tensor.get("element", 1) > MOST_BYTES', '* tensor.get("element", 1) < 0'),
    ("size-in-elements", S, 'math.prod(tensor["shape"]) * tensor.get("element", 1) > MOST_BYTES', 'math.prod(tensor["shape"]) > MOST_BYTES'),
    ("size-wraps", S, 'math.prod(tensor["shape"]) * tensor.get("element", 1) > MOST_BYTES', '(math.prod(tensor["shape"]) * tensor.get("element", 1)) % 2**64 > MOST_BYTES'),
    ("element-unlimited", S, '1, 4096, at + "/element"', '1, MOST, at + "/element"'),
    ("queues-unjudged", S, 'within((task.get("repeat") or {}).get("queues"), 1', 'within((task.get("repeat") or {}).get("queues"), -MOST'),
    ("periods-unjudged", S, 'within(event.get("period"), 1,', 'within(event.get("period"), -MOST,'),
    ("amounts-unjudged", S, 'for member in ("waits", "signals"):', 'for member in ("waits",):'),
    ("counts-unjudged", S, 'for member in ("waits", "signals"):', 'for member in ("signals",):'),
    # ES02
    ("es02-left-out", S, "                    if region is not None:\n                        judge_region", "                    if False:\n                        judge_region"),
    ("box-one-too-far", S, "> tensor.shape[axis]:", "> tensor.shape[axis] + 1:"),
    ("box-one-too-near", S, "> tensor.shape[axis]:", ">= tensor.shape[axis]:"),
    ("axes-unjudged", S, "    if len(box) != rank:", "    if len(box) > rank:"),
    ("shift-length-unjudged", S, '"shift" in region and len(shift) != rank', '"shift" in region and len(shift) > rank'),
    ("intervals-backwards", S, "if not 0 <= low <= high:", "if not 0 <= low:"),
    ("empty-interval-refused", S, "if not 0 <= low <= high:", "if not 0 <= low < high:"),
    ("empty-beyond-refused", S, "if len(found) > before or any(low == high for low, high in box):", "if len(found) > before:"),
    ("run-axis-unjudged", S, "if not (0 <= axis < rank and", "if axis >= rank or not ("),
    ("run-axis-wraps", S, "if not (0 <= axis < rank and", "if not (-rank <= axis < rank and"),
    ("run-step-negative", S, "and 0 <= step and", "and"),
    ("run-step-zero-refused", S, "and 0 <= step and", "and 0 < step and"),
    ("run-count-zero", S, "1 <= count <= MOST):", "0 <= count <= MOST):"),
    ("run-reach-whole", S, "sum(step * (count - 1) for along", "sum(step * count for along"),
    ("run-reach-one-short", S, "sum(step * (count - 1) for along", "sum(step * max(0, count - 2) for along"),
    ("run-reach-of-one", S, "sum(step * (count - 1) for along, step, count in runs if along == axis)", "max([step * (count - 1) for along, step, count in runs if along == axis], default=0)"),
    ("run-reach-ignored", S, "high + reach + k * shift[axis] >", "high + k * shift[axis] >"),
    ("shift-reach-ignored", S, "high + reach + k * shift[axis] >", "high + reach >"),
    ("shift-below-ignored", S, "low + k * shift[axis] < 0 or", "low < 0 or"),
    ("last-task-unjudged", S, "return sorted({0, times - 1})", "return sorted({0, max(0, times - 2)})"),
    ("first-task-alone", S, "return sorted({0, times - 1})", "return sorted({0})"),
    # ES03 to ES06
    ("unknown-tensor-ignored", S, 'found.append(finding("ES03", place + "/0"', '0 and found.append(finding("ES03", place + "/0"'),
    ("unknown-storage-ignored", S, 'found.append(finding("ES03", at + "/storage"', '0 and found.append(finding("ES03", at + "/storage"'),
    ("view-of-a-view", S, ' or raw[view].get("view") is not None:', ":"),
    ("hash-in-first-alone", S, "        return range(times)", "        return range(min(times, 1))"),
    ("hash-outside-repetition", S, 'return text.replace("#", str(k)) if task.get("repeat") else text', 'return text.replace("#", str(k))'),
    ("hash-once-a-name", S, 'text.replace("#", str(k))', 'text.replace("#", str(k), 1)'),
    ("hash-from-one", S, 'text.replace("#", str(k))', 'text.replace("#", str(k + 1))'),
    ("hash-in-hexadecimal", S, 'text.replace("#", str(k))', 'text.replace("#", "%x" % k)'),
    ("hash-of-one-task-kept", S, 'if task.get("repeat") else text', 'if task.get("repeat") and task["repeat"]["times"] > 1 else text'),
    ("es04-left-out", S, "if name in sound and room is not None and end > room:", "if False:"),
    ("storage-without-offset", S, 'end = tensor.get("offset", 0) + made.bytes', "end = made.bytes"),
    ("storage-in-elements", S, 'end = tensor.get("offset", 0) + made.bytes', 'end = tensor.get("offset", 0) + made.bytes // made.element'),
    ("storage-one-more", S, "room is not None and end > room:", "room is not None and end > room + (view is None):"),
    ("storage-not-full", S, "room is not None and end > room:", "room is not None and end >= room:"),
    ("views-anywhere", S, "room is not None and end > room:", "room is not None and view is None and end > room:"),
    ("view-in-elements", S, 'math.prod(raw[view]["shape"]) * raw[view].get("element", 1)', 'math.prod(raw[view]["shape"])'),
    ("es05-left-out", S, 'if kind != "read" and tensor.kind in', "if False and tensor.kind in"),
    ("additions-to-weights", S, 'if kind != "read" and tensor.kind in', 'if kind == "write" and tensor.kind in'),
    ("input-is-written", S, 'tensor.kind in ("input", "weight")', 'tensor.kind in ("weight",)'),
    ("weight-is-written", S, 'tensor.kind in ("input", "weight")', 'tensor.kind in ("input",)'),
    ("cache-is-read-only", S, 'tensor.kind in ("input", "weight")', 'tensor.kind in ("input", "weight", "cache")'),
    ("kind-of-the-view", S, 'self.kind, self.init = shown.get("kind", "activation")', 'self.kind, self.init = own.get("kind", "activation")'),
    ("init-of-the-view", S, 'shown.get("init", False)', 'own.get("init", False)'),
    ("tasks-unlimited", S, "if tasks > MOST_TASKS or", "if"),
    ("parts-unlimited", S, "or pieces > MOST_PARTS or", "or"),
    ("intervals-unlimited", S, "or intervals > MOST_INTERVALS:", ":"),
    ("tasks-one-fewer", S, "tasks > MOST_TASKS", "tasks >= MOST_TASKS"),
    ("parts-one-fewer", S, "pieces > MOST_PARTS", "pieces >= MOST_PARTS"),
    ("intervals-one-fewer", S, "intervals > MOST_INTERVALS", "intervals >= MOST_INTERVALS"),
    ("phases-uncounted", S, "max(times, 0) * (1 + sum(len", "max(times, 0) * (0 + sum(len"),
    ("signals-uncounted", S, "for member in MEMBERS))", "for member in MEMBERS[:4]))"),
    ("runs-uncounted", S, " * math.prod(count for _, _, count in runs)", ""),
    ("boxes-counted", S, "math.prod(sizes[: first_of_chunk(box, shape)])", "1"),
    ("rows-counted", S, "math.prod(sizes[: first_of_chunk(box, shape)])", "math.prod(sizes[:-1])"),
    ("limits-for-each-task", S, "        tasks += max(times, 0)", "        pieces = intervals = 0\n        tasks = max(times, 0)"),
    # ED
    ("ed01-left-out", V, "                if total == 0:", "                if False:"),
    ("ed02-left-out", V, "elif count > total:", "elif False:"),
    ("count-one-above", V, "elif count > total:", "elif count > total + 1:", V, "return count > total or", "return count > total + 1 or"),
    ("count-of-total-refused", V, "elif count > total:", "elif count >= total:"),
    ("total-in-signals", V, "self.totals.get(one.signals[-1][0], 0) + amount", "self.totals.get(one.signals[-1][0], 0) + 1"),
    ("total-of-other-tasks", V, "                total = self.totals.get(event, 0)\n                if", "                total = self.totals.get(event, 0) - sum(a for p in phase.task.phases for e, a, _ in p.signals if e == event)\n                if"),
    ("ed03-left-out", V, 'found.append(finding("ED03"', '0 and found.append(finding("ED03"'),
    ("ed04-left-out", V, 'found.append(finding("ED04"', '0 and found.append(finding("ED04"'),
    ("cycle-with-queues", V, "self.run(False)", "self.run(True)"),
    ("broken-waits-stay", V, "return count > total or", "return"),
    ("waits-compare-above", V, "counts.get(event, 0) >= count  #", "counts.get(event, 0) > count  #"),
    ("waits-compare-equal", V, "counts.get(event, 0) >= count  #", "counts.get(event, 0) == count  #"),
    ("amounts-are-one", V, "counts[event] = counts.get(event, 0) + amount", "counts[event] = counts.get(event, 0) + 1"),
    ("any-wait-suffices", V, "                if short:", "                if short and len(short) == len(phase.waits):"),
    ("first-wait-alone", V, "for wait in phase.waits if not", "for wait in phase.waits[:1] if not"),
    ("signals-before-waits", V, "                short = [wait", "                for event, amount, _ in phase.signals:\n                    counts[event] = max(counts.get(event, 0), amount)\n                short = [wait"),
    ("any-order-in-order", V, "task.queue is None or task.queue in self.any_order:", "task.queue is None:"),
    ("queues-in-no-order", V, "if not with_queues or task.queue is None or", "if True or"),
    ("no-queue-is-a-queue", V, "if not with_queues or task.queue is None or task", "if not with_queues or task"),
    ("queue-zero-is-none", V, "if not with_queues or task.queue is None or", "if not with_queues or not task.queue or"),
    ("next-task-at-once", V, "                behind[ends[task.queue]] = task", "                ready.append(task)"),
    ("ed05-left-out", V, "if period is not None and total not in (0, period):", "if False:"),
    ("period-may-be-larger", V, "total not in (0, period):", "period < total:"),
    ("period-may-be-smaller", V, "total not in (0, period):", "0 < total < period:"),
    ("period-is-the-count", V, "total not in (0, period):", "total and count != period:"),
    ("period-of-unwaited", V, "        found = []\n        for phase in self.phases:\n            for event, count, at in phase.waits:\n                total", "        found = [finding('ED05', '') for e, t in self.totals.items() if self.events.get(e, {}).get('period') not in (None, t)]\n        for phase in self.phases:\n            for event, count, at in phase.waits:\n                total"),
    ("period-of-unsignalled", V, "total not in (0, period):", "total != period:"),
    ("ed06-left-out", V, "if index > 0 and queue in self.any_order:", "if False:"),
    ("ed06-from-the-third-phase", V, "if index > 0 and queue in", "if index > 1 and queue in"),
    ("ed06-from-the-first-phase", V, "if index > 0 and queue in", "if queue in"),
    ("ed06-in-every-queue", V, "if index > 0 and queue in self.any_order:", "if index > 0 and queue is not None and self.any_order:"),
    ("ed06-of-the-first-queue", V, "if index > 0 and queue in self.any_order:", 'if index > 0 and task.get("queue") in self.any_order:'),
    ("ed04-beside-ed06", V, "        elif not self.late:", "        else:", V, "or task.queue in self.any_order:", "or False:"),
    # Repetition and queues
    ("queue-step-ignored", V, 'queue += k * repeat.get("queue_step", 0)', "pass"),
    ("queue-step-one", V, 'repeat.get("queue_step", 0)', 'repeat.get("queue_step", 1)'),
    ("queues-ignored", V, 'if repeat.get("queues") is not None:', "if False:"),
    ("remainder-as-in-c", V, 'queue %= repeat["queues"]', 'queue = int(math.fmod(queue, repeat["queues"]))'),
    ("step-after-remainder", V, 'queue += k * repeat.get("queue_step", 0)', 'queue = queue % (repeat.get("queues") or 10**30) + k * repeat.get("queue_step", 0)', V, 'queue %= repeat["queues"]', "pass"),
    ("one-task-too-few", V, "for k in range(times):\n                self.add", "for k in range(max(1, times - 1)):\n                self.add"),
    ("repetition-ignored", V, "for k in range(times):\n                self.add", "for k in range(1):\n                self.add"),
    ("shift-ignored", V, "sum(k * d * stride", "sum(0 * d * stride"),
    ("shift-of-one-axis", V, "zip(shift, strides))", "list(zip(shift, strides))[:1])"),
    ("event-names-kept", V, "named(event, task, k), amount", "event, amount", V, "named(event, task, k), count", "event, count"),
    ("group-names-kept", V, "group if group is None else named(group, task, k)", "group"),
    # Happens-before
    ("wait-for-all-alone", V, "if self.totals[event] - amount < count:", "if self.totals[event] <= count:"),
    ("wait-sees-all", V, "if self.totals[event] - amount < count:", "if True:"),
    ("wait-one-too-many", V, "if self.totals[event] - amount < count:", "if self.totals[event] - amount <= count:"),
    ("wait-one-too-few", V, "if self.totals[event] - amount < count:", "if self.totals[event] - amount < count - 1:"),
    ("wait-by-amounts-of-one", V, "if self.totals[event] - amount < count:", "if self.totals[event] - 1 < count:"),
    ("amounts-apart", V, "by.get(phase.number, 0) + amount", "max(by.get(phase.number, 0), amount)"),
    ("not-transitive", V, "return self.before[number] | 1 << number", "return 1 << number"),
    ("last-wait-alone", V, "self.before[phase.number] |= self.seen", "self.before[phase.number] = self.otherwise[phase.number] | self.seen"),
    ("phases-unordered", V, "                previous[other] = one", "                pass"),
    ("tasks-as-one-phase", V, "return self.before[other.phase.number] >> one.phase.number & 1 == 1", "return any(self.before[b.number] >> a.number & 1 for a in one.phase.task.phases for b in other.phase.task.phases)"),
    ("signal-relaxed-ignored", V, 'memory.get("signal", "release") == "release" and', ""),
    ("wait-relaxed-ignored", V, 'and memory.get("wait", "acquire") == "acquire"', ""),
    ("both-relaxed", V, '"release" and memory.get("wait"', '"release" or memory.get("wait"'),
    ("queues-always-ordered", V, 'memory.get("queue", "unordered") == "ordered"', "True"),
    ("queues-never-ordered", V, 'memory.get("queue", "unordered") == "ordered"', "False"),
    ("any-order-ordered", V, "and task.queue is not None and task.queue not in self.any_order:", "and task.queue is not None:"),
    ("no-queue-ordered", V, "if self.by_queues and task.queue is not None and", "if self.by_queues and"),
    ("queue-first-to-first", V, "last[task.queue] = task.phases[-1]", "last[task.queue] = task.phases[0]"),
    ("queue-last-to-last", V, "previous[task.phases[0]] = last[task.queue]", "previous[task.phases[-1]] = last[task.queue]"),
    ("queue-orders-neighbours-alone", V, "last[task.queue] = task.phases[-1]", "last = {task.queue: task.phases[-1]}"),
    # Races
    ("er01-left-out", V, 'else "ER01"', "else None"),
    ("er02-left-out", V, 'return "ER02" if', "return None if"),
    ("er03-left-out", V, 'return "ER03"', "return None"),
    ("er03-reads-alone", V, 'if "add" in kinds:', 'if kinds == {"write", "add"}:\n            return None\n        if "add" in kinds:'),
    ("er03-writes-alone", V, 'if "add" in kinds:', 'if kinds == {"read", "add"}:\n            return None\n        if "add" in kinds:'),
    ("er04-left-out", V, 'return "ER04" if', "return None if"),
    ("no-group-is-a-group", V, "if one.group is not None and one.group", "if one.group"),
    ("empty-group-is-none", V, "if one.group is not None and one.group", "if one.group and one.group"),
    ("groups-are-alike", V, "one.group is not None and one.group == other.group", "one.group is not None and other.group is not None"),
    ("no-group-collides", V, "one.group is not None and one.group == other.group", "one.group == other.group or None in (one.group, other.group)"),
    ("additions-are-writes", V, 'if kinds == {"add"}:', 'if False:'),
    ("er07-left-out", V, 'return "ER07"', "return None"),
    ("er07-as-one-value", V, "if one.tensor.value != other.tensor.value:", "if False:"),
    ("er07-additions-commute", V, "if one.tensor.value != other.tensor.value:", 'if one.tensor.value != other.tensor.value and kinds != {"add"}:'),
    ("er07-additions-of-a-group", V, "if one.tensor.value != other.tensor.value:", 'if one.tensor.value != other.tensor.value and (kinds != {"add"} or one.group == other.group is not None):'),
    ("document-is-order", V, "self.earlier(one, other) or self.earlier(other, one):", "one.phase.number < other.phase.number:"),
    ("one-direction", V, "self.earlier(one, other) or self.earlier(other, one):", "self.earlier(one, other):"),
    ("touching-overlaps", V, "if each[0] > low]\n        open_changes = [each for each in open_changes if each[0] > low]", "if each[0] >= low]\n        open_changes = [each for each in open_changes if each[0] >= low]"),
    ("same-begin-alone", V, "pairs[min(index, other), max(index, other)] = True", "if (low, high) in accesses[other].intervals:\n                pairs[min(index, other), max(index, other)] = True"),
    ("names-and-not-bytes", S, 'self.storage = ("own", self.value) if shown.get("storage") is None else', 'self.storage = ("own", self.value) if True else'),
    ("views-apart", S, 'self.value = name if shown is own else own["view"]', "self.value = name", S, '("own", self.value)', '("own", own.get("view") or name)'),
    ("storage-is-a-value", S, 'self.storage = ("own"', 'self.value = ("s", shown["storage"]) if shown.get("storage") is not None else self.value\n        self.storage = ("own"'),
    ("view-offset-from-storage", S, 'own.get("offset", 0) + (0 if shown is own else shown.get("offset", 0))', 'own.get("offset", 0)'),
    ("view-offset-ignored", S, 'own.get("offset", 0) + (0 if shown is own else shown.get("offset", 0))', 'shown.get("offset", 0)'),
    ("offsets-ignored", S, 'own.get("offset", 0) + (0 if shown is own else shown.get("offset", 0))', "0"),
    ("elements-are-bytes", V, "tensor.start + begin * tensor.element, tensor.start + (begin + length) * tensor.element", "tensor.start + begin, tensor.start + begin + length"),
    ("regions-are-all", V, "    if region is None:\n        return [(tensor", "    if True:\n        return [(tensor"),
    ("regions-are-hulls", V, "    return merged", "    return [(merged[0][0], merged[-1][1])]"),
    ("empty-is-all", V, "        return []\n    shape", "        return [(tensor.start, tensor.start + tensor.bytes)]\n    shape"),
    ("column-major", V, "math.prod(shape[axis + 1 :]) for axis", "math.prod(shape[:axis]) for axis"),
    ("runs-ignored", V, "    for axis, step, count in runs:", "    for axis, step, count in []:"),
    ("first-run-alone", V, "    for axis, step, count in runs:", "    for axis, step, count in runs[:1]:"),
    ("last-run-alone", V, "    for axis, step, count in runs:", "    for axis, step, count in runs[-1:]:"),
    ("run-one-more", V, "for copy in range(count)}", "for copy in range(count + 1)}"),
    ("run-one-fewer", V, "for copy in range(count)}", "for copy in range(max(1, count - 1))}"),
    ("run-of-the-first-box", V, "begins = {begin + copy * step * strides[axis] for begin in begins", "begins |= {begin + copy * step * strides[axis] for begin in [min(begins)]"),
    ("run-step-in-boxes", V, "copy * step * strides[axis]", "copy * step * (box[axis][1] - box[axis][0]) * strides[axis]"),
    ("run-step-in-elements", V, "copy * step * strides[axis]", "copy * step"),
    # Contents
    ("er05-left-out", V, "if not written and access.tensor.init is False:", "if False:"),
    ("er06-left-out", V, "if not written and access.tensor.init == ", "if False and access.tensor.init == "),
    ("er06-of-reads-alone", V, "if not written and access.tensor.init == ", "if access.kind == 'read' and not written and access.tensor.init == "),
    ("er05-of-reads-alone", V, "if not written and access.tensor.init is False:", "if access.kind == 'read' and not written and access.tensor.init is False:"),
    ("once-after-writes-alone", V, "changed = any(change.tensor.value == value for", "changed = any(change.tensor.value == value and change.kind == 'write' for"),
    ("once-must-not-be-written", V, '== "once" and changed:', '== "once" and not changed:'),
    ("once-must-be-written", V, '== "once" and changed:', '== "once":'),
    ("once-changed-by-any-value", V, "changed = any(change.tensor.value == value for change in changes)", "changed = bool(changes)"),
    ("once-changed-by-others", V, "changed = any(change.tensor.value == value for change in changes)", "changed = any(change.tensor.value == value and change.phase.task is not access.phase.task for change in changes)"),
    ("er08-beside-er05", V, "nobody has written all of it\"))\n                    continue", "nobody has written all of it\"))"),
    ("er08-beside-er06", V, "what the first one left\"))\n                    continue", "what the first one left\"))"),
    ("once-is-filled", S, 'self.init = self.init if self.kind', 'self.init = bool(self.init) if self.kind'),
    ("output-is-filled", S, 'if self.kind in ("activation", "output") else True', 'if self.kind in ("activation",) else True'),
    ("cache-is-empty", S, 'if self.kind in ("activation", "output") else True', 'if self.kind in ("activation", "output", "cache") else True'),
    ("input-is-empty", S, 'if self.kind in ("activation", "output") else True', 'if self.kind in ("activation", "output", "input") else True'),
    ("any-value-fills", V, 'change.kind == "write" and change.tensor.value == value for change in before', 'change.kind == "write" for change in before'),
    ("own-phase-fills-reads", V, 'PLACE = {"read": 0,', 'PLACE = {"read": 1.5,'),
    ("a-phase-in-no-order", V, "return one.place < other.place", "return one.place[0] < other.place[0]"),
    ("own-phase-fills-nothing", V, "return one.place < other.place", "return False"),
    ("any-time-fills", V, "before = [change for change in changes if self.earlier(change, access)]", "before = [change for change in changes if not self.earlier(access, change)]"),
    ("a-part-fills", V, "for piece in pieces_of(accesses):", "for piece in [list(dict.fromkeys(a for p in pieces_of(accesses) for a in p))]:"),
    ("er08-left-out", V, "                if lost:", "                if False:"),
    ("er08-of-reads-alone", V, "                if lost:", '                if lost and access.kind == "read":'),
    ("er08-any-before", V, "for change in last)", "for change in before)"),
    ("er08-no-additions", V, "lost = any(change.tensor.value != value for change in last)", 'lost = any(change.tensor.value != value and change.kind == "write" for change in last)'),
    ("er08-latest-in-document", V, "for change in last)", "for change in before[-1:])"),
    ("er08-of-this-launch", V, "lost = access.tensor.kept and any(", "lost = False and any("),
    ("er08-weights-kept", S, 'self.kept = self.kind in ("weight", "cache")', 'self.kept = self.kind in ("cache",)'),
    ("er08-caches-kept", S, 'self.kept = self.kind in ("weight", "cache")', 'self.kept = self.kind in ("weight",)'),
    ("er08-once-kept", S, 'or self.init == "once"', ""),
    ("er08-input-not-put-back", S, 'self.kept = self.kind in ("weight", "cache")', 'self.kept = self.kind in ("weight", "cache", "input")'),
    ("er08-init-not-put-back", S, 'or self.init == "once"', 'or self.init in ("once", True)'),
    ("er08-additions-keep", V, "lost = access.tensor.kept and any(change.tensor.value != value", 'lost = access.tensor.kept and any(change.kind == "write" and change.tensor.value != value'),
    ("contents-beside-races", V, "found += broken or self.contents(accesses)", "found += broken + self.contents(accesses)"),
    ("contents-after-all-races", V, "        return found\n\n    def conflict", "        return [f for f in found if f['rule'] in ('ER01', 'ER02', 'ER03', 'ER04', 'ER07')] or found\n\n    def conflict"),
    ("er-beside-ed05", V, "    if not found:\n        schedule.order", "    if all(each['rule'] == 'ED05' for each in found):\n        schedule.order", V, "        found = schedule.races()", "        found += schedule.races()"),
    # Warnings
    ("ew01-left-out", V, "if sure >= count:", "if False:"),
    ("ew01-one-more", V, "if sure >= count:", "if sure > count:"),
    ("ew01-in-signals", V, "sum(amount for number, amount in self.signallers", "sum(1 for number, amount in self.signallers"),
    ("ew01-other-events-alone", V, "if other != place:", "if name != event:"),
    ("ew01-with-itself", V, "if other != place:", "if True:"),
    ("ew01-own-task-alone", V, "if other != place:", "if False:"),
    ("ew01-of-two-one", V, "if other != place:", "if other < place:"),
    ("ew02-left-out", V, "if event not in waited]", "if False]"),
    ("ew02-also-waited", V, "if event not in waited]", "if True]"),
    ("ew02-without-er-alone", V, "        found += schedule.dead_events()", "        found = found or schedule.dead_events()"),
    ("ew01-beside-er", V, "        if not found:\n            found += schedule.red", "        if True:\n            found += schedule.red"),
    ("ew02-beside-ed", V, "    return unique(found)\n\n\ndef unique", "    return unique(found + schedule.dead_events())\n\n\ndef unique"),
    # What crosses: counts of one event, fences of queues and of events, repetition without a queue, names of values, workers that wait
    ("waits-of-the-first-phase-order-alone", V, "for event, count, _ in phase.waits:\n                self.before", "for event, count, _ in phase.waits if phase is phase.task.phases[0] else []:\n                self.before"),
    ("counts-of-an-event-summed", V, "                self.before[phase.number] |= self.seen(event, count)", "                self.before[phase.number] |= self.seen(event, sum(c for e, c, _ in phase.waits if e == event))"),
    ("first-count-of-an-event", V, "                self.before[phase.number] |= self.seen(event, count)", "                self.before[phase.number] |= self.seen(event, [c for e, c, _ in phase.waits if e == event][0])"),
    ("last-count-of-an-event", V, "                self.before[phase.number] |= self.seen(event, count)", "                self.before[phase.number] |= self.seen(event, [c for e, c, _ in phase.waits if e == event][-1])"),
    ("one-count-of-an-event-for-all", V, "if (event, count) not in self.waited:", "if self.waited.setdefault(event, count) and (event, self.waited[event]) not in self.waited:\n            count = self.waited[event]", V, "        return self.waited[event, count]", "        return self.waited[event, self.waited[event]]"),
    ("before-in-the-order-of-the-document", V, "        for phase in self.order:\n            if phase in previous", "        for phase in self.phases:\n            if phase in previous"),
    ("no-queue-repeats-in-queues", V, "        if queue is not None:\n            queue += k", "        if queue is None and task.get('repeat'):\n            queue = 0\n        if queue is not None:\n            queue += k"),
    ("queue-wraps-at-64-bits", V, 'queue += k * repeat.get("queue_step", 0)', 'queue += k * repeat.get("queue_step", 0)\n            queue = (queue + 2**63) % 2**64 - 2**63'),
    ("relaxed-signals-relax-queues", V, "self.by_queues = memory", "self.by_queues = self.by_signals and memory"),
    ("ordered-queues-acquire", V, "        self.totals, self.signallers, self.held", "        self.by_signals = self.by_signals or self.by_queues\n        self.totals, self.signallers, self.held"),
    ("storage-of-a-view-judged", S, "        elif storage is not None:\n            if storage", "        if storage is not None:\n            if storage"),
    ("own-storage-without-offset-views-with", S, "self.start = own", "self.start = 0 if shown is own and own.get('storage') is None else own"),
    ("copies-that-overlap-left-out", V, "        if step:\n", "        if step > (box[axis][1] - box[axis][0]) - 1:\n"),
    ("signals-at-begin-of-task", V, "                for event, amount, _ in phase.signals:\n                    counts[event] = counts", "                for event, amount, _ in ([s for p in task.phases for s in p.signals] if done[task] == 1 else []):\n                    counts[event] = counts"),
    ("worker-free-while-waiting", V, "                    standing.setdefault(short[0][0], []).append(task)\n", "                    standing.setdefault(short[0][0], []).append(task)\n                    if done[task] and task in behind:\n                        ready.append(behind.pop(task))\n"),
    ("waits-of-the-first-repetition-alone", V, "        for phase in self.phases:\n            for event, count, at in phase.waits:\n                total", "        seen = set()\n        for phase in self.phases:\n            for event, count, at in [w for w in phase.waits if not (w[2] in seen or seen.add(w[2]))]:\n                total"),
    ("hash-in-events-is-any-number", V, 'period = self.events.get(event, {}).get("period")', 'import re\n                period = self.events.get(re.sub("[0-9]+", "#", event), self.events.get(event, {})).get("period")'),
    ("epochs-order-all", V, "                if self.totals[event] - amount < count:", "                if self.totals[event] - amount < count or self.events.get(event, {}).get('period') is not None:"),
    ("groups-of-first-addition", V, "one.group is not None and one.group == other.group", "one.group is not None and [a.group for a in one.phase.accesses if a.kind == 'add'][0] == [a.group for a in other.phase.accesses if a.kind == 'add'][0]"),
    ("er04-not-through-views", V, 'return "ER04" if one.group is not None and', 'return "ER04" if one.tensor is other.tensor and one.group is not None and'),
    ("er03-not-through-views", V, 'return "ER03"', 'return "ER03" if one.tensor is other.tensor else None'),
    ("er01-not-through-views", V, 'else "ER01"', 'else ("ER01" if one.tensor is other.tensor else None)'),
    ("last-access-to-a-tensor-alone", V, "                one.accesses.append(Access(", "                one.accesses[:] = [a for a in one.accesses if a.kind != kind or a.tensor is not tensor]\n                one.accesses.append(Access("),
    ("storages-by-size-of-elements", S, '("shared", shown["storage"])', '("shared", shown["storage"], shown.get("element", 1))'),
    ("tensors-and-storages-of-one-name", S, '("own", self.value)', '("shared", self.value)'),
    ("period-of-first-wait-alone", V, "if period is not None and total not in", "if at.endswith('waits/0') and period is not None and total not in"),
    ("any-order-by-written-queue", V, "        made = Task(queue)\n", "        made = Task(queue)\n        made.written = task.get('queue')\n", V, "and task.queue is not None and task.queue not in self.any_order:", "and task.queue is not None and task.written not in self.any_order:"),
    ("run-any-order-by-written-queue", V, "        made = Task(queue)\n", "        made = Task(queue)\n        made.written = task.get('queue')\n", V, "task.queue is None or task.queue in self.any_order:", "task.queue is None or task.written in self.any_order:"),
    ("all-in-elements", V, "return [(tensor.start, tensor.start + tensor.bytes)]\n    box", "return [(tensor.start, tensor.start + tensor.bytes // tensor.element)]\n    box"),
    ("queue-step-from-one", V, "queue += k * repeat.get", "queue += (k + 1) * repeat.get"),
    ("race-with-last-change-alone", V, "in open_changes if reads else open_changes + open_reads:", "in open_changes[-1:] if reads else open_changes + open_reads:"),
    ("race-with-last-read-alone", V, "in open_changes if reads else open_changes + open_reads:", "in open_changes if reads else open_changes + open_reads[-1:]:"),
    ("any-order-adds-commute", V, '        if "add" in kinds:\n', '        if "add" in kinds and one.phase.task.queue in self.any_order and other.phase.task.queue in self.any_order:\n            return None\n        if "add" in kinds:\n'),
    ("er04-of-first-phases", V, 'return "ER04" if one.group is not None and', 'return "ER04" if one.phase is one.phase.task.phases[0] and other.phase is other.phase.task.phases[0] and one.group is not None and'),
    # Sizes, names and what is between tasks
    ("phases-in-64-bits", V, "return self.before[number] | 1 << number", "return (self.before[number] | 1 << number) & (1 << 64) - 1"),
    ("phases-modulo-64", V, "return self.before[number] | 1 << number", "return self.before[number] | 1 << number | (1 << number + 64 if number < 64 else 0)"),
    ("eight-waits", V, 'enumerate(phase.get("waits", [])):', 'enumerate(phase.get("waits", [])[:8]):'),
    ("eight-signals", V, 'enumerate(phase.get("signals", [])):', 'enumerate(phase.get("signals", [])[:8]):'),
    ("sixteen-accesses", V, "in accesses_of(phase, at):", "in list(accesses_of(phase, at))[:16]:"),
    ("four-phases", V, "for index, (at, phase) in enumerate(phases):", "for index, (at, phase) in enumerate(phases[:4]):"),
    ("256-intervals", V, "    for begin in sorted(begins):", "    for begin in sorted(begins)[:256]:"),
    ("queues-in-32-bits", V, "        made = Task(queue)\n", "        made = Task(queue if queue is None else queue & 0xFFFFFFFF)\n"),
    ("queues-without-sign", V, "        made = Task(queue)\n", "        made = Task(queue if queue is None else abs(queue))\n"),
    ("totals-in-32-bits", V, "self.totals.get(one.signals[-1][0], 0) + amount", "(self.totals.get(one.signals[-1][0], 0) + amount) % 2**32"),
    ("totals-in-31-bits", V, "self.totals.get(one.signals[-1][0], 0) + amount", "min(2**31 - 1, self.totals.get(one.signals[-1][0], 0) + amount)"),
    ("offsets-in-32-bits", V, "low, high = tensor.start + begin * tensor.element, tensor.start + (begin + length) * tensor.element", "low, high = tensor.start % 2**32 + begin * tensor.element, tensor.start % 2**32 + (begin + length) * tensor.element"),
    ("bytes-in-32-bits", V, "        if merged and low <= merged[-1][1]:", "        low, high = low % 2**32, low % 2**32 + high - low\n        if merged and low <= merged[-1][1]:"),
    ("scalars-are-empty", V, "    length = 1\n", "    length = 1 if shape else 0\n"),
    ("events-in-any-case", V, "one.waits.append((named(event, task, k), count,", "one.waits.append((named(event, task, k).lower(), count,", V, "one.signals.append((named(event, task, k), amount,", "one.signals.append((named(event, task, k).lower(), amount,"),
    ("events-composed", V, "one.waits.append((named(event, task, k), count,", "one.waits.append((__import__('unicodedata').normalize('NFC', named(event, task, k)), count,", V, "one.signals.append((named(event, task, k), amount,", "one.signals.append((__import__('unicodedata').normalize('NFC', named(event, task, k)), amount,"),
    ("events-stripped", V, "one.waits.append((named(event, task, k), count,", "one.waits.append((named(event, task, k).strip(), count,", V, "one.signals.append((named(event, task, k), amount,", "one.signals.append((named(event, task, k).strip(), amount,"),
    ("storages-in-any-case", S, '("shared", shown["storage"])', '("shared", shown["storage"].lower())'),
    ("amounts-of-a-task", V, "                by[phase.number] = by.get(phase.number, 0) + amount", "                by[phase.task.phases[0].number] = by.get(phase.task.phases[0].number, 0) + amount"),
    ("own-signals-not-seen", V, "            for event, count, _ in phase.waits:\n                self.before[phase.number] |= self.seen(event, count)", "            for event, count, _ in phase.waits:\n                if any(one == event for p in phase.task.phases for one, *_ in p.signals):\n                    continue\n                self.before[phase.number] |= self.seen(event, count)"),
    ("ew01-of-other-events", V, "                    if other != place:\n", "                    if name != event:\n"),
    ("ew01-without-other-waits", V, "                    if other != place:\n", "                    if False:\n"),
    ("ew01-without-tasks", V, "                before = self.otherwise[phase.number]\n                for other", "                before = 0\n                for other"),
    ("ew01-all-signals", V, "if sure >= count:", "if sure >= self.totals[event]:"),
    ("ew01-more-than-enough", V, "if sure >= count:", "if sure > count:"),
    ("ew02-own-wait", V, "waited = {event for phase in self.phases for event, _, _ in phase.waits}", "waited = {event for phase in self.phases for event, _, _ in phase.waits if any(event == one and p.task is not phase.task for p in self.phases for one, *_ in p.signals)}"),
    ("pieces-at-begins", V, "        if inside:\n            yield list(inside)", "        if inside and at in begins:\n            yield list(inside)"),
    ("idle-tasks-break-queues", V, "                continue  # tasks", "                self.by_queues = self.by_queues and task.get('queue') is None\n                continue  # tasks"),
    ("waits-once-an-event", V, "                if index > 0 and queue in self.any_order:", "                if [w[0] for w in one.waits].count(one.waits[-1][0]) > 1:\n                    one.waits.pop()\n                    continue\n                if index > 0 and queue in self.any_order:"),
    ("empty-accesses-conflict", V, "        return []\n    shape", "        return [(tensor.start, tensor.start + 1)]\n    shape"),
    # Traces
    ("trace-needs-no-launches", T, "        found.append(finding(\"S03\", \"\", \"the member `launches` is missing\"))", "        pass", T, "document[\"launches\"]):\n", "document.get(\"launches\", [])):\n"),
    ("trace-names-unjudged", T, "    if value[0] not in ENTRIES:\n        return found.append(finding(\"S05\"", "    if value[0] not in ENTRIES:\n        return None and found.append(finding(\"S05\""),
    ("trace-any-task", T, "if not 0 <= task < len(tasks):", "if not task < len(tasks):"),
    ("trace-one-task-more", T, "if not 0 <= task < len(tasks):", "if not 0 <= task <= len(tasks):"),
    ("trace-phase-below-0", T, "if not 0 <= phase < len", "if not phase < len"),
    ("trace-regions-unjudged", T, "                if bad:", "                if False:"),
    ("trace-amounts-from-0", T, '(0, MOST_COUNT) if what == "wait" else (1, MOST)', '(0, MOST_COUNT) if what == "wait" else (-MOST, MOST)'),
    ("trace-any-count", T, "if not least <= more[1] <= most:", "if not least <= more[1]:"),
    ("trace-et01-beside-others", T, "    if not found:\n        run = Run", "    if True:\n        run = Run"),
    ("trace-et02-left-out", T, 'if (task in self.began) == (what == "begin"):', "if False:"),
    ("trace-begin-unneeded", T, 'if (task in self.began) == (what == "begin"):', 'if task in self.began and what == "begin":'),
    ("trace-begin-often", T, 'if (task in self.began) == (what == "begin"):', 'if task not in self.began and what != "begin":'),
    ("trace-tasks-left-out", T, "            if index not in self.began:", "            if False:"),
    ("trace-begun-once-for-all", T, "self.began, self.reached, self.queues, self.left = set(), {}, {}, set()", 'self.began, self.reached, self.queues, self.left = getattr(self, "began", set()), {}, {}, set()'),
    ("trace-et03-left-out", T, "if phase != self.tasks[task].queue:", "if False:"),
    ("trace-queue-of-none", T, "if phase != self.tasks[task].queue:", "if phase is not None and phase != self.tasks[task].queue:"),
    ("trace-no-queue-step", T, 'self.queue += k * repeat.get("queue_step", 0)', "pass"),
    ("trace-no-modulo", T, "self.queue %= repeat[\"queues\"]", "pass"),
    ("trace-et04-left-out", T, "            if task < last:", "            if False:"),
    ("trace-any-order-everywhere", T, "if queue not in self.any_order:", "if False:"),
    ("trace-any-order-nowhere", T, "if queue not in self.any_order:", "if True:"),
    ("trace-any-order-at-once", T, "            if task in self.left:", "            if False:"),
    ("trace-et05-left-out", T, "if stage < self.reached.get(task, stage):", "if False:"),
    ("trace-phases-alone", T, "if stage < self.reached.get(task, stage):", "if stage[0] < self.reached.get(task, stage)[0]:"),
    ("trace-late-signals-alone", T, '(phase, 0 if what == "wait" else 2', '(phase, 1 if what == "wait" else 2'),
    ("trace-early-signals", T, 'else 2 if what == "signal" else 1)', "else 1)"),
    ("trace-accesses-in-any-order", T, '{"read": ("write", "add"), "write": ("add",), "add": ()}', '{"read": (), "write": (), "add": ()}'),
    ("trace-reads-behind-additions", T, '"read": ("write", "add")', '"read": ("write",)'),
    ("trace-reads-behind-writes", T, '"read": ("write", "add")', '"read": ("add",)'),
    ("trace-writes-behind-additions", T, '"write": ("add",)', '"write": ()'),
    ("trace-additions-in-front", T, '"add": ()}[what]', '"add": ("write",)}[what]'),
    ("trace-order-by-value", T, "(self.changed, (task, phase, what, tensor.storage)),", "(self.changed, (task, phase, what, tensor.value)),", T, "self.changed.get((task, phase, kind, tensor.storage), [])", "self.changed.get((task, phase, kind, tensor.value), [])"),
    ("trace-et06-left-out", T, "if self.made.get((index, phase, \"wait\", event), 0) < count:", "if False:"),
    ("trace-et06-any-count", T, "if self.made.get((index, phase, \"wait\", event), 0) < count:", "if (index, phase, \"wait\", event) not in self.made:"),
    ("trace-no-epochs", T, "count += number * (self.periods.get(event) or 0)", "pass"),
    ("trace-last-poll", T, "self.made[key] = max(count, self.made.get(key, 0))", "self.made[key] = self.made.get(key) or count"),
    ("trace-et07-left-out", T, "if event not in {name for", "if False and event not in {name for"),
    ("trace-et12-left-out", T, "if count > self.raised.get(event, 0):", "if False:"),
    ("trace-counts-over-launches", T, "if self.periods.get(name) is not None}", "}"),
    ("trace-all-set-back", T, "if self.periods.get(name) is not None}", "if False}"),
    ("trace-et11-left-out", T, "if self.made[key] > self.declared", "if False and self.made[key] > self.declared"),
    ("trace-et11-single-amounts", T, "if self.made[key] > self.declared", "if amount > self.declared"),
    ("trace-et08-left-out", T, "if not within(touched, declared):", "if False:"),
    ("trace-et08-overlap-is-enough", T, "if not within(touched, declared):", "if touched and not overlap(touched, declared):"),
    ("trace-any-kind-of-access", T, "            if does == kind:", "            if True:"),
    ("trace-any-value", T, "            if other.value == tensor.value:", "            if True:"),
    ("trace-same-tensor", T, "            if other.value == tensor.value:", "            if other is tensor:"),
    ("trace-one-region-alone", T, "declared = union(declared, part)", "declared = part"),
    ("trace-first-interval", T, "return all(any(low <= begin", "return not some or any(any(low <= begin"),
    ("trace-et09-left-out", T, "if not within(part, self.made", "if False and not within(part, self.made"),
    ("trace-et09-of-all", T, "if tensor.init is True and tensor.value in self.alone:", "if False:"),
    ("trace-et09-filled-anywhere", T, "if tensor.init is True and tensor.value in self.alone:", "if tensor.init is True:"),
    ("trace-et09-alone-is-enough", T, "if tensor.init is True and tensor.value in self.alone:", "if tensor.value in self.alone and tensor.init:"),
    ("trace-et10-left-out", T, "if event not in first and raised <", "if False and raised <"),
    ("trace-et10-any-signal", T, "if event not in first and raised <", "if event not in first and raised == 0 <"),
    ("trace-launches-together", T, "        self.made = {}  # by", "        self.made = getattr(self, \"made\", {})  # by"),
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
        sys.modules[name] = made
        exec(compile(source, name + ".py", "exec"), made.__dict__)
    sys.modules["validator"].HELD = 2**16
    return made.respond


def requests():
    """The cases of the profile, with the member that holds the document."""
    for path in sorted(CORPUS.glob("cases/**/*.json")):
        text = path.read_text()
        if '"schedule"' not in text:
            continue
        case = json.loads(text)
        if case["profiles"] != ["schedule"] or case["method"] not in ("validate", "trace"):
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
        if expect.get("every_rule") and rules != set(expect["rules"]):
            return False
    elif answer["outcome"] != "accept" or expect["verdict"] == "reject":
        return False
    return "warnings" not in expect or set(expect["warnings"]) == warned


def failed(respond, cases):
    names = []
    for case, document in cases:
        signal.alarm(SECONDS)
        try:
            well = right(case["expect"], respond({"id": 1, "profile": "schedule", "method": case["method"], **document}))
        except Exception:  # noqa: BLE001, a fault may lead anywhere
            well = False
        if not well:
            names.append(case["id"])
    signal.alarm(0)
    return names


def too_long(*_):
    raise TimeoutError


def main():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    signal.signal(signal.SIGALRM, too_long)
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
