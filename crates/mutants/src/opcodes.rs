//! What opcodes take: how many operands and which parameters, and which may be one buffer.

use megakernel_ir::Opcode;

/// Operands and parameters of an opcode, plain or quantised.
#[derive(Clone, Copy, Debug)]
pub struct Arity {
    /// Fewest and most.
    pub inputs: [usize; 2],
    /// What rule S13 demands.
    pub required: &'static [&'static str],
    /// What the page names beside that.
    pub optional: &'static [&'static str],
    /// Whether one buffer may be an input and the output (clause EXE-10), KV_APPEND aside.
    pub in_place: bool,
}

/// The row of an opcode.
pub fn arity(op: Opcode, is_quantised: bool) -> Arity {
    let row = |least, most, required, optional| Arity {
        inputs: [least, most],
        required,
        optional,
        in_place: false,
    };
    let in_place = |row: Arity| Arity { in_place: true, ..row };
    match (op, is_quantised) {
        (Opcode::Nop, _) => row(0, 0, &[], &[]),
        (Opcode::Copy | Opcode::Gelu, _) => in_place(row(1, 1, &[], &[])),
        (Opcode::SampleArgmax, _) => row(1, 1, &[], &[]),
        (Opcode::Softmax, _) => row(1, 1, &[], &["dim"]),
        (Opcode::Embed, _) => row(2, 2, &["hidden"], &[]),
        (Opcode::RmsNorm, _) => row(2, 2, &["eps", "hidden"], &[]),
        (Opcode::LayerNorm, _) => row(2, 3, &["eps", "hidden"], &[]),
        (Opcode::GemvTile, false) => row(2, 3, &["K", "N_tile", "n_off"], &["N", "M"]),
        (Opcode::GemvTile, true) => row(3, 4, &["K", "N_tile", "n_off", "group"], &["N", "M"]),
        (Opcode::GemmTile, false) => row(2, 3, &["K", "N_tile", "M_tile", "n_off"], &["m_off", "N", "M"]),
        (Opcode::GemmTile, true) => {
            row(3, 4, &["K", "N_tile", "M_tile", "n_off", "group"], &["m_off", "N", "M"])
        }
        (Opcode::AttentionTile, _) => {
            row(3, 4, &["head_dim", "kv_start", "kv_len", "scale", "n_heads", "n_kv_heads"], &["flags"])
        }
        (Opcode::Rope, _) => row(2, 2, &["head_dim", "theta"], &[]),
        (Opcode::SiluMul | Opcode::Add, _) => in_place(row(2, 2, &[], &[])),
        (Opcode::Mul, _) => in_place(row(1, 2, &[], &["scale"])),
        (Opcode::Dequant, _) => row(2, 3, &["qdtype", "group"], &[]),
        (Opcode::AllreduceShard, _) => in_place(row(1, 8, &[], &[])),
        (Opcode::KvAppend, _) => row(2, 2, &["pos"], &[]),
        (Opcode::AttentionCombine, _) => row(2, 8, &[], &[]),
    }
}
