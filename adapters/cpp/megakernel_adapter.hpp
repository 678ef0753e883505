// The worker's side of the protocol of the megakernel conformance suite (CON-02, CON-03): handshake, loop, tensors.
// Version 0.1.0. C++17 and its library, nothing else. SPDX-License-Identifier: MIT OR Apache-2.0
//
//   megakernel::Worker worker("my-validator", "0.3", {"format"});
//   worker.rules = {"S01"};
//   worker.on("validate", [](const megakernel::Request& request) {
//     return mine::accepts(request.document) ? megakernel::accept() : megakernel::reject("S01", "it is no JSON");
//   });
//   return worker.run();

#ifndef MEGAKERNEL_ADAPTER_HPP
#define MEGAKERNEL_ADAPTER_HPP

#include <clocale>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <functional>
#include <iostream>
#include <limits>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#if defined(__unix__) || defined(__APPLE__)
#include <fcntl.h>
#include <unistd.h>
#endif

namespace megakernel {

inline constexpr const char* protocol = "1.0";
inline constexpr std::size_t longest_line = std::size_t{64} << 20;  // which the runner reads at most (CON-04)

// ---- JSON ----------------------------------------------------------------------------------------------------------

/// Why a text is no JSON, and at which byte.
struct JsonError : std::runtime_error {
  std::size_t offset;
  JsonError(std::size_t at, const std::string& why) : std::runtime_error("byte " + std::to_string(at) + ": " + why), offset(at) {}
};

/// A JSON value. Numbers keep their text, objects the order of their members.
struct Json {
  enum Kind { null, boolean, number, string, array, object };
  Kind kind = null;
  bool flag = false;                                  // of a boolean
  std::string text;                                   // of a number, as it stands; of a string, in UTF-8
  std::vector<Json> items;                            // of an array
  std::vector<std::pair<std::string, Json>> members;  // of an object

  Json() = default;
  Json(const char* value) : kind(string), text(value) {}
  Json(std::string value) : kind(string), text(std::move(value)) {}
  Json(bool value) : kind(boolean), flag(value) {}
  template <class T, std::enable_if_t<std::is_integral_v<T> && !std::is_same_v<T, bool>, int> = 0>
  Json(T value) : kind(number), text(std::to_string(value)) {}
  Json(const std::vector<std::string>& values) : kind(array), items(values.begin(), values.end()) {}
  static Json of(std::vector<std::pair<std::string, Json>> members) {
    Json value;
    value.kind = object;
    value.members = std::move(members);
    return value;
  }

  /// Reads a text as strictly as FMT-01 asks. Where `repeated` is given, it gets the names that occur twice in one object.
  static Json parse(std::string_view text, std::vector<std::string>* repeated = nullptr);
  /// The text on one line; throws `std::runtime_error` where a string is not UTF-8.
  std::string dump() const;

  /// The member of an object; null if there is none, or this is no object. Of several the last.
  const Json* find(std::string_view name) const {
    for (auto at = members.rbegin(); at != members.rend(); ++at)
      if (at->first == name) return &at->second;
    return nullptr;
  }
  /// The member, which has to be there and of this kind.
  const Json& need(std::string_view name, Kind wanted) const {
    const Json* found = find(name);
    if (!found || found->kind != wanted) throw std::runtime_error("there is no `" + std::string(name) + "` of the right type");
    return *found;
  }
  /// The value of an integer text of 64 bits: no fraction, no exponent, not `-0`. Nothing otherwise.
  std::optional<std::int64_t> integer() const {
    if (kind != number || text == "-0" || text.find_first_of(".eE") != std::string::npos) return std::nullopt;
    const bool negative = text[0] == '-';
    std::uint64_t value = 0;
    const std::uint64_t most = (std::uint64_t{1} << 63) - (negative ? 0 : 1);
    for (std::size_t n = negative; n < text.size(); ++n) {
      const std::uint64_t digit = static_cast<std::uint64_t>(text[n] - '0');
      if (value > (most - digit) / 10) return std::nullopt;
      value = value * 10 + digit;
    }
    return static_cast<std::int64_t>(negative ? ~value + 1 : value);
  }
};

/// How many bytes the character of UTF-8 has that begins at `at`; 0 if there is none.
inline std::size_t utf8_length(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t n) { return at + n < text.size() ? static_cast<unsigned char>(text[at + n]) : 0u; };
  const unsigned first = byte(0);
  if (at >= text.size()) return 0;
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xc2 && first <= 0xdf ? 2 : first >= 0xe0 && first <= 0xef ? 3 : first >= 0xf0 && first <= 0xf4 ? 4 : 0;
  for (std::size_t n = 1; n < length; ++n)
    if ((byte(n) & 0xc0) != 0x80) return 0;
  // Overlong forms, halves of pairs, and what lies beyond U+10FFFF.
  if ((first == 0xe0 && byte(1) < 0xa0) || (first == 0xed && byte(1) > 0x9f) || (first == 0xf0 && byte(1) < 0x90) ||
      (first == 0xf4 && byte(1) > 0x8f))
    return 0;
  return length;
}

