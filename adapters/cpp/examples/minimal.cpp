// A worker that judges two rules: S01, a document is JSON, and S02, no object has two members of one name.

#include "megakernel_adapter.hpp"

using namespace megakernel;

int main() {
  Worker worker("minimal-cpp", "0.1.0", {"format"});
  worker.rules = {"S01", "S02"};
  worker.on("validate", [](const Request& request) {
    std::vector<std::string> repeated;
    try {
      Json::parse(request.document, &repeated);
    } catch (const JsonError& error) {
      return reject("S01", error.what());
    }
    return repeated.empty() ? accept() : reject("S02", "the member `" + repeated[0] + "` occurs twice in one object");
  });
  return worker.run();
}
