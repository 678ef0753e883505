// Where an operand of matrix units lies in shared memory, as descriptors of `wgmma` and `tcgen05` say.
#pragma once

#include "shim.hpp"

namespace shim {

// Lines of M or N by K, in parts of eight lines by 16 bytes; or, by columns, of eight of K by 16 bytes of lines.
struct Lying {
    std::uint32_t start, leading, stride;
    // Of lines that lie side by side, the bytes; 0 where parts are contiguous.
    unsigned width;
    bool by_columns;
    // Whether 32 bytes change places at once, and parts are of four of K.
    bool by_32 = false;

    Lying(std::uint64_t descriptor, unsigned width, bool by_columns, bool by_32 = false) : width(width), by_columns(by_columns), by_32(by_32) {
        const auto field = [&](unsigned shift) { return std::uint32_t(descriptor >> shift & 0x3fff) << 4; };
        start = field(0);
        leading = field(16);
        stride = field(32);
    }

    // The address of an element of so many bytes.
    std::uint32_t address(unsigned line, unsigned k, unsigned bytes) const {
        std::uint32_t offset;
        if (!by_columns) {
            const unsigned byte = k * bytes;
            offset = width == 0 ? line / 8 * stride + byte / 16 * leading + line % 8 * 16 + byte % 16 : line / 8 * stride + line % 8 * width + byte;
        } else if (width == 0) {
            const unsigned byte = line * bytes;
            offset = byte / 16 * stride + k / 8 * leading + k % 8 * 16 + byte % 16;
        } else {
            const unsigned lines = width / bytes, deep = by_32 ? 4 : 8;
            offset = line / lines * leading + line % lines * bytes + k / deep * stride + k % deep * width;
        }
        const std::uint32_t plain = start + offset;
        // Of the 16-byte places of 128 bytes, as many are exchanged as a line has.
        if (by_32) return plain ^ ((plain >> 7 & 3) << 5);
        return width == 0 ? plain : plain ^ ((plain >> 7 & (width / 16 - 1)) << 4);
    }
};

}  // namespace shim
