// A worker a block, one thread each: what a runtime would write around generated code.

#include "generated.cuh"

struct Context {
  unsigned long long *counters;
  long long *failed;

  __device__ void wait(unsigned position, unsigned long long count) {
    while (*(volatile unsigned long long *)&counters[position] < count) {
    }
    __threadfence();
  }
  __device__ void trigger(megakernel::EventId id) {
    __threadfence();
    atomicAdd(&counters[megakernel::event_position(id)], 1ull);
  }
  __device__ void touch(char *data, int kind, long long step) { data[step] = (char)kind; }
  __device__ void fail(long long type) { *failed = type; }
};

extern "C" __global__ void run(const megakernel::Task *tasks, long long num_tasks, const megakernel::Event *events,
                               unsigned long long *counters, long long *failed, unsigned long long iteration) {
  Context context{counters, failed};
  megakernel::run_worker(tasks, num_tasks, events, (int)blockIdx.x, (int)gridDim.x, iteration, context);
}
