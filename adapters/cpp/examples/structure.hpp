// The structure rules S01 to S22, from spec/format.md and spec/rules/structure.md and records.md: what makes a text a program. It knows
// nothing of the worker protocol; complete.cpp has it judged.

#ifndef STRUCTURE_HPP
#define STRUCTURE_HPP

#include <set>

#include "megakernel_adapter.hpp"

namespace structure {

using megakernel::Diagnostic;
using megakernel::Json;
using Integer = std::int64_t;
using Found = std::vector<Diagnostic>;

inline void add(Found& found, const char* rule, std::string at, std::string message) {
  found.push_back({rule, std::move(message), std::move(at), "error", {}});
}

// The pointer of a member or an element (FMT-07).
inline std::string child(const std::string& at, const std::string& name) {
  std::string text = at + "/";
  for (const char c : name) text += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
  return text;
}
inline std::string child(const std::string& at, std::size_t n) { return child(at, std::to_string(n)); }

// ---- Members: S03, S04, S05, and S16 for a threshold that is no integer ---------------------------------------------

// A type takes a value and its pointer, and gives the value as it is written: all members, in canonical order (FMT-03).
using Type = std::function<Json(const Json&, const std::string&, Found&)>;

inline Type plain(Json::Kind kind, const char* what) {
  return [=](const Json& value, const std::string& at, Found& found) {
    if (value.kind != kind) add(found, "S04", at, std::string("the value is not ") + what);
    return value;
  };
}
inline const Type text = plain(Json::string, "a string"), flag = plain(Json::boolean, "a boolean"), number = plain(Json::number, "a number"),
                  any_object = plain(Json::object, "an object");

inline Json integer(const Json& value, const std::string& at, Found& found) {
  if (!value.integer()) add(found, "S04", at, "the value is not an integer of 64 bits");
  return value;
}
inline Json threshold(const Json& value, const std::string& at, Found& found) {
  if (value.kind != Json::number) add(found, "S04", at, "the threshold is not a number");
  else if (!value.integer()) add(found, "S16", at, "the threshold is not an integer from 1 to 2^32 - 1");
  return value;
}
inline Type name(std::set<std::string> names) {
  return [=](const Json& value, const std::string& at, Found& found) {
    if (value.kind == Json::string && !names.count(value.text)) add(found, "S05", at, "the name `" + value.text + "` is not known");
    return text(value, at, found);
  };
}
inline Type nullable(Type type) {
  return [=](const Json& value, const std::string& at, Found& found) { return value.kind == Json::null ? value : type(value, at, found); };
}
inline Type array(Type type) {
  return [=](const Json& value, const std::string& at, Found& found) {
    if (value.kind != Json::array) add(found, "S04", at, "the value is not an array");
    Json read = value;
    for (std::size_t n = 0; n < read.items.size(); ++n) read.items[n] = type(value.items[n], child(at, n), found);
    return read;
  };
}
// `ids`: whether the names are ids in canonical decimal.
inline Type map(Type type, bool ids) {
  return [=](const Json& value, const std::string& at, Found& found) {
    Json read = any_object(value, at, found);
    for (auto& [key, item] : read.members) {
      const bool digits = !key.empty() && key.find_first_not_of("0123456789") == key.npos && (key == "0" || key[0] != '0');
      Json id;
      id.kind = Json::number, id.text = key;
      if (ids && (!digits || !id.integer())) add(found, "S04", child(at, key), "the name is not an id in decimal");
      item = type(item, child(at, key), found);
    }
    return read;
  };
}

struct Member {
  const char* name;
  Type type;
  std::optional<Json> otherwise;  // of a member that may be absent
  bool required = false;          // one that is neither is left out where it is absent
};
inline Type record(std::vector<Member> members) {
  return [=](const Json& value, const std::string& at, Found& found) {
    any_object(value, at, found);
    Json read = Json::of({});
    if (value.kind != Json::object) return read;
    for (const Member& member : members) {
      if (const Json* given = value.find(member.name)) read.members.emplace_back(member.name, member.type(*given, child(at, member.name), found));
      else if (member.required) add(found, "S03", at, std::string("there is no member `") + member.name + "`");
      else if (member.otherwise) read.members.emplace_back(member.name, *member.otherwise);
    }
    return read;
  };
}
inline Member need(const char* name, Type type) { return {name, std::move(type), std::nullopt, true}; }
inline Member may(const char* name, Type type, Json otherwise) { return {name, std::move(type), std::move(otherwise), false}; }

inline Json decimal(const char* digits) {
  Json value;
  value.kind = Json::number, value.text = digits;
  return value;
}

struct Opcode {
  std::size_t fewest, most, outputs;
  std::vector<std::string> required;
};
inline const std::map<std::string, Opcode> opcodes = {
    // opcodes: rows, generated by `cargo xtask codegen` from spec/opcodes/opcodes.json
    {"NOP", {0, 0, 0, {}}},
    {"COPY", {1, 1, 1, {}}},
    {"EMBED", {2, 2, 1, {"hidden"}}},
    {"RMSNORM", {2, 2, 1, {"eps", "hidden"}}},
    {"LAYERNORM", {2, 3, 1, {"eps", "hidden"}}},
    {"GEMV_TILE", {2, 3, 1, {"K", "N_tile", "n_off"}}},
    {"GEMM_TILE", {2, 3, 1, {"K", "N_tile", "M_tile", "n_off"}}},
    {"ATTENTION_TILE", {3, 4, 1, {"head_dim", "kv_start", "kv_len", "scale", "n_heads", "n_kv_heads"}}},
    {"ROPE", {2, 2, 1, {"head_dim", "theta"}}},
    {"SILU_MUL", {2, 2, 1, {}}},
    {"GELU", {1, 1, 1, {}}},
    {"ADD", {2, 2, 1, {}}},
    {"MUL", {1, 2, 1, {}}},
    {"DEQUANT", {2, 3, 1, {"qdtype", "group"}}},
    {"SOFTMAX", {1, 1, 1, {}}},
    {"ALLREDUCE_SHARD", {1, 8, 1, {}}},
    {"KV_APPEND", {2, 2, 1, {"pos"}}},
    {"SAMPLE_ARGMAX", {1, 1, 1, {}}},
    {"ATTENTION_COMBINE", {2, 8, 1, {}}},
    // end of rows
};
inline const std::map<std::string, Integer> bits = {{"F32", 32}, {"F16", 16}, {"BF16", 16}, {"F8E4M3", 8}, {"F8E5M2", 8},
                                                    {"I32", 32}, {"I8", 8},   {"I4", 4},    {"U8", 8},     {"BOOL", 8}};

template <class Map>
std::set<std::string> names_of(const Map& map) {
  std::set<std::string> found;
  for (const auto& [name, value] : map) found.insert(name);
  return found;
}

inline Type program() {
  const Json none, list(std::vector<std::string>{}), empty = Json::of({});
  const Type integers = array(integer), space = name({"HBM", "GLOBAL_SCRATCH", "SMEM", "REGISTER"});
  const Type strategy = name({"round_robin", "load_balance"}), assignment = map(integer, true);
  const Type buffer = record({need("id", integer), need("name", text), need("kind", name({"WEIGHT", "ACTIVATION", "KV_CACHE", "IO_INPUT", "IO_OUTPUT", "CONST"})),
                              need("dtype", name(names_of(bits))), need("shape", integers), may("space", space, "HBM"), may("source", nullable(text), none)});
  const Type counter = record({need("id", integer), may("init", integer, 0), may("note", text, "")});
  const Type wait = record({need("counter", integer), need("threshold", threshold)});
  const Type task = record({need("id", integer), need("op", name(names_of(opcodes))), need("inputs", integers), need("outputs", integers),
                            need("out_counter", integer), may("waits", array(wait), list), may("params", any_object, empty),
                            may("sm", nullable(integer), none), may("est_bytes", integer, 0), may("est_flops", integer, 0), may("label", text, "")});
  const Type page = record({need("id", integer), need("space", space), need("nbytes", integer), may("live_start", integer, -1), may("live_end", integer, -1)});
  const Type pages = record({need("buffer_to_page", map(integer, true)), need("pages", array(page))});
  const Type target = record({need("name", text), need("sm_arch", integer), need("num_sms", integer), need("smem_bytes_per_sm", integer),
                              need("smem_bytes_per_block_optin", integer), need("regs_per_sm", integer), need("max_threads_per_sm", integer),
                              need("max_regs_per_thread", integer), need("l2_bytes", integer), need("hbm_bytes", integer),
                              need("hbm_bandwidth_gbs", number), need("fp16_tflops", number), may("clock_ghz", number, decimal("0.0")),
                              may("supports_cooperative", flag, true), may("wddm_tdr", flag, false), {"measured_bw_gbs", number, std::nullopt},
                              may("note", text, "")});
  const Type config = record({may("tiling", map(map(integer, false), false), empty), may("fusion_grouping", array(array(text)), list),
                              may("sm_assignment",
                                  [=](const Json& value, const std::string& at, Found& found) {
                                    return (value.kind == Json::object ? assignment : strategy)(value, at, found);
                                  },
                                  "load_balance"),
                              may("pipelining_depth", integer, 2), may("page_allocation", name({"linear", "graph_color", "none"}), "graph_color"),
                              may("threads_per_block", integer, 256), may("smem_bytes_per_block", integer, 0)});
  return record({need("ir_version", text), need("abi_version", text), may("meta", any_object, empty), may("target", nullable(target), none),
                 need("buffers", array(buffer)), need("counters", array(counter)), need("tasks", array(task)), may("pages", nullable(pages), none),
                 may("config", nullable(config), none)});
}

// ---- Values and references: the other S rules -----------------------------------------------------------------------

// All of this is asked of programs whose members have their types.
inline Integer value(const Json& record, const char* member) { return record.find(member)->integer().value_or(0); }
inline const std::vector<Json>& list(const Json& record, const char* member) { return record.find(member)->items; }
inline const std::string& word(const Json& record, const char* member) { return record.find(member)->text; }
inline double real(const Json& number) { return std::strtod(number.text.c_str(), nullptr); }

inline bool fits(const Json& buffer) {
  // At most 2^63 - 1 elements, and as many bytes.
  const Integer largest = std::numeric_limits<Integer>::max() / std::max<Integer>(1, bits.at(word(buffer, "dtype")) / 8);
  Integer elements = 1;
  bool all = true;
  for (const Json& item : list(buffer, "shape")) {
    const Integer extent = item.integer().value_or(0);
    if (extent < 1 || elements > largest / extent) all = false;
    else elements *= extent;
  }
  return all;
}

struct Judge {
  const Json& program;
  Found& found;

