// The tables of a task graph, and how a worker goes through them. Device code needs no header; host code, which reads
// task_graph.json, is left out where a device-only compiler reads this.

#ifndef __CUDACC__
#define __device__
#define __host__
#define __forceinline__ inline
#endif

namespace megakernel {

constexpr int max_dims = 4;
constexpr int max_inputs = 7;
constexpr int max_outputs = 3;

// An event id: position in bits 0 to 31, rank in bits 32 to 47; the tag marks events of which any rank may be the owner.
typedef unsigned long long EventId;
constexpr EventId no_event = 0x7ffffffffffffffeull;
constexpr EventId remote_tag = 0x1e00000000000000ull;
__host__ __device__ inline unsigned event_position(EventId id) { return (unsigned)(id & 0xffffffffu); }
__host__ __device__ inline unsigned event_rank(EventId id) { return (unsigned)((id >> 32) & 0xffffu); }
__host__ __device__ inline bool event_is_remote(EventId id) { return id != no_event && (id & remote_tag) == remote_tag; }

// A tile: where it begins, and the strides of the tensor in elements. `data` is null for an operand that is left out.
struct Tensor {
  char *data;
  int data_type;
  int num_dims;
  long long dim[max_dims];
  long long stride[max_dims];
};

struct Task {
  long long type;
  int variant;
  int num_inputs;
  int num_outputs;
  EventId trigger;
  EventId dependent;
  Tensor inputs[max_inputs];
  Tensor outputs[max_outputs];
};

struct Event {
  int type;
  int triggers;
  long long first_task;
  long long last_task;
};

// The extents and strides that all tasks of a variant have in common, for kernels to be specialised by.
template <int DataType, long long... Dims> struct Tile {
  template <long long... Strides> struct Of {
    static constexpr int data_type = DataType;
    static constexpr int num_dims = sizeof...(Dims);
    static constexpr long long dim[] = {Dims...};
    static constexpr long long stride[] = {Strides...};
  };
};
struct NoTile {};
template <long long Type, int Number> struct Variant;

} // namespace megakernel
