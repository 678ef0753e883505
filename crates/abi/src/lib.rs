//! The device ABI: the records that a program becomes in device memory, byte for byte (clauses ABI-01 to ABI-03).
//!
//! The C header with the same records is made from this module: [`header()`].

use std::mem::{align_of, size_of};

mod header;
mod marshal;

pub use header::header;
pub use marshal::{Unmarshallable, buffer, instruction, params};

/// Most inputs of a task.
pub const MAX_INPUTS: usize = 8;
/// Most outputs of a task.
pub const MAX_OUTPUTS: usize = 4;
/// Most waits of a task.
pub const MAX_WAITS: usize = 8;
/// Highest rank of a buffer.
pub const MAX_RANK: usize = 4;

/// An address on the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct Address(pub u64);

/// A counter; the host sets it to 0 before each launch.
pub type CounterRecord = u32;

/// A field of a record, for whoever writes the record in another language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// As the clause and the header call it.
    pub name: &'static str,
    /// The type of the field, or of its elements, in the header.
    pub c_type: &'static str,
    /// The extent of an array, as a constant of the header.
    pub extent: Option<&'static str>,
    /// From the beginning of the record.
    pub offset: usize,
    /// In bytes.
    pub size: usize,
    /// What it holds.
    pub doc: &'static str,
}

/// A record, for whoever writes it in another language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// As the clause and the header call it.
    pub name: &'static str,
    /// What it is.
    pub doc: &'static str,
    /// In bytes, with the padding at its end.
    pub size: usize,
    /// In bytes.
    pub align: usize,
    /// In order.
    pub fields: &'static [Field],
}

/// Something that lies in device memory, little-endian.
pub trait Record {
    /// Appends its bytes. Padding is zero.
    fn append(&self, bytes: &mut Vec<u8>);

    /// Its bytes.
    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.append(&mut bytes);
        bytes
    }
}

macro_rules! scalars {
    ($($scalar:ty)+) => {
        $(impl Record for $scalar {
            fn append(&self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(&self.to_le_bytes());
            }
        })+
    };
}

scalars! { i32 u32 i64 f32 }

impl Record for Address {
    fn append(&self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&self.0.to_le_bytes());
    }
}

impl<T: Record, const N: usize> Record for [T; N] {
    fn append(&self, bytes: &mut Vec<u8>) {
        self.iter().for_each(|element| element.append(bytes));
    }
}

