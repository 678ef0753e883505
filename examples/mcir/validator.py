"""The rules IB, IL, IO, IM, IT and IW, for documents that break no IS rule."""

from documents import child, finding
from model import is_tile, terms
from shapes import judge_shapes, tile_bytes
from structure import judge_structure, roles, states_of

MOVES = ("LoadTile", "Prefetch", "StoreTile")


def judge(document):
    """All findings, and the regions if nothing is wrong."""
    found = judge_structure(document)
    if found:
        return found, []
    found, regions = judge_shapes(document)
    if found:
        return found, []
    lifetimes = residency(document, found)
    for number, region in enumerate(regions):
        bounds(region, found)
        own_output(region, found)
        order(region, found)
        kept_too_short(region, lifetimes, found)
    materialization(document, found)
    if not any(each["rule"].startswith("IL") for each in found):
        target(document, regions, lifetimes, found)
    if not found:
        found = warnings(document, regions)
    return found, regions


# ---- IB -------------------------------------------------------------------------------------------------------------


def bounds(region, found):
    """IB01 and IB02."""
    for body, _, node, at in region.nodes:
        if node["op"] not in MOVES:
            continue
        store = node["op"] == "StoreTile"
        tile, tensor = (node["in"][0], node["out"][0]) if store else (node["out"][0], node["in"][0])
        shape, before = region.values[tensor]["shape"], len(found)
        for place, (index, extent) in enumerate(zip(node["at"], shape)):
            least, most = region.axes.bounds(index)
            if least < 0 or most >= extent:
                found.append(finding("IB01", "%s/at/%d" % (at, place), "from %d to %d of %d" % (least, most, extent)))
        if store and len(found) == before:
            wrong = coverage(region.axes, body, node["at"], region.values[tile]["shape"], shape)
            if wrong:
                found.append(finding("IB02", at + "/at", wrong))


def coverage(axes, body, at, tile, tensor):
    """IB02: what is wrong, or None. Strides in ascending order have to be a number system."""
    counts = {axis: count for axis, count in axes.counts.items() if count > 1}
    if body == "each" and axes.stream:
        if not axes.fixed:
            return "the stream has other bounds in other blocks"
        if axes.iterations == 0:
            return "there is no iteration"
        if axes.iterations > 1:
            counts[axes.stream] = axes.iterations
    where = {axis: 0 for axis in counts}
    for index in at:
        for axis, _ in axes.normal(index)[0]:
            where[axis] += 1
    for axis, places in where.items():
        if places != 1:
            return "`%s` moves the store along %d axes" % (axis, places)
    sizes = [1] * (len(tensor) - len(tile)) + list(tile)
    for place, (index, size, extent) in enumerate(zip(at, sizes, tensor)):
        left, first = axes.normal(index)
        rows = []
        for axis, factor in left:
            least, most = axes.ranges[axis]
            first += factor * (least if factor > 0 else most)
            rows.append((abs(factor) * axes.steps[axis], counts[axis]))
        if first != 0:
            return "axis %d begins at %d" % (place, first)
        for stride, count in sorted(rows):
            if stride != size:
                return "along axis %d, %d elements are followed by others %d later" % (place, size, stride)
            size *= count
        if size < extent:
            return "axis %d ends at %d of %d" % (place, size, extent)
    return None


def own_output(region, found):
    """IB03."""
    stored = {node["out"][0] for _, _, node, _ in region.nodes if node["op"] == "StoreTile"}
    for _, _, node, at in region.nodes:
        if node["op"] in ("LoadTile", "Prefetch") and node["in"][0] in stored:
            found.append(finding("IB03", at + "/in/0", "the region stores `%s` itself" % node["in"][0]))


# ---- IL -------------------------------------------------------------------------------------------------------------


def residency(document, found):
    """IL01. Lifetimes of tiles and where they are said."""
    lifetimes = {}
    for place, each in enumerate(document.get("residency", [])):
        for number, name in enumerate(each["values"]):
            at = "/residency/%d/values/%d" % (place, number)
            if document["values"][name]["residency"] != each["memory"] or name in lifetimes:
                found.append(finding("IL01", at, "`%s` is elsewhere, or said twice" % name))
            lifetimes.setdefault(name, (each["lifetime"], at))
    for name in document["values"]:
        if is_tile(document, name) and name not in lifetimes:
            found.append(finding("IL01", child("/values", name), "no lifetime is said"))
    return lifetimes


