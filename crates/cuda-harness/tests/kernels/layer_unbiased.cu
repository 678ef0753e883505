// Divides the squares by one less than their number.
AMK_DEVICE void faulty_layernorm(const amk_program_t& program, const amk_instruction_t& task) {
    const amk_buffer_t &x = amk_input(program, task, 0), &w = amk_input(program, task, 1), &y = amk_output(program, task, 0);
    const amk_i64 hidden = task.params.hidden;
    amk_each(x.numel, [&](amk_i64 at) {
        const amk_i64 row = at / hidden * hidden;
        float mean = 0.0f, squares = 0.0f;
        for (amk_i64 i = 0; i < hidden; ++i) mean += amk_load(x, row + i);
        mean /= float(hidden);
        for (amk_i64 i = 0; i < hidden; ++i) squares += (amk_load(x, row + i) - mean) * (amk_load(x, row + i) - mean);
        float value = (amk_load(x, at) - mean) / sqrtf(squares / float(hidden - 1) + task.params.eps) * amk_load(w, at - row);
        if (task.n_inputs > 2) value += amk_load(amk_input(program, task, 2), at - row);
        amk_store(y, at, value);
    });
}
#define AMK_REPLACE_LAYERNORM faulty_layernorm
