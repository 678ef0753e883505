"""A worker that conforms to the profiles `format` and `launch`, and executes what the machine of examples/python does, if numpy is there.

The implementation, validator.py and vm.py, stands in examples/python and knows nothing of the protocol. What launches are judged by
(spec/rules/launch.md) is here.
"""

import json
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "adapters/python/src"), str(ROOT / "examples/python")]
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # several workers run side by side

import validator  # noqa: E402
from megakernel_adapter import Tensor, Worker, accept, read_tensors, reject, unsupported, write_tensors  # noqa: E402

try:
    import vm
except ModuleNotFoundError as error:
    print("execute is not claimed: %s" % error, file=sys.stderr)
    vm = None

worker = Worker(
    "complete-python", "0.1.0", profiles=["format", "launch"] + (["execute"] if vm else []),
    rules=["S%02d" % n for n in range(1, 23)] + ["L01", "L02", "L03", "L04"], every_rule=True,
    opcodes=["NOP", *vm.OPCODES] if vm else None, dtypes=vm.DTYPES if vm else None, trace=True if vm else None)


def launch_rules(program):
    """What the target cannot launch: pairs of a rule and a pointer."""
    target, config = program["target"], program["config"]
    if config:
        most = target["smem_bytes_per_block_optin"] if target else float("inf")
        if not 0 <= config["smem_bytes_per_block"] <= most:
            yield "L01", "/config/smem_bytes_per_block"
        if not 1 <= config["threads_per_block"] <= min(1024, target["max_threads_per_sm"] if target else 1024):
            yield "L02", "/config/threads_per_block"
        if isinstance(config["sm_assignment"], dict):
            for task, sm in config["sm_assignment"].items():
                if sm < 0 or (target and sm >= target["num_sms"]):
                    yield "L04", "/config/sm_assignment/" + task
    if target and not target["supports_cooperative"]:
        yield "L03", "/target/supports_cooperative"


@worker.method("validate", "roundtrip")
def judge(request):
    try:
        program = validator.read_program(request.document)
    except validator.Rejected as rejected:
        return reject(rejected.diagnostics)
    except RecursionError:
        return reject("S01", "the document is nested far deeper than 128 levels")
    if request.method == "roundtrip":
        return accept(document=json.dumps(program))
    found = list(launch_rules(program)) if request.profile == "launch" else []
    return reject({"rule": rule, "message": "beyond its limits", "pointer": at} for rule, at in found) if found else accept()


@worker.method("execute")
def execute(request):
    session = vm.Session()
    try:
        for launch in request.launches:
            program, bound = validator.read_program(launch.document), {}
            for path in launch.tensors:
                found = read_tensors(path)
                bound.update((name, (t.dtype, t.array())) for name, t in found.items() if t.dtype in vm.STORAGE)
            outputs, trace = session.launch(program, bound)
            for path, results in ((launch.output, outputs), (launch.trace, trace)):
                if path is not None:
                    write_tensors(path, {name: Tensor.of_array(*result) for name, result in results.items()})
    except vm.Unsupported as lacking:
        return unsupported(str(lacking))
    return accept()


worker.run()
