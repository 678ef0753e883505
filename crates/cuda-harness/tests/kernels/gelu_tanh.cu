// The tanh approximation.
AMK_DEVICE void faulty_gelu(const amk_program_t& program, const amk_instruction_t& task) {
    const amk_buffer_t &x = amk_input(program, task, 0), &y = amk_output(program, task, 0);
    amk_each(y.numel, [&](amk_i64 i) {
        const float v = amk_load(x, i);
        amk_store(y, i, 0.5f * v * (1.0f + tanhf(0.7978845608f * (v + 0.044715f * v * v * v))));
    });
}
#define AMK_REPLACE_GELU faulty_gelu
