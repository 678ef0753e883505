// Adds eps after the root.
AMK_DEVICE void faulty_rmsnorm(const amk_program_t& program, const amk_instruction_t& task) {
    const amk_buffer_t &x = amk_input(program, task, 0), &w = amk_input(program, task, 1), &y = amk_output(program, task, 0);
    const amk_i64 hidden = task.params.hidden;
    amk_each(x.numel, [&](amk_i64 at) {
        const amk_i64 row = at / hidden * hidden;
        float sum = 0.0f;
        for (amk_i64 i = 0; i < hidden; ++i) sum += amk_load(x, row + i) * amk_load(x, row + i);
        amk_store(y, at, amk_load(x, at) / (sqrtf(sum / float(hidden)) + task.params.eps) * amk_load(w, at - row));
    });
}
#define AMK_REPLACE_RMSNORM faulty_rmsnorm