class JsonReader {
 public:
  JsonReader(std::string_view text, std::vector<std::string>* repeated) : text_(text), repeated_(repeated) {}

  Json whole() {
    Json value = read(1);
    space();
    if (at_ < text_.size()) fail("text after the value");
    return value;
  }

 private:
  static constexpr int deepest = 1000;
  std::string_view text_;
  std::vector<std::string>* repeated_;
  std::size_t at_ = 0;

  [[noreturn]] void fail(const char* why) const { throw JsonError(at_, why); }
  char look() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void space() {
    while (at_ < text_.size() && std::strchr(" \t\n\r", text_[at_]) && text_[at_]) ++at_;
  }
  bool take(char wanted) {
    space();
    if (at_ >= text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }
  void word(std::string_view wanted) {
    if (text_.substr(at_, wanted.size()) != wanted) fail("no JSON value");
    at_ += wanted.size();
  }
  bool digits() {
    const std::size_t from = at_;
    while (look() >= '0' && look() <= '9') ++at_;
    return at_ > from;
  }

  Json read(int depth) {
    if (depth > deepest) fail("nested deeper than 1000 levels");
    space();
    Json value;
    switch (look()) {
      case 'n': word("null"); return value;
      case 't': word("true"); return Json(true);
      case 'f': word("false"); return Json(false);
      case '"': return Json(characters());
      case '[':
        ++at_;
        value.kind = Json::array;
        if (take(']')) return value;
        do value.items.push_back(read(depth + 1));
        while (take(','));
        if (!take(']')) fail("`,` or `]` was expected");
        return value;
      case '{': return members(depth);
      default: break;
    }
    const std::size_t from = at_;
    value.kind = Json::number;
    if (look() == '-') ++at_;
    const bool zero = look() == '0';
    if (!digits()) fail("no JSON value");
    if (zero && at_ - from > 1 + (text_[from] == '-')) fail("a leading zero");
    if (look() == '.' && (++at_, !digits())) fail("a digit was expected");
    if (look() == 'e' || look() == 'E') {
      ++at_;
      if (look() == '+' || look() == '-') ++at_;
      if (!digits()) fail("a digit was expected");
    }
    value.text = text_.substr(from, at_ - from);
    if (beyond(value.text)) fail("a number beyond binary64");
    return value;
  }

  /// Whether a number rounds to an infinity. `strtod` wants the point of the locale; and the bits tell, since a compiler that is told that
  /// there are no infinities (`-ffast-math`) leaves comparisons out.
  static bool beyond(std::string number) {
    if (const auto point = number.find('.'); point != number.npos) number.replace(point, 1, std::localeconv()->decimal_point);
    const double read = std::strtod(number.c_str(), nullptr);
    std::uint64_t bits = 0;
    static_assert(sizeof bits == sizeof read, "a double is a binary64");
    std::memcpy(&bits, &read, sizeof bits);
    return (bits >> 52 & 0x7ff) == 0x7ff;
  }

  Json members(int depth) {
    ++at_;
    Json value = Json::of({});
    std::map<std::string, int> seen;
    if (take('}')) return value;
    do {
      space();
      if (look() != '"') fail("a name was expected");
      std::string name = characters();
      if (++seen[name] == 2 && repeated_) repeated_->push_back(name);
      if (!take(':')) fail("`:` was expected");
      value.members.emplace_back(std::move(name), read(depth + 1));
    } while (take(','));
    if (!take('}')) fail("`,` or `}` was expected");
    return value;
  }

  unsigned unit() {
    unsigned value = 0;
    for (int n = 0; n < 4; ++n, ++at_) {
      const char c = look();
      const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
      if (digit < 0) fail("four hexadecimal digits were expected");
      value = value * 16 + static_cast<unsigned>(digit);
    }
    return value;
  }

  std::string characters() {
    std::string found;
    for (++at_;;) {
      const unsigned char c = static_cast<unsigned char>(look());
      if (at_ >= text_.size()) fail("the text ends within a string");
      if (c < 0x20) fail("a control character within a string");
      if (c == '"') return ++at_, found;
      if (c != '\\') {
        const std::size_t length = utf8_length(text_, at_);
        if (length == 0) fail("the bytes are not UTF-8");
        found.append(text_.substr(at_, length));
        at_ += length;
        continue;
      }
      ++at_;
      static constexpr std::string_view names = "\"\\/bfnrt", meant = "\"\\/\b\f\n\r\t";
      if (const auto which = names.find(look()); at_ < text_.size() && which != names.npos) {
        found += meant[which];
        ++at_;
        continue;
      }
      if (look() != 'u') fail("no escape");
      ++at_;
      unsigned code = unit();
      if (code >= 0xd800 && code <= 0xdfff) {
        if (code > 0xdbff || text_.substr(at_, 2) != "\\u") fail("half of a surrogate pair");
        at_ += 2;
        const unsigned low = unit();
        if (low < 0xdc00 || low > 0xdfff) fail("half of a surrogate pair");
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
      }
      const auto part = [&](unsigned lead, int shift) { found += static_cast<char>(lead | ((code >> shift) & 0x3f)); };
      if (code < 0x80) found += static_cast<char>(code);
      else if (code < 0x800) found += static_cast<char>(0xc0 | (code >> 6)), part(0x80, 0);
      else if (code < 0x10000) found += static_cast<char>(0xe0 | (code >> 12)), part(0x80, 6), part(0x80, 0);
      else found += static_cast<char>(0xf0 | (code >> 18)), part(0x80, 12), part(0x80, 6), part(0x80, 0);
    }
  }
};

inline Json Json::parse(std::string_view text, std::vector<std::string>* repeated) { return JsonReader(text, repeated).whole(); }

inline std::string quoted(std::string_view text) {
  std::string found = "\"";
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_length(text, at);
    if (length == 0) throw std::runtime_error("a string is not UTF-8");
    const char c = text[at];
    if (c == '"' || c == '\\') (found += '\\') += c;
    else if (static_cast<unsigned char>(c) < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(c));
      found += escape;
    } else found += text.substr(at, length);
    at += length;
  }
  return found += '"';
}

