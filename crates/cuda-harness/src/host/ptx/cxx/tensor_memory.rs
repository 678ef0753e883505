//! Tensor memory (`tcgen05`): of one block, and of dense products without scales.

use super::matrices::take_sync;
use super::{Found, NOT_THERE, Operand, Type, Words, Writer, elements};

const U32: Type = Type::Unsigned(32);
const U64: Type = Type::Unsigned(64);

/// The kinds of products, and what the shim calls them.
const KINDS: [(&str, &str); 4] =
    [("kind::f16", "F16"), ("kind::tf32", "TF32"), ("kind::f8f6f4", "F8"), ("kind::i8", "I8")];

/// The shapes of loads and stores, the shim's numbers of them, and how many registers each has.
const SHAPES: [(&str, u32, usize); 5] =
    [("32x32b", 32, 1), ("16x64b", 64, 1), ("16x128b", 128, 2), ("16x256b", 256, 4), ("16x32bx2", 2, 1)];

/// Says which block it is for.
fn take_one_block(words: &mut Words) -> Found<()> {
    if words.take("cta_group::1") { Ok(()) } else { Err("`.cta_group::1` is what is there".to_owned()) }
}

impl Writer<'_> {
    /// `tcgen05`.
    pub(super) fn tensor_memory(&self, words: &mut Words, operands: &[Operand]) -> Found<String> {
        match words.next().ok_or("what is done is missing")? {
            // How those order what threads do is not looked at.
            "fence::before_thread_sync" | "fence::after_thread_sync" => Ok("(void)0".to_owned()),
            what @ ("wait::ld" | "wait::st") => {
                take_sync(words)?;
                Ok(format!("shim::tensor_wait_{}()", if what == "wait::ld" { "loads" } else { "stores" }))
            }
            "alloc" => {
                take_one_block(words)?;
                take_sync(words)?;
                let space = if words.take("shared::cta") { "SHARED" } else { "SHARED_OR_ANY" };
                words.last_type()?;
                let [to, columns] = operands else { return Err("two operands are expected".to_owned()) };
                let (to, columns) = (self.address(space, to, "4")?, self.source(U32, columns)?);
                Ok(format!("shim::ptx::tensor_allocate({to}, {columns})"))
            }
            "dealloc" => {
                take_one_block(words)?;
                take_sync(words)?;
                words.last_type()?;
                let [address, columns] = operands else { return Err("two operands are expected".to_owned()) };
                let (address, columns) = (self.source(U32, address)?, self.source(U32, columns)?);
                Ok(format!("shim::tensor_free({address}, {columns})"))
            }
            "relinquish_alloc_permit" => {
                take_one_block(words)?;
                take_sync(words)?;
                Ok("shim::tensor_relinquish()".to_owned())
            }
            what @ ("ld" | "st") => self.tensor_access(what, words, operands),
            "mma" => self.tensor_product(words, operands),
            "commit" => {
                take_one_block(words)?;
                if !words.take("mbarrier::arrive::one") {
                    return Err("`.mbarrier::arrive::one` is missing".to_owned());
                }
                let space = if words.take("shared::cluster") { "SHARED" } else { "SHARED_OR_ANY" };
                if words.take("multicast::cluster") {
                    return Err(NOT_THERE.to_owned());
                }
                words.last_type()?;
                let barrier = self.address(space, operands.first().ok_or("no mbarrier")?, "8")?;
                Ok(format!("shim::ptx::tensor_commit({barrier})"))
            }
            _ => Err(NOT_THERE.to_owned()),
        }
    }

    fn tensor_address(&self, operand: &Operand) -> Found<String> {
        let Operand::Address(base, offset) = operand else {
            return Err("an address stands in brackets".to_owned());
        };
        let offset = offset.as_deref().map_or(Ok("0".to_owned()), |offset| {
            self.bits(Type::Signed(64), offset).map(|text| format!("shim::ptx::offset({text})"))
        })?;
        Ok(format!("shim::ptx::tensor_address({}, {offset})", self.bits(U32, base)?))
    }

    /// Registers to tensor memory and back.
    fn tensor_access(&self, what: &str, words: &mut Words, operands: &[Operand]) -> Found<String> {
        take_sync(words)?;
        let found = SHAPES.iter().find(|(name, ..)| words.take(name));
        let (_, shape, each) = *found.ok_or("no shape is named that is there on the CPU")?;
        let times = words.next().and_then(|word| word.strip_prefix('x')?.parse::<usize>().ok());
        let times = times.filter(|times| times.is_power_of_two() && times * each <= 128);
        let times = times.ok_or("how often the shape is repeated is missing, or too often")?;
        let by_halves = words.take(if what == "ld" { "pack::16b" } else { "unpack::16b" });
        words.last_type()?;
        let (registers, operands) = match operands {
            [to, rest @ ..] if what == "ld" => (to, rest),
            [rest @ .., from] => (from, rest),
            [] => return Err("no operands".to_owned()),
        };
        let (address, apart) = match operands {
            [address] if shape != 2 => (address, "0u".to_owned()),
            [address, apart] if shape == 2 => (address, self.source(U32, apart)?),
            _ => return Err("other operands are expected".to_owned()),
        };
        if elements(registers).len() != times * each {
            return Err(format!("{} registers are expected", times * each));
        }
        let access = format!("{{{shape}, {times}, {by_halves}, {apart}}}, {}", self.tensor_address(address)?);
        Ok(if what == "ld" {
            let places =
                elements(registers).iter().map(|to| self.sum_place(to)).collect::<Found<Vec<_>>>()?;
            format!("shim::ptx::tensor_load({access}, shim::ptx::sums({}))", places.join(", "))
        } else {
            let names = self.names(registers)?.join(", ");
            format!("shim::ptx::tensor_store({access}, shim::ptx::registers({names}))")
        })
    }

    /// A product, which goes on by itself.
    fn tensor_product(&self, words: &mut Words, operands: &[Operand]) -> Found<String> {
        for word in ["ws", "sp"] {
            if words.take(word) {
                return Err(format!("`.{word}` is not there on the CPU"));
            }
        }
        take_one_block(words)?;
        let kind = KINDS.iter().find(|(name, _)| words.take(name));
        let (_, kind) = kind.ok_or("no kind is named that is there on the CPU")?;
        // How long a factor is kept beside the matrix units changes no result.
        for word in ["fill", "use", "lastuse", "discard"] {
            let _ = words.take(&format!("collector::a::{word}"));
        }
        let [to, a, b, instruction, rest @ ..] = operands else {
            return Err("too few operands".to_owned());
        };
        let (left_out, rest) = match rest {
            [Operand::Vector(lanes), rest @ ..] => {
                (lanes.iter().map(|word| self.source(U32, word)).collect::<Found<Vec<_>>>()?, rest)
            }
            _ => (vec!["0u".to_owned(); 4], rest),
        };
        if left_out.len() != 4 {
            return Err("four words of lanes are expected".to_owned());
        }
        let (adds, halved) = match rest {
            [adds] => (adds, 0),
            [adds, Operand::Integer(halved @ 0..=15)] if matches!(*kind, "F16" | "TF32") => (adds, *halved),
            _ => return Err("other operands are expected".to_owned()),
        };
        let in_tensor = matches!(a, Operand::Address(..));
        let of_a = if in_tensor { self.tensor_address(a)? } else { self.source(U64, a)? };
        Ok(format!(
            "shim::tensor_multiply({{shim::TensorKind::{kind}, {}, {in_tensor}, {of_a}, {}, {}, {}, {halved}, {{{}}}}})",
            self.tensor_address(to)?,
            self.source(U64, b)?,
            self.source(U32, instruction)?,
            self.source(Type::Predicate, adds)?,
            left_out.join(", ")
        ))
    }
}
