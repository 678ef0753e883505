// Runs on a CPU what `megakernel-reference generate-mcir` prints, by the shim of crates/cuda-harness: every CUDA thread is a fiber, shared
// memory begins as NaN, and threads of a block that do not meet where they should are noticed.
//
//     c++ -std=c++20 -O1 -ffp-contract=off -fno-strict-aliasing -I crates/cuda-harness/cuda -DMCIR_CODE='"kernels.cuh"' host.cpp -o run
//     ./run FOLDER
//
// FOLDER has a file `N.bin` with the elements of each input, where N is the number of the tensor in the table at the end of the code.
// All other tensors are written there.

#define AMK_HOST 1
#include "host/shim.hpp"

#include "host/fibers.cpp"

#include <cstdio>
#include <string>
#include <vector>

// Runs code on the tensors in a folder: 0, or 1 after a message.
template <class Tensor, class Run>
int play(const Tensor *tensors, Run run, const std::string &folder, std::uint64_t seed) {
  std::vector<std::vector<unsigned char>> held;
  std::vector<bool> given;
  std::vector<void *> pointers;
  for (const auto *tensor = tensors; tensor->name; ++tensor) {
    held.emplace_back(std::size_t(tensor->bytes), 0xff);
    std::FILE *file = std::fopen((folder + "/" + std::to_string(held.size() - 1) + ".bin").c_str(), "rb");
    given.push_back(file != nullptr);
    if (!file) continue;
    const bool is_whole = std::fread(held.back().data(), 1, held.back().size(), file) == held.back().size();
    const bool is_over = std::fgetc(file) == EOF;
    std::fclose(file);
    if (is_whole && is_over) continue;
    std::fprintf(stderr, "%s: the tensor %s has other bytes than %lld\n", folder.c_str(), tensor->name, tensor->bytes);
    return 1;
  }
  for (auto &one : held) pointers.push_back(one.data());
  bool is_right = true;
  run(pointers.data(), [&](const auto &record, auto kernel, auto... arguments) {
    const shim::Grid grid{record.blocks, record.threads, record.shared_bytes, seed};
    if (!is_right || shim::launch(grid, [=] { kernel(arguments...); }, [] {}) == shim::End::returned) return;
    std::fprintf(stderr, "%s: not all threads of a block of `%s` reach a meeting\n", folder.c_str(), record.id);
    is_right = false;
  });
  for (std::size_t number = 0; is_right && number < held.size(); ++number) {
    if (given[number]) continue;
    std::FILE *file = std::fopen((folder + "/" + std::to_string(number) + ".bin").c_str(), "wb");
    if (!file || std::fwrite(held[number].data(), 1, held[number].size(), file) != held[number].size() || std::fclose(file) != 0) {
      std::fprintf(stderr, "%s: a tensor cannot be written\n", folder.c_str());
      return 1;
    }
  }
  return is_right ? 0 : 1;
}

#ifdef MCIR_CODE
#include MCIR_CODE
int main(int count, char **arguments) {
  if (count != 2) {
    std::fprintf(stderr, "usage: run FOLDER\n");
    return 2;
  }
  return play(MCIR_NAMESPACE::tensors_of_run, [](void *const *tensors, auto launch) { MCIR_NAMESPACE::run(tensors, launch); },
              arguments[1], 0);
}
#endif
