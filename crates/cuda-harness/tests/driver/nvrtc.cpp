// A stand-in for NVRTC: what it makes passes for a CUBIN with the stand-in for the driver, and holds what it was made of.
// AMK_STAND_IN says `does-not-compile` for a compiler that finds an error.

// AMK_MINOR is its minor version.
#ifndef AMK_MINOR
#define AMK_MINOR 7
#endif

#include <cstdlib>
#include <cstring>
#include <string>

namespace {

struct Program {
    std::string source, made, log;

    std::string cubin() const { return "\x7f" "ELF stand-in\n" + made; }
    std::string ptx() const { return "// stand-in\n.version 9.0\n" + made; }
};

int copy(const std::string& text, char* to) {
    std::memcpy(to, text.c_str(), text.size() + 1);
    return 0;
}

}  // namespace

extern "C" {

int nvrtcVersion(int* major, int* minor) {
    *major = 13;
    *minor = AMK_MINOR;
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
