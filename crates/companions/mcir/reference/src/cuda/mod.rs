//! CUDA C++ of Kernel IR (clause MCI-28): a kernel for each kernel, whose blocks are those of the block loops.
//!
//! The text is one file: a fixed prelude, the kernels, and a function that launches them one after the other. Whoever includes it says how a
//! kernel is launched. What is in shared memory lies there; what is in registers is distributed over threads ([`tiles`]), and what an
//! instruction needs of another thread's goes through shared memory, between two meetings. A prefetch loads at once, as it may.

mod code;
mod compute;
mod index;
mod place;
mod tiles;
mod views;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use megakernel_ir::{Diagnostic, read_value};
use megakernel_mcir::kernel::{Kernels, Tensor, read_kernels};
use megakernel_mcir::{Dtype, Fault};
use megakernel_reference::cpp::{one_line, quoted};

use self::code::Code;

const PRELUDE: &str = include_str!("prelude.cuh");

/// Threads of a block, where nobody asks for another number.
pub const THREADS: u32 = 128;

/// Why there is no code.
#[derive(Clone, Debug, PartialEq)]
pub enum NoCode {
    /// What is no Kernel IR, by the rules S01 to S05.
    Rejected(Vec<Diagnostic>),
    /// Where, as a JSON pointer, and why.
    Refused(String, String),
}

/// What no code is generated for; the pointer is found on the way out.
#[derive(Debug)]
struct Refused {
    pointer: String,
    message: String,
}

impl Refused {
    fn of(message: impl Into<String>) -> Refused {
        Refused { pointer: String::new(), message: message.into() }
    }

    fn within(mut self, place: impl std::fmt::Display) -> Refused {
        self.pointer = format!("/{place}{}", self.pointer);
        self
    }
}

/// The CUDA C++ of a text of Kernel IR. What is not sound (MCI-30) beyond what shows without running it has no meaning, and neither has its code.
///
/// # Errors
/// See [`NoCode`].
pub fn generate(text: &[u8], threads: u32) -> Result<String, NoCode> {
    let value = read_value(text).map_err(NoCode::Rejected)?;
    let told = |faults: Vec<Fault>| NoCode::Rejected(faults.into_iter().map(Diagnostic::from).collect());
    let kernels = read_kernels(&value).map_err(told)?;
    print(&kernels, threads).map_err(|refused| NoCode::Refused(refused.pointer, refused.message))
}

/// A dtype in C++.
fn dtype(dtype: Dtype) -> &'static str {
    match dtype {
        Dtype::F32 => "mcir::F32",
        Dtype::F16 => "mcir::F16",
        Dtype::BF16 => "mcir::BF16",
    }
}

/// What elements of a dtype are stored as.
fn stored(dtype: Dtype) -> &'static str {
    if dtype == Dtype::F32 { "float" } else { "unsigned short" }
}

fn print(kernels: &Kernels, threads: u32) -> Result<String, Refused> {
    if threads == 0 || threads > 1024 {
        return Err(Refused::of("a block has 1 to 1024 threads"));
    }
    let mut tensors = BTreeMap::new();
    for (number, tensor) in kernels.tensors.iter().enumerate() {
        let name = &kernels.names[tensor.name as usize];
        let count = tensor.shape.iter().try_fold(1_i64, |count, &extent| {
            count.checked_mul(extent).filter(|&count| extent > 0 && count < 1 << 60)
        });
        let count = count.filter(|_| tensor.shape.len() <= 64);
        let count =
            count.ok_or_else(|| Refused::of("extents are out of range").within(name).within("tensors"))?;
        tensors.insert(tensor.name, (number, tensor, count * tensor.dtype.bytes()));
    }
    for (member, names) in [("inputs", &kernels.inputs), ("outputs", &kernels.outputs)] {
        if let Some(place) = names.iter().position(|name| !tensors.contains_key(name)) {
            let name = &kernels.names[names[place] as usize];
            return Err(Refused::of(format!("`{name}` is no tensor")).within(place).within(member));
        }
    }
    let mut text = format!(
        "// Generated from Kernel IR of {} kernel(s). Do not edit.\n\n{PRELUDE}\n#ifndef MCIR_NAMESPACE\n#define MCIR_NAMESPACE \
         mcir_kernels\n#endif\n\nnamespace MCIR_NAMESPACE {{\n",
        kernels.kernels.len()
    );
    let (mut table, mut launches) = (String::new(), String::new());
    for (number, kernel) in kernels.kernels.iter().enumerate() {
        let within = |refused: Refused| refused.within(number).within("kernels");
        let code = Code::new(kernels, kernel, &tensors, i64::from(threads)).map_err(within)?;
        let made = code.kernel(number).map_err(within)?;
        text.push_str(&made.text);
        let id = quoted(&kernels.names[kernel.id as usize]);
        let _ = writeln!(table, "  {{{id}, {}u, {threads}u, {}u}},", made.blocks, made.shared_bytes);
        let mut arguments = String::new();
        for (name, is_stored) in made.tensors {
            let Some((number, tensor, _)) = tensors.get(&name) else { continue };
            let constant = if is_stored { "" } else { "const " };
            let _ = write!(arguments, ", ({constant}{} *)tensors[{number}]", stored(tensor.dtype));
        }
        let _ = writeln!(launches, "  launch(kernels[{number}], kernel_{number}{arguments});");
    }
    let record = |(number, tensor): (usize, &Tensor)| {
        let name = quoted(&kernels.names[tensor.name as usize]);
        Some(format!("  {{{name}, {}ll}}, // {number}", tensors.get(&tensor.name)?.2))
    };
    let known: Vec<String> = kernels.tensors.iter().enumerate().filter_map(record).collect();
    // An array without elements is none in C++.
    let _ = write!(
        text,
        "\n// The kernels, in the order in which they run.\n[[maybe_unused]] constexpr mcir::Kernel kernels[] = {{\n{table}  {{nullptr, 0u, 0u, 0u}}}};\n\n\
         // Global memory, in the order in which `run` takes it.\n[[maybe_unused]] constexpr mcir::Tensor tensors_of_run[] = {{\n{}\n  {{nullptr, 0ll}}}};\n\n\
         // Calls `launch` for each kernel with its record, the kernel, and the kernel's arguments. One begins when the one before has ended.\n\
         #ifndef __CUDACC_RTC__\ntemplate <class Launch> void run([[maybe_unused]] void *const *tensors, [[maybe_unused]] Launch launch) {{\n\
         {launches}}}\n#endif\n\n}} // namespace MCIR_NAMESPACE\n",
        known.join("\n")
    );
    Ok(text)
}