inline std::string Json::dump() const {
  std::string found, comma;
  switch (kind) {
    case null: return "null";
    case boolean: return flag ? "true" : "false";
    case number: return text;
    case string: return quoted(text);
    case array:
      for (const Json& item : items) found += std::exchange(comma, ",") + item.dump();
      return "[" + found + "]";
    case object:
      for (const auto& [name, value] : members) found += std::exchange(comma, ",") + quoted(name) + ":" + value.dump();
      return "{" + found + "}";
  }
  return "null";
}

// ---- Tensor files (NUM-11) ------------------------------------------------------------------------------------------

/// A dtype as the file names it, a shape, and the elements: row-major, little-endian bytes.
struct Tensor {
  std::string dtype;
  std::vector<std::int64_t> shape;
  std::string data;

  /// Bytes of an element; 0 for a dtype that is not known.
  static std::size_t size_of(std::string_view dtype) {
    if (dtype == "F64") return 8;
    if (dtype == "F32" || dtype == "I32") return 4;
    if (dtype == "F16" || dtype == "BF16") return 2;
    return dtype == "I8" || dtype == "U8" || dtype == "BOOL" || dtype == "F8_E4M3" || dtype == "F8_E5M2" ? 1 : 0;
  }
  /// The same element by element, in the bytes of a type of C++: `numbers<float>("F32")`, `numbers<std::uint16_t>("BF16")`.
  template <class T>
  std::vector<T> numbers(std::string_view wanted) const {
    if (dtype != wanted || size_of(dtype) != sizeof(T)) throw std::runtime_error("a tensor is " + dtype + ", not " + std::string(wanted));
    std::vector<T> found(data.size() / sizeof(T));
    for (std::size_t n = 0; n < data.size(); ++n) bytes(found[n / sizeof(T)])[place<T>(n)] = static_cast<unsigned char>(data[n]);
    return found;
  }
  template <class T>
  static Tensor of(std::string dtype, std::vector<std::int64_t> shape, const std::vector<T>& values) {
    if (size_of(dtype) != sizeof(T)) throw std::runtime_error("elements of another size than those of " + dtype);
    Tensor tensor{std::move(dtype), std::move(shape), std::string(values.size() * sizeof(T), '\0')};
    for (std::size_t n = 0; n < tensor.data.size(); ++n)
      tensor.data[n] = static_cast<char>(reinterpret_cast<const unsigned char*>(&values[n / sizeof(T)])[place<T>(n)]);
    tensor.check();
    return tensor;
  }
  /// Throws where the bytes are not those of the shape.
  void check() const {
    std::uint64_t size = size_of(dtype);
    if (size == 0) throw std::runtime_error("dtype `" + dtype + "` is not known");
    for (const std::int64_t extent : shape) {
      const std::uint64_t times = extent < 0 ? 0 : static_cast<std::uint64_t>(extent);
      if (extent < 0 || (times > 0 && size > std::numeric_limits<std::uint64_t>::max() / times))
        throw std::runtime_error("the shape of a tensor has an extent below 0, or more bytes than can be");
      size *= times;
    }
    if (size != data.size()) throw std::runtime_error("a tensor has other bytes than its shape needs");
  }

