// Takes the high nibble of a byte for the even column.
AMK_DEVICE void faulty(const amk_program_t& program, const amk_instruction_t& task) {
    const amk_buffer_t &q = amk_input(program, task, 0), &scales = amk_input(program, task, 1), &y = amk_output(program, task, 0);
    const amk_buffer_t* zeros = task.n_inputs > 2 ? &amk_input(program, task, 2) : 0;
    const amk_i64 K = amk_last(y), groups = amk_last(scales);
    amk_each(y.numel, [&](amk_i64 i) {
        const amk_i64 g = i / K * groups + i % K / task.params.group;
        float value = amk_load(q, q.dtype == AMK_DTYPE_I8 ? i : 0);
        if (q.dtype != AMK_DTYPE_I8) {
            const amk_u8 byte = static_cast<const amk_u8*>(q.ptr)[i / 2];
            value = float(int(i % 2 ? byte & 15 : byte >> 4) - 8);
        }
        amk_store(y, i, (zeros ? value - amk_load(*zeros, g) : value) * amk_load(scales, g));
    });
}
#define AMK_REPLACE_DEQUANT faulty