  void need(bool holds, const char* rule, const std::string& at, const std::string& message) {
    if (!holds) add(found, rule, at, message);
  }
  void at_least(const Json& record, const std::string& at, const char* member, Integer least) {
    need(value(record, member) >= least, "S22", child(at, member), std::string(member) + " is below " + std::to_string(least));
  }

  void all() {
    const Json *pages = program.find("pages"), *target = program.find("target"), *config = program.find("config");
    for (const char* table : {"buffers", "counters", "tasks"}) ids(list(program, table), child("", table));
    std::set<Integer> produced;
    for (const Json& task : list(program, "tasks"))
      for (const Json& output : list(task, "outputs")) produced.insert(output.integer().value_or(-1));
    for (std::size_t n = 0; n < list(program, "buffers").size(); ++n) {
      const Json& buffer = list(program, "buffers")[n];
      const std::string at = child("/buffers", n);
      need(list(buffer, "shape").size() <= 4, "S12", at + "/shape", "the rank is above 4");
      need(fits(buffer), "S20", at + "/shape", "an extent is below 1, or there are more than 2^63 - 1 elements or bytes");
      need(word(buffer, "kind") == "ACTIVATION" || word(buffer, "space") == "HBM", "S21", at + "/space", "only an activation may be elsewhere than in HBM");
      need(word(buffer, "kind") != "IO_OUTPUT" || produced.count(static_cast<Integer>(n)), "S19", at, "no task writes this output");
    }
    for (std::size_t n = 0; n < list(program, "counters").size(); ++n)
      need(value(list(program, "counters")[n], "init") == 0, "S17", child("/counters", n) + "/init", "the counter does not start at 0");
    for (std::size_t n = 0; n < list(program, "tasks").size(); ++n) task(list(program, "tasks")[n], child("/tasks", n));
    if (pages->kind == Json::object) {
      ids(list(*pages, "pages"), "/pages/pages");
      for (std::size_t n = 0; n < list(*pages, "pages").size(); ++n) at_least(list(*pages, "pages")[n], child("/pages/pages", n), "nbytes", 1);
    }
    for (const auto& [name, number] : target->members)
      if (number.kind == Json::number)
        need(real(number) >= (name == "num_sms" ? 1 : 0), "S22", child("/target", name), name + " " + number.text + " is too small");
    if (config->kind == Json::object) {
      at_least(*config, "/config", "pipelining_depth", 0);
      for (const auto& [group, sizes] : config->find("tiling")->members)
        for (const auto& [name, size] : sizes.members)
          need(size.integer() >= 1, "S22", child(child("/config/tiling", group), name), "a tile size is below 1");
      for (const auto& [id, sm] : config->find("sm_assignment")->members)
        need(std::stoull(id) < list(program, "tasks").size(), "S09", child("/config/sm_assignment", id), "there is no task " + id);
    }
  }

