// How it is noticed that a thread looks at the same words again and again, and lets nobody change them.
#pragma once

#include "shim.hpp"

namespace shim {

// What a thread has found since it last let others run. Where the words lie changes nothing, so that each run is the same.
class Looks {
public:
    // It has let others run, or has met some.
    void forget() { words = looks = 0; }

    // It finds this in a word. Whether it should let others run before it looks again.
    AMK_OWN bool is_enough(const void* word, std::uint64_t value) {
        // Whoever goes round more words than are kept here is noticed by how many there were.
        if (++looks == MOST) return true;
        for (unsigned i = 0; i < words && i < KEPT; ++i) {
            if (kept[i].word != word) continue;
            if (kept[i].value == value) return ++kept[i].times == TIMES;
            kept[i] = {word, value, 1};
            return false;
        }
        kept[words++ % KEPT] = {word, value, 1};
        return false;
    }

    // It has changed a word.
    AMK_OWN void changed(const void* word) {
        for (unsigned i = 0; i < words && i < KEPT; ++i) {
            if (kept[i].word == word) kept[i].word = nullptr;
        }
    }

private:
    // A wait may end with an atomic load that acquires what the one before it has found.
    static constexpr unsigned KEPT = 16, TIMES = 3, MOST = 1000;

    struct One {
        const void* word;
        std::uint64_t value;
        unsigned times;
    };
    One kept[KEPT] = {};
    unsigned words = 0, looks = 0;
};

}  // namespace shim
