
namespace megakernel {

// One iteration (counted from 1) of one worker of `workers`: its tasks in ascending order, each when enough tasks have
// triggered its event. `Context` has wait(position, count), which returns once the counter is at least `count` and then
// sees what the triggering tasks wrote, and trigger(id), which makes what was written visible and then adds one.
template <class Context>
__device__ void run_worker(const Task *tasks, long long num_tasks, const Event *events, int worker, int workers,
                           unsigned long long iteration, Context &context) {
  for (long long id = 2 + worker; id < num_tasks; id += workers) {
    const Task &task = tasks[id];
    if (task.dependent != no_event) {
      unsigned position = event_position(task.dependent);
      context.wait(position, (unsigned long long)events[position].triggers * iteration);
    }
    execute_task(task, context);
    context.trigger(task.trigger);
  }
}

} // namespace megakernel

#ifndef __CUDACC_RTC__
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace megakernel {

// A JSON reader for task graphs: integers are kept exact, members that are not asked for are passed over.
class Reader {
public:
  explicit Reader(const std::string &text) : at(text.data()), end(text.data() + text.size()) {}

  template <class Member> void object(Member member) {
    sequence('{', '}', [&] {
      std::string name = string();
      expect(':');
      member(name);
    });
  }
  template <class Item> void array(Item item) {
    if (next() == 'n') return skip();
    sequence('[', ']', item);
  }
  long long integer() {
    bool negative = next() == '-';
    if (negative) ++at;
    if (at == end || *at < '0' || *at > '9') fail("expected an integer");
    unsigned long long value = 0;
    for (; at != end && *at >= '0' && *at <= '9'; ++at) {
      unsigned digit = (unsigned)(*at - '0');
      if (value > (0x7fffffffffffffffull - digit) / 10) fail("the integer needs more than 63 bits");
      value = value * 10 + digit;
    }
    return negative ? -(long long)value : (long long)value;
  }
  std::string string() {
    expect('"');
    std::string found;
    for (; at != end && *at != '"'; ++at) {
      if (*at == '\\' && ++at == end) break;
      found += *at;
    }
    expect('"');
    return found;
  }
  void skip() {
    char first = next();
    if (first == '{') return object([&](const std::string &) { skip(); });
    if (first == '[') return array([&] { skip(); });
    if (first == '"') return (void)string();
    while (at != end && *at != ',' && *at != '}' && *at != ']') ++at;
  }

private:
  const char *at, *end;

  [[noreturn]] void fail(const std::string &what) { throw std::runtime_error("task graph: " + what); }
  char next() {
    while (at != end && (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t')) ++at;
    return at == end ? '\0' : *at;
  }
  void expect(char what) {
    if (next() != what) fail(std::string("expected `") + what + "`");
    ++at;
  }
  template <class Item> void sequence(char open, char close, Item item) {
    expect(open);
    if (next() == close) return expect(close);
    for (;;) {
      item();
      if (next() != ',') break;
      expect(',');
    }
    expect(close);
  }
};

struct Graph {
  std::vector<Task> tasks;
  std::vector<Event> events;
};

inline Tensor read_tensor(Reader &reader, const std::map<std::string, char *> &memory) {
  Tensor tensor = {};
  std::string name;
  long long offset = 0;
  int dims = 0, strides = 0;
  auto room = [](int index) {
    if (index >= max_dims) throw std::runtime_error("task graph: a tensor has more than 4 axes");
    return index;
  };
  reader.object([&](const std::string &member) {
    if (member == "base_ptr") name = reader.string();
    else if (member == "offset") offset = reader.integer();
    else if (member == "data_type") tensor.data_type = (int)reader.integer();
    else if (member == "dims") reader.array([&] { tensor.dim[room(dims)] = reader.integer(); ++dims; });
    else if (member == "strides") reader.array([&] { tensor.stride[room(strides)] = reader.integer(); ++strides; });
    else reader.skip();
  });
  if (dims != strides) throw std::runtime_error("task graph: a tensor has other numbers of extents than of strides");
  tensor.num_dims = dims;
  if (name != "nullptr") {
    auto found = memory.find(name);
    if (found == memory.end()) throw std::runtime_error("task graph: no memory was given for tensor `" + name + "`");
    tensor.data = found->second + offset;
  }
  return tensor;
}

// The tables of the graph in `text`; `memory` has the address of every tensor by name.
inline Graph read_graph(const std::string &text, const std::map<std::string, char *> &memory) {
  Graph graph;
  Reader reader(text);
  auto operands = [&](Tensor *into, int &count, int room) {
    reader.array([&] {
      if (count == room) throw std::runtime_error("task graph: a task has more operands than there is room for");
      into[count++] = read_tensor(reader, memory);
    });
  };
  reader.object([&](const std::string &list) {
    if (list == "all_tasks") {
      reader.array([&] {
        Task task = {};
        reader.object([&](const std::string &member) {
          if (member == "task_type") task.type = reader.integer();
          else if (member == "variant_id") task.variant = (int)reader.integer();
          else if (member == "trigger_event") task.trigger = (EventId)reader.integer();
          else if (member == "dependent_event") task.dependent = (EventId)reader.integer();
          else if (member == "inputs") operands(task.inputs, task.num_inputs, max_inputs);
          else if (member == "outputs") operands(task.outputs, task.num_outputs, max_outputs);
          else reader.skip();
        });
        graph.tasks.push_back(task);
      });
    } else if (list == "all_events") {
      reader.array([&] {
        Event event = {};
        reader.object([&](const std::string &member) {
          if (member == "event_type") event.type = (int)reader.integer();
          else if (member == "num_triggers") event.triggers = (int)reader.integer();
          else if (member == "first_task_id") event.first_task = reader.integer();
          else if (member == "last_task_id") event.last_task = reader.integer();
          else reader.skip();
        });
        graph.events.push_back(event);
      });
    } else {
      reader.skip();
    }
  });
  for (const Task &task : graph.tasks)
    if (task.dependent != no_event && event_position(task.dependent) >= graph.events.size())
      throw std::runtime_error("task graph: a task depends on an event that is not there");
  return graph;
}

} // namespace megakernel
#endif