 private:
  template <class T>
  static unsigned char* bytes(T& value) { return reinterpret_cast<unsigned char*>(&value); }
  /// Where byte `n` of the file lies in an element of this machine.
  template <class T>
  static std::size_t place(std::size_t n) {
    const std::uint16_t probe = 1;
    const bool little = *reinterpret_cast<const unsigned char*>(&probe) == 1;
    return little ? n % sizeof(T) : sizeof(T) - 1 - n % sizeof(T);
  }
};

/// The tensors of a file by name; throws, with the path, where it is no tensor file.
inline std::map<std::string, Tensor> read_tensors(const std::string& path) {
  try {
    std::ifstream file(path, std::ios::binary);
    const std::string data((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    if (!file.good() && !file.eof()) throw std::runtime_error("it cannot be read");
    std::uint64_t length = 0;
    for (std::size_t n = 8; n-- > 0;) length = length << 8 | (n < data.size() ? static_cast<unsigned char>(data[n]) : 0);
    if (data.size() < 8 || length > data.size() - 8) throw std::runtime_error("it ends within its header");
    std::vector<std::string> repeated;
    const Json header = Json::parse(std::string_view(data).substr(8, length), &repeated);
    if (!repeated.empty() || header.kind != Json::object) throw std::runtime_error("its header is no object, or has a name twice");
    const std::string_view elements = std::string_view(data).substr(8 + length);
    std::map<std::string, Tensor> found;
    for (const auto& [name, tensor] : header.members) {
      if (name == "__metadata__") continue;
      Tensor& one = found[name];
      one.dtype = tensor.need("dtype", Json::string).text;
      for (const Json& extent : tensor.need("shape", Json::array).items) one.shape.push_back(extent.integer().value_or(-1));
      const auto& offsets = tensor.need("data_offsets", Json::array).items;
      const std::int64_t first = offsets.size() == 2 ? offsets[0].integer().value_or(-1) : -1;
      const std::int64_t end = first < 0 ? -1 : offsets[1].integer().value_or(-1);
      if (end < first || end < 0 || static_cast<std::uint64_t>(end) > elements.size()) throw std::runtime_error("tensor `" + name + "` lies beyond it");
      one.data = elements.substr(static_cast<std::size_t>(first), static_cast<std::size_t>(end - first));
      one.check();
    }
    return found;
  } catch (const std::exception& error) {
    throw std::runtime_error(path + " is no tensor file: " + error.what());
  }
}

/// Writes a file. It is complete when this returns.
inline void write_tensors(const std::string& path, const std::map<std::string, Tensor>& tensors) {
  Json header = Json::of({});
  std::string data;
  for (const auto& [name, tensor] : tensors) {
    tensor.check();
    if (name == "__metadata__") throw std::runtime_error("no tensor can travel by the name `__metadata__`");
    Json shape(std::vector<std::string>{}), offsets(std::vector<std::string>{});
    for (const std::int64_t extent : tensor.shape) shape.items.emplace_back(extent);
    offsets.items = {Json(static_cast<std::int64_t>(data.size())), Json(static_cast<std::int64_t>(data.size() + tensor.data.size()))};
    header.members.emplace_back(name, Json::of({{"dtype", tensor.dtype}, {"shape", shape}, {"data_offsets", offsets}}));
    data += tensor.data;
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');  // the elements begin at a multiple of 8
  std::string length;
  for (int n = 0; n < 8; ++n) length += static_cast<char>(static_cast<std::uint64_t>(text.size()) >> (8 * n));
  std::ofstream file(path, std::ios::binary);
  if (!(file << length << text << data) || (file.close(), !file)) throw std::runtime_error(path + " cannot be written");
}

// ---- Requests and answers (CON-03) ----------------------------------------------------------------------------------

/// One launch of a session (CON-11). The paths are absolute.
struct Launch {
  std::string document;
  std::vector<std::string> tensors;
  std::string output;
  std::optional<std::string> trace;
};

/// What is asked. `document` has the bytes, whichever way they came; it is empty for `execute`, which has `launches`.
struct Request {
  std::int64_t id = 0;
  std::string method, profile, document;
  std::vector<Launch> launches;
  Json members;  // all members, as they came
};

/// A finding (CON-10). `more` has what else is known, such as `line` or `tasks`.
struct Diagnostic {
  std::string rule, message, pointer;
  std::string severity = "error";
  std::vector<std::pair<std::string, Json>> more;
};

/// An answer, without the id. Made by `accept`, `reject` and `unsupported`.
struct Answer {
  std::string outcome;
  std::vector<Diagnostic> diagnostics;
  std::optional<std::string> document;
  std::string reason;

  /// What the protocol does not admit about it, in words, so that a mistake is reported where it is made; empty if nothing.
  std::string broken(const std::string& method) const {
    bool error = false;
    for (const Diagnostic& found : diagnostics) {
      if (found.rule.empty() || found.message.empty()) return "a diagnostic has no `rule` or no `message`";
      if (found.severity != "error" && found.severity != "warning") return "the severity of a diagnostic is neither `error` nor `warning`";
      error |= found.severity == "error";
    }
    const bool judges = method == "validate" || method == "execute" || method == "trace";
    if (outcome == "accept" && error) return "an acceptance has a diagnostic of severity `error`";
    if (outcome == "accept" && !judges && !document) return "an accepted `" + method + "` answers with a document";
    if (outcome == "reject" && !error) return "a rejection has no diagnostic of severity `error`";
    if (outcome == "unsupported" && reason.empty()) return "`unsupported` has no reason";
    const bool known = outcome == "accept" || outcome == "reject" || outcome == "unsupported";
    return known ? "" : "the outcome `" + outcome + "` is none of accept, reject, unsupported";
  }

  Json response(std::int64_t id) const {
    Json found = Json::of({{"type", "response"}, {"id", id}, {"outcome", outcome}});
    Json list(std::vector<std::string>{});
    for (const Diagnostic& one : diagnostics) {
      list.items.push_back(Json::of({{"rule", one.rule}, {"severity", one.severity}, {"message", one.message}, {"pointer", one.pointer}}));
      for (const auto& member : one.more) list.items.back().members.push_back(member);
    }
    if (outcome != "unsupported") found.members.emplace_back("diagnostics", list);
    if (document) found.members.emplace_back("document", *document);
    if (!reason.empty()) found.members.emplace_back("reason", reason);
    return found;
  }
};

/// Nothing is wrong. `document` is the text that a round trip, or another method that writes one, came to.
inline Answer accept(std::optional<std::string> document = std::nullopt) { return {"accept", {}, std::move(document), ""}; }
/// Rules are broken.
inline Answer reject(std::vector<Diagnostic> found) { return {"reject", std::move(found), std::nullopt, ""}; }
inline Answer reject(std::string rule, std::string message, std::string pointer = "") {
  return reject({Diagnostic{std::move(rule), std::move(message), std::move(pointer), "error", {}}});
}
/// The implementation does not deal with this: the case is skipped, and the report shows the reason.
inline Answer unsupported(std::string reason) { return {"unsupported", {}, std::nullopt, std::move(reason)}; }

/// The bytes that base64 with padding stands for (RFC 4648).
inline std::string base64(std::string_view text) {
  static constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  if (text.size() % 4 != 0) throw std::runtime_error("`document_base64` is not padded");
  std::string found;
  for (std::size_t at = 0; at < text.size(); at += 4) {
    const std::size_t padding = at + 4 < text.size() ? 0 : (text[at + 3] != '=' ? 0 : text[at + 2] != '=' ? 1 : 2);
    std::uint32_t bits = 0;
    for (std::size_t n = 0; n < 4; ++n) {
      const std::size_t value = n + padding >= 4 ? 0 : alphabet.find(text[at + n]);
      if (value == alphabet.npos) throw std::runtime_error("`document_base64` has a character that is none of base64");
      bits = bits << 6 | static_cast<std::uint32_t>(value);
    }
    for (std::size_t n = 0; n < 3 - padding; ++n) found += static_cast<char>(bits >> (16 - 8 * n));
  }
  return found;
}

// ---- The handshake and the loop (CON-02, CON-03) --------------------------------------------------------------------

/// An implementation, as the handshake describes it, and its handlers: one for each method.
class Worker {
 public:
  std::optional<std::vector<std::string>> rules;       // all of the profiles where it is nothing; none where the list is empty
  std::vector<std::string> opcodes, dtypes, targets;  // left out of the handshake where they are empty: all, then
  bool every_rule = false, trace = false;
  std::string accumulator;  // `binary32` if empty
  std::optional<Json> device;

  Worker(std::string name, std::string version, std::vector<std::string> profiles)
      : name_(std::move(name)), version_(std::move(version)), profiles_(std::move(profiles)) {}

  /// The function that answers a method; the request's `members` have what is not named. What it throws fails the case, and is said.
  void on(const std::string& method, std::function<Answer(const Request&)> handler) { handlers_[method] = std::move(handler); }

  /// Answers until the standard input is closed; returns the exit status. What handlers write to standard output goes to standard error.
  int run() {
    std::FILE* output = stdout;
#if defined(__unix__) || defined(__APPLE__)
    std::signal(SIGPIPE, SIG_IGN);  // so that a runner that has gone is an error below
    const int kept = fcntl(1, F_DUPFD_CLOEXEC, 0);  // which processes that a handler starts do not hold
    output = kept < 0 ? nullptr : fdopen(kept, "wb");
    if (!output || dup2(2, 1) < 0) return std::fputs("megakernel_adapter: standard output cannot be kept\n", stderr), 1;
#endif
    for (std::string line; std::getline(std::cin, line);) {
      const std::string reply = this->reply(line) + "\n";
      const bool written = std::fwrite(reply.data(), 1, reply.size(), output) == reply.size();
      if (!written || std::fflush(output) != 0)  // the runner waits for each line
        return std::fputs("megakernel_adapter: standard output cannot be written\n", stderr), 1;
    }
    return 0;
  }

  /// The line that answers a line.
  std::string reply(std::string_view line) const {
    Json error = Json::of({{"type", "error"}});
    try {
      const std::string text = message(line, error);
      if (text.size() >= longest_line) throw std::runtime_error("the answer is longer than a line may be");
      return text;
    } catch (const std::exception& why) {
      error.members.emplace_back("message", why.what());
    } catch (...) {
      error.members.emplace_back("message", "the handler threw what is no std::exception");
    }
    std::string& why = error.members.back().second.text;
    if (why.empty()) why = "the handler failed without a word";
    for (std::size_t at = 0; at < why.size(); at += utf8_length(why, at))
      if (utf8_length(why, at) == 0) why[at] = '?';
    std::fprintf(stderr, "megakernel_adapter: %s\n", why.c_str());
    return error.dump();
  }

 private:
  std::string name_, version_;
  std::vector<std::string> profiles_;
  std::map<std::string, std::function<Answer(const Request&)>> handlers_;

  Json hello() const {
    Json found = Json::of({{"type", "hello"}, {"protocol", protocol}, {"name", name_}, {"version", version_}, {"profiles", profiles_}});
    const auto list = [&](const char* name, const std::vector<std::string>& names) {
      if (!names.empty()) found.members.emplace_back(name, names);
    };
    if (rules) found.members.emplace_back("rules", *rules);
    list("opcodes", opcodes), list("dtypes", dtypes), list("targets", targets);
    if (every_rule) found.members.emplace_back("every_rule", true);
    if (trace) found.members.emplace_back("trace", true);
    if (!accumulator.empty()) found.members.emplace_back("accumulator", accumulator);
    if (device) found.members.emplace_back("device", *device);
    return found;
  }

  /// The message that answers a line. `error` gets the id, if it could be read.
  std::string message(std::string_view line, Json& error) const {
    const Json message = Json::parse(line);
    const Json* type = message.find("type");
    if (type && type->text == "hello") {
      const std::string& version = message.need("protocol", Json::string).text;
      if (version.substr(0, version.find('.')) != "1") throw std::runtime_error("the protocol is 1.0 here, and not " + version);
      return hello().dump();
    }
    if (!type || type->text != "request") throw std::runtime_error("the line is neither a `hello` nor a `request`");
    Request request;
    request.id = message.need("id", Json::number).integer().value_or(-1);
    if (request.id < 0) throw std::runtime_error("the request has no `id` that is an integer");
    error.members.emplace_back("id", request.id);
    read(message, request);
    const Answer answer = this->answer(request);
    if (const std::string why = answer.broken(request.method); !why.empty()) throw std::runtime_error(why);
    return answer.response(request.id).dump();
  }

  static void read(const Json& message, Request& request) {
    request.method = message.need("method", Json::string).text;
    request.profile = message.need("profile", Json::string).text;
    request.members = message;
    if (request.method == "execute") {
      for (const Json& launch : message.need("launches", Json::array).items) {
        Launch& one = request.launches.emplace_back();
        one.document = launch.need("document", Json::string).text;
        for (const Json& path : launch.need("tensors", Json::array).items) {
          if (path.kind != Json::string) throw std::runtime_error("a path of a launch is no string");
          one.tensors.push_back(path.text);
        }
        one.output = launch.need("output", Json::string).text;
        if (launch.find("trace")) one.trace = launch.need("trace", Json::string).text;
      }
    } else if (message.find("document")) {
      request.document = message.need("document", Json::string).text;
    } else {
      request.document = base64(message.need("document_base64", Json::string).text);
    }
  }

  Answer answer(const Request& request) const {
    bool claimed = false;
    for (const std::string& profile : profiles_) claimed |= profile == request.profile;
    if (!claimed) return unsupported("profile `" + request.profile + "` is not implemented");
    const auto handler = handlers_.find(request.method);
    return handler == handlers_.end() ? unsupported("method `" + request.method + "` is not implemented") : handler->second(request);
  }
};

}  // namespace megakernel

#endif
