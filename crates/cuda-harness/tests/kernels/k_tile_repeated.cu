// Adds the second tile of 64 products twice.
AMK_DEVICE void faulty(const amk_program_t& program, const amk_instruction_t& task) {
    const amk_buffer_t &x = amk_input(program, task, 0), &w = amk_input(program, task, 1), &y = amk_output(program, task, 0);
    const amk_i64 K = task.params.K, N = amk_last(y), columns = task.params.N_tile;
    const amk_buffer_t* bias = task.n_inputs > 2 ? &amk_input(program, task, 2) : 0;
    amk_each(x.numel / K * columns, [&](amk_i64 i) {
        const amk_i64 m = i / columns, n = task.params.n_off + i % columns;
        float sum = bias ? amk_load(*bias, n) : 0.0f;
        for (amk_i64 k = 0; k < K; ++k) {
            const float product = amk_load(x, m * K + k) * amk_load(w, n * K + k);
            sum += k >= 64 && k < 128 ? 2.0f * product : product;
        }
        amk_store(y, m * N + n, sum);
    });
}
#define AMK_REPLACE_GEMV_TILE faulty
