"""Prints an all-reduce of many devices of 4 x 4 cubes in the compact form: cubes reduce to the middle one, which goes around the ring
block by block and spreads the sum.

    python3 large.py 1024 > large.json
"""

import json
import sys

LINK = 10


def lines(cube, n):
    """What a cube does before and after the exchange between devices."""
    (row, col), before, after = divmod(cube, 4), [], []

    def gather(place, root, up, down):
        sides = [(down, place > 0)] * (place <= root) + [(up, place < 3)] * (place >= root)
        for direction in [direction for direction, there in sides if there]:
            before.append({"op": "recv", "to": "in", "dir": direction, "n": n})
            before.append({"op": "add", "to": "sum", "a": "sum", "b": "in"})
        if place != root:
            before.append({"op": "send", "of": "sum", "dir": up if place < root else down})

    def spread(place, root, up, down):
        if place != root:
            after.append({"op": "recv", "to": "sum", "dir": up if place < root else down, "n": n})
        for direction, there in ((down, 0 < place <= root), (up, root <= place < 3)):
            if there:
                after.append({"op": "send", "of": "sum", "dir": direction})

    gather(col, 2, "E", "W")
    if col == 2:
        gather(row, 2, "S", "N")
        spread(row, 2, "S", "N")
    spread(col, 2, "E", "W")
    return [{"op": "load", "to": "sum", "at": 0, "n": n}] + before, after + [{"op": "store", "of": "sum", "at": 0}]


def exchange(ranks, length):
    def block(first, loop=True):
        return {"of": {"rank": 1, **({"s": -1} if loop else {})}, "add": first, "mod": ranks, "times": length}

    send = {"op": "send", "of": "sum", "dir": "global_E"}
    return [
        {"op": "store", "of": "sum", "at": 0},
        {"op": "load", "to": "sum", "at": block(0, False), "n": length},
        {"for": "s", "count": ranks - 1, "ops": [
            send,
            {"op": "recv", "to": "in", "dir": "global_W", "n": length},
            {"op": "load", "to": "own", "at": block(-1), "n": length},
            {"op": "add", "to": "sum", "a": "own", "b": "in"}]},
        {"op": "store", "of": "sum", "at": block(1, False)},
        {"for": "s", "count": ranks - 1, "ops": [
            send,
            {"op": "recv", "to": "sum", "dir": "global_W", "n": length},
            {"op": "store", "of": "sum", "at": block(0)}]},
        {"op": "load", "to": "sum", "at": 0, "n": ranks * length},
    ]


def main():
    ranks = int(sys.argv[1])
    n = ranks * (int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    logs = []
    for cube in range(16):
        before, after = lines(cube, n)
        middle = exchange(ranks, n // ranks) if cube == LINK else []
        logs.append({"elements": [[cube, 16 * (ranks - 1) + cube, 16]], "ops": before + middle + after})
    topology = {"kind": "ring_1d", "ranks": ranks, "capacity": 1}
    print(json.dumps({"topology": topology, "n_elem": n, "collective": {"kind": "all_reduce"}, "logs": logs}))


if __name__ == "__main__":
    main()
