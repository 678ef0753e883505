// A stand-in for NVRTC: what it makes passes for a CUBIN with the stand-in for the driver, and holds what it was made of.
// AMK_STAND_IN says `does-not-compile` for a compiler that finds an error.

// With AMK_BUILTINS it opens the library of its builtins by its name, as NVRTC does, and compiles nothing where that fails.
//
// AMK_VERSION is its version, as two numbers with a comma.
#ifndef AMK_VERSION
#define AMK_VERSION 13, 7
#endif

#include <cstdlib>
#include <cstring>
#include <string>

#include <dlfcn.h>

namespace {

constexpr int VERSION[] = {AMK_VERSION};

struct Program {
    std::string source, made, log;

    std::string cubin() const {
        return "\x7f" "ELF stand-in\nNVRTC " + std::to_string(VERSION[0]) + "." + std::to_string(VERSION[1]) + "\n" + made;
    }
    // The version of the language: 8.0 to 8.5 are of CUDA 12.0 to 12.5, 12.6 has that of 12.5, 8.6 to 8.8 are of 12.7 to 12.9, and 9.0 of 13.0.
    std::string ptx() const {
        const int minor = VERSION[1] - (VERSION[0] == 12 && VERSION[1] > 5 ? 1 : 0);
        return "// stand-in\n.version " + std::to_string(VERSION[0] - 4) + "." + std::to_string(minor) + "\n" + made;
    }
};

int copy(const std::string& text, char* to) {
    std::memcpy(to, text.c_str(), text.size() + 1);
    return 0;
}

}  // namespace

extern "C" {

int nvrtcVersion(int* major, int* minor) {
    *major = VERSION[0];
    *minor = VERSION[1];
    return 0;
}

int nvrtcCreateProgram(Program** program, const char* source, const char*, int headers, const char* const*, const char* const*) {
    *program = new Program{source, "", ""};
    return headers == 0 ? 0 : 3;
}

int nvrtcDestroyProgram(Program** program) {
    delete *program;
    *program = nullptr;
    return 0;
}

int nvrtcCompileProgram(Program* program, int count, const char* const* options) {
    program->made = program->source;
    for (int i = 0; i < count; ++i) program->made += std::string(options[i]) + "\n";
#if defined(AMK_BUILTINS)
    const std::string builtins = "libnvrtc-builtins.so." + std::to_string(VERSION[0]) + "." + std::to_string(VERSION[1]);
    if (dlopen(builtins.c_str(), RTLD_NOW) == nullptr) {
        program->log = "nvrtc: error: failed to open " + builtins;
        return 7;
    }
#endif
    const char* kind = std::getenv("AMK_STAND_IN");
    if (kind == nullptr || std::strcmp(kind, "does-not-compile") != 0) return 0;
    program->log = "kernels.cu(1): error: expected a declaration";
    return 6;
}

int nvrtcGetProgramLogSize(Program* program, std::size_t* size) {
    *size = program->log.size() + 1;
    return 0;
}

int nvrtcGetProgramLog(Program* program, char* log) { return copy(program->log, log); }

int nvrtcGetCUBINSize(Program* program, std::size_t* size) {
    *size = program->cubin().size() + 1;
    return 0;
}

int nvrtcGetCUBIN(Program* program, char* cubin) { return copy(program->cubin(), cubin); }

int nvrtcGetPTXSize(Program* program, std::size_t* size) {
    *size = program->ptx().size() + 1;
    return 0;
}

int nvrtcGetPTX(Program* program, char* ptx) { return copy(program->ptx(), ptx); }

}  // extern "C"
