// A worker that conforms to the profiles `format` and `launch` (spec/rules/launch.md), and executes programs of ADD over F32.

#include "structure.hpp"

using namespace megakernel;
using Integer = std::int64_t;

// The integer of a member; `otherwise` where it is absent.
static Integer integer(const Json* object, const char* name, Integer otherwise) {
  const Json* found = object ? object->find(name) : nullptr;
  return found ? found->integer().value_or(otherwise) : otherwise;
}

// The member that is an object; null for `null`, and where it is absent.
static const Json* object(const Json& document, const char* name) {
  const Json* found = document.find(name);
  return found && found->kind == Json::object ? found : nullptr;
}

// L01 to L04: what the target cannot launch.
static std::vector<Diagnostic> launch_rules(const Json& document) {
  std::vector<Diagnostic> found;
  const auto broken = [&](const char* rule, std::string message, std::string pointer) {
    found.push_back({rule, std::move(message), std::move(pointer), "error", {}});
  };
  const Json *target = object(document, "target"), *config = object(document, "config");
  const Integer most = std::numeric_limits<Integer>::max();
  if (config) {
    const Integer bytes = integer(config, "smem_bytes_per_block", 0);
    if (bytes < 0 || bytes > integer(target, "smem_bytes_per_block_optin", most))
      broken("L01", std::to_string(bytes) + " bytes of shared memory", "/config/smem_bytes_per_block");
    const Integer threads = integer(config, "threads_per_block", 256);
    if (threads < 1 || threads > 1024 || threads > integer(target, "max_threads_per_sm", most))
      broken("L02", std::to_string(threads) + " threads in a block", "/config/threads_per_block");
    if (const Json* assignment = object(*config, "sm_assignment"))
      for (const auto& [task, sm] : assignment->members)
        if (const Integer number = sm.integer().value_or(0); number < 0 || (target && number >= integer(target, "num_sms", most)))
          broken("L04", "there is no SM " + sm.text, "/config/sm_assignment/" + task);
  }
  if (const Json* cooperative = target ? target->find("supports_cooperative") : nullptr; cooperative && !cooperative->flag)
    broken("L03", "the target launches no cooperative grids", "/target/supports_cooperative");
  return found;
}

static Answer judge(const Request& request) {
  std::vector<Diagnostic> found;
  const Json program = structure::read(request.document, found);
  if (found.empty() && request.profile == "launch") found = launch_rules(program);
  if (!found.empty()) return reject(std::move(found));
  return request.method == "roundtrip" ? accept(program.dump()) : accept();
}

// What a buffer holds, and how many tasks of a counter have finished, are all the state there is (EXE-01).
struct Machine {
  const Json program;
  std::vector<std::vector<float>> memory;
  std::vector<Integer> counters;

  static std::vector<Integer> integers(const Json& list) {
    std::vector<Integer> found;
    for (const Json& item : list.items) found.push_back(item.integer().value());
    return found;
  }

  Machine(const Launch& launch) : program(Json::parse(launch.document)) {
    std::map<std::string, Tensor> bound;
    for (const std::string& path : launch.tensors) bound.merge(read_tensors(path));
    for (const Json& buffer : program.need("buffers", Json::array).items) {
      const std::string &kind = buffer.need("kind", Json::string).text, &dtype = buffer.need("dtype", Json::string).text;
      if (kind == "KV_CACHE" || dtype != "F32") throw std::runtime_error("no caches, and no " + dtype);
      std::size_t count = 1;
      for (const Integer extent : integers(buffer.need("shape", Json::array))) count *= static_cast<std::size_t>(extent);
      const Json* source = buffer.find("source");
      const bool weight = (kind == "WEIGHT" || kind == "CONST") && source && source->kind == Json::string;
      const auto tensor = bound.find(weight ? source->text : buffer.need("name", Json::string).text);
      const bool given = kind != "ACTIVATION" && kind != "IO_OUTPUT" && tensor != bound.end();
      memory.push_back(given ? tensor->second.numbers<float>("F32") : std::vector<float>(count));
    }
    counters.resize(program.need("counters", Json::array).items.size());
  }

  bool ready(const Json& task) const {
    if (const Json* waits = task.find("waits"))
      for (const Json& wait : waits->items)
        if (counters.at(static_cast<std::size_t>(integer(&wait, "counter", 0))) < integer(&wait, "threshold", 0)) return false;
    return true;
  }

  void run(const Json& task) {
    if (task.need("op", Json::string).text == "ADD") {
      const auto in = integers(task.need("inputs", Json::array)), out = integers(task.need("outputs", Json::array));
      const std::vector<float> &a = memory.at(static_cast<std::size_t>(in.at(0))), &b = memory.at(static_cast<std::size_t>(in.at(1)));
      std::vector<float> sum(a.size());
      for (std::size_t n = 0; n < sum.size(); ++n) sum[n] = a[n] + b.at(n);
      memory.at(static_cast<std::size_t>(out.at(0))) = std::move(sum);
    }
    ++counters.at(static_cast<std::size_t>(integer(&task, "out_counter", 0)));
  }

  // Runs whatever is ready, in order of the list: so the tasks of one SM run in theirs (EXE-02).
  void run() {
    std::vector<const Json*> left;
    for (const Json& task : program.need("tasks", Json::array).items) left.push_back(&task);
    while (!left.empty()) {
      std::vector<const Json*> later;
      std::map<Integer, bool> stuck;
      for (const Json* task : left) {
        const Integer sm = integer(task, "sm", -1);
        if ((sm >= 0 && stuck[sm]) || !ready(*task)) stuck[sm] = true, later.push_back(task);
        else run(*task);
      }
      if (later.size() == left.size()) throw std::runtime_error("the tasks wait for each other");
      left = std::move(later);
    }
  }

  std::map<std::string, Tensor> outputs() const {
    std::map<std::string, Tensor> found;
    const std::vector<Json>& buffers = program.need("buffers", Json::array).items;
    for (std::size_t n = 0; n < buffers.size(); ++n)
      if (buffers[n].need("kind", Json::string).text == "IO_OUTPUT")
        found[buffers[n].need("name", Json::string).text] = Tensor::of("F32", integers(*buffers[n].find("shape")), memory[n]);
    return found;
  }
};

static Answer execute(const Request& request) {
  for (const Launch& launch : request.launches) {
    Machine machine(launch);
    machine.run();
    write_tensors(launch.output, machine.outputs());
  }
  return accept();
}

int main() {
  Worker worker("complete-cpp", "0.1.0", {"format", "launch", "execute"});
  worker.rules = {"L01", "L02", "L03", "L04"};
  for (int n = 1; n <= 22; ++n) worker.rules->push_back((n < 10 ? "S0" : "S") + std::to_string(n));
  worker.every_rule = true;
  worker.opcodes = {"NOP", "ADD"};
  worker.dtypes = {"F32"};
  worker.on("validate", judge);
  worker.on("roundtrip", judge);
  worker.on("execute", execute);
  return worker.run();
}
