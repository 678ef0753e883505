// The device's side of a small runtime that is not the suite's: records, queues, waits and instructions of its own. worker.cu and
// worker.py have it judged; nvcc, NVRTC and the compilers of a CPU's tests read this file.
//
// A block runs its queue from front to back. A task waits until counters have reached thresholds, and increments one when it is done.

// What the records hold, which the host fills in.
enum Op { NOP, COPY, ADD, MUL, SILU_MUL, RMSNORM, GEMV_TILE };

struct Buffer {
    void* data;
    long long count;  // elements
    long long bf16;   // 1 if they are BF16, 0 if they are F32
};

struct Wait {
    int counter;
    unsigned threshold;
};

struct Task {
    int op, n_inputs, inputs[3], output, counter;
    int first_wait, n_waits;
    int row;          // RMSNORM: hidden. GEMV_TILE: K
    int first, tile;  // GEMV_TILE: n_off and N_tile
    int columns;      // GEMV_TILE: N
    float number;     // RMSNORM: eps. MUL: scale
};

struct Machine {
    const Buffer* buffers;
    const Task* tasks;  // queue after queue
    const int* queues;  // where each begins, and where the last ends
    const Wait* waits;
    unsigned* counters;
    const volatile unsigned* abort;  // memory of the host: not 0 when the launch has to end
};

// ---- Elements: binary32 in registers, rounded once where they are stored (NUM-02) -----------------------------------------

static __device__ float load(const Buffer& buffer, long long i) {
    if (!buffer.bf16) return static_cast<const float*>(buffer.data)[i];
    return __uint_as_float(unsigned(static_cast<const unsigned short*>(buffer.data)[i]) << 16);
}

static __device__ void store(const Buffer& buffer, long long i, float value) {
    if (!buffer.bf16) {
        static_cast<float*>(buffer.data)[i] = value;
        return;
    }
    const unsigned bits = __float_as_uint(value);
    // To nearest, ties to even. A NaN whose upper half is that of an infinity would become one.
    const unsigned rounded = value != value ? 0x7fc00000u : bits + 0x7fffu + (bits >> 16 & 1u);
    static_cast<unsigned short*>(buffer.data)[i] = static_cast<unsigned short>(rounded >> 16);
}

static __device__ float warp_sum(float value) {
    for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(0xffffffffu, value, step);
    return value;
}

// ---- Instructions -------------------------------------------------------------------------------------------------------

static __device__ float element(const Machine& machine, const Task& task, long long i) {
    const float a = load(machine.buffers[task.inputs[0]], i);
    const float b = task.n_inputs > 1 ? load(machine.buffers[task.inputs[1]], i) : task.number;
    if (task.op == ADD) return a + b;
    if (task.op == MUL) return a * b;
    if (task.op == SILU_MUL) return a / (1.0f + expf(-a)) * b;
    return a;
}

// A warp has a row.
static __device__ void rmsnorm(const Machine& machine, const Task& task) {
    const Buffer &x = machine.buffers[task.inputs[0]], &weight = machine.buffers[task.inputs[1]], &y = machine.buffers[task.output];
    const int lane = int(threadIdx.x % 32), warp = int(threadIdx.x / 32), warps = int(blockDim.x / 32);
    for (long long row = warp; row < y.count / task.row; row += warps) {
        float sum = 0.0f;
        for (int i = lane; i < task.row; i += 32) {
            const float value = load(x, row * task.row + i);
            sum += value * value;
        }
        const float inverse = 1.0f / sqrtf(warp_sum(sum) / float(task.row) + task.number);
        for (int i = lane; i < task.row; i += 32) store(y, row * task.row + i, load(x, row * task.row + i) * inverse * load(weight, i));
    }
}

// A warp has an element of the output.
static __device__ void gemv_tile(const Machine& machine, const Task& task) {
    const Buffer &x = machine.buffers[task.inputs[0]], &weight = machine.buffers[task.inputs[1]], &y = machine.buffers[task.output];
    const int lane = int(threadIdx.x % 32), warp = int(threadIdx.x / 32), warps = int(blockDim.x / 32);
    const long long rows = x.count / task.row;
    for (long long at = warp; at < rows * task.tile; at += warps) {
        const long long m = at / task.tile, n = task.first + at % task.tile;
        float sum = 0.0f;
        for (int k = lane; k < task.row; k += 32) sum += load(x, m * task.row + k) * load(weight, n * task.row + k);
        sum = warp_sum(sum);
        if (task.n_inputs > 2) sum += load(machine.buffers[task.inputs[2]], n);
        if (lane == 0) store(y, m * task.columns + n, sum);
    }
}

static __device__ void run(const Machine& machine, const Task& task) {
    if (task.op == NOP) return;
    if (task.op == RMSNORM) return rmsnorm(machine, task);
    if (task.op == GEMV_TILE) return gemv_tile(machine, task);
    const Buffer& y = machine.buffers[task.output];
    for (long long i = threadIdx.x; i < y.count; i += blockDim.x) store(y, i, element(machine, task, i));
}

// ---- Queues, waits and counters -----------------------------------------------------------------------------------------

// For one thread of the block. False: the host has given up.
static __device__ bool wait(const Machine& machine, const Task& task) {
    for (int w = task.first_wait; w < task.first_wait + task.n_waits; ++w) {
        const Wait& until = machine.waits[w];
        while (atomicAdd(&machine.counters[until.counter], 0u) < until.threshold) {
            if (*machine.abort != 0) return false;
            __nanosleep(64);
        }
    }
    __threadfence();  // acquire: what the tasks have written that were waited for (EXE-03)
    return true;
}

// One block for each queue, all of them resident at once.
extern "C" __global__ void machine_kernel(Machine machine) {
    for (int at = machine.queues[blockIdx.x]; at < machine.queues[blockIdx.x + 1]; ++at) {
        const Task& task = machine.tasks[at];
        const bool stops = threadIdx.x == 0 && !wait(machine, task);
        if (__syncthreads_or(stops)) return;
        run(machine, task);
        __syncthreads();
        if (threadIdx.x == 0) {
            __threadfence();  // release
            atomicAdd(&machine.counters[task.counter], 1u);
        }
    }
}
