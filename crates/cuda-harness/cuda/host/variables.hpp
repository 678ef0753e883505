// Shared memory of a block.
#pragma once

#include "shim.hpp"

#include <vector>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#endif

namespace shim {

// Nothing is in it at first; so many ones are NaN in every float type.
constexpr unsigned char NOTHING = 0xff;

// Its dynamic shared memory, and the `__shared__` variables that it has come upon. Each lies in memory of its own, at no larger multiple than it asks for, and between bytes that
// nobody owns.
class Variables {
public:
    explicit Variables(std::size_t bytes) : dynamic(of(nullptr, bytes, 1024, "amk_shared()")) {}

    AMK_OWN unsigned char* of(const char* key, std::size_t bytes, std::size_t alignment, const char* name) {
        for (const One& one : all) {
            if (one.key == key) return one.at;
        }
        // As the compiler for a GPU counts them, dynamic shared memory aside.
        total += key != nullptr ? bytes : 0;
        if (total > MOST) fault("`%s` makes more than %zu bytes of `__shared__` variables, which is more than a GPU has room for", name, MOST);
        const std::size_t room = (alignment + bytes + GUARD + 2 * alignment - 1) / (2 * alignment) * (2 * alignment);
        One one{key, name, static_cast<unsigned char*>(std::aligned_alloc(2 * alignment, room)), nullptr, bytes, room};
        if (one.start == nullptr) fault("no memory for `%s` in shared memory", name);
        one.at = one.start + alignment;
        std::memset(one.start, UNOWNED, room);
        std::memset(one.at, NOTHING, bytes);
        ASAN_POISON_MEMORY_REGION(one.start, alignment);
        ASAN_POISON_MEMORY_REGION(one.at + bytes, room - alignment - bytes);
        all.push_back(one);
        return one.at;
    }

    Variables(const Variables&) = delete;
    AMK_OWN ~Variables() {
        for (const One& one : all) {
            ASAN_UNPOISON_MEMORY_REGION(one.start, one.room);
            for (unsigned char* byte = one.start; byte < one.start + one.room; ++byte) {
                if (byte == one.at) byte += one.bytes;
                if (*byte != UNOWNED) fault("a store %s `%s` in shared memory", byte < one.at ? "before" : "behind the end of", one.name);
            }
            std::free(one.start);
        }
    }

private:
    static constexpr std::size_t GUARD = 64, MOST = 48 * 1024;
    static constexpr unsigned char UNOWNED = 0xa5;

    struct One {
        const char *key, *name;
        unsigned char *start, *at;
        std::size_t bytes, room;
    };
    std::vector<One> all;
    std::size_t total = 0;

public:
    unsigned char* const dynamic;
};

}  // namespace shim
