// Writes one element behind the output.
AMK_DEVICE void faulty_add(const amk_program_t& program, const amk_instruction_t& task) {
    const amk_buffer_t &a = amk_input(program, task, 0), &b = amk_input(program, task, 1), &y = amk_output(program, task, 0);
    amk_each(y.numel, [&](amk_i64 i) { amk_store(y, i, amk_load(a, i) + amk_load(b, i)); });
    if (amk_thread() == 0) amk_store(y, y.numel, 1.0f);
}
#define AMK_REPLACE_ADD faulty_add
