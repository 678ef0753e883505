// Copies to shared memory that go on beside a thread.
#pragma once

#include "shim.hpp"

#include <vector>

namespace shim {

// By words, as whoever looks at accesses expects them of a kernel; zeros from nowhere.
inline void copy_words(unsigned char* to, const unsigned char* from, unsigned bytes) {
    for (unsigned i = 0; i < bytes; i += 4) {
        *reinterpret_cast<std::uint32_t*>(to + i) = from ? *reinterpret_cast<const std::uint32_t*>(from + i) : 0;
    }
}

// Those of one thread. A copy lands at any moment until it is waited for. Each other one does so at once, so that it is seen over what somebody
// still reads; the rest when they are waited for, and until then there are NaN in their places.
class Copies {
public:
    void begin(unsigned char* to, const unsigned char* from, unsigned bytes) {
        const One copy{to, from, bytes, groups};
        if ((begun++ + threadIdx.x) % 2 == 0) return copy.land();
        under_way.push_back(copy);
        std::memset(to, 0xff, bytes);
    }

    void commit() { groups += 1; }

    void wait(unsigned last) {
        std::erase_if(under_way, [&](const One& copy) {
            if (copy.group + last >= groups) return false;
            copy.land();
            return true;
        });
    }

private:
    struct One {
        unsigned char* to;
        const unsigned char* from;
        unsigned bytes;
        std::uint64_t group;

        void land() const { copy_words(to, from, bytes); }
    };

    std::vector<One> under_way;
    // How many groups it has ended, and how many copies it has begun.
    std::uint64_t groups = 0, begun = 0;
};

}  // namespace shim
