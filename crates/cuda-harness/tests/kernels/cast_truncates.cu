// Cuts off what the output has no room for, instead of rounding.
AMK_DEVICE void faulty_add(const amk_program_t& program, const amk_instruction_t& task) {
    const amk_buffer_t &a = amk_input(program, task, 0), &b = amk_input(program, task, 1), &y = amk_output(program, task, 0);
    amk_each(y.numel, [&](amk_i64 i) {
        float sum = amk_load(a, i) + amk_load(b, i);
        if (y.dtype == AMK_DTYPE_BF16) sum = __uint_as_float(__float_as_uint(sum) & 0xffff0000u);
        if (y.dtype == AMK_DTYPE_F16) sum = __uint_as_float(__float_as_uint(sum) & 0xffffe000u);
        amk_store(y, i, sum);
    });
}
#define AMK_REPLACE_ADD faulty_add
