// amk-host: runs launches with the kernels of this folder on the CPU. It reads paths of images, one a line, runs the launch in
// each, writes the results back into the file, and says so with a line: what there is to say, or nothing. The harness makes
// the files; src/image.rs describes them. The process lasts over launches, and what kernels keep in globals with it, as on a
// GPU.

#define AMK_HOST 1
#include "../abi.h"
#include "kernels.hpp"
#ifdef AMK_HOST_THREADS
#include "threads.cpp"
#else
#include "fibers.cpp"
#endif
#include "model.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/prctl.h>
#include <csignal>
#endif

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>

namespace {

struct Header {
    char magic[8];
    std::uint64_t threads_per_block, shared_bytes, num_sms, n_buffers, n_counters, n_instructions, n_allocations, seed, perturb, limit_ms;
    std::uint64_t off_buffers, off_instructions, off_allocations, off_status, off_counters;
};

struct Allocation {
    std::uint64_t offset, nbytes, guard;
};

// States of a launch; src/image.rs has the same.
enum State : std::uint32_t { NOT_RUN = 0, DONE = 1, ABORTED = 2, NO_OPCODE = 3, REFUSED = 4 };

struct Status {
    std::uint32_t state, reserved[3];
    unsigned char task[];
};

// Bytes around the counters that nobody owns.
constexpr std::size_t COUNTER_GUARD = 64;

[[noreturn]] void fail(const char* what) {
    std::perror(what);
    std::exit(2);
}

// An image as memory. What is written there is in the file, even if this process is ended.
struct Image {
    unsigned char* bytes = nullptr;
    std::size_t size = 0;

    explicit Image(const char* path) {
        const int file = open(path, O_RDWR);
        struct stat info;
        if (file < 0 || fstat(file, &info) != 0) fail(path);
        size = std::size_t(info.st_size);
        void* mapped = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (mapped == MAP_FAILED) fail(path);
        close(file);
        bytes = static_cast<unsigned char*>(mapped);
        if (size < sizeof(Header) || std::memcmp(bytes, "AMKHOST2", 8) != 0) {
            std::fprintf(stderr, "%s is not an image of this version\n", path);
            std::exit(2);
        }
    }
    Image(const Image&) = delete;
    ~Image() { munmap(bytes, size); }

