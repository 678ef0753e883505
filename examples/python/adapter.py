#!/usr/bin/env python3
"""A worker for the conformance suite in Python: the worked example of docs/implementing.md.

It wraps validator.py, a small validator that does part of the job, and vm.py, a small virtual machine, and claims exactly
what they do: the profile `format`, of `validate` the rules in validator.RULES, and of `execute` the opcodes and dtypes in
vm.OPCODES and vm.DTYPES. The runner skips the cases that need more instead of failing them.

The validator needs the standard library only. The machine needs numpy: where there is none, `execute` is not claimed.

    cargo xtask conform --impl 'python3 examples/python/adapter.py'

`--flaw NAME` plants a bug, to show what a failure looks like in the report, and `--flaw NAME,NAME` several. `--flaw help` lists them.
"""

import base64
import json
import os
import sys

import validator

# Several workers run side by side: each keeps to one core.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
try:
    import tensors
    import vm
except ModuleNotFoundError as error:
    print("execute is not claimed: %s" % error, file=sys.stderr)
    vm = None

HELLO = {
    "type": "hello",
    "protocol": "1.0",
    "name": "python-example",
    "version": "0.1.0",
    "profiles": ["format", "validate"],
    "rules": validator.RULES,
}
if vm:
    HELLO["profiles"].append("execute")
    HELLO.update(opcodes=["NOP", *vm.OPCODES], dtypes=vm.DTYPES, trace=True, accumulator="binary32")
FLAWS = {
    "first-k-of-n": "accept a wait for fewer tasks than increment the counter",
    "lost-meta": "write an empty `meta` whatever was read",
    "crash-on-cycle": "end the process on a dependency cycle",
    "adjacent-rope": "rotate neighbours, where the clause pairs the two halves of a head",
}


def answer(request, flaws=()):
    """The response to a request, without `type` and `id`."""
    method, profile = request["method"], request["profile"]
    if method not in ("validate", "roundtrip", "execute"):
        return unsupported("method `%s` is not implemented" % method)
    if profile not in HELLO["profiles"]:
        return unsupported("profile `%s` is not implemented" % profile)
    if method == "execute":
        return execute(request["launches"])
    if "document" in request:
        data = request["document"].encode("utf-8", "surrogatepass")
    else:
        data = base64.b64decode(request["document_base64"])
    try:
        program = validator.read_program(data)
        if method == "roundtrip":
            if "lost-meta" in flaws:
                program["meta"] = {}
            return {"outcome": "accept", "document": json.dumps(program, indent=1)}
        found = validator.waits(program, flaws) if profile == "validate" else []
    except validator.Rejected as rejected:
        found = rejected.diagnostics
    except RecursionError:
        # What this program cannot do is not what the document does wrong.
        return unsupported("the document is nested deeper than Python's reader follows")
    return {"outcome": "reject" if found else "accept", "diagnostics": found}


def execute(launches):
    """Runs the launches of one session. All files are written before the answer."""
    session = vm.Session()
    try:
        for launch in launches:
            program = validator.read_program(launch["document"].encode("utf-8", "surrogatepass"))
            bound = {}
            for path in launch["tensors"]:
                bound.update(tensors.read(path))
            outputs, trace = session.launch(program, bound)
            tensors.write(launch["output"], outputs)
            if "trace" in launch:
                tensors.write(launch["trace"], trace)
    except validator.Rejected as rejected:
        return {"outcome": "reject", "diagnostics": rejected.diagnostics}
    except vm.Unsupported as lacking:
        return unsupported(str(lacking))
    return {"outcome": "accept"}


def unsupported(reason):
    return {"outcome": "unsupported", "reason": reason}


def main():
    flaws = set()
    if len(sys.argv) == 3 and sys.argv[1] == "--flaw" and FLAWS.keys() >= set(sys.argv[2].split(",")):
        flaws = set(sys.argv[2].split(","))
    elif len(sys.argv) > 1:
        known = "".join("  %-16s %s\n" % item for item in FLAWS.items())
        sys.exit("usage: adapter.py [--flaw NAME,...], where NAME is one of:\n" + known)
    if "adjacent-rope" in flaws and vm:
        vm.OPCODES["ROPE"] = vm.rope_of_neighbours
    for line in sys.stdin.buffer:
        message = json.loads(line)
        if message["type"] == "hello":
            reply = HELLO
        elif message["type"] == "request":
            reply = {"type": "response", "id": message["id"], **answer(message, flaws)}
        else:
            reply = {"type": "error", "message": "message of type `%s` is not known" % message["type"]}
        # One line for each answer, sent at once: the runner waits for it.
        print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()