  void ids(const std::vector<Json>& records, const std::string& at) {
    for (std::size_t n = 0; n < records.size(); ++n)
      need(value(records[n], "id") == static_cast<Integer>(n), "S08", child(at, n) + "/id", "the id is not the position");
  }
  bool known(const Json& id, const char* table) const {
    return id.integer() >= 0 && *id.integer() < static_cast<Integer>(list(program, table).size());
  }

  void task(const Json& task, const std::string& at) {
    const std::string& op = word(task, "op");
    Opcode opcode = opcodes.at(op);
    const Json& params = *task.find("params");
    if ((op == "GEMV_TILE" || op == "GEMM_TILE") && params.find("qdtype")) opcode.fewest = 3, opcode.most = 4, opcode.required.push_back("group");
    bool repeated = false;
    for (const char* which : {"inputs", "outputs"}) {
      const std::vector<Json>& operands = list(task, which);
      std::set<Integer> seen;
      for (std::size_t n = 0; n < operands.size(); ++n) {
        const std::string where = child(at + "/" + which, n);
        need(known(operands[n], "buffers"), "S09", where, "there is no buffer " + operands[n].text);
        if (which[0] == 'i') continue;
        const bool first = seen.insert(*operands[n].integer()).second;
        repeated |= !first;
        need(first, "S10", where, "the buffer is listed twice");
        if (!known(operands[n], "buffers")) continue;
        const std::string& kind = word(list(program, "buffers")[static_cast<std::size_t>(*operands[n].integer())], "kind");
        need(kind != "WEIGHT" && kind != "CONST" && kind != "IO_INPUT", "S18", where, "no task may write a " + kind);
      }
    }
    const std::size_t inputs = list(task, "inputs").size(), outputs = list(task, "outputs").size();
    need(inputs <= 8, "S12", at + "/inputs", "more than 8 inputs");
    need(outputs <= 4, "S12", at + "/outputs", "more than 4 outputs");
    need(list(task, "waits").size() <= 8, "S12", at + "/waits", "more than 8 waits");
    need(inputs > 8 || (opcode.fewest <= inputs && inputs <= opcode.most), "S11", at + "/inputs", op + " takes another number of inputs");
    need(outputs > 4 || repeated || outputs == opcode.outputs, "S11", at + "/outputs", op + " takes another number of outputs");
    need(known(*task.find("out_counter"), "counters"), "S09", at + "/out_counter", "there is no such counter");
    for (std::size_t n = 0; n < list(task, "waits").size(); ++n) {
      const Json& wait = list(task, "waits")[n];
      need(known(*wait.find("counter"), "counters"), "S09", child(at + "/waits", n) + "/counter", "there is no such counter");
      const Integer threshold = value(wait, "threshold");
      need(threshold >= 1 && threshold < Integer{1} << 32, "S16", child(at + "/waits", n) + "/threshold", "the threshold is not from 1 to 2^32 - 1");
    }
    at_least(task, at, "est_bytes", 0);
    at_least(task, at, "est_flops", 0);
    for (const std::string& key : opcode.required) need(params.find(key), "S13", at + "/params", op + " requires `" + key + "`");
    parameters(op, params, at + "/params");
  }

