// Runs a task graph on three threads, three times over, and checks order and results.

#define MEGAKERNEL_KERNELS "kernels.cuh"
#include "generated.cuh"

#include <atomic>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <thread>

using namespace megakernel;

static std::atomic<int> faults{0};

struct Context {
  const Graph &graph;
  std::vector<std::atomic<unsigned long long>> &counters;
  std::vector<std::atomic<unsigned long long>> &started_in;
  unsigned long long iteration;

  void wait(unsigned position, unsigned long long count) {
    while (counters[position].load(std::memory_order_acquire) < count) std::this_thread::yield();
  }
  void trigger(EventId id) {
    if (event_is_remote(id)) ++faults;
    counters[event_position(id)].fetch_add(1, std::memory_order_release);
  }
  // Every task that triggers what this one waits for has run in this iteration.
  void started(const Task &task, bool shapes) {
    size_t id = &task - graph.tasks.data();
    started_in[id] = iteration;
    if (!shapes) { ++faults; std::printf("task %zu has other shapes than its variant\n", id); }
    for (size_t other = 2; other < graph.tasks.size(); ++other)
      if (task.dependent != no_event && graph.tasks[other].trigger == task.dependent && started_in[other] != iteration) {
        ++faults;
        std::printf("task %zu ran before task %zu\n", id, other);
      }
  }
};

static void linear(const std::vector<float> &in, const std::vector<float> &weight, std::vector<float> &out, int rows, int inner, int columns) {
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j) {
      float sum = 0;
      for (int k = 0; k < inner; ++k) sum += in[i * inner + k] * weight[j * inner + k];
      out[i * columns + j] = sum;
    }
}

int main(int, char **arguments) {
  std::map<std::string, std::vector<float>> values;
  std::map<std::string, char *> memory;
  for (const TensorInfo &tensor : tensors) {
    std::vector<float> &value = values[tensor.name];
    value.assign(tensor.bytes / sizeof(float), 0);
    if (tensor.memory == Memory::host)
      for (size_t i = 0; i < value.size(); ++i) value[i] = (float)((i * 7 + value.size()) % 5) - 2;
    memory[tensor.name] = (char *)value.data();
  }
  std::stringstream text;
  text << std::ifstream(arguments[1]).rdbuf();
  Graph graph = read_graph(text.str(), memory);
  typedef std::vector<std::atomic<unsigned long long>> Numbers;
  Numbers counters(graph.events.size()), started(graph.tasks.size());
  for (unsigned long long iteration = 1; iteration <= 3; ++iteration) {
    std::vector<std::thread> workers;
    for (int worker = 0; worker < 3; ++worker)
      workers.emplace_back([&, worker] {
        Context context{graph, counters, started, iteration};
        run_worker(graph.tasks.data(), (long long)graph.tasks.size(), graph.events.data(), worker, 3, iteration, context);
      });
    for (std::thread &worker : workers) worker.join();
    if (counters.back() != iteration * graph.events.back().triggers) { ++faults; std::printf("the end was not reached\n"); }
  }
  // The same, tensor by tensor.
  std::vector<float> a(16), b(8), c(16), d(16);
  for (int i = 0; i < 16; ++i) a[i] = values["x"][i] + 1;
  for (int j = 0; j < 4; ++j)
    for (int i = 0; i < 2; ++i) {
      // The rows of the fused weight are those of its parts, two of each.
      const std::vector<float> &part = values[j / 2 == 0 ? "w_part_1" : "w_part_2"];
      float sum = 0;
      for (int k = 0; k < 8; ++k) sum += a[i * 8 + k] * part[(j % 2) * 8 + k];
      b[i * 4 + j] = sum;
    }
  linear(b, values["v"], c, 2, 4, 8);
  for (int i = 0; i < 16; ++i) d[i] = 3 * c[i] + a[i];
  for (int i = 0; i < 16; ++i) a[i] = 0.5f * d[i] + values["x"][i];
  for (int i = 0; i < 16; ++i)
    if (values["d"][i] != d[i] || values["a"][i] != a[i]) { ++faults; std::printf("element %d is wrong\n", i); }
  std::printf("%zu tasks, %d faults\n", graph.tasks.size(), faults.load());
  return faults != 0;
}