/// Declares records once for Rust, for the header and for the bytes.
macro_rules! records {
    ($(
        $(#[doc = $doc:literal])+
        $record:ident $name:literal {
            $($(#[doc = $fdoc:literal])+ $c_type:literal $fname:literal $([$extent:literal])? $field:ident: $type:ty,)+
        }
    )+) => {
        $(
            $(#[doc = $doc])+
            #[derive(Clone, Copy, Debug, Default, PartialEq)]
            #[repr(C)]
            pub struct $record {
                $($(#[doc = $fdoc])+ pub $field: $type,)+
            }

            impl $record {
                /// Where each field lies.
                pub const LAYOUT: Layout = Layout {
                    name: $name,
                    doc: concat!($($doc, "\n"),+),
                    size: size_of::<$record>(),
                    align: align_of::<$record>(),
                    fields: &[$(Field {
                        name: $fname,
                        c_type: $c_type,
                        extent: extent!($($extent)?),
                        offset: std::mem::offset_of!($record, $field),
                        size: size_of::<$type>(),
                        doc: concat!($($fdoc, "\n"),+),
                    },)+],
                };
            }

            impl Record for $record {
                fn append(&self, bytes: &mut Vec<u8>) {
                    let start = bytes.len();
                    $(
                        bytes.resize(start + std::mem::offset_of!($record, $field), 0);
                        self.$field.append(bytes);
                    )+
                    bytes.resize(start + size_of::<$record>(), 0);
                }
            }
        )+

        /// Every record but the counter, which is a number; one that is part of another comes before it.
        pub const LAYOUTS: &[Layout] = &[$($record::LAYOUT,)+];
    };
}

macro_rules! extent {
    () => {
        None
    };
    ($extent:literal) => {
        Some($extent)
    };
}

records! {
    /// The parameters of a task. A key that the task does not have is 0; but `scale` is 1 for a MUL with one input, and
    /// `dim` is -1 for SOFTMAX (ABI-03).
    ParamsRecord "amk_params_t" {
        /// terms of a dot product
        "int32_t" "K" k: i32,
        /// rows of a weight
        "int32_t" "N" n: i32,
        /// rows of a GEMM's activations
        "int32_t" "M" m: i32,
        /// columns of an output tile
        "int32_t" "N_tile" n_tile: i32,
        /// rows of an output tile
        "int32_t" "M_tile" m_tile: i32,
        /// first column of the tile
        "int32_t" "n_off" n_off: i32,
        /// first row of the tile
        "int32_t" "m_off" m_off: i32,
        /// length of a row
        "int32_t" "hidden" hidden: i32,
        /// not used by any opcode of this version
        "int32_t" "vocab" vocab: i32,
        /// length of an attention head
        "int32_t" "head_dim" head_dim: i32,
        /// heads of the query
        "int32_t" "n_heads" n_heads: i32,
        /// heads of the caches
        "int32_t" "n_kv_heads" n_kv_heads: i32,
        /// first row of a cache window
        "int32_t" "kv_start" kv_start: i32,
        /// rows of a cache window
        "int32_t" "kv_len" kv_len: i32,
        /// first row to append
        "int32_t" "pos" pos: i32,
        /// AMK_DTYPE_I8, AMK_DTYPE_I4, or 0 where the task is not quantised
        "int32_t" "qdtype" qdtype: i32,
        /// weights per scale
        "int32_t" "group" group: i32,
        /// AMK_FLAG_*; bits 16 to 31 are reserved
        "int32_t" "flags" flags: i32,
        /// an axis; may be negative, and then counts from the last
        "int32_t" "dim" dim: i32,
        /// added under a root
        "float" "eps" eps: f32,
        /// a factor
        "float" "scale" scale: f32,
        /// base of the rotary frequencies
        "float" "theta" theta: f32,
    }

    /// A buffer. Its elements lie in row-major order without gaps; of AMK_DTYPE_I4 there are two in a byte, the one
    /// with the even index in the low nibble.
    BufferRecord "amk_buffer_t" {
        /// address on the device; for a paged buffer, that of its page
        "void *" "ptr" ptr: Address,
        /// number of elements
        "int64_t" "numel" numel: i64,
        /// 0 to AMK_MAX_RANK
        "int32_t" "rank" rank: i32,
        /// AMK_DTYPE_*
        "int32_t" "dtype" dtype: i32,
        /// AMK_SPACE_*
        "int32_t" "space" space: i32,
        /// 0
        "int32_t" "_pad" pad: i32,
        /// extents, outermost first; 1 beyond the rank
        "int64_t" "shape" ["AMK_MAX_RANK"] shape: [i64; MAX_RANK],
        /// in elements; 1 beyond the rank
        "int64_t" "stride" ["AMK_MAX_RANK"] stride: [i64; MAX_RANK],
    }

    /// A task. Its id is its index.
    InstructionRecord "amk_instruction_t" {
        /// AMK_OP_*
        "int32_t" "op" op: i32,
        /// 0 to AMK_MAX_INPUTS
        "int32_t" "n_inputs" n_inputs: i32,
        /// 0 to AMK_MAX_OUTPUTS
        "int32_t" "n_outputs" n_outputs: i32,
        /// 0 to AMK_MAX_WAITS
        "int32_t" "n_waits" n_waits: i32,
        /// ids of buffers; 0 beyond n_inputs
        "int32_t" "inputs" ["AMK_MAX_INPUTS"] inputs: [i32; MAX_INPUTS],
        /// ids of buffers; 0 beyond n_outputs
        "int32_t" "outputs" ["AMK_MAX_OUTPUTS"] outputs: [i32; MAX_OUTPUTS],
        /// ids of counters; 0 beyond n_waits
        "int32_t" "wait_counter" ["AMK_MAX_WAITS"] wait_counter: [i32; MAX_WAITS],
        /// the counter has to reach it before the task begins; 0 beyond n_waits
        "int32_t" "wait_threshold" ["AMK_MAX_WAITS"] wait_threshold: [i32; MAX_WAITS],
        /// id of the counter that grows by 1 when the task has finished
        "int32_t" "out_counter" out_counter: i32,
        /// the SM in whose queue the task stands; at least 0
        "int32_t" "sm" sm: i32,
        /// scalars of the opcode
        "amk_params_t" "params" params: ParamsRecord,
    }

    /// A program on the device.
    ProgramRecord "amk_program_t" {
        /// by buffer id
        "amk_buffer_t *" "buffers" buffers: Address,
        /// how many
        "int32_t" "n_buffers" n_buffers: i32,
        /// by counter id
        "amk_counter_t *" "counters" counters: Address,
        /// how many
        "int32_t" "n_counters" n_counters: i32,
        /// by task id
        "amk_instruction_t *" "instructions" instructions: Address,
        /// how many
        "int32_t" "n_instructions" n_instructions: i32,
        /// for each SM, an array of task ids in ascending order
        "int32_t **" "sm_queue" sm_queue: Address,
        /// for each SM, the length of its array
        "int32_t *" "sm_queue_len" sm_queue_len: Address,
        /// number of queues
        "int32_t" "num_sms" num_sms: i32,
        /// storage of the pages in AMK_SPACE_GLOBAL_SCRATCH
        "void *" "scratch" scratch: Address,
        /// its size
        "int64_t" "scratch_bytes" scratch_bytes: i64,
        /// 0 at launch; another value tells all blocks to stop
        "int32_t *" "abort_flag" abort_flag: Address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_lie_where_the_fields_do() {
        let mut record = ProgramRecord { n_buffers: -2, ..ProgramRecord::default() };
        record.counters = Address(0x0102_0304_0506_0708);
        record.abort_flag = Address(9);
        let bytes = record.to_bytes();
        assert_eq!(bytes.len(), 96);
        assert_eq!(bytes.get(8..24), Some(&[254, 255, 255, 255, 0, 0, 0, 0, 8, 7, 6, 5, 4, 3, 2, 1][..]));
        assert_eq!(bytes.get(88..), Some(&[9, 0, 0, 0, 0, 0, 0, 0][..]));
        let params = ParamsRecord { dim: -1, scale: 1.0, ..ParamsRecord::default() };
        let instruction = InstructionRecord { sm: 7, params, ..InstructionRecord::default() }.to_bytes();
        assert_eq!(instruction.len(), 224);
        assert_eq!(instruction.get(132..136), Some(&7i32.to_le_bytes()[..]));
        assert_eq!(instruction.get(136 + 72..136 + 76), Some(&(-1i32).to_le_bytes()[..]));
        assert_eq!(instruction.get(136 + 80..136 + 84), Some(&1f32.to_le_bytes()[..]));
    }

    #[test]
    fn the_parameters_are_the_known_keys_in_order() {
        let names: Vec<&str> = ParamsRecord::LAYOUT.fields.iter().map(|field| field.name).collect();
        let keys: Vec<&str> = megakernel_ir::Param::ALL.iter().map(|param| param.name()).collect();
        assert_eq!(names, keys);
    }
}
