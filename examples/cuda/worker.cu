// A worker of its own over CUDA's runtime API: a program that runs launches on a GPU with the small runtime of worker.cuh, and shares
// nothing with the suite but the header of the adapter, which speaks the protocol.
//
//     nvcc -std=c++17 -arch=native -I adapters/cpp examples/cuda/worker.cu -o target/cuda-worker
//     cargo xtask conform --impl target/cuda-worker --profile execute --filter 'numeric/rmsnorm/*'
//
// It claims seven opcodes and two dtypes: the runner skips what needs others, and what a claim cannot say is answered `unsupported`.

#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "megakernel_adapter.hpp"
#include "worker.cuh"

using megakernel::Json;

namespace {

constexpr unsigned THREADS = 256;
constexpr std::chrono::seconds LIMIT{20};
const std::vector<std::string> OPCODES = {"NOP", "COPY", "ADD", "MUL", "SILU_MUL", "RMSNORM", "GEMV_TILE"};  // as in Op
const std::vector<std::string> DTYPES = {"F32", "BF16"};

void check(cudaError_t result, const char* what) {
    if (result != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(result));
}

// Memory of the GPU.
class Memory {
public:
    explicit Memory(std::size_t bytes) : bytes_(bytes) { check(cudaMalloc(&data_, bytes > 0 ? bytes : 1), "memory of the GPU"); }
    Memory(Memory&& other) noexcept : data_(std::exchange(other.data_, nullptr)), bytes_(other.bytes_) {}
    ~Memory() { cudaFree(data_); }

