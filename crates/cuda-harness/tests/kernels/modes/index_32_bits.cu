// Counts elements of the table in 32 bits, which shows in tables of more than 2^31 elements alone: `checks/large.py`.
AMK_DEVICE void faulty_embed(const amk_program_t& program, const amk_instruction_t& task) {
    const amk_buffer_t &ids = amk_input(program, task, 0), &table = amk_input(program, task, 1);
    const amk_buffer_t& y = amk_output(program, task, 0);
    const unsigned width = unsigned(table.numel / table.shape[0]);
    const int* index = static_cast<const int*>(ids.ptr);
    amk_each(ids.numel * width, [&](amk_i64 i) {
        amk_store(y, i, amk_load(table, int(unsigned(index[i / width]) * width) + int(i % width)));
    });
}
#define AMK_REPLACE_EMBED faulty_embed
