// Adds partials up as if they had one maximum.
AMK_DEVICE void faulty_attention_combine(const amk_program_t& program, const amk_instruction_t& task) {
    const amk_buffer_t& y = amk_output(program, task, 0);
    const amk_i64 width = amk_last(amk_input(program, task, 0)), dim = width - 2;
    amk_each(y.numel, [&](amk_i64 i) {
        float sum = 0.0f, weight = 0.0f;
        for (int part = 0; part < task.n_inputs; ++part) {
            const amk_i64 row = i / dim * width;
            sum += amk_load(amk_input(program, task, part), row + i % dim);
            weight += amk_load(amk_input(program, task, part), row + dim + 1);
        }
        amk_store(y, i, weight > 0.0f ? sum / weight : 0.0f);
    });
}
#define AMK_REPLACE_ATTENTION_COMBINE faulty_attention_combine