    template <class T>
    static Memory of(const std::vector<T>& values) {
        Memory memory(values.size() * sizeof(T));
        memory.write(values.data(), values.size() * sizeof(T));
        return memory;
    }
    void write(const void* from, std::size_t bytes) { check(cudaMemcpy(data_, from, bytes, cudaMemcpyHostToDevice), "a copy to the GPU"); }
    void fill(int byte) { check(cudaMemset(data_, byte, bytes_), "memory of the GPU is filled"); }
    std::string read() const {
        std::string bytes(bytes_, '\0');
        check(cudaMemcpy(bytes.data(), data_, bytes_, cudaMemcpyDeviceToHost), "a copy from the GPU");
        return bytes;
    }
    template <class T>
    T* as() const {
        return static_cast<T*>(data_);
    }

private:
    void* data_ = nullptr;
    std::size_t bytes_;
};

// ---- A document, as this runtime has it ---------------------------------------------------------------------------------

const std::vector<Json>& list(const Json& object, const char* name) {
    static const std::vector<Json> none;
    const Json* found = object.find(name);
    return found ? found->items : none;
}

long long integer(const Json& object, const char* name, long long otherwise) {
    const Json* found = object.find(name);
    return found ? found->integer().value_or(otherwise) : otherwise;
}

int number_of(const std::vector<std::string>& names, const std::string& name) {
    for (std::size_t n = 0; n < names.size(); ++n)
        if (names[n] == name) return int(n);
    return -1;
}

// What this runtime does not do, in words; empty if nothing.
std::string beyond(const Json& program) {
    for (const Json& buffer : list(program, "buffers")) {
        if (buffer.need("kind", Json::string).text == "KV_CACHE") return "caches are not kept from launch to launch";
        const std::string& dtype = buffer.need("dtype", Json::string).text;
        if (number_of(DTYPES, dtype) < 0) return "dtype " + dtype + " is not implemented";
    }
    for (const Json& task : list(program, "tasks")) {
        const std::string& op = task.need("op", Json::string).text;
        if (number_of(OPCODES, op) < 0) return "opcode " + op + " is not implemented";
    }
    return "";
}

// The tasks in an order in which they could run one at a time (EXE-01, EXE-02).
std::vector<const Json*> order(const Json& program) {
    std::vector<long long> counters(list(program, "counters").size());
    std::vector<const Json*> ordered, left;
    for (const Json& task : list(program, "tasks")) left.push_back(&task);
    while (!left.empty()) {
        std::vector<const Json*> later;
        std::map<long long, bool> held;  // SMs whose next task still waits
        for (const Json* task : left) {
            const long long sm = integer(*task, "sm", -1);
            bool ready = sm < 0 || !held[sm];
            for (const Json& wait : list(*task, "waits"))
                ready = ready && counters.at(std::size_t(integer(wait, "counter", 0))) >= integer(wait, "threshold", 0);
            if (!ready) held[sm] = true, later.push_back(task);
            else ordered.push_back(task), ++counters.at(std::size_t(integer(*task, "out_counter", 0)));
        }
        if (later.size() == left.size()) throw std::runtime_error("the tasks wait for each other");
        left = std::move(later);
    }
    return ordered;
}

Task record(const Json& task, const std::vector<Json>& buffers) {
    const Json none = Json::of({});
    const Json* given = task.find("params");
    const Json& params = given ? *given : none;
    Task found{};
    found.op = number_of(OPCODES, task.need("op", Json::string).text);
    if (list(task, "inputs").size() > 3) throw std::runtime_error("an instruction of this runtime has three inputs at most");
    for (const Json& input : list(task, "inputs")) found.inputs[found.n_inputs++] = int(input.integer().value());
    found.counter = int(integer(task, "out_counter", 0));
    found.row = int(integer(params, found.op == RMSNORM ? "hidden" : "K", 0));
    found.first = int(integer(params, "n_off", 0));
    found.tile = int(integer(params, "N_tile", 0));
    const Json* number = params.find(found.op == RMSNORM ? "eps" : "scale");
    found.number = number ? std::strtof(number->text.c_str(), nullptr) : 1.0f;
    if (found.op == NOP) return found;
    found.output = int(list(task, "outputs").at(0).integer().value());
    const std::vector<Json>& shape = list(buffers.at(std::size_t(found.output)), "shape");
    found.columns = shape.empty() ? 1 : int(shape.back().integer().value());
    return found;
}

// ---- A launch -----------------------------------------------------------------------------------------------------------

// A word of the host that the kernel reads while it runs: other than 0 when it has to end.
class Abort {
public:
    Abort() { check(cudaHostAlloc(&word_, sizeof(unsigned), cudaHostAllocMapped), "memory that the GPU sees"); }
    ~Abort() { cudaFreeHost(word_); }
    void set(unsigned value) { *static_cast<volatile unsigned*>(word_) = value; }
    const volatile unsigned* on_device() const {
        void* address = nullptr;
        check(cudaHostGetDevicePointer(&address, word_, 0), "memory that the GPU sees");
        return static_cast<const volatile unsigned*>(address);
    }

private:
    void* word_ = nullptr;
};

// How many blocks are resident at once: no more queues than these.
std::size_t most_blocks() {
    int sms = 0, blocks = 0;
    check(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0), "the number of SMs");
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, machine_kernel, int(THREADS), 0), "the room on an SM");
    return std::size_t(sms) * std::size_t(blocks);
}

