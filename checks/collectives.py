"""What the simulated collectives of the corpus end with, by numpy: float16 + in the order of the logs, to the bit.

And once with np.sum in place of that, which has to give something else: otherwise the cases could not tell one from the other.
"""

import json
import sys
import warnings
from pathlib import Path

import numpy as np

from corpus import ROOT, patched

sys.path.append(str(Path(__file__).resolve().parent.parent / "examples" / "collectives"))

from algorithms import Network  # noqa: E402
from checker import Expansion, logs_of, run  # noqa: E402

TYPES = {"f16": np.float16, "f32": np.float32}


class Arrays:
    """Each element's memory is an array, and a handle is one."""

    def __init__(self, tiles, scratch):
        rows = [np.array(tile + [0] * scratch, np.uint16).view(np.float16) for tile in tiles]
        self.memory = [row.copy() for row in rows]

    def do(self, element, op, held):
        memory = self.memory[element]
        if op[0] == "load":
            held[op[2]] = memory[op[3] : op[3] + op[4]].copy()
        elif op[0] == "store":
            memory[op[3] : op[3] + len(held[op[2]])] = held[op[2]]
        elif op[0] == "add":
            held[op[2]] = held[op[3]] + held[op[4]]
        else:
            held[op[2]] = held[op[3]].astype(TYPES[op[5]])


def bits(row):
    """Bits of binary16; one NaN for all."""
    return [0x7E00 if np.isnan(number) else int(number.view(np.uint16)) for number in row]


def told(tile):
    """What a case expects, with one NaN for all: numpy may keep another."""
    return bits(np.array(tile, np.uint16).view(np.float16))


def main():
    warnings.simplefilter("ignore", RuntimeWarning)
    wrong, same, other, kinds, count = [], 0, 0, set(), 0
    for path in sorted((ROOT / "cases/collectives/simulate").glob("*.json")):
        case = json.loads(path.read_text())
        document = patched(json.loads((ROOT / case["document"]["base"]).read_text()), case["document"]["edit"])
        network = Network(document["topology"])
        expansion = Expansion(document, network, logs_of(document, network.elements))
        arrays = Arrays(document["tiles"], document.get("scratch", 0))
        run(expansion.lines, expansion.queues, 1, arrays)
        n_elem, expected = document["n_elem"], case["expect"]["document"]["tiles"]
        expected = [told(tile) for tile in expected]
        if [bits(memory[:n_elem]) for memory in arrays.memory] != expected:
            wrong.append(path.stem)
        count += 1
        kinds.add(document["collective"]["kind"])
        if document["collective"]["kind"] == "all_reduce" and document["collective"].get("over") != "ranks":
            tiles = np.array(document["tiles"], np.uint16).view(np.float16)
            summed = [bits(np.sum(tiles.astype(np.float32), axis=0).astype(np.float16))] * len(expected)
            if summed == expected:
                same += 1
            else:
                other += 1
    print("%d simulations of %s: %d differ" % (count, ", ".join(sorted(kinds)), len(wrong)))
    print("np.sum of the tiles in binary32 gives other bits than %d of %d all-reduces" % (other, same + other))
    for name in wrong:
        print("  " + name)
    return 0 if count and len(kinds) == 4 and not wrong and other else 1


if __name__ == "__main__":
    sys.exit(main())
