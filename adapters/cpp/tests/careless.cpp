// A worker that makes the mistakes that its documents name, and says what bytes it was given: for tests of the library.

#include "megakernel_adapter.hpp"

using namespace megakernel;

static_assert(std::is_constructible_v<Json, std::uint32_t> && std::is_constructible_v<Json, std::size_t>, "any integer is a number");
static_assert(std::is_constructible_v<Json, long long> && std::is_constructible_v<Json, long>, "any integer is a number");

int main() {
  Worker worker("careless", "1", {"format", "execute"});
  worker.rules = std::vector<std::string>{};
  worker.opcodes = {"ADD"};
  worker.on("validate", [](const Request& request) {
    if (request.document == "throw") throw std::runtime_error("thrown on purpose");
    if (request.document == "silent") throw std::runtime_error("");
    if (request.document == "long") return reject("S01", std::string((1 << 26) / 6, '\1'));  // six bytes of the line each
    if (request.document == "bytes") return reject("\xff", "no");
    if (request.document == "unsupported bytes") return unsupported("\xff");
    if (request.document == "name") write_tensors("/dev/null", {{"\xff", Tensor::of("F32", {}, std::vector<float>{1})}});
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
      const std::map<std::string, Tensor> read = read_tensors(launch.tensors.at(0));
      const Tensor& x = read.at("x");
      std::vector<float> values = x.numbers<float>("F32");
      for (float& value : values) value += value;
      write_tensors(launch.output, {{"y", Tensor::of("F32", x.shape, values)}});
      if (launch.trace) write_tensors(*launch.trace, read);
    }
    return accept();
  });
  return worker.run();
}
