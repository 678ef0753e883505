"""Judges collective algorithms and runs them: spec/companions/collectives, position by position and without haste."""

import math
import struct

from algorithms import Network, finding, numbers, topology_rules

MOST_STEPS = 33554432
BYTES = {"f16": 2, "f32": 4}


class Broken(Exception):
    """What a stage finds; no later stage is judged."""


def stop(found):
    if found:
        raise Broken(found)


# ---- Logs: CS04 to CS13, CS16, CW02 ---------------------------------------------------------------------------------


def logs_of(document, all_elements):
    owner, found = {}, []
    for index, log in enumerate(document["logs"]):
        for entry, (first, last, step) in enumerate(log["elements"]):
            if first > last:
                continue
            at = "/logs/%d/elements/%d" % (index, entry)
            if first + (last - first) // step * step >= all_elements:
                found.append(finding("CS04", at, "there is no such element"))
                continue
            for element in range(first, last + 1, step):
                if element in owner:
                    found.append(finding("CS04", at, "element %d has a log already" % element))
                    break
                owner[element] = index
    if not found and len(owner) < all_elements:
        found.append(finding("CS04", "/logs", "an element stands in no log"))
    stop(found)
    return owner


def unknown(ops, at, found):
    for index, op in enumerate(ops):
        here = "%s/%d" % (at, index)
        if "for" in op:
            unknown(op["ops"], here + "/ops", found)
        elif op["op"] not in ("load", "store", "send", "recv", "add", "cast"):
            found.append(finding("CS05", here, "`%s` is no operation" % op["op"]))


def value(number, variables):
    if type(number) is int:
        return number
    inner = number.get("add", 0) + sum(factor * variables[key] for key, factor in number.get("of", {}).items())
    if "mod" in number:
        inner %= number["mod"]
    return number.get("plus", 0) + number.get("times", 1) * inner


