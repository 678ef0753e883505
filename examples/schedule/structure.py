"""Parts of schedules (SCH-02 to SCH-05), and the rules ES01 to ES06, for documents that break none of S01 to S05."""

import math

from documents import child, finding

MOST = 2**31 - 1
MOST_BYTES = 2**62
MOST_TASKS, MOST_PARTS, MOST_INTERVALS = 2**24, 2**26, 2**26
LOOKED = 4096  # tasks of a repetition, after which one unknown name is enough
MEMBERS = ("waits", "reads", "writes", "adds", "signals")
ACCESSES = (("reads", "read"), ("writes", "write"), ("adds", "add"))


def judge_structure(document):
    """Findings, and the tensors by name."""
    found = number_range(document)
    bad = {each["pointer"] for each in found}
    tensors = all_tensors(document, bad, found)
    judge_accesses(document, tensors, bad, found)
    found += too_large(document, tensors, found)
    return found, tensors


# ---- Parts of a document --------------------------------------------------------------------------------------------


def phases_of(document):
    """Each task of the document, its pointer, times, and phases with their pointers."""
    for index, task in enumerate(document["tasks"]):
        at = child("/tasks", index)
        repeat = task.get("repeat")
        phases = [("%s/phases/%d" % (at, number), phase) for number, phase in enumerate(task["phases"])]
        yield task, at, (repeat["times"] if repeat else 1), phases


def accesses_of(phase, at):
    """Kind, tensor, region, group and pointer of each access of a phase."""
    for member, kind in ACCESSES:
        for index, (tensor, region, *group) in enumerate(phase.get(member, [])):
            yield kind, tensor, region, (group[0] if group else None), "%s/%s/%d" % (at, member, index)


def named(text, task, k):
    """SCH-05: in a repeated task `#` is the number of the task."""
    return text.replace("#", str(k)) if task.get("repeat") else text


def turns(text, task, times):
    """The tasks to look at, if what is looked at is linear in `k` but for a name."""
    if task.get("repeat") and "#" in text:
        return range(times)
    return sorted({0, times - 1}) if times > 0 else []


def parts(region):
    """SCH-04: box, runs and shift."""
    if isinstance(region, list):
        return region, [], [0] * len(region)
    return region["box"], region.get("runs", []), region.get("shift", [0] * len(region["box"]))


# ---- ES -------------------------------------------------------------------------------------------------------------


def number_range(document):
    """ES01."""
    found = []

    def within(value, least, most, at):
        if value is not None and not least <= value <= most:
            found.append(finding("ES01", at, "%d is not from %d to %d" % (value, least, most)))

    for name, tensor in document["tensors"].items():
        at = child("/tensors", name)
        before = len(found)
        for axis, extent in enumerate(tensor["shape"]):
            within(extent, 1, MOST, "%s/shape/%d" % (at, axis))
        within(tensor.get("element", 1), 1, 4096, at + "/element")
        if len(found) == before and math.prod(tensor["shape"]) * tensor.get("element", 1) > MOST_BYTES:
            found.append(finding("ES01", at, "more than 2^62 bytes"))
        within(tensor.get("offset", 0), 0, MOST_BYTES, at + "/offset")
    for name, storage in document.get("storages", {}).items():
        within(storage["bytes"], 0, MOST_BYTES, child("/storages", name) + "/bytes")
    for name, event in document.get("events", {}).items():
        within(event.get("period"), 1, MOST, child("/events", name) + "/period")
    for task, at, times, phases in phases_of(document):
        within(times, 1, MOST, at + "/repeat/times")
        within((task.get("repeat") or {}).get("queues"), 1, MOST, at + "/repeat/queues")
        for here, phase in phases:
            for member in ("waits", "signals"):
                for index, (_, count) in enumerate(phase.get(member, [])):
                    within(count, 1, MOST, "%s/%s/%d/1" % (here, member, index))
    return found


class Tensor:
    """SCH-02: where a tensor lies. `value` is the name of the tensor that it shows."""

    def __init__(self, name, tensors):
        own = tensors[name]
        shown = own if own.get("view") is None else tensors.get(own["view"], own)
        self.value = name if shown is own else own["view"]
        self.shape, self.element = own["shape"], own.get("element", 1)
        self.bytes = math.prod(self.shape) * self.element
        self.kind, self.init = shown.get("kind", "activation"), shown.get("init", False)
        self.start = own.get("offset", 0) + (0 if shown is own else shown.get("offset", 0))
        self.storage = ("own", self.value) if shown.get("storage") is None else ("shared", shown["storage"])
        # SCH-10: `init` is of meaning for two kinds alone.
        self.init = self.init if self.kind in ("activation", "output") else True
        self.kept = self.kind in ("weight", "cache") or self.init == "once"


