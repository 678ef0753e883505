// A worker that makes the mistakes that its documents name, and says what bytes it was given: for tests of the library.

#include "megakernel_adapter.hpp"

using namespace megakernel;

int main() {
  Worker worker("careless", "1", {"format", "execute"});
  worker.rules = {"S01"};
  worker.opcodes = {"ADD"};
  worker.on("validate", [](const Request& request) {
    if (request.document == "throw") throw std::runtime_error("thrown on purpose");
    if (request.document == "nothing") return reject(std::vector<Diagnostic>{});
    if (request.document == "both") return Answer{"accept", {Diagnostic{"S01", "no", "", "error", {}}}, std::nullopt, ""};
    if (request.document == "print") {
      std::printf("this is no message\n");
      return accept();
    }
    std::string hex;
    for (const char c : request.document) {
      char digits[3];
      std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned>(static_cast<unsigned char>(c)));
      hex += digits;
    }
    return reject("S01", hex);
  });
  worker.on("roundtrip", [](const Request& request) { return request.document == "nothing" ? accept() : accept(request.document); });
  worker.on("execute", [](const Request& request) {
    for (const Launch& launch : request.launches) {
      const Tensor x = read_tensors(launch.tensors.at(0)).at("x");
      std::vector<float> values = x.numbers<float>("F32");
      for (float& value : values) value += value;
      write_tensors(launch.output, {{"y", Tensor::of("F32", x.shape, values)}});
    }
    return accept();
  });
  return worker.run();
}
