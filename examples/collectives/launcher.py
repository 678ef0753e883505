"""Launches modules for the worker: `describe`, `kernel-args` and `launch` (COL-21 to COL-23).

A registry lists modules (registry.json is one): by name the file, or what Python imports it by, the `kind` of the collective,
`all_reduce` if absent, the `bits` that it promises, `identical` if absent, and perhaps a `world_size`. A file in Python by itself is a
registry with an all-reduce that is launched whatever bits are asked for, so that its author learns which it has.
"""

import contextlib
import json
import sys
from argparse import Namespace
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent))

import record  # noqa: E402
from algorithms import COLLECTIVE, INTEGER, Network, finding, topology, topology_numbers, topology_rules, within  # noqa: E402
from documents import record as members  # noqa: E402

METHODS = ("describe", "kernel-args", "launch")
REQUEST = members(
    ["topology", "n_elem", "collective"], topology=topology, n_elem=INTEGER, collective=COLLECTIVE, element=INTEGER
)


class Unsupported(Exception):
    """There is no module for this."""


def registry_of(path):
    path = Path(path)
    if path.suffix == ".py":
        return [{"module": str(path.resolve()), "bits": "any"}]
    listed = json.loads(path.read_text())
    first = listed.get("defaults", {}).get("algorithm")
    entries = sorted(listed["algorithms"].items(), key=lambda item: item[0] != first)

    def found(name):
        return str((path.parent / name).resolve()) if name.endswith(".py") else name

    return [{**entry, "module": found(entry["module"])} for _, entry in entries]


class Launcher:
    def __init__(self, registry):
        self.entries, self.modules = registry_of(registry), {}

    def module(self, entry):
        path = entry["module"]
        if path not in self.modules:
            self.modules[path] = record.load_module(path)
        return self.modules[path]

    def chosen(self, request):
        """The first module that does what is asked, there."""
        asked, top = request["collective"], request["topology"]
        flat = top.get("cube_w", 4) * top.get("cube_h", 4) == 1
        for entry in self.entries:
            promised = entry.get("bits", "identical")
            if (
                entry.get("kind", "all_reduce") == asked["kind"]
                and promised in ("any", "identical", asked.get("bits", "identical"))
                and (asked.get("over", "elements") == "elements" or flat)
                and asked.get("root", 0) == 0
                and (flat or entry.get("cubes", True))
            ):
                module = self.module(entry)
                kinds = getattr(module, "TOPO_NAME_TO_KIND", None)
                if kinds is None or top["kind"] in kinds:
                    return entry, module
        raise Unsupported("no module of the registry is for this")

    def answer(self, method, request):
        entry, module = self.chosen(request)
        top = request["topology"]
        cubes = {"cube_w": top.get("cube_w", 4), "cube_h": top.get("cube_h", 4)}
        options = Namespace(
            topology=top["kind"], ranks=top["ranks"], w=top.get("w", 0), h=top.get("h", 0),
            capacity=top.get("capacity", 4), n_elem=request["n_elem"], **cubes,
        )  # fmt: skip
        if method == "describe":
            made = record.describe(module, options)
            return {**made, "topology": top, "world_size": entry.get("world_size")}
        element = request.get("element", 0)
        if method == "kernel-args":
            return {"arguments": record.positional(module, options, element)}
        return {"ops": record.record(module, options, element)}


def judge_request(document):
    found = []
    REQUEST(document, "", found)
    if found:
        return found
    top = document["topology"]
    topology_numbers(top, found)
    within(document, "", "n_elem", 1, 2**31 - 1, found)
    within(document["collective"], "/collective", "root", 0, top["ranks"] - 1, found)
    if not found:
        within(document, "", "element", 0, Network(top).elements - 1, found)
    return found or topology_rules(top)


def respond(launcher, method, document):
    """Outcome and what else the answer has; an error, where the module goes wrong."""
    found = judge_request(document)
    if found:
        return {"outcome": "reject", "diagnostics": found}
    try:
        # What a module prints is not to be taken for an answer.
        with contextlib.redirect_stdout(sys.stderr):
            made = launcher.answer(method, document)
    except Unsupported as reason:
        return {"outcome": "unsupported", "reason": str(reason)}
    except Exception as error:  # noqa: BLE001, a module may raise anything
        return {"type": "error", "message": "%s: %s" % (type(error).__name__, error)}
    return {"outcome": "accept", "diagnostics": [], "document": json.dumps(made)}
