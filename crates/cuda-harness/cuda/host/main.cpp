// amk-host IMAGE: runs the launch in the file IMAGE with the kernels of this folder on the CPU, and writes the results back
// into the file. The harness makes the file; src/host/image.rs describes it.

#define AMK_HOST 1
#include "../vm.cuh"

#ifdef AMK_HOST_THREADS
#include "threads.cpp"
#else
#include "fibers.cpp"
#endif

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <new>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#endif

namespace {

struct Header {
    char magic[8];
    std::uint64_t threads_per_block, shared_bytes, num_sms, n_buffers, n_counters, n_instructions, n_allocations, seed;
    std::uint64_t off_buffers, off_instructions, off_allocations, off_status;
};

struct Allocation {
    std::uint64_t offset, nbytes, guard;
};

// States of a launch; src/host/image.rs has the same.
enum State : std::uint32_t { NOT_RUN = 0, DONE = 1, ABORTED = 2, NO_OPCODE = 3, REFUSED = 4, DIVERGENT = 5 };

struct Status {
    std::uint32_t state, reserved;
    std::uint64_t n_done;
    unsigned char task[];
};

[[noreturn]] void fail(const char* what) {
    std::perror(what);
    std::exit(2);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fprintf(stderr, "usage: amk-host IMAGE\nIt is run by the harness, which makes the image.\n");
        return 2;
    }
    const int file = open(argv[1], O_RDWR);
    struct stat info;
    if (file < 0 || fstat(file, &info) != 0) fail(argv[1]);
    auto* image = static_cast<unsigned char*>(mmap(nullptr, std::size_t(info.st_size), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
    if (image == MAP_FAILED) fail(argv[1]);
    const auto& header = *reinterpret_cast<const Header*>(image);
    if (std::size_t(info.st_size) < sizeof(Header) || std::memcmp(header.magic, "AMKHOST1", 8) != 0) {
        std::fprintf(stderr, "%s is not an image of this version\n", argv[1]);
        return 2;
    }
    auto& status = *reinterpret_cast<Status*>(image + header.off_status);
    if (header.shared_bytes < AMK_SHARED_BYTES(header.threads_per_block) || header.threads_per_block % AMK_WARP != 0) {
        status.state = REFUSED;
        return 0;
    }

    // Memory of its own for each allocation, so that a sanitizer sees where it ends.
    const auto* allocations = reinterpret_cast<const Allocation*>(image + header.off_allocations);
    std::vector<unsigned char*> memory;
    for (std::uint64_t a = 0; a < header.n_allocations; ++a) {
        const Allocation& each = allocations[a];
        auto* bytes = static_cast<unsigned char*>(std::aligned_alloc(256, (each.nbytes + 255) / 256 * 256));
        if (bytes == nullptr) fail("allocation");
        std::memcpy(bytes, image + each.offset, each.nbytes);
        ASAN_POISON_MEMORY_REGION(bytes, each.guard);
        ASAN_POISON_MEMORY_REGION(bytes + each.nbytes - each.guard, each.guard);
        memory.push_back(bytes);
    }

    std::vector<amk_buffer_t> buffers(header.n_buffers);
    if (header.n_buffers > 0) {
        std::memcpy(static_cast<void*>(buffers.data()), image + header.off_buffers, header.n_buffers * sizeof(amk_buffer_t));
    }
    for (amk_buffer_t& buffer : buffers) {
        const auto offset = reinterpret_cast<std::uint64_t>(buffer.ptr);
        buffer.ptr = nullptr;
        for (std::uint64_t a = 0; a < header.n_allocations; ++a) {
            const Allocation& each = allocations[a];
            if (offset >= each.offset && offset - each.offset < each.nbytes) buffer.ptr = memory[a] + (offset - each.offset);
        }
    }

    const auto* instructions = reinterpret_cast<amk_instruction_t*>(image + header.off_instructions);
    std::vector<amk_instruction_t> tasks(instructions, instructions + header.n_instructions);
    std::vector<std::vector<int>> queues(header.num_sms);
    for (std::size_t id = 0; id < tasks.size(); ++id) queues[std::size_t(tasks[id].sm)].push_back(int(id));
    std::vector<int*> queue_of;
    std::vector<int> length_of;
    for (auto& queue : queues) {
        queue_of.push_back(queue.data());
        length_of.push_back(int(queue.size()));
    }
    std::vector<amk_counter_t> counters(header.n_counters, 0);
    int abort_flag = 0;

    amk_program_t program{};
    program.buffers = buffers.data();
    program.n_buffers = int(header.n_buffers);
    program.counters = counters.data();
    program.n_counters = int(header.n_counters);
    program.instructions = tasks.data();
    program.n_instructions = int(header.n_instructions);
    program.sm_queue = queue_of.data();
    program.sm_queue_len = length_of.data();
    program.num_sms = int(header.num_sms);
    program.abort_flag = &abort_flag;

    const shim::Grid grid{unsigned(header.num_sms), unsigned(header.threads_per_block), header.shared_bytes, header.seed};
    const shim::End end = shim::launch(grid, [&] { amk_vm(program, status.task); }, [&] { abort_flag = 2; });

    for (std::uint64_t a = 0; a < header.n_allocations; ++a) {
        const Allocation& each = allocations[a];
        ASAN_UNPOISON_MEMORY_REGION(memory[a], each.nbytes);
        std::memcpy(image + each.offset, memory[a], each.nbytes);
        std::free(memory[a]);
    }
    for (std::size_t id = 0; id < tasks.size(); ++id) status.n_done += status.task[id] == AMK_TASK_DONE;
    status.state = end == shim::End::divergent ? DIVERGENT : end == shim::End::stuck ? ABORTED : abort_flag == 1 ? NO_OPCODE : DONE;
    return 0;
}
