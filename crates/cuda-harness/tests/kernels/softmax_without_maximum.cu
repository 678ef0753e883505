// Does not subtract the maximum.
AMK_DEVICE void faulty_softmax(const amk_program_t& program, const amk_instruction_t& task) {
    const amk_buffer_t &x = amk_input(program, task, 0), &y = amk_output(program, task, 0);
    const int axis = task.params.dim < 0 ? task.params.dim + x.rank : task.params.dim;
    const amk_i64 length = x.shape[axis];
    amk_i64 stride = 1;
    for (int a = axis + 1; a < x.rank; ++a) stride *= x.shape[a];
    amk_each(x.numel / length, [&](amk_i64 line) {
        const amk_i64 first = line / stride * stride * length + line % stride;
        float sum = 0.0f;
        for (amk_i64 i = 0; i < length; ++i) sum += expf(amk_load(x, first + i * stride));
        for (amk_i64 i = 0; i < length; ++i) amk_store(y, first + i * stride, expf(amk_load(x, first + i * stride)) / sum);
    });
}
#define AMK_REPLACE_SOFTMAX faulty_softmax
