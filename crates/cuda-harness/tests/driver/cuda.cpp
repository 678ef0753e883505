// A stand-in for the driver of a GPU: the entry points of libcuda that the harness uses, with the kernels of this repository
// compiled for the CPU behind them. It keeps to the driver's manual where the harness depends on it: memory is not
// cleared, what a kernel does wrong stays an error of the whole context, launches return at once, streams go on beside each
// other, limits are refused and not corrected.
//
// AMK_DRIVER is the CUDA that the driver is made for, 13.0 unless it says otherwise. By NVIDIA's rules of compatibility, a driver
// knows a GPU from a CUDA of its own on, and takes CUBINs of its major version and of earlier ones, and PTX of no later version than its own.
//
// AMK_STAND_IN says what kind of GPU it is: `sm_75`, or another target, that it is one of those and no sm_90, `none` that there is none,
// `small` that it has little memory, `full` that other processes have all of it, `exclusive` that another process has it for itself, `alone`
// that the first process that comes has it for itself until it ends,
// `impatient` that it has a display, so that its driver ends what runs for longer than half a second, `hangs` that no kernel ever ends,
// `broken` that each ends with an error.

#define AMK_HOST 1
#if defined(AMK_WORKER)
#include "host/shim.hpp"
#include AMK_WORKER
#elif defined(AMK_VM)
#include "platform.cuh"
#include AMK_VM
#else
#include "vm.cuh"
#endif

// A kernel that is launched otherwise than a virtual machine says so itself: its name, and what reads its arguments.
#ifndef AMK_STAND_IN_KERNEL
#define AMK_STAND_IN_KERNEL "amk_megakernel"
#define AMK_STAND_IN_PROGRAM(arguments) (*static_cast<amk_program_t*>(arguments[0]))
#define AMK_STAND_IN_CALL(arguments, program) [=] { amk_megakernel(program); }
#endif

// Of the shim, host/fibers.cpp is compiled by itself.
#include "host/launch.hpp"
#include "host/shim.hpp"

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

namespace {

using Result = int;
constexpr Result SUCCESS = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NO_DEVICE = 100, UNAVAILABLE = 46, INVALID_IMAGE = 200, INVALID_CONTEXT = 201, NO_BINARY = 209, PTX_VERSION = 222;
constexpr Result NOT_FOUND = 500, NOT_READY = 600, ILLEGAL_ADDRESS = 700, LAUNCH_TIMEOUT = 702, TOO_LARGE = 720;

// The figures of the GPU.
constexpr int SMS = 8, BLOCKS_PER_SM = 2, MOST_THREADS = 512, SHARED_OPT_IN = 99 << 10, SHARED_UNASKED = 48 << 10;
constexpr std::size_t MEMORY = std::size_t(2) << 30, LITTLE_MEMORY = std::size_t(1) << 20;

struct Stream {
    // A kernel that it runs, and since when.
    std::atomic<bool> busy{false};
    std::chrono::steady_clock::time_point since;
};

struct Function {
    int index;
};

// A CUBIN has one of the virtual machines.
#if defined(AMK_WORKER)
const char* const KERNELS[] = {"machine_kernel", "amk_copy"};
#elif defined(AMK_VM)
const char* const KERNELS[] = {AMK_STAND_IN_KERNEL, "amk_copy"};
#else
const char* const KERNELS[] = {"amk_vm", "amk_copy"};
#endif
Function functions[] = {{0}, {1}};
int shared_allowed[] = {SHARED_UNASKED, SHARED_UNASKED};

std::mutex lock;
std::map<std::uintptr_t, std::size_t> allocations;
std::size_t allocated = 0;
bool current = false;
// What is wrong with the context, for good.
std::atomic<Result> broken{SUCCESS};

bool within(std::uint64_t address, std::size_t bytes) {
    const std::lock_guard<std::mutex> guard(lock);
    auto next = allocations.upper_bound(address);
    if (next == allocations.begin()) return false;
    const auto& [start, size] = *--next;
    return address - start <= size && bytes <= size - (address - start);
}

const char* kind() {
    const char* found = std::getenv("AMK_STAND_IN");
    return found ? found : "";
}

bool is(const char* name) { return std::strcmp(kind(), name) == 0; }

// A version as two numbers, such as those of 12.4, of what begins so.
struct Version {
    int major = 0, minor = 0;

