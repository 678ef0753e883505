#!/usr/bin/env python3
"""A worker for the conformance suite in Python, standard library only: the worked example of docs/implementing.md.

It wraps validator.py, a small validator that does part of the job, and claims exactly that part: the profile `format`,
and of `validate` the rules in validator.RULES. The runner skips the cases of other rules instead of failing them.

    cargo xtask conform --impl 'python3 examples/python/adapter.py'

`--flaw NAME` plants one bug, to show what a failure looks like in the report. `--flaw help` lists them.
"""

import base64
import json
import sys

import validator

HELLO = {
    "type": "hello",
    "protocol": "1.0",
    "name": "python-example",
    "version": "0.1.0",
    "profiles": ["format", "validate"],
    "rules": validator.RULES,
}
FLAWS = {
    "first-k-of-n": "accept a wait for fewer tasks than increment the counter",
    "lost-meta": "write an empty `meta` whatever was read",
    "crash-on-cycle": "end the process on a dependency cycle",
}


def answer(request, flaw=None):
    """The response to a request, without `type` and `id`."""
    method, profile = request["method"], request["profile"]
    if method not in ("validate", "roundtrip"):
        return unsupported("method `%s` is not implemented" % method)
    if profile not in HELLO["profiles"]:
        return unsupported("profile `%s` is not implemented" % profile)
    if "document" in request:
        data = request["document"].encode("utf-8", "surrogatepass")
    else:
        data = base64.b64decode(request["document_base64"])
    try:
        program = validator.read_program(data)
        if method == "roundtrip":
            if flaw == "lost-meta":
                program["meta"] = {}
            return {"outcome": "accept", "document": json.dumps(program, indent=1)}
        found = validator.waits(program, flaw) if profile == "validate" else []
    except validator.Rejected as rejected:
        found = rejected.diagnostics
    except RecursionError:
        # What this program cannot do is not what the document does wrong.
        return unsupported("the document is nested deeper than Python's reader follows")
    return {"outcome": "reject" if found else "accept", "diagnostics": found}


def unsupported(reason):
    return {"outcome": "unsupported", "reason": reason}


def main():
    flaw = None
    if len(sys.argv) == 3 and sys.argv[1] == "--flaw" and sys.argv[2] in FLAWS:
        flaw = sys.argv[2]
    elif len(sys.argv) > 1:
        flaws = "".join("  %-16s %s\n" % item for item in FLAWS.items())
        sys.exit("usage: adapter.py [--flaw NAME], where NAME is one of:\n" + flaws)
    for line in sys.stdin.buffer:
        message = json.loads(line)
        if message["type"] == "hello":
            reply = HELLO
        elif message["type"] == "request":
            reply = {"type": "response", "id": message["id"], **answer(message, flaw)}
        else:
            reply = {"type": "error", "message": "message of type `%s` is not known" % message["type"]}
        # One line for each answer, sent at once: the runner waits for it.
        print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()
