// Reads the weight of the first tile whatever n_off says.
AMK_DEVICE void faulty_gemm_tile(const amk_program_t& program, const amk_instruction_t& task) {
    const amk_buffer_t &x = amk_input(program, task, 0), &w = amk_input(program, task, 1), &y = amk_output(program, task, 0);
    const amk_params_t& p = task.params;
    const amk_i64 N = amk_last(y);
    const amk_buffer_t* bias = task.n_inputs > 2 ? &amk_input(program, task, 2) : 0;
    amk_each(amk_i64(p.M_tile) * p.N_tile, [&](amk_i64 i) {
        const amk_i64 m = p.m_off + i / p.N_tile, n = i % p.N_tile;
        float sum = bias ? amk_load(*bias, n + p.n_off) : 0.0f;
        for (amk_i64 k = 0; k < p.K; ++k) sum = fmaf(amk_load(x, m * p.K + k), amk_load(w, n * p.K + k), sum);
        amk_store(y, m * N + n + p.n_off, sum);
    });
}
#define AMK_REPLACE_GEMM_TILE faulty_gemm_tile
