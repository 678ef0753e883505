"""The worker of worker.cu in Python, over cuda-python: it compiles worker.cuh with NVRTC for the GPU that is there, and runs launches.

    pip install cuda-bindings nvidia-cuda-nvrtc ./adapters/python
    cargo xtask conform --impl 'python3 examples/cuda/worker.py' --profile execute --filter 'numeric/rmsnorm/*'

It claims seven opcodes and two dtypes: the runner skips what needs others, and what a claim cannot say is answered `unsupported`.
"""

import ctypes
import itertools
import json
import math
import os
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parents[1] / "adapters/python/src"))  # where it is not installed

from cuda.bindings import driver, nvrtc  # noqa: E402
from megakernel_adapter import Tensor, Worker, accept, read_tensors, unsupported, write_tensors  # noqa: E402

THREADS = 256
LIMIT = 20  # seconds of a launch
OPCODES = ["NOP", "COPY", "ADD", "MUL", "SILU_MUL", "RMSNORM", "GEMV_TILE"]  # as in Op
SIZES = {"F32": 4, "BF16": 2}


# The records of worker.cuh.
def record(name, *fields):
    return type(name, (ctypes.Structure,), {"_fields_": list(fields)})


i32, i64, pointer = ctypes.c_int32, ctypes.c_int64, ctypes.c_uint64
Buffer = record("Buffer", ("data", pointer), ("count", i64), ("bf16", i64))
Wait = record("Wait", ("counter", i32), ("threshold", ctypes.c_uint32))
Task = record("Task", ("op", i32), ("n_inputs", i32), ("inputs", i32 * 3), ("output", i32), ("counter", i32), ("first_wait", i32),
              ("n_waits", i32), ("row", i32), ("first", i32), ("tile", i32), ("columns", i32), ("number", ctypes.c_float))
Machine = record("Machine", *((name, pointer) for name in ("buffers", "tasks", "queues", "waits", "counters", "abort")))


def call(function, *arguments):
    """What a function of cuda-python returns beside its error; raises `RuntimeError` where that is one."""
    error, *values = function(*arguments)
    if error not in (driver.CUresult.CUDA_SUCCESS, nvrtc.nvrtcResult.NVRTC_SUCCESS):
        raise RuntimeError("%s: %s" % (function.__name__, error.name))
    return values[0] if len(values) == 1 else values


class Gpu:
    """The first GPU, with the kernel of worker.cuh."""

    def __init__(self):
        call(driver.cuInit, 0)
        device = call(driver.cuDeviceGet, 0)
        call(driver.cuCtxSetCurrent, call(driver.cuDevicePrimaryCtxRetain, device))
        attribute = driver.CUdevice_attribute
        major, minor, sms = (call(driver.cuDeviceGetAttribute, which, device) for which in (
            attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
            attribute.CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT))
        image = compiled("sm_%d%d" % (major, minor))
        self.kernel = call(driver.cuModuleGetFunction, call(driver.cuModuleLoadData, image), b"machine_kernel")
        self.stream = call(driver.cuStreamCreate, driver.CUstream_flags.CU_STREAM_NON_BLOCKING)
        # No more queues than blocks that are resident at once.
        self.blocks = sms * call(driver.cuOccupancyMaxActiveBlocksPerMultiprocessor, self.kernel, THREADS, 0)
        # A word of the host that the kernel reads while it runs: other than 0 when it has to end.
        self.abort = call(driver.cuMemHostAlloc, 4, driver.CU_MEMHOSTALLOC_DEVICEMAP)
        self.abort_on_device = int(call(driver.cuMemHostGetDevicePointer, self.abort, 0))

    def allocate(self, size):
        """Memory in which every byte is 0xff: NaN, so that what reads too early is seen."""
        size = max(size, 1)
        memory = call(driver.cuMemAlloc, size)
        call(driver.cuMemsetD8Async, memory, 0xFF, size, self.stream)
        return memory

    def write(self, memory, data):
        if data:
            call(driver.cuMemcpyHtoDAsync, memory, data, len(data), self.stream)
            call(driver.cuStreamSynchronize, self.stream)

    def read(self, memory, size):
        data = ctypes.create_string_buffer(max(size, 1))
        if size:
            call(driver.cuMemcpyDtoHAsync, ctypes.addressof(data), memory, size, self.stream)
            call(driver.cuStreamSynchronize, self.stream)
        return data.raw[:size]

    def run(self, machine, blocks):
        machine.abort = self.abort_on_device
        flag = ctypes.c_uint32.from_address(int(self.abort))
        flag.value = 0
        arguments = (ctypes.c_void_p * 1)(ctypes.addressof(machine))
        call(driver.cuLaunchCooperativeKernel, self.kernel, blocks, 1, 1, THREADS, 1, 1, 0, self.stream, ctypes.addressof(arguments))
        end, late = time.monotonic() + LIMIT, False
        while True:
            (state,) = driver.cuStreamQuery(self.stream)
            if state == driver.CUresult.CUDA_SUCCESS:
                break
            if state != driver.CUresult.CUDA_ERROR_NOT_READY:
                # The context is lost with all that it holds. The runner starts another process.
                print("the launch failed: %s" % state.name, file=sys.stderr, flush=True)
                os._exit(1)
            if not late and time.monotonic() > end:
                late, flag.value = True, 1
            time.sleep(2e-5)
        if late:
            raise RuntimeError("the launch did not end within its limit")


