// Stand-ins for the kernels that generated code calls: each reads its variant and its operands, so that both have to compile.

#pragma once

namespace kernels {

template <class Tile, class Context> __device__ void touch(const megakernel::Tensor &tensor, Context &context) {
  context.touch(tensor.data, Tile::data_type, Tile::dim[Tile::num_dims - 1] * Tile::stride[0]);
}

template <class V, class Context> __device__ void embedding(const megakernel::Task &task, Context &context) {
  touch<typename V::In1>(task.inputs[1], context);
  touch<typename V::Out0>(task.outputs[0], context);
}

template <class V, class Context> __device__ void rms_norm_linear(const megakernel::Task &task, Context &context) {
  touch<typename V::In2>(task.inputs[2], context);
  context.touch(task.outputs[0].data, V::param_bias, (long long)(V::param_eps * 1e6) + V::param_layer);
}

template <class V, class Context>
__device__ void silu_mul_linear_with_residual(const megakernel::Task &task, Context &context) {
  touch<typename V::In2>(task.inputs[2], context);
}

// These take their shapes from the task.
template <class V, class Context> __device__ void reduce(const megakernel::Task &task, Context &context) {
  context.touch(task.inputs[1].data, task.inputs[1].data_type, task.inputs[1].dim[0]);
}

template <class V, class Context> __device__ void nvshmem_copy(const megakernel::Task &task, Context &context) {
  context.touch(task.outputs[0].data, megakernel::event_rank(task.trigger), megakernel::event_is_remote(task.trigger));
}

template <class Context> __device__ void unknown_task(const megakernel::Task &task, Context &context) {
  context.fail(task.type);
}

} // namespace kernels