    Version(int major, int minor) : major(major), minor(minor) {}
    explicit Version(const char* text) { std::sscanf(text, "%d.%d", &major, &minor); }
    bool operator>(const Version& other) const { return major != other.major ? major > other.major : minor > other.minor; }
};

Version driver() {
    const char* found = std::getenv("AMK_DRIVER");
    return Version(found ? found : "13.0");
}

// The compute capability times ten.
int capability() {
    int found = 0;
    return std::sscanf(kind(), "sm_%d", &found) == 1 ? found : 90;
}

// The CUDA whose driver is the first that knows a GPU.
Version known_from(int capability) {
    if (capability < 80) return {10, 0};
    if (capability < 86) return {11, 0};
    if (capability < 89) return {11, 1};
    if (capability < 100) return {11, 8};
    return capability == 103 ? Version{12, 9} : capability == 110 ? Version{13, 0} : Version{12, 8};
}

// The first CUDA that makes PTX of this version of its language: 8.0 to 8.5 are of CUDA 12.0 to 12.5, 12.6 has that of 12.5, 8.6 to 8.8 are of
// 12.7 to 12.9, and 9.0 of 13.0.
Version made_by(const Version& language) {
    return {language.major + 4, language.minor + (language.major == 8 && language.minor > 5 ? 1 : 0)};
}

std::size_t memory() { return is("small") ? LITTLE_MEMORY : MEMORY; }

// A kernel that touches what is not there stops, and its context with it.
void crashed(int) {
    broken = ILLEGAL_ADDRESS;
    for (;;) pause();
}

// The file of this library.
const char* own_file() {
    Dl_info own;
    return dladdr(reinterpret_cast<void*>(&own_file), &own) != 0 ? own.dli_fname : "";
}

void pause_for(unsigned microseconds) { std::this_thread::sleep_for(std::chrono::microseconds(microseconds)); }

#define CONTEXT()                                \
    if (!current) return INVALID_CONTEXT;        \
    if (broken != SUCCESS) return broken

}  // namespace

extern "C" {

Result cuInit(unsigned) { return is("none") || known_from(capability()) > driver() ? NO_DEVICE : SUCCESS; }

Result cuDriverGetVersion(int* version) {
    *version = 1000 * driver().major + 10 * driver().minor;
    return SUCCESS;
}

Result cuGetErrorString(Result error, const char** text) {
    *text = error == NO_DEVICE         ? "no CUDA-capable device is detected"
            : error == ILLEGAL_ADDRESS ? "an illegal memory access was encountered"
            : error == INVALID_IMAGE   ? "device kernel image is invalid"
            : error == NO_BINARY       ? "no kernel image is available for execution on the device"
            : error == PTX_VERSION     ? "the provided PTX was compiled with an unsupported toolchain."
            : error == OUT_OF_MEMORY   ? "out of memory"
                                       : "an error of the stand-in";
    return SUCCESS;
}

// Two GPUs of a kind, whose UUIDs differ.
Result cuDeviceGetCount(int* count) {
    *count = 2;
    return SUCCESS;
}

Result cuDeviceGet(int* device, int ordinal) {
    *device = ordinal;
    return ordinal == 0 || ordinal == 1 ? SUCCESS : INVALID_VALUE;
}

Result cuDeviceGetName(char* name, int room, int device) {
    std::snprintf(name, std::size_t(room), device == 0 ? "stand-in" : "stand-in MIG 1g.10gb");
    return SUCCESS;
}

Result cuDeviceGetAttribute(int* value, int attribute, int) {
    switch (attribute) {
        case 20: *value = is("exclusive") || is("alone") ? 3 : 0; return SUCCESS;
        case 13: *value = 1500000; return SUCCESS;
        case 16: *value = SMS; return SUCCESS;
        case 32: *value = 1; return SUCCESS;
        case 36: *value = 2000000; return SUCCESS;
        case 75: *value = capability() / 10; return SUCCESS;
        case 76: *value = capability() % 10; return SUCCESS;
        case 95: *value = 1; return SUCCESS;
        case 97: *value = SHARED_OPT_IN; return SUCCESS;
        default: return INVALID_VALUE;
    }
}

Result cuDevicePrimaryCtxRetain(void** context, int) {
    *context = &broken;
    if (is("alone")) {
        static const int lock = open(own_file(), O_RDONLY | O_CLOEXEC);
        return flock(lock, LOCK_EX | LOCK_NB) == 0 ? SUCCESS : UNAVAILABLE;
    }
    return is("exclusive") ? UNAVAILABLE : is("full") ? OUT_OF_MEMORY : SUCCESS;
}

Result cuCtxSetCurrent(void* context) {
    current = context == &broken;
    return current ? SUCCESS : INVALID_CONTEXT;
}

Result cuDeviceGetUuid_v2(unsigned char* uuid, int device) {
    for (int i = 0; i < 16; ++i) uuid[i] = static_cast<unsigned char>(17 * (device == 0 ? i : 15 - i));
    return SUCCESS;
}

// What the harness hands over ends with 0, as PTX has to.
Result cuModuleLoadData(void** module, const void* image) {
    CONTEXT();
    *module = functions;
    const char* text = static_cast<const char*>(image);
    if (std::memcmp(text, "\x7f" "ELF", 4) == 0) {
        // That of the stand-in for NVRTC names its compiler; a real one has a version of its format, 7 by CUDA 12 and 8 by CUDA 13.
        const bool real = std::memcmp(text + 4, " stand-in", 9) != 0;
        const char* by = real ? nullptr : std::strstr(text, "NVRTC ");
        const int major = real ? text[8] + 5 : by ? Version(by + 6).major : 0;
        if (real && text[8] != 7 && text[8] != 8) return INVALID_IMAGE;
        return major > driver().major ? NO_BINARY : SUCCESS;
    }
    const char* language = std::strstr(text, ".version ");
    if (language == nullptr) return INVALID_IMAGE;
    return made_by(Version(language + 9)) > driver() ? PTX_VERSION : SUCCESS;
}

Result cuModuleGetFunction(void** function, void*, const char* name) {
    CONTEXT();
    for (int k = 0; k < 2; ++k) {
        if (std::strcmp(name, KERNELS[k]) != 0) continue;
        *function = &functions[k];
        return SUCCESS;
    }
    return NOT_FOUND;
}

Result cuFuncGetAttribute(int* value, int attribute, void*) {
    CONTEXT();
    *value = MOST_THREADS;
    return attribute == 0 ? SUCCESS : INVALID_VALUE;
}

Result cuFuncSetAttribute(void* function, int attribute, int value) {
    CONTEXT();
    if (attribute != 8 || value > SHARED_OPT_IN) return INVALID_VALUE;
    shared_allowed[static_cast<Function*>(function)->index] = value;
    return SUCCESS;
}

Result cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void* function, int threads, std::size_t shared) {
    CONTEXT();
    const int allowed = shared_allowed[static_cast<Function*>(function)->index];
    *blocks = threads > MOST_THREADS || shared > std::size_t(allowed) ? 0 : shared > SHARED_UNASKED ? 1 : BLOCKS_PER_SM;
    return SUCCESS;
}

