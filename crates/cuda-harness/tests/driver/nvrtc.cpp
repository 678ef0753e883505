// A stand-in for NVRTC: what it makes passes for a CUBIN with the stand-in for the driver, and holds what it was made of.
// AMK_STAND_IN says `does-not-compile` for a compiler that finds an error.

#include <cstdlib>
#include <cstring>
#include <string>

namespace {

struct Program {
    std::string source, cubin, log;
};

int copy(const std::string& text, char* to) {
    std::memcpy(to, text.c_str(), text.size() + 1);
    return 0;
}

}  // namespace

extern "C" {

int nvrtcVersion(int* major, int* minor) {
    *major = 13;
    *minor = 7;
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
    program->cubin = "stand-in\n" + program->source;
    for (int i = 0; i < count; ++i) program->cubin += std::string(options[i]) + "\n";
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
    *size = program->cubin.size() + 1;
    return 0;
}

int nvrtcGetCUBIN(Program* program, char* cubin) { return copy(program->cubin, cubin); }

}  // extern "C"