def sites(region):
    """By tile: body, place and operation of each producer and reader."""
    all_of_them = {}
    for body, place, node, _ in region.nodes:
        for side in ("out", "in"):
            for name in node.get(side, []):
                if region.values[name]["residency"] != "global":
                    all_of_them.setdefault(name, []).append((side, body, place, node["op"]))
    return all_of_them


def kept_too_short(region, lifetimes, found):
    """IL02."""
    for name, where in sites(region).items():
        lifetime, at = lifetimes.get(name, ("block", ""))
        if name in region.states:
            right = lifetime == "block"
        elif lifetime == "stream":
            right = all(body != "end" for _, body, _, _ in where)
        elif lifetime == "iteration":
            right = all(body == "each" or op == "Prefetch" for _, body, _, op in where)
        elif lifetime == "node":
            right = len({body for _, body, _, _ in where}) == 1 and all(op != "Prefetch" for _, _, _, op in where)
        else:
            right = True
        if not right:
            found.append(finding("IL02", at, "`%s` is used outside of its lifetime `%s`" % (name, lifetime)))


# ---- IO -------------------------------------------------------------------------------------------------------------


def order(region, found):
    """IO01 to IO05, for each prefetched tile."""
    tiles = {}
    for body, place, node, at in region.nodes:
        if node["op"] == "Prefetch":
            tiles.setdefault(node["out"][0], []).append((body, place, node["version"], at))
    for name, prefetches in tiles.items():
        one_tile(region, name, prefetches, found)


def one_tile(region, name, prefetches, found):
    steady = [each for each in prefetches if each[0] == "each"]
    begun = {version: place for body, place, version, _ in prefetches if body == "begin"}
    ahead = steady[0][2] if steady else -1
    if len(steady) != 1 or sorted(begun) != list(range(ahead)) or len(begun) + 1 != len(prefetches):
        found.append(finding("IO03", prefetches[0][3], "`%s`: versions are left out, or begun twice" % name))
        return
    _, issue, _, at = steady[0]
    early, waits, reads = {}, [], []
    before = len(found)
    for body, place, node, here in region.nodes:
        for number, (waited, version) in enumerate(node["wait"] if node["op"] == "Barrier" else []):
            if waited != name:
                continue
            if body == "begin":
                wrong = version not in begun or begun[version] > place
                early[version] = True
            else:
                wrong = version > ahead or (version == ahead and issue > place)
                waits.append((version, place))
            if wrong:
                found.append(finding("IO05", "%s/wait/%d" % (here, number), "it waits for what nobody has begun"))
        if body == "each":
            reads += [(place, "%s/in/%d" % (here, n)) for n, read in enumerate(node.get("in", [])) if read == name]
    if len(found) > before:
        return
    # Waits of earlier iterations reach all but the first ones, which `begin` has to wait for.
    least = min((version for version, _ in waits if version > 0), default=None)
    earlier = least is not None and all(version in early for version in range(least))
    now = [place for version, place in waits if version == 0]
    if not earlier and not now:
        found.append(finding("IO04", at, "nobody waits for every version of `%s`" % name))
        return
    for place, here in reads:
        if not earlier and min(now) > place:
            found.append(finding("IO01", here, "`%s` may not have landed" % name))
    buffers = region.values[name].get("buffers", 1)
    latest = max([place for place, _ in reads] or ([] if earlier else [min(now)]), default=-1)
    if buffers < ahead or (buffers == ahead and issue < latest):
        found.append(finding("IO02", at, "%d slots, and version t + %d is begun in iteration t" % (buffers, ahead)))


# ---- IM, IT ---------------------------------------------------------------------------------------------------------


