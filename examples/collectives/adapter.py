"""Checker, simulator and modules as a worker of the protocol: cargo xtask conform --impl 'python3 examples/collectives/adapter.py'.

An argument is the module that is launched, a file in Python, or a registry of several; without it, registry.json.
"""

import base64
import json
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "python"))

from algorithms import ALGORITHM, MODULE, finding, judge_module  # noqa: E402
from checker import Broken, judge_algorithm  # noqa: E402
from launcher import METHODS, Launcher  # noqa: E402
from launcher import respond as launched  # noqa: E402
from validator import Rejected, parse  # noqa: E402


def judge(method, data):
    """Diagnostics, and what else the answer holds."""
    document = parse(data)
    module = method == "validate" and type(document) is dict and "module" in document
    found = []
    (MODULE if module else ALGORITHM)(document, "", found)
    if found:
        return found, {}
    if module:
        return judge_module(document), {}
    try:
        found, end = judge_algorithm(document, method == "simulate")
    except Broken as broken:
        return broken.args[0], {}
    return found, {"document": json.dumps(end)} if end else {}


LAUNCHER = []


def launcher():
    """The modules, loaded when the first one is asked for."""
    if not LAUNCHER:
        here = Path(__file__).resolve().parent
        LAUNCHER.append(Launcher(sys.argv[1] if len(sys.argv) > 1 else here / "registry.json"))
    return LAUNCHER[0]


def respond(request):
    answer = {"type": "response", "id": request["id"]}
    if request.get("profile") != "collectives" or request.get("method") not in ("validate", "simulate", *METHODS):
        return {**answer, "outcome": "unsupported", "reason": "only the methods of the profile `collectives`"}
    try:
        if "document_base64" in request:
            data = base64.b64decode(request["document_base64"])
        else:
            data = request["document"].encode("utf-8", "surrogatepass")
        if request["method"] in METHODS:
            return {**answer, **launched(launcher(), request["method"], parse(data))}
        found, more = judge(request["method"], data)
    except Rejected as rejected:
        found, more = rejected.diagnostics, {}
    except RecursionError:
        found, more = [finding("S01", "", "nested too deeply")], {}
    if any(each["severity"] == "error" for each in found):
        return {**answer, "outcome": "reject", "diagnostics": found}
    return {**answer, "outcome": "accept", "diagnostics": found, **more}


def main():
    for line in sys.stdin:
        message = json.loads(line)
        if message.get("type") == "hello":
            reply = {
                "type": "hello",
                "protocol": "1.0",
                "name": "example-collectives",
                "version": "0.1",
                "profiles": ["collectives"],
            }
        else:
            reply = respond(message)
        print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()
