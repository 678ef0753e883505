"""The validator as a worker of the protocol: cargo xtask conform --impl 'python3 examples/mcir/adapter.py'."""

import base64
import json
import sys

from documents import DOCUMENT, NoText, TARGET, judge_members, name, parse, record
from executor import compute
from graphs import GRAPH, attention_pattern, is_graph
from graphs import judge as judge_graph
from joining import eliminate
from lowering import NotLowered, lower
from measures import measure
from passes import Unsupported, residency, schedule, streaming
from validator import judge


METHODS = ("validate", "measure", "compute", "transform", "lower")
# What each pass takes, and how it is answered.
PASSES = {
    "AttentionPatternPass": ("graph", lambda request: attention_pattern(request["graph"])),
    "StreamingConversionPass": ("graph", lambda request: streaming(request["graph"], request.get("target", {}))),
    "TileSchedulingPass": ("document", lambda request: schedule(request["document"])),
    "ResidencyAssignmentPass": ("document", lambda request: residency(request["document"])),
    "MaterializationEliminationPass": ("document", lambda request: eliminate(request["document"])),
}


def judge_request(request):
    """What is wrong with a request to transform."""
    found = []
    record("pass", **{"pass": name(*PASSES)})(request, "", found)
    if found:
        return found
    takes = PASSES[request["pass"]][0]
    kinds = {takes: GRAPH if takes == "graph" else DOCUMENT}
    if request["pass"] == "StreamingConversionPass":
        kinds["target"] = TARGET
    record(takes, **kinds)(request, "", found)
    if found or takes == "graph":
        return found or judge_graph(request["graph"], "/graph")
    found, _ = judge(request["document"])
    return [{**each, "pointer": "/document" + each["pointer"]} for each in found]


def judge_any(document, method):
    """What is wrong with a document, a graph or a request, and the regions of a document."""
    found = []
    if method == "transform":
        return judge_request(document), []
    if method == "validate" and is_graph(document):
        GRAPH(document, "", found)
        return found or judge_graph(document), []
    found = judge_members(document)
    return (found, []) if found else judge(document)


def respond(request):
    answer = {"type": "response", "id": request["id"]}
    method = request.get("method")
    if request.get("profile") != "mcir" or method not in METHODS:
        return {**answer, "outcome": "unsupported", "reason": "the methods are %s, under the profile `mcir`" % ", ".join(METHODS)}
    document, regions = None, []
    try:
        if "document_base64" in request:
            data = base64.b64decode(request["document_base64"])
        else:
            data = request["document"].encode("utf-8", "surrogatepass")
        document = parse(data)
        found, regions = judge_any(document, method)
    except NoText as none:
        found = none.args[0]
    wrong = any(each["severity"] == "error" for each in found)
    answer.update(outcome="reject" if wrong else "accept", diagnostics=found)
    if method == "measure" and not wrong:
        answer["document"] = json.dumps(measure(document, regions))
    if method == "transform" and not wrong:
        try:
            answer.update(document=json.dumps(PASSES[document["pass"]][1](document)), diagnostics=[])
        except Unsupported as reason:
            return {"type": "response", "id": request["id"], "outcome": "unsupported", "reason": str(reason)}
    if method == "lower" and not wrong:
        try:
            answer.update(document=json.dumps(lower(document, regions)), diagnostics=[])
        except NotLowered as reason:
            return {"type": "response", "id": request["id"], "outcome": "unsupported", "reason": str(reason)}
    if method == "compute" and not wrong:
        answer["document"] = json.dumps(compute(document, regions))
    return answer


def main():
    for line in sys.stdin:
        message = json.loads(line)
        if message.get("type") == "hello":
            reply = {
                "type": "hello",
                "protocol": "1.0",
                "name": "example-mcir",
                "version": "0.1",
                "profiles": ["mcir"],
                "every_rule": True,
            }
        else:
            reply = respond(message)
        print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()
