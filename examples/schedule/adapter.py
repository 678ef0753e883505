"""The validator as a worker of the protocol: cargo xtask conform --impl 'python3 examples/schedule/adapter.py'."""

import base64
import json
import sys

import traces
from documents import NoText, judge_members, parse
from minimise import minimise
from validator import TooMuch, judge

METHODS = ("validate", "minimise", "trace")


def respond(request):
    answer = {"type": "response", "id": request["id"]}
    method = request.get("method")
    if request.get("profile") != "schedule" or method not in METHODS:
        reason = "only %s under the profile `schedule`" % ", ".join(METHODS)
        return {**answer, "outcome": "unsupported", "reason": reason}
    try:
        if "document_base64" in request:
            data = base64.b64decode(request["document_base64"])
        else:
            data = request["document"].encode("utf-8", "surrogatepass")
        document = parse(data)
        if method == "trace":
            found = traces.judge_members(document) or traces.judge_trace(document)
        else:
            found = judge_members(document) or judge(document)
    except NoText as none:
        found = none.args[0]
    except TooMuch as much:
        # What this program cannot do is not what the document does wrong.
        return {**answer, "outcome": "unsupported", "reason": str(much)}
    wrong = any(each["severity"] == "error" for each in found)
    if method == "minimise" and not wrong:
        answer["document"] = json.dumps(minimise(document))
    return {**answer, "outcome": "reject" if wrong else "accept", "diagnostics": found}


def main():
    for line in sys.stdin:
        message = json.loads(line)
        if message.get("type") == "hello":
            reply = {
                "type": "hello",
                "protocol": "1.0",
                "name": "example-schedule",
                "version": "0.1",
                "profiles": ["schedule"],
                "every_rule": True,
            }
        else:
            reply = respond(message)
        print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()
