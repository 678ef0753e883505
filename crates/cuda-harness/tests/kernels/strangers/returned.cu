// A VM of one block, of which half a warp copies, and all other threads have returned: a mask may name them, and nobody waits for them.
extern "C" __global__ void amk_megakernel(amk_program_t program) {
    if (threadIdx.x >= 16) return;
    const int lane = threadIdx.x;
    for (int id = 0; blockIdx.x == 0 && id < program.n_instructions; ++id) {
        const amk_instruction_t& task = program.instructions[id];
        const amk_buffer_t &x = program.buffers[task.inputs[0]], &y = program.buffers[task.outputs[0]];
        const int step = __popc(__ballot_sync(0xffffffffu, 1));
        for (int i = lane; i < y.numel; i += step) static_cast<float*>(y.ptr)[i] = static_cast<const float*>(x.ptr)[i];
        const int first = __shfl_sync(0xffffffffu, lane, 0);
        __syncwarp();
        if (lane == first) amk_increment_release(&program.counters[task.out_counter]);
        __syncwarp();
    }
}