class Expansion:
    """The operations of all elements: (op, place, ...) tuples, and the queues that they name."""

    def __init__(self, document, network, owner):
        self.document, self.network = document, network
        self.steps, self.found, self.warned, self.said = 0, [], [], set()
        self.queues = {}
        self.lines = []
        for element in range(network.elements):
            rank, cube = divmod(element, network.cubes)
            self.element, self.line, self.known, self.stored = element, [], {}, set()
            log = owner[element]
            at = "/logs/%d/ops" % log
            self.expand(document["logs"][log]["ops"], at, {"rank": rank, "cube": cube})
            self.lines.append(self.line)

    def expand(self, ops, at, variables):
        for index, op in enumerate(ops):
            here = "%s/%d" % (at, index)
            if "for" not in op:
                self.count(1)
                self.one(op, here, variables)
                continue
            turns = max(0, value(op["count"], variables))
            if turns * (1 + len(op["ops"])) + self.steps > MOST_STEPS:
                self.count(MOST_STEPS + 1)
            if not op["ops"]:
                self.count(turns)
                continue
            for turn in range(turns):
                self.count(1)
                self.expand(op["ops"], here + "/ops", {**variables, op["for"]: turn})

    def count(self, steps):
        self.steps += steps
        if self.steps > MOST_STEPS:
            raise Broken([finding("CS16", "/logs", "too many operations")])

    def say(self, rule, at, message):
        if (rule, at) not in self.said:
            self.said.add((rule, at))
            if rule == "CW02":
                self.warned.append(finding(rule, at, message, "warning"))
            else:
                self.found.append(finding(rule, at, message))

    def use(self, handle, at):
        """Length and dtype of a handle; None if it is broken."""
        if handle not in self.known:
            self.say("CS06", at, "nothing has made `%s`" % handle)
            return None
        shape, arrived = self.known[handle]
        if arrived is not None:
            queue, place = arrived
            if len(self.queues[queue]["received"]) - place >= self.queues[queue]["capacity"]:
                self.say("CW02", at, "the slot of `%s` may hold a later message" % handle)
        return shape

    def queue(self, direction, sends, at):
        if not self.network.knows(direction, sends):
            return self.say("CS07", at, "there is no direction `%s`" % direction)
        queue = self.network.queue(self.element, direction, sends)
        if queue is None:
            return self.say("CS08", at, "`%s` leads nowhere from element %d" % (direction, self.element))
        name, sender, receiver, capacity = queue
        ends = {"sender": sender, "receiver": receiver, "capacity": capacity, "sent": [], "received": []}
        self.queues.setdefault(name, ends)
        return name

    def inside(self, first, length, at):
        everything = self.document["n_elem"] + self.document.get("scratch", 0)
        if first < 0 or first + length > everything:
            self.say("CS10", at, "positions %d to %d of %d" % (first, first + length - 1, everything))
            return False
        return True

    def one(self, op, at, variables):
        kind, n_elem = op["op"], self.document["n_elem"]
        if kind in ("load", "recv"):
            length, queue, ok = value(op["n"], variables), None, True
            if kind == "recv":
                queue = self.queue(op["dir"], False, at)
                ok = queue is not None
            if length < 1:
                self.say("CS09", at, "a handle without numbers")
                ok = False
            self.known[op["to"]] = (None, None)
            if kind == "load":
                first = value(op["at"], variables)
                ok = ok and self.inside(first, length, at)
                if ok and any(p not in self.stored for p in range(max(first, n_elem), first + length)):
                    self.say("CS12", at, "scratch that nobody has stored")
                    ok = False
                if ok:
                    self.known[op["to"]] = ((length, "f16"), None)
                    self.line.append(("load", at, op["to"], first, length))
            elif ok:
                shape = (length, op.get("dtype", "f16"))
                received = self.queues[queue]["received"]
                received.append((shape, at))
                self.known[op["to"]] = (shape, (queue, len(received)))
                self.line.append(("recv", at, op["to"], queue))
        elif kind == "store":
            shape, first = self.use(op["of"], at), value(op["at"], variables)
            if shape is None:
                return
            if shape[1] != "f16":
                return self.say("CS11", at, "binary32 is stored")
            if self.inside(first, shape[0], at):
                self.stored.update(range(max(first, n_elem), first + shape[0]))
                self.line.append(("store", at, op["of"], first))
        elif kind == "send":
            queue, shape = self.queue(op["dir"], True, at), self.use(op["of"], at)
            slot = self.document["topology"].get("slot_bytes")
            if shape and slot and shape[0] * BYTES[shape[1]] > slot:
                self.say("CS13", at, "the message is larger than a slot")
            elif shape and queue is not None:
                self.queues[queue]["sent"].append((shape, at))
                self.line.append(("send", at, op["of"], queue))
        elif kind == "add":
            one, other = self.use(op["a"], at), self.use(op["b"], at)
            self.known[op["to"]] = (None, None)
            if one and other and one != other:
                self.say("CS11", at, "the operands differ: %s and %s" % (one, other))
            elif one and other:
                self.known[op["to"]] = (one, None)
                self.line.append(("add", at, op["to"], op["a"], op["b"], one[1]))
        else:
            shape = self.use(op["of"], at)
            self.known[op["to"]] = ((shape[0], op["dtype"]) if shape else None, None)
            if shape:
                self.line.append(("cast", at, op["to"], op["of"], shape[1], op["dtype"]))


# ---- Running: CD, CS14 ----------------------------------------------------------------------------------------------


def run(lines, queues, capacity, cells=None):
    """Where each element comes to, if every queue holds so many messages at least. `cells` says what operations do."""
    done, ways, held = [0] * len(lines), {name: [] for name in queues}, [{} for _ in lines]
    moved = True
    while moved:
        moved = False
        for element, line in enumerate(lines):
            while done[element] < len(line):
                op = line[done[element]]
                if op[0] == "send":
                    if len(ways[op[3]]) >= max(capacity, queues[op[3]]["capacity"]):
                        break
                    ways[op[3]].append(held[element].get(op[2]))
                elif op[0] == "recv":
                    if not ways[op[3]]:
                        break
                    held[element][op[2]] = ways[op[3]].pop(0)
                elif cells is not None:
                    cells.do(element, op, held[element])
                done[element] += 1
                moved = True
    return done


def deadlock(lines, queues):
    def ends(capacity):
        return run(lines, queues, capacity)

    whole = [len(line) for line in lines]
    if ends(1) == whole:
        return []
    most = max(len(queue["sent"]) for queue in queues.values())
    done = ends(most)
    if done != whole:
        rule, more = "CD04", "no capacity helps"
    else:
        # What completes with a capacity completes with a larger one.
        least = next(capacity for capacity in range(2, most + 1) if ends(capacity) == whole)
        rule, more, done = "CD03", "the least capacity is %d" % least, ends(1)
    waits = {}
    for element, line in enumerate(lines):
        if done[element] < len(line):
            op = line[done[element]]
            waits[element] = queues[op[3]]["receiver" if op[0] == "send" else "sender"]
    on = next(iter(waits))
    for _ in waits:
        on = waits[on]
    return [finding(rule, lines[on][done[on]][1], "element %d waits for element %d; %s" % (on, waits[on], more))]