void run_machine(Machine machine, std::size_t blocks) {
    static Abort abort;
    abort.set(0);
    machine.abort = abort.on_device();
    void* arguments[] = {&machine};
    check(cudaLaunchCooperativeKernel(machine_kernel, dim3(unsigned(blocks)), dim3(THREADS), arguments, 0, nullptr), "the launch");
    const auto begin = std::chrono::steady_clock::now();
    bool late = false;
    for (cudaError_t state; (state = cudaStreamQuery(nullptr)) != cudaSuccess;) {
        if (state != cudaErrorNotReady) {
            // The context is lost with all that it holds. The runner starts another process.
            std::fprintf(stderr, "the launch failed: %s\n", cudaGetErrorString(state));
            std::_Exit(1);
        }
        if (!late && std::chrono::steady_clock::now() - begin > LIMIT) late = true, abort.set(1);
        std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
    if (late) throw std::runtime_error("the launch did not end within its limit");
}

void execute_one(const megakernel::Launch& launch, const Json& program) {
    std::map<std::string, megakernel::Tensor> bound;
    for (const std::string& path : launch.tensors) bound.merge(megakernel::read_tensors(path));

    const std::vector<Json>& described = list(program, "buffers");
    std::vector<Memory> memory;
    std::vector<Buffer> buffers;
    for (const Json& buffer : described) {
        const std::string &kind = buffer.need("kind", Json::string).text, &dtype = buffer.need("dtype", Json::string).text;
        long long count = 1;
        for (const Json& extent : list(buffer, "shape")) count *= extent.integer().value();
        memory.emplace_back(std::size_t(count) * megakernel::Tensor::size_of(dtype));
        memory.back().fill(0xff);  // NaN, so that what reads too early is seen
        buffers.push_back({memory.back().as<void>(), count, dtype == "BF16"});
        const Json* source = buffer.find("source");
        const bool weight = (kind == "WEIGHT" || kind == "CONST") && source && source->kind == Json::string;
        const auto tensor = bound.find(weight ? source->text : buffer.need("name", Json::string).text);
        if (kind == "ACTIVATION" || kind == "IO_OUTPUT" || tensor == bound.end()) continue;
        if (tensor->second.dtype != dtype || tensor->second.data.size() != std::size_t(count) * megakernel::Tensor::size_of(dtype))
            throw std::runtime_error("the tensor `" + tensor->first + "` is not what its buffer holds");
        memory.back().write(tensor->second.data.data(), tensor->second.data.size());
    }

    // An SM of the program is a queue; tasks without one are dealt out. Each queue is a part of one order in which all tasks can run, so
    // that none stands before one that it needs, however few queues there are.
    const std::vector<const Json*> tasks = order(program);
    const std::size_t blocks = std::max<std::size_t>(1, std::min(most_blocks(), tasks.size()));
    std::vector<std::vector<Task>> queues(blocks);
    std::vector<Wait> waits;
    for (std::size_t at = 0; at < tasks.size(); ++at) {
        const long long sm = integer(*tasks[at], "sm", -1);
        Task task = record(*tasks[at], described);
        task.first_wait = int(waits.size());
        for (const Json& wait : list(*tasks[at], "waits"))
            waits.push_back({int(integer(wait, "counter", 0)), unsigned(integer(wait, "threshold", 0))});
        task.n_waits = int(waits.size()) - task.first_wait;
        queues[(sm < 0 ? at : std::size_t(sm)) % blocks].push_back(task);
    }
    std::vector<Task> records;
    std::vector<int> begins = {0};
    for (const std::vector<Task>& queue : queues) {
        records.insert(records.end(), queue.begin(), queue.end());
        begins.push_back(int(records.size()));
    }

    const Memory tables[] = {Memory::of(buffers), Memory::of(records), Memory::of(begins), Memory::of(waits),
                             Memory::of(std::vector<unsigned>(list(program, "counters").size()))};
    run_machine({tables[0].as<Buffer>(), tables[1].as<Task>(), tables[2].as<int>(), tables[3].as<Wait>(), tables[4].as<unsigned>(), nullptr}, blocks);

    std::map<std::string, megakernel::Tensor> outputs;
    for (std::size_t n = 0; n < described.size(); ++n) {
        if (described[n].need("kind", Json::string).text != "IO_OUTPUT") continue;
        megakernel::Tensor& output = outputs[described[n].need("name", Json::string).text];
        output.dtype = described[n].need("dtype", Json::string).text;
        for (const Json& extent : list(described[n], "shape")) output.shape.push_back(extent.integer().value());
        output.data = memory[n].read();
    }
    megakernel::write_tensors(launch.output, outputs);
}

megakernel::Answer execute(const megakernel::Request& request) {
    for (const megakernel::Launch& launch : request.launches) {
        const Json program = Json::parse(launch.document);
        if (std::string why = beyond(program); !why.empty()) return megakernel::unsupported(why);
        execute_one(launch, program);
    }
    return megakernel::accept();
}

}  // namespace

int main() {
    int devices = 0;
    if (const cudaError_t result = cudaGetDeviceCount(&devices); result != cudaSuccess || devices == 0) {
        std::fprintf(stderr, "there is no GPU: %s\n", cudaGetErrorString(result));
        return 2;
    }
    megakernel::Worker worker("cuda-worker", "0.1.0", {"execute"});
    worker.opcodes = OPCODES;
    worker.dtypes = DTYPES;
    worker.on("execute", execute);
    return worker.run();
}