    template <typename T>
    T* at(std::uint64_t offset) const {
        return reinterpret_cast<T*>(bytes + offset);
    }
};

// Runs the launch of an image. What the answer says.
std::string run(const Image& image) {
    const Header& header = *image.at<Header>(0);
    auto& status = *image.at<Status>(header.off_status);
    if (!shim::takes(unsigned(header.threads_per_block), header.shared_bytes)) {
        status.state = REFUSED;
        return "the instructions need more shared memory";
    }
    const std::uint32_t delays = header.perturb ? std::uint32_t(header.seed) | 1u : 0u;

    // Memory of its own for each allocation, so that a sanitizer sees where it ends.
    const auto* allocations = image.at<Allocation>(header.off_allocations);
    std::vector<unsigned char*> memory;
    for (std::uint64_t a = 0; a < header.n_allocations; ++a) {
        const Allocation& each = allocations[a];
        auto* bytes = static_cast<unsigned char*>(std::aligned_alloc(256, (each.nbytes + 255) / 256 * 256));
        if (bytes == nullptr) fail("allocation");
        std::memcpy(bytes, image.at<unsigned char>(each.offset), each.nbytes);
        ASAN_POISON_MEMORY_REGION(bytes, each.guard);
        ASAN_POISON_MEMORY_REGION(bytes + each.nbytes - each.guard, each.guard);
        memory.push_back(bytes);
    }

    std::vector<amk_buffer_t> buffers(header.n_buffers);
    if (header.n_buffers > 0) {
        std::memcpy(static_cast<void*>(buffers.data()), image.at<void>(header.off_buffers), header.n_buffers * sizeof(amk_buffer_t));
    }
    for (amk_buffer_t& buffer : buffers) {
        const auto offset = reinterpret_cast<std::uint64_t>(buffer.ptr);
        buffer.ptr = nullptr;
        for (std::uint64_t a = 0; a < header.n_allocations; ++a) {
            const Allocation& each = allocations[a];
            if (offset >= each.offset && offset - each.offset < each.nbytes) buffer.ptr = memory[a] + (offset - each.offset);
        }
    }

    const auto* instructions = image.at<amk_instruction_t>(header.off_instructions);
    std::vector<amk_instruction_t> tasks(instructions, instructions + header.n_instructions);
    std::vector<std::vector<int>> queues(header.num_sms);
    for (std::size_t id = 0; id < tasks.size(); ++id) queues[std::size_t(tasks[id].sm)].push_back(int(id));
    std::vector<int*> queue_of;
    std::vector<int> length_of;
    for (auto& queue : queues) {
        queue_of.push_back(queue.data());
        length_of.push_back(int(queue.size()));
    }
    // In the image, so that they can be read after a launch that had to be ended.
    auto* counters = image.at<amk_counter_t>(header.off_counters);
    const std::size_t counter_bytes = header.n_counters * sizeof(amk_counter_t);
    auto* around = reinterpret_cast<unsigned char*>(counters) - COUNTER_GUARD;
    std::memset(counters, 0, counter_bytes);
    ASAN_POISON_MEMORY_REGION(around, COUNTER_GUARD);
    ASAN_POISON_MEMORY_REGION(around + COUNTER_GUARD + counter_bytes, COUNTER_GUARD);
    int abort_flag = 0;

    amk_program_t program{};
    program.buffers = buffers.data();
    program.n_buffers = int(header.n_buffers);
    program.counters = counters;
    program.n_counters = int(header.n_counters);
    program.instructions = tasks.data();
    program.n_instructions = int(header.n_instructions);
    program.sm_queue = queue_of.data();
    program.sm_queue_len = length_of.data();
    program.num_sms = int(header.num_sms);
    program.abort_flag = &abort_flag;

    const shim::Grid grid{unsigned(header.num_sms), unsigned(header.threads_per_block), header.shared_bytes, header.seed};
    shim::Question question;
    question.name_of = [&](const void* word) -> std::string {
        const std::uintptr_t offset = reinterpret_cast<std::uintptr_t>(word) - reinterpret_cast<std::uintptr_t>(counters);
        // Where kernels tell which tasks wait, more is said of those.
        const bool is_told = std::any_of(status.task, status.task + header.n_instructions, [](unsigned char state) { return state != 0; });
        return is_told || offset >= counter_bytes ? "" : "counter " + std::to_string(offset / sizeof(amk_counter_t));
    };
    weak::begin(grid.blocks, grid.threads, grid.seed);
    for (std::uint64_t a = 0; a < header.n_allocations; ++a) weak::share(memory[a], allocations[a].nbytes);
    const shim::End end =
        shim::launch(grid, [&] { shim::megakernel(program, status.task, delays); }, [&] { abort_flag = 2; }, &question);
    weak::end();

    // The next image may lie where this one does.
    ASAN_UNPOISON_MEMORY_REGION(around, counter_bytes + 2 * COUNTER_GUARD);
    for (std::uint64_t a = 0; a < header.n_allocations; ++a) {
        const Allocation& each = allocations[a];
        ASAN_UNPOISON_MEMORY_REGION(memory[a], each.nbytes);
        std::memcpy(image.at<void>(each.offset), memory[a], each.nbytes);
        std::free(memory[a]);
    }
    status.state = end == shim::End::stuck ? ABORTED : abort_flag != 0 ? NO_OPCODE : DONE;
    return question.answer;
}

}  // namespace

int main(int argc, char**) {
    if (argc != 1) {
        std::fprintf(stderr, "usage: amk-host\nIt is run by the harness, which sends paths of images.\n");
        return 2;
    }
#ifdef __linux__
    // A kernel that hangs would outlive a harness that is ended.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
    // What kernels print is no answer.
    std::FILE* answers = fdopen(dup(STDOUT_FILENO), "w");
    if (answers == nullptr || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) fail("standard output");
    char* path = nullptr;
    std::size_t room = 0;
    for (ssize_t length; (length = getline(&path, &room, stdin)) > 0;) {
        if (path[length - 1] == '\n') path[length - 1] = 0;
        const std::string said = run(Image(path));
        std::fflush(stdout);
        std::fprintf(answers, "%s\n", said.c_str());
        std::fflush(answers);
    }
    std::free(path);
    return 0;
}