# ---- What is computed -----------------------------------------------------------------------------------------------


class Trees:
    """Each position holds the number of a tree. Trees that are equal up to swapping have one number."""

    def __init__(self, document, elements):
        self.nodes, self.ids, self.history, self.counts = [], {}, {}, {}
        n_elem = document["n_elem"]
        self.memory = [{p: self.make("leaf", e, p) for p in range(n_elem)} for e in range(elements)]

    def make(self, *node):
        if node not in self.ids:
            self.ids[node] = len(self.nodes)
            self.nodes.append(node)
        return self.ids[node]

    def add(self, dtype, a, b):
        return self.make("add", dtype, min(a, b), max(a, b))

    def cast(self, to, tree):
        if to == "f32":
            return self.make("f32", tree)
        node = self.nodes[tree]
        if node[0] == "f32":
            return node[1]
        if node[0] == "add":
            one, other = self.nodes[node[2]], self.nodes[node[3]]
            if one[0] == other[0] == "f32":
                return self.add("f16", one[1], other[1])
        return self.make("f16", tree)

    def do(self, element, op, held):
        memory = self.memory[element]
        if op[0] == "load":
            held[op[2]] = [memory[p] for p in range(op[3], op[3] + op[4])]
        elif op[0] == "store":
            for place, tree in enumerate(held[op[2]], op[3]):
                self.history.setdefault((element, place), []).append(memory.get(place))
                memory[place] = tree
        elif op[0] == "add":
            held[op[2]] = [self.add(op[5], a, b) for a, b in zip(held[op[3]], held[op[4]])]
        else:
            same = op[4] == op[5]
            held[op[2]] = [tree if same else self.cast(op[5], tree) for tree in held[op[3]]]

    def contributions(self, tree):
        """The leaves of a tree, each with 1, or with 2 if it is there more than once."""
        if tree not in self.counts:
            node = self.nodes[tree]
            if node[0] == "leaf":
                self.counts[tree] = {node[1:]: 1}
            else:
                together = {}
                for part in node[2:] if node[0] == "add" else node[1:]:
                    for leaf, times in self.contributions(part).items():
                        together[leaf] = min(2, together.get(leaf, 0) + times)
                self.counts[tree] = together
        return self.counts[tree]


def decoded(bits, dtype):
    """The number that bits stand for."""
    return struct.unpack("<e" if dtype == "f16" else "<f", bits.to_bytes(BYTES[dtype], "little"))[0]


def rounded(number, dtype):
    if math.isnan(number):
        return 0x7E00 if dtype == "f16" else 0x7FC00000
    try:
        packed = struct.pack("<e" if dtype == "f16" else "<f", number)
    except OverflowError:
        packed = struct.pack("<e" if dtype == "f16" else "<f", math.copysign(math.inf, number))
    return int.from_bytes(packed, "little")


class Bits:
    """Each position holds the bits of a number."""

    def __init__(self, tiles):
        self.memory = [dict(enumerate(tile)) for tile in tiles]

    def do(self, element, op, held):
        memory = self.memory[element]
        if op[0] == "load":
            held[op[2]] = [memory[p] for p in range(op[3], op[3] + op[4])]
        elif op[0] == "store":
            memory.update(enumerate(held[op[2]], op[3]))
        elif op[0] == "add":
            numbers = zip(held[op[3]], held[op[4]])
            # In binary64 the sum of two of these is exact, or rounding it again changes nothing.
            held[op[2]] = [rounded(decoded(a, op[5]) + decoded(b, op[5]), op[5]) for a, b in numbers]
        elif op[4] != op[5]:
            held[op[2]] = [rounded(decoded(bits, op[4]), op[5]) for bits in held[op[3]]]
        else:
            held[op[2]] = held[op[3]]


# ---- Results: CT, CB, CW01 ------------------------------------------------------------------------------------------


