// What kernels say to the model of a GPU's memory (model.hpp).
#pragma once

namespace weak {

// The ways of a load that are not that of the first-level cache: `__ldg`, and past it.
enum class Way { plain, incoherent, second };

// While one of these is there, loads go its way.
#ifdef AMK_HOST_WEAK
// Volatile: the calls before each load are put in last, and to what looks for needless stores nobody reads it.
extern volatile Way way;
struct By {
    explicit By(Way other) { way = other; }
    ~By() { way = Way::plain; }
};
#else
struct By {
    explicit By(Way) {}
};
#endif

}  // namespace weak

// A function that touches no memory of the kernels: its accesses are not followed.
#ifdef AMK_HOST_WEAK
#define AMK_OWN __attribute__((no_sanitize("thread")))
#else
#define AMK_OWN
#endif
