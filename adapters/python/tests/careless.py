"""A worker that makes the mistakes that its documents name, and says what bytes it was given: for tests of the library."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from megakernel_adapter import Answer, Tensor, Worker, accept, read_tensors, reject, write_tensors  # noqa: E402

worker = Worker("careless", "1", profiles=["format", "execute"], rules=["S01"], opcodes=["ADD"])


@worker.method("validate")
def validate(request):
    if request.document == b"throw":
        raise RuntimeError("thrown on purpose")
    if request.document == b"nothing":
        return reject([])
    if request.document == b"both":
        return Answer("accept", [{"rule": "S01", "severity": "error", "message": "no"}])
    if request.document == b"print":
        print("this is no message")
        return accept()
    return reject("S01", request.document.hex())


@worker.method("roundtrip")
def roundtrip(request):
    return accept() if request.document == b"nothing" else accept(document=request.document.decode())


@worker.method("execute")
def execute(request):
    for launch in request.launches:
        x = read_tensors(launch.tensors[0])["x"]
        y = Tensor.of("F32", x.shape, [value + value for value in x.values()])
        write_tensors(launch.output, {"y": y})
    return accept()


worker.run()
