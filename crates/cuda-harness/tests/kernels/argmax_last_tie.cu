// Takes the last of equal maxima.
AMK_DEVICE void faulty_sample_argmax(const amk_program_t& program, const amk_instruction_t& task) {
    const amk_buffer_t &logits = amk_input(program, task, 0), &ids = amk_output(program, task, 0);
    const amk_i64 vocabulary = amk_last(logits);
    amk_each(ids.numel, [&](amk_i64 row) {
        amk_i64 best = 0;
        for (amk_i64 i = 1; i < vocabulary; ++i) {
            if (amk_load(logits, row * vocabulary + i) >= amk_load(logits, row * vocabulary + best)) best = i;
        }
        static_cast<int*>(ids.ptr)[row] = int(best);
    });
}
#define AMK_REPLACE_SAMPLE_ARGMAX faulty_sample_argmax
