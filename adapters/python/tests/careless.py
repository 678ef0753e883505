"""A worker that makes the mistakes that its documents name, and says what bytes it was given: for tests of the library."""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from megakernel_adapter import Answer, Tensor, Worker, accept, read_tensors, reject, write_tensors  # noqa: E402

worker = Worker("careless", "1", profiles=["format", "execute"], rules=[], opcodes=["ADD"])


@worker.method("validate")
def validate(request):
    if request.document == b"throw":
        raise RuntimeError("thrown on purpose")
    if request.document == b"silent":
        raise RuntimeError
    if request.document == b"long":  # each character is six bytes of the line
        return reject("S01", "\x01" * (2**26 // 6))
    if request.document == b"number":
        return reject("S01", 5)
    if request.document == b"name":
        write_tensors(os.devnull, {"\ud800": Tensor.of("F32", (), [1.0])})
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
    if request.document == b"number":
        return accept(document=5)
    return accept() if request.document == b"nothing" else accept(document=request.document.decode())


@worker.method("execute")
def execute(request):
    for launch in request.launches:
        read = read_tensors(launch.tensors[0])
        x = read["x"]
        y = Tensor.of("F32", x.shape, [value + value for value in x.values()])
        write_tensors(launch.output, {"y": y})
        if launch.trace:
            write_tensors(launch.trace, read)
    return accept()


worker.run()
