// Rounds the activation to the dtype of the output before the product.
AMK_DEVICE void faulty_silu_mul(const amk_program_t& program, const amk_instruction_t& task) {
    const amk_buffer_t &gate = amk_input(program, task, 0), &up = amk_input(program, task, 1), &y = amk_output(program, task, 0);
    amk_each(y.numel, [&](amk_i64 i) {
        const float g = amk_load(gate, i), u = amk_load(up, i);
        amk_store(y, i, g / (1.0f + expf(-g)));
        amk_store(y, i, amk_load(y, i) * u);
    });
}
#define AMK_REPLACE_SILU_MUL faulty_silu_mul
