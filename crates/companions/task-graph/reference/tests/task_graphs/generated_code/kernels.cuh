// Stand-ins for the kernels of a GPU: plain loops over float tiles. Each checks that the shapes of its variant are those of
// the task.

#pragma once

namespace kernels {
using megakernel::Task;
using megakernel::Tensor;

inline float &element(const Tensor &tensor, long long i, long long j) {
  return ((float *)tensor.data)[i * tensor.stride[0] + j * tensor.stride[1]];
}

template <class Tile> bool has_shape(const Tensor &tensor) {
  bool same = tensor.num_dims == Tile::num_dims && tensor.data_type == Tile::data_type;
  for (int axis = 0; axis < Tile::num_dims; ++axis)
    same = same && tensor.dim[axis] == Tile::dim[axis] && tensor.stride[axis] == Tile::stride[axis];
  return same;
}

// out = in + 1
template <class V, class Context> void embedding(const Task &task, Context &context) {
  context.started(task, has_shape<typename V::In0>(task.inputs[0]) && has_shape<typename V::Out0>(task.outputs[0]));
  const Tensor &out = task.outputs[0];
  for (long long i = 0; i < out.dim[0]; ++i)
    for (long long j = 0; j < out.dim[1]; ++j) element(out, i, j) = element(task.inputs[0], i, j) + 1;
}

// out = in times the transpose of the weight
template <class V, class Context> void rms_norm_linear(const Task &task, Context &context) {
  context.started(task, has_shape<typename V::In1>(task.inputs[1]));
  const Tensor &out = task.outputs[0], &in = task.inputs[0], &weight = task.inputs[1];
  for (long long i = 0; i < out.dim[0]; ++i)
    for (long long j = 0; j < out.dim[1]; ++j) {
      float sum = 0;
      for (long long k = 0; k < in.dim[1]; ++k) sum += element(in, i, k) * element(weight, j, k);
      element(out, i, j) = sum;
    }
}

// out = scale * in + residual
template <class V, class Context> void task_121(const Task &task, Context &context) {
  context.started(task, has_shape<typename V::Out0>(task.outputs[0]) && task.inputs[2].data == nullptr);
  const Tensor &out = task.outputs[0];
  for (long long i = 0; i < out.dim[0]; ++i)
    for (long long j = 0; j < out.dim[1]; ++j)
      element(out, i, j) = (float)V::param_scale * element(task.inputs[0], i, j) + element(task.inputs[1], i, j);
}

template <class Context> void unknown_task(const Task &task, Context &context) { context.started(task, false); }
} // namespace kernels