def wanted(document, network):
    """For each element and position that the collective asks for, the leaves, and the number of the group."""
    collective, n_elem = document["collective"], document["n_elem"]
    everybody = range(network.elements)
    if collective.get("over", "elements") == "elements":
        groups = [list(everybody)]
    else:
        groups = [[e for e in everybody if e % network.cubes == cube] for cube in range(network.cubes)]
    for number, members in enumerate(groups):
        q = len(members)
        block_of = {}
        for j in range(q):
            for position in range(j * n_elem // q, (j + 1) * n_elem // q):
                block_of[position] = j
        root = collective.get("root", 0)
        over_elements = collective.get("over", "elements") == "elements"
        root = root * network.cubes + network.link if over_elements else members[root]
        for participant, element in enumerate(members):
            for position in range(n_elem):
                if collective["kind"] == "broadcast":
                    leaves = [root]
                elif collective["kind"] == "all_gather":
                    leaves = [members[block_of[position]]]
                elif collective["kind"] == "reduce_scatter" and block_of[position] != participant:
                    continue
                else:
                    leaves = members
                yield element, position, number, leaves


def results(document, network, trees, owner):
    found, first = {}, {}
    verdicts = {}

    def judge(tree, position, number, leaves):
        key = (tree, position, number, leaves[0])
        if key not in verdicts:
            asked = {(leaf, position) for leaf in leaves}
            given = trees.contributions(tree)
            once = set(given)
            verdicts[key] = {
                rule
                for rule, broken in (
                    ("CT02", asked - once),
                    ("CT03", any(times > 1 for times in given.values())),
                    ("CT04", once - asked),
                )
                if broken
            }
        return verdicts[key]

    different = {}
    for element, position, number, leaves in wanted(document, network):
        tree = trees.memory[element][position]
        rules = judge(tree, position, number, leaves)
        if rules:
            before = trees.history.get((element, position), [])
            if not before:
                rules = {"CT01"}
            elif any(not judge(earlier, position, number, leaves) for earlier in before):
                rules = {"CT05"}
        at = "/logs/%d" % owner[element]
        for rule in rules:
            found.setdefault((rule, at), finding(rule, at, "element %d, position %d" % (element, position)))
        if first.setdefault((number, position), tree) != tree and document["collective"]["kind"] != "reduce_scatter":
            different.setdefault(at, "element %d, position %d: another order of additions" % (element, position))
    stop([found[key] for key in sorted(found)])
    if document["collective"].get("bits", "identical") == "identical":
        stop([finding("CB01", at, message) for at, message in different.items()])
    return [finding("CW01", at, message, "warning") for at, message in different.items()]


def judge_algorithm(document, simulate):
    """Warnings, and the tiles at the end if they are asked for. What is broken comes as an exception."""
    stop(numbers(document))
    stop(topology_rules(document["topology"]))
    network = Network(document["topology"])
    owner = logs_of(document, network.elements)
    tiles = document.get("tiles")
    if tiles is None and simulate:
        stop([finding("CS15", "/tiles", "there is nothing to run on")])
    if tiles is not None:
        if len(tiles) != network.elements:
            stop([finding("CS15", "/tiles", "required %d tiles" % network.elements)])
        wrong = [index for index, tile in enumerate(tiles) if len(tile) != document["n_elem"]]
        stop([finding("CS15", "/tiles/%d" % index, "required %d numbers" % document["n_elem"]) for index in wrong])
    found = []
    for index, log in enumerate(document["logs"]):
        unknown(log["ops"], "/logs/%d/ops" % index, found)
    stop(found)
    expansion = Expansion(document, network, owner)
    stop(expansion.found)
    for queue in expansion.queues.values():
        sent, received = queue["sent"], queue["received"]
        if len(received) > len(sent):
            found.append(finding("CD01", received[len(sent)][1], "nothing is sent that could be received"))
        if len(sent) > len(received):
            found.append(finding("CD02", sent[len(received)][1], "nobody receives this"))
    stop(found)
    for queue in expansion.queues.values():
        pairs = zip(queue["sent"], queue["received"])
        found += [finding("CS14", at, "sent as %s" % (sent,)) for (sent, _), (shape, at) in pairs if sent != shape]
    stop(found)
    stop(deadlock(expansion.lines, expansion.queues))
    trees = Trees(document, network.elements)
    run(expansion.lines, expansion.queues, 1, trees)
    warned = expansion.warned + results(document, network, trees, owner)
    if not simulate:
        return warned, None
    bits = Bits(tiles)
    run(expansion.lines, expansion.queues, 1, bits)
    return warned, {"tiles": [[memory[p] for p in range(document["n_elem"])] for memory in bits.memory]}