def materialization(document, found):
    """IM01 and IM02."""
    allowed = [boundary["value"] for boundary in document.get("boundaries", [])]
    stored = {name for region in document["regions"] for name in region["outputs"]}
    for name in document["values"]:
        if not is_tile(document, name) and name not in document["inputs"] and name not in allowed:
            found.append(finding("IM01", child("/values", name), "`%s` has no boundary" % name))
    for place, name in enumerate(allowed):
        if name not in stored:
            found.append(finding("IM02", "/boundaries/%d" % place, "nothing stores `%s`" % name))


def peaks(region, lifetimes):
    """MCI-11: the most that is held in each memory."""
    order = [(body, place) for body, place, _, _ in region.nodes]
    number = {key: index for index, key in enumerate(order)}
    of_each = [index for index, (body, _) in enumerate(order) if body == "each"]
    change = {"shared": [0] * (len(order) + 1), "register": [0] * (len(order) + 1)}
    all_sites = sites(region)
    for name in list(region.states):
        all_sites.setdefault(name, [])
    for name, where in all_sites.items():
        lifetime = lifetimes[name][0]
        produced = [number[body, place] for side, body, place, _ in where if side == "out"]
        used = [number[body, place] for _, body, place, _ in where]
        in_begin = [number[body, place] for side, body, place, _ in where if side == "out" and body == "begin"]
        if lifetime == "block":
            first, last = 0, len(order) - 1
        elif lifetime == "node":
            first, last = min(produced), max(used)
        else:
            first = min(in_begin) if in_begin else of_each[0]
            last = max(n for n, (body, _) in enumerate(order) if body != "end")
        if first <= last:
            size = tile_bytes(region.values[name])
            changes = change[region.values[name]["residency"]]
            changes[first] += size
            changes[last + 1] -= size
    most = {}
    for memory, changes in change.items():
        held = most[memory] = 0
        for delta in changes[:-1]:
            held += delta
            most[memory] = max(most[memory], held)
    return most


def target(document, regions, lifetimes, found):
    """IT01 and IT02."""
    for number, region in enumerate(regions):
        most = peaks(region, lifetimes)
        for rule, memory in (("IT01", "shared"), ("IT02", "register")):
            limit = document.get("target", {}).get(memory + "_bytes")
            if limit is not None and most[memory] > limit:
                message = "%d bytes of %s memory, and there are %d" % (most[memory], memory, limit)
                found.append(finding(rule, "/regions/%d" % number, message))


# ---- IW -------------------------------------------------------------------------------------------------------------


def warnings(document, regions):
    found = []

    def warn(rule, at, message):
        found.append(finding(rule, at, message, "warning"))

    used, ahead = set(), {}
    loaded = set()
    for region in regions:
        said = set()
        stream = region.axes.stream
        for body, _, node, at in region.nodes:
            op = node["op"]
            old, _ = roles(node)
            used.update(name for place, name in enumerate(node.get("in", [])) if place not in old or len(node["out"]) > 1)
            if op == "StoreTile":
                used.update(node["out"])
            if op in ("LoadTile", "Prefetch"):
                loaded.update(node["in"])
            if op == "Prefetch" and body == "each":
                ahead[node["out"][0]] = node["version"]
            for place, wait in enumerate(node["wait"] if op == "Barrier" else []):
                if (body, *wait) in said:
                    warn("IW03", "%s/wait/%d" % (at, place), "an earlier barrier has waited for it")
                said.add((body, *wait))
            if op == "LoadTile" and body == "each" and stream:
                if not any(terms(index)[0].get(stream) for index in node["at"]):
                    warn("IW04", at, "the same tile is loaded in each iteration")
    for name, value in document["values"].items():
        if name not in used:
            warn("IW01", child("/values", name), "nothing uses `%s`" % name)
        if value["residency"] != "global" and value.get("buffers", 1) > ahead.get(name, 0) + 1:
            warn("IW02", child("/values", name) + "/buffers", "more slots than versions at once")
    for place, boundary in enumerate(document.get("boundaries", [])):
        if boundary["value"] not in document["outputs"] and boundary["value"] not in loaded:
            warn("IW05", "/boundaries/%d" % place, "`%s` is stored for nobody" % boundary["value"])
    return found