Result cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
    CONTEXT();
    const std::lock_guard<std::mutex> guard(lock);
    *total = memory();
    *free = *total - allocated;
    return SUCCESS;
}

Result cuMemAlloc_v2(std::uint64_t* address, std::size_t bytes) {
    CONTEXT();
    if (bytes == 0) return INVALID_VALUE;
    const std::lock_guard<std::mutex> guard(lock);
    if (allocated + bytes > memory()) return OUT_OF_MEMORY;
    void* found = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
    std::memset(found, 0xcd, bytes);
    allocated += bytes;
    *address = reinterpret_cast<std::uintptr_t>(found);
    allocations[*address] = bytes;
    return SUCCESS;
}

Result cuMemFree_v2(std::uint64_t address) {
    CONTEXT();
    const std::lock_guard<std::mutex> guard(lock);
    const auto found = allocations.find(address);
    if (found == allocations.end()) return INVALID_VALUE;
    allocated -= found->second;
    allocations.erase(found);
    std::free(reinterpret_cast<void*>(address));
    return SUCCESS;
}

Result cuMemHostAlloc(void** memory, std::size_t bytes, unsigned flags) {
    CONTEXT();
    *memory = std::malloc(bytes);
    std::memset(*memory, 0xcd, bytes);
    return bytes > 0 && (flags & 2) ? SUCCESS : INVALID_VALUE;
}

Result cuMemHostGetDevicePointer_v2(std::uint64_t* address, void* memory, unsigned) {
    CONTEXT();
    *address = reinterpret_cast<std::uintptr_t>(memory);
    return SUCCESS;
}

// Streams that wait for each other would keep what stops a kernel from reaching it.
Result cuStreamCreate(void** stream, unsigned flags) {
    CONTEXT();
    *stream = new Stream;
    return flags == 1 ? SUCCESS : INVALID_VALUE;
}

Result cuStreamQuery(void* on) {
    CONTEXT();
    auto* stream = static_cast<Stream*>(on);
    if (!stream->busy) return SUCCESS;
    if (is("impatient") && std::chrono::steady_clock::now() - stream->since > std::chrono::milliseconds(500)) {
        broken = LAUNCH_TIMEOUT;
        return broken;
    }
    return NOT_READY;
}

Result cuStreamSynchronize(void* stream) {
    while (broken == SUCCESS && static_cast<Stream*>(stream)->busy) pause_for(100);
    CONTEXT();
    return SUCCESS;
}

