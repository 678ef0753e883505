// Barriers that count phases (`mbarrier`), as words of shared memory.
#pragma once

#include "shim.hpp"

namespace shim {

// A barrier that counts phases (`mbarrier`), which is a word: arrivals that are to come in this phase, those of each phase, bytes that copies are
// still to bring, and the phase's parity; and, by two bits, that there is one.
struct Phases {
    std::uint64_t word;

    static constexpr std::uint64_t COUNT = 0xfffff, MARK = std::uint64_t(1) << 62, BYTES = 0x1fffff, NO_BYTES = 0x100000;

    static Phases of(std::uint64_t to_come, std::uint64_t of_phase, std::uint64_t bytes, std::uint64_t parity) {
        return {to_come | of_phase << 20 | bytes << 40 | parity << 61 | MARK};
    }
    std::uint64_t to_come() const { return word & COUNT; }
    std::uint64_t of_phase() const { return word >> 20 & COUNT; }
    std::uint64_t bytes() const { return word >> 40 & BYTES; }
    unsigned parity() const { return word >> 61 & 1; }

    bool is_one() const { return word >> 62 == 1; }
    void check() const {
        if (!is_one()) fault("an mbarrier that was not initialised, or was stored over");
    }

    // With as many arrivals, and bytes that are expected or have come.
    Phases after(std::uint64_t arrivals, long long bytes_more) const {
        check();
        if (arrivals > to_come()) {
            fault("more arrivals at an mbarrier (%u) than it still expects in this phase (%u)", unsigned(arrivals), unsigned(to_come()));
        }
        const std::uint64_t left = to_come() - arrivals, bytes_left = bytes() + std::uint64_t(bytes_more);
        if (bytes_left > BYTES) fault("more bytes than an mbarrier can count");
        if (left == 0 && bytes_left == NO_BYTES) return of(of_phase(), of_phase(), NO_BYTES, parity() ^ 1);
        return of(left, of_phase(), bytes_left, parity());
    }
};

}  // namespace shim