def compiled(target):
    """A CUBIN of worker.cuh."""
    program = call(nvrtc.nvrtcCreateProgram, (HERE / "worker.cuh").read_bytes(), b"worker.cuh", 0, [], [])
    options = [b"--std=c++17", b"--gpu-architecture=" + target.encode()]
    (error,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
    if error != nvrtc.nvrtcResult.NVRTC_SUCCESS:
        log = bytearray(call(nvrtc.nvrtcGetProgramLogSize, program))
        call(nvrtc.nvrtcGetProgramLog, program, log)
        sys.exit("worker.cuh does not compile for %s: %s" % (target, log.rstrip(b"\0").decode(errors="replace")))
    image = bytearray(call(nvrtc.nvrtcGetCUBINSize, program))
    call(nvrtc.nvrtcGetCUBIN, program, image)
    return bytes(image)


# ---- A document, as this runtime has it -----------------------------------------------------------------------------------


def beyond(program):
    """What this runtime does not do, in words; None if nothing."""
    for buffer in program["buffers"]:
        if buffer["kind"] == "KV_CACHE":
            return "caches are not kept from launch to launch"
        if buffer["dtype"] not in SIZES:
            return "dtype %s is not implemented" % buffer["dtype"]
    for task in program["tasks"]:
        if task["op"] not in OPCODES:
            return "opcode %s is not implemented" % task["op"]
    return None


def order(program):
    """The tasks in an order in which they could run one at a time (EXE-01, EXE-02)."""
    counters = [0] * len(program["counters"])
    ordered, left = [], program["tasks"]
    while left:
        later, held = [], set()  # SMs whose next task still waits
        for task in left:
            sm = task.get("sm")
            if sm in held or any(counters[wait["counter"]] < wait["threshold"] for wait in task.get("waits") or []):
                later.append(task)
                if sm is not None:
                    held.add(sm)
            else:
                ordered.append(task)
                counters[task["out_counter"]] += 1
        if len(later) == len(left):
            raise RuntimeError("the tasks wait for each other")
        left = later
    return ordered


def task_record(task, program, first_wait):
    params, inputs = task.get("params") or {}, task.get("inputs") or []
    norm = task["op"] == "RMSNORM"
    found = Task(op=OPCODES.index(task["op"]), n_inputs=len(inputs), inputs=(i32 * 3)(*inputs), counter=task["out_counter"],
                 first_wait=first_wait, n_waits=len(task.get("waits") or []), row=params.get("hidden" if norm else "K", 0),
                 first=params.get("n_off", 0), tile=params.get("N_tile", 0), number=params.get("eps" if norm else "scale", 1.0))
    if task["op"] != "NOP":
        found.output = task["outputs"][0]
        found.columns = (program["buffers"][found.output]["shape"] or [1])[-1]
    return found


# ---- A launch -------------------------------------------------------------------------------------------------------------


def execute_one(launch, program):
    bound = {name: tensor for path in launch.tensors for name, tensor in read_tensors(path).items()}
    memory = []

    def upload(data):
        memory.append(gpu.allocate(len(data)))
        gpu.write(memory[-1], data)
        return int(memory[-1])

    try:
        buffers = (Buffer * len(program["buffers"]))()
        for buffer, found in zip(program["buffers"], buffers):
            count = math.prod(buffer["shape"])
            found.count, found.bf16 = count, buffer["dtype"] == "BF16"
            memory.append(gpu.allocate(count * SIZES[buffer["dtype"]]))
            found.data = int(memory[-1])
            weight = buffer["kind"] in ("WEIGHT", "CONST") and buffer.get("source") is not None
            tensor = bound.get(buffer["source"] if weight else buffer["name"])
            if buffer["kind"] in ("ACTIVATION", "IO_OUTPUT") or tensor is None:
                continue
            if (tensor.dtype, list(tensor.shape)) != (buffer["dtype"], buffer["shape"]):
                raise RuntimeError("the tensor for `%s` is not what its buffer holds" % buffer["name"])
            gpu.write(memory[-1], tensor.data)

        # An SM of the program is a queue; tasks without one are dealt out. Each queue is a part of one order in which all tasks can run,
        # so that none stands before one that it needs, however few queues there are.
        tasks = order(program)
        queues = [[] for _ in range(max(1, min(gpu.blocks, len(tasks))))]
        waits = []
        for at, task in enumerate(tasks):
            queue = at if task.get("sm") is None else task["sm"]
            queues[queue % len(queues)].append(task_record(task, program, len(waits)))
            waits += [Wait(wait["counter"], wait["threshold"]) for wait in task.get("waits") or []]
        begins = [0, *itertools.accumulate(map(len, queues))]
        records = [one for queue in queues for one in queue]
        tables = [buffers, (Task * len(records))(*records), (i32 * len(begins))(*begins), (Wait * len(waits))(*waits),
                  (ctypes.c_uint32 * len(program["counters"]))()]
        gpu.run(Machine(*(upload(bytes(table)) for table in tables)), len(queues))
        outputs = {}
        for buffer, found, where in zip(program["buffers"], buffers, memory):
            if buffer["kind"] == "IO_OUTPUT":
                size = found.count * SIZES[buffer["dtype"]]
                outputs[buffer["name"]] = Tensor(buffer["dtype"], tuple(buffer["shape"]), gpu.read(where, size))
        write_tensors(launch.output, outputs)
    finally:
        for one in memory:
            call(driver.cuMemFree, one)


worker = Worker("cuda-worker-python", "0.1.0", profiles=["execute"], opcodes=OPCODES, dtypes=list(SIZES))


@worker.method("execute")
def execute(request):
    for launch in request.launches:
        program = json.loads(launch.document)
        why = beyond(program)
        if why:
            return unsupported(why)
        execute_one(launch, program)
    return accept()


if __name__ == "__main__":
    try:
        gpu = Gpu()
    except RuntimeError as error:
        print("no program can run here: %s" % error, file=sys.stderr)
        sys.exit(2)
    worker.run()