  void parameters(const std::string& op, const Json& params, const std::string& at) {
    static const std::set<std::string> from_1 = {"K", "N", "M", "N_tile", "M_tile", "hidden", "vocab", "head_dim", "n_heads", "n_kv_heads", "group"};
    static const std::set<std::string> from_0 = {"n_off", "m_off", "kv_start", "kv_len", "pos"};
    const double beyond = 0x1p128 - 0x1p103, nothing = 0x1p-150;  // what rounds to an infinite binary32 from here on, and to 0 up to here
    std::map<std::string, Integer> good;                          // integers of the right type and range
    for (const auto& [key, given] : params.members) {
      const bool real_key = key == "eps" || key == "scale" || key == "theta";
      if (real_key) {
        const double number = given.kind == Json::number ? real(given) : beyond;
        const bool typed = number > -beyond && number < beyond;
        need(typed, "S14", child(at, key), "the value is not a number of 32 bits");
        need(!typed || (key == "eps" ? number >= -nothing : key != "theta" || number > nothing), "S15", child(at, key), "the value is out of range");
      } else if (from_1.count(key) || from_0.count(key) || key == "qdtype" || key == "flags" || key == "dim") {
        const std::optional<Integer> number = given.integer();
        const bool typed = number && *number >= -(Integer{1} << 31) && *number < Integer{1} << 31;
        need(typed, "S14", child(at, key), "the value is not an integer of 32 bits");
        if (!typed) continue;
        const Integer least = from_1.count(key) ? 1 : key == "qdtype" ? 6 : key == "dim" ? *number : 0;
        const Integer most = key == "qdtype" ? 7 : key == "flags" ? 3 : *number;
        const bool within = least <= *number && *number <= most;
        need(within, "S15", child(at, key), "the value is out of range");
        if (within) good[key] = *number;
      }
    }
    const auto has = [&](const char* key) { return good.count(key) > 0; };
    if (op == "ROPE" && has("head_dim")) need(good["head_dim"] % 2 == 0, "S15", at + "/head_dim", "the value is odd");
    if (op != "ATTENTION_TILE") return;
    if (has("n_heads") && has("n_kv_heads"))
      need(good["n_heads"] % good["n_kv_heads"] == 0, "S15", at + "/n_heads", "the value is no multiple of n_kv_heads");
    if (has("kv_len") && (has("flags") || !params.find("flags")))
      need(good["kv_len"] >= 1 || (has("flags") && good["flags"] & 2), "S15", at + "/kv_len", "the window is empty, without PARTIAL_WRITE");
  }
};

// ---- In order (spec/rules/structure.md) -----------------------------------------------------------------------------

// A version of FMT-05 with the major part 0.
inline bool version_fits(const std::string& version) {
  std::size_t parts = 1, digits = 0;
  bool zero = false;
  for (const char c : version + ".") {
    if (c == '.') {
      if (digits == 0 || (zero && digits > 1) || (parts == 1 && !zero)) return false;
      ++parts, digits = 0, zero = false;
    } else if (c < '0' || c > '9') {
      return false;
    } else if (++digits == 1) {
      zero = c == '0';
    }
  }
  return parts == 3 || parts == 4;
}

// The program as it is written, if no S rule is broken; what is broken is in `found`.
inline Json read(const std::string& bytes, Found& found) {
  std::vector<std::string> repeated;
  Json document;
  try {
    document = Json::parse(bytes, &repeated);
  } catch (const megakernel::JsonError& error) {
    add(found, "S01", "", error.what());
    return document;
  }
  for (const std::string& name : repeated) add(found, "S02", "", "the member `" + name + "` occurs twice in one object");
  if (!found.empty()) return document;
  for (const auto& [rule, member] : {std::pair{"S06", "ir_version"}, {"S07", "abi_version"}})
    if (const Json* version = document.find(member); version && version->kind == Json::string && !version_fits(version->text))
      add(found, rule, child("", member), "the version `" + version->text + "` is not 0.MINOR or 0.MINOR.PATCH");
  if (!found.empty()) return document;
  static const Type type = program();
  const Json read = type(document, "", found);
  if (found.empty()) Judge{read, found}.all();
  return read;
}

}  // namespace structure

#endif