def all_tensors(document, bad, found):
    """ES03 and ES04 of tensors. All tensors by name."""
    raw, storages, tensors = document["tensors"], document.get("storages", {}), {}
    unsound = {"/".join(pointer.split("/")[:3]) for pointer in bad}
    sound = {name for name in raw if child("/tensors", name) not in unsound}
    for name, tensor in raw.items():
        at, view, storage = child("/tensors", name), tensor.get("view"), tensor.get("storage")
        made = tensors[name] = Tensor(name, raw)
        room = None
        if view is not None:  # such a tensor takes no `storage` of its own
            if view not in raw or raw[view].get("view") is not None:
                found.append(finding("ES03", at + "/view", "`%s` is no tensor, or a view" % view))
            elif view in sound:
                room = math.prod(raw[view]["shape"]) * raw[view].get("element", 1)
        elif storage is not None:
            if storage not in storages:
                found.append(finding("ES03", at + "/storage", "there is no storage `%s`" % storage))
            elif child("/storages", storage) + "/bytes" not in bad:
                room = storages[storage]["bytes"]
        end = tensor.get("offset", 0) + made.bytes
        if name in sound and room is not None and end > room:
            found.append(finding("ES04", at, "the tensor ends at byte %d of %d" % (end, room)))
    return tensors


def judge_accesses(document, tensors, bad, found):
    """ES02, ES03 and ES05 of accesses."""
    for task, at, times, phases in phases_of(document):
        if at + "/repeat/times" in bad:
            continue
        for here, phase in phases:
            for kind, name, region, _, place in accesses_of(phase, here):
                for k in turns(name, task, times):
                    tensor = named(name, task, k)
                    if tensor not in tensors:
                        found.append(finding("ES03", place + "/0", "there is no tensor `%s`" % tensor))
                        if k > LOOKED:
                            break
                        continue
                    tensor = tensors[tensor]
                    if kind != "read" and tensor.kind in ("input", "weight"):
                        found.append(finding("ES05", place, "the host fills `%s`" % tensor.value))
                    if region is not None:
                        judge_region(region, tensor, k, place + "/1", found)


def judge_region(region, tensor, k, at, found):
    """ES02."""
    box, runs, shift = parts(region)
    rank = len(tensor.shape)
    before = len(found)
    inner = at if isinstance(region, list) else at + "/box"
    if len(box) != rank:
        found.append(finding("ES02", at, "%d intervals for %d axes" % (len(box), rank)))
    if isinstance(region, dict) and "shift" in region and len(shift) != rank:
        found.append(finding("ES02", at, "a shift of %d numbers for %d axes" % (len(shift), rank)))
    for axis, (low, high) in enumerate(box):
        if not 0 <= low <= high:
            found.append(finding("ES02", "%s/%d" % (inner, axis), "no interval"))
    for index, (axis, step, count) in enumerate(runs):
        if not (0 <= axis < rank and 0 <= step and 1 <= count <= MOST):
            found.append(finding("ES02", "%s/runs/%d" % (at, index), "no run"))
    if len(found) > before or any(low == high for low, high in box):
        return
    for axis, (low, high) in enumerate(box):
        reach = sum(step * (count - 1) for along, step, count in runs if along == axis)
        if low + k * shift[axis] < 0 or high + reach + k * shift[axis] > tensor.shape[axis]:
            found.append(finding("ES02", at, "beyond axis %d of `%s` in task %d" % (axis, tensor.value, k)))


def count_intervals(region, shape):
    """ES06: intervals without gap of the boxes of an access."""
    if region is None:
        return 1
    box, runs, _ = parts(region)
    sizes = [high - low for low, high in box]
    if 0 in sizes:
        return 0
    return math.prod(sizes[: first_of_chunk(box, shape)]) * math.prod(count for _, _, count in runs)


def first_of_chunk(box, shape):
    """The axis from which on a box has no gap: behind it, it is as wide as the tensor."""
    axis = len(shape) - 1
    while axis > 0 and box[axis] == [0, shape[axis]]:
        axis -= 1
    return max(axis, 0)


def too_large(document, tensors, found):
    """ES06. Intervals are counted where all accesses are sound."""
    tasks = pieces = intervals = 0
    broken = any(each["rule"] in ("ES01", "ES02", "ES03") for each in found)
    for task, at, times, phases in phases_of(document):
        tasks += max(times, 0)
        for here, phase in phases:
            pieces += max(times, 0) * (1 + sum(len(phase.get(member, [])) for member in MEMBERS))
            for _, name, region, _, _ in [] if broken else accesses_of(phase, here):
                if task.get("repeat") and "#" in name:
                    intervals += sum(count_intervals(region, tensors[named(name, task, k)].shape) for k in range(times))
                else:
                    intervals += max(times, 0) * count_intervals(region, tensors[name].shape)
        if tasks > MOST_TASKS or pieces > MOST_PARTS or intervals > MOST_INTERVALS:
            return [finding("ES06", at, "%d tasks, %d parts, %d intervals" % (tasks, pieces, intervals))]
    return []
