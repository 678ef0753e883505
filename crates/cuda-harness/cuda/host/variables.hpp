// Shared memory of a block.
#pragma once

#include "shim.hpp"

#include <algorithm>
#include <string>
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
        One one{key, name, static_cast<unsigned char*>(std::aligned_alloc(2 * alignment, room)), nullptr, bytes, room, 0, {}};
        if (one.start == nullptr) fault("no memory for `%s` in shared memory", name);
        one.at = one.start + alignment;
        std::memset(one.start, UNOWNED, room);
        std::memset(one.at, NOTHING, bytes);
        ASAN_POISON_MEMORY_REGION(one.start, alignment);
        ASAN_POISON_MEMORY_REGION(one.at + bytes, room - alignment - bytes);
        // Its address is the same multiple of its alignment as the place on the CPU.
        one.address = (free + alignment - 1) / (2 * alignment) * (2 * alignment) + alignment;
        free = one.address + bytes + GUARD;
        all.push_back(one);
        return one.at;
    }

    // The 32-bit address of a place in one of them, or at its end.
    AMK_OWN std::uint32_t address_of(const void* place) const {
        for (const One& one : all) {
            const std::size_t offset = one.offset_of(place);
            if (offset <= one.bytes) return std::uint32_t(one.address + offset);
        }
        fault("an address in shared memory is asked for of a place that is not in it: in memory of all blocks, or a local variable");
    }

    AMK_OWN bool hold(const void* place) const {
        for (const One& one : all) {
            if (one.offset_of(place) < one.bytes) return true;
        }
        return false;
    }

    // What a place is called that is in one of them.
    std::string name_of(const void* place) const {
        for (const One& one : all) {
            const std::size_t offset = one.offset_of(place);
            if (offset < one.bytes) return "`" + std::string(one.name) + "`" + (offset == 0 ? "" : " + " + std::to_string(offset));
        }
        return "";
    }

    // The place of an address, from which so many bytes have to lie in one of them.
    AMK_OWN unsigned char* at(std::size_t address, std::size_t bytes) const {
        for (const One& one : all) {
            if (address >= one.address && address + bytes <= one.address + one.bytes) return one.at + (address - one.address);
        }
        const One& one = *std::min_element(all.begin(), all.end(), [&](const One& a, const One& b) {
            return a.distance(address, bytes) < b.distance(address, bytes);
        });
        const auto plural = [](std::size_t count) { return count == 1 ? "" : "s"; };
        const std::size_t outside = one.distance(address, bytes);
        char how_far[48];
        if (outside < bytes) {
            std::snprintf(how_far, sizeof how_far, "%zu of them", outside);
        } else if (outside == bytes) {
            std::snprintf(how_far, sizeof how_far, "right");
        } else {
            std::snprintf(how_far, sizeof how_far, "%zu byte%s", outside - bytes, plural(outside - bytes));
        }
        const char* side = address < one.address ? "before" : "behind the end of";
        if (bytes == 0) fault("the address 0x%zx of shared memory, %s %s `%s`", address, how_far, side, one.name);
        fault("an access to %zu byte%s in shared memory at 0x%zx, %s %s `%s`", bytes, plural(bytes), address, how_far, side, one.name);
    }

    // What bulk copies and matrix units read of them has to be known to these: what they have brought themselves is, and by a fence what all threads
    // of the block have stored before it. On a GPU it is what the thread itself has stored, or come after.
    AMK_OWN void make_known() {
        for (One& one : all) one.known.assign(one.at, one.at + one.bytes);
    }
    AMK_OWN void make_known(const unsigned char* place, std::size_t bytes) {
        for (One& one : all) {
            const std::size_t offset = one.offset_of(place);
            if (offset >= one.bytes) continue;
            one.known.resize(one.bytes, NOTHING);
            std::memcpy(one.known.data() + offset, place, std::min(bytes, one.bytes - offset));
        }
    }
    AMK_OWN void check_known(const unsigned char* place, std::size_t bytes, const char* reader) const {
        for (const One& one : all) {
            const std::size_t offset = one.offset_of(place);
            for (std::size_t i = 0; i < bytes && offset + i < one.bytes; ++i) {
                if (place[i] == (one.known.empty() ? NOTHING : one.known[offset + i])) continue;
                fault("%s reads what was stored at %s with no `fence.proxy.async` since", reader, name_of(place + i).c_str());
            }
        }
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
    // The addresses begin where those do that a GPU has for programs.
    static constexpr std::size_t GUARD = 64, MOST = 48 * 1024, FIRST = 0x400;
    static constexpr unsigned char UNOWNED = 0xa5;

    struct One {
        const char *key, *name;
        unsigned char *start, *at;
        std::size_t bytes, room, address;
        // Of its bytes, what is known to others than threads; empty before a fence.
        std::vector<unsigned char> known;

        std::size_t offset_of(const void* place) const {
            return reinterpret_cast<std::uintptr_t>(place) - reinterpret_cast<std::uintptr_t>(at);
        }
        // From the far end of an access that is not within it.
        std::size_t distance(std::size_t other, std::size_t length) const {
            return other < address ? address - other : other + length - (address + bytes);
        }
    };
    std::vector<One> all;
    std::size_t total = 0, free = FIRST;

public:
    unsigned char* const dynamic;
};

}  // namespace shim