Result cuMemcpyHtoDAsync_v2(std::uint64_t to, const void* from, std::size_t bytes, void* stream) {
    if (const Result result = cuStreamSynchronize(stream)) return result;
    if (bytes > 0 && !within(to, bytes)) return INVALID_VALUE;
    std::memcpy(reinterpret_cast<void*>(to), from, bytes);
    return SUCCESS;
}

Result cuMemcpyDtoHAsync_v2(void* to, std::uint64_t from, std::size_t bytes, void* stream) {
    if (const Result result = cuStreamSynchronize(stream)) return result;
    if (bytes > 0 && !within(from, bytes)) return INVALID_VALUE;
    std::memcpy(to, reinterpret_cast<void*>(from), bytes);
    return SUCCESS;
}

Result cuMemsetD8Async(std::uint64_t to, unsigned char byte, std::size_t bytes, void* stream) {
    if (const Result result = cuStreamSynchronize(stream)) return result;
    if (!within(to, bytes)) return INVALID_VALUE;
    std::memset(reinterpret_cast<void*>(to), byte, bytes);
    return SUCCESS;
}

Result cuLaunchCooperativeKernel(void* function, unsigned blocks, unsigned by, unsigned bz, unsigned threads, unsigned ty,
                                 unsigned tz, unsigned shared, void* on, void** arguments) {
    CONTEXT();
    int resident = 0;
    cuOccupancyMaxActiveBlocksPerMultiprocessor(&resident, function, int(threads), shared);
    if (blocks == 0 || threads == 0 || by * bz * ty * tz != 1 || resident == 0) return INVALID_VALUE;
    if (blocks > unsigned(resident * SMS)) return TOO_LARGE;
    if (function == &functions[1]) {
        const std::uint64_t* word[3];
        for (int i = 0; i < 3; ++i) word[i] = static_cast<const std::uint64_t*>(arguments[i]);
        const std::size_t bytes = 16 * *word[2];
        if (!within(*word[0], bytes) || !within(*word[1], bytes)) return INVALID_VALUE;
        std::memcpy(reinterpret_cast<void*>(*word[1]), reinterpret_cast<void*>(*word[0]), bytes);
        return SUCCESS;
    }
    auto* stream = static_cast<Stream*>(on);
#ifdef AMK_WORKER
    if (const Result result = cuStreamSynchronize(stream)) return result;
    const auto machine = *static_cast<Machine*>(arguments[0]);
    const volatile unsigned* flag = machine.abort;
    const auto kernel = [=] { machine_kernel(machine); };
#else
    // The kernels cannot say it themselves.
    if (shared < AMK_SHARED_BYTES(threads)) return INVALID_VALUE;
    if (const Result result = cuStreamSynchronize(stream)) return result;
#ifdef AMK_VM
    const auto program = AMK_STAND_IN_PROGRAM(arguments);
    const auto kernel = AMK_STAND_IN_CALL(arguments, program);
#else
    const auto program = *static_cast<amk_program_t*>(arguments[0]);
    auto* states = *static_cast<amk_u8**>(arguments[1]);
    const auto perturb = *static_cast<amk_u32*>(arguments[2]);
    auto* places = *static_cast<amk_u32**>(arguments[3]);
    const auto kernel = [=] { amk_vm(program, states, perturb, places); };
#endif
    const volatile int* flag = program.abort_flag;
#endif
    stream->since = std::chrono::steady_clock::now();
    stream->busy = true;
    std::thread([=] {
        std::signal(SIGSEGV, crashed);
        std::signal(SIGBUS, crashed);
        // A GPU does not notice that nothing can go on: it goes on waiting, until the flag tells it not to.
        const auto wait = [=] {
            while (*flag == 0) pause_for(100);
        };
        while (is("hangs")) pause_for(1000);
        if (is("broken")) broken = ILLEGAL_ADDRESS;
        shim::launch({blocks, threads, shared, 0}, kernel, wait);
        stream->busy = false;
    }).detach();
    return SUCCESS;
}

// By which cuda-python finds all others: the newest of a name.
Result cuGetProcAddress_v2(const char* name, void** function, int, std::uint64_t, int* status) {
    static void* const library = dlopen(own_file(), RTLD_NOW | RTLD_NOLOAD);
    *function = library == nullptr ? nullptr : dlsym(library, (std::string(name) + "_v2").c_str());
    if (library != nullptr && *function == nullptr) *function = dlsym(library, name);
    if (status != nullptr) *status = *function == nullptr ? 1 : 0;
    return *function == nullptr ? NOT_FOUND : SUCCESS;
}

}  // extern "C"
