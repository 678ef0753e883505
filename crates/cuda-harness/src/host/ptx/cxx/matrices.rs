//! Matrix units: those of a warp, and those of four warps together (`wgmma`).

use super::{Found, NOT_THERE, Operand, Type, Words, Writer, elements};

const U32: Type = Type::Unsigned(32);
const U64: Type = Type::Unsigned(64);

const NO_PRODUCT: &str = "a product of such numbers is not there on the CPU";

/// Whether there is a product of such factors, with such sums.
fn sums_fit(a: Type, b: Type, sum: Type) -> bool {
    let is_integer = |factor| match factor {
        Type::Unsigned(8) | Type::Signed(8) => Some(true),
        Type::Other("F16" | "BF16" | "TF32" | "E4M3" | "E5M2", _) => Some(false),
        _ => None,
    };
    match (is_integer(a), is_integer(b)) {
        (Some(true), Some(true)) => sum == Type::Signed(32),
        (Some(false), Some(false)) => matches!(sum, Type::Float(32) | Type::Other("F16", _)),
        _ => false,
    }
}

/// The words that say that lanes do it together.
pub(super) fn take_sync(words: &mut Words) -> Found<()> {
    let is_there = words.take("sync");
    let _ = words.take("aligned");
    if is_there { Ok(()) } else { Err("`.sync` is missing".to_owned()) }
}

/// The numbers of a shape such as `m16n8k16`.
fn extents(shape: &str) -> Vec<u32> {
    shape.split(['m', 'n', 'k']).skip(1).filter_map(|extent| extent.parse().ok()).collect()
}

impl Writer<'_> {
    /// The bits of all registers of an operand.
    pub(super) fn names(&self, operand: &Operand) -> Found<Vec<String>> {
        elements(operand).iter().map(|element| self.bits(U32, element)).collect()
    }

    /// `mma`: a product of one warp.
    pub(super) fn matrix_product(&self, words: &mut Words, operands: &[Operand]) -> Found<String> {
        take_sync(words)?;
        let shape = words.next().ok_or("no shape is named")?;
        let [16, 8, k] = extents(shape)[..] else {
            return Err(format!("`.{shape}` is not there on the CPU"));
        };
        if !words.take("row") || !words.take("col") {
            return Err("`.row.col` is what is there".to_owned());
        }
        let saturates = words.take("satfinite");
        let (c, b, a, d) = (words.last_type()?, words.last_type()?, words.last_type()?, words.last_type()?);
        if ![c, d].iter().all(|sum| sums_fit(a, b, *sum)) {
            return Err(NO_PRODUCT.to_owned());
        }
        let [to, of_a, of_b, of_c] = operands else {
            return Err("four operands are expected".to_owned());
        };
        let kinds = [d, a, b, c].map(Type::name).join(", ");
        let all = [self.names(to)?, self.names(of_a)?, self.names(of_b)?, self.names(of_c)?];
        let [to, of_a, of_b, of_c] = all.map(|names| names.join(", "));
        Ok(format!(
            "shim::ptx::multiply<{k}, {saturates}, {kinds}>(shim::ptx::places({to}), shim::ptx::registers({of_a}), \
             shim::ptx::registers({of_b}), shim::ptx::registers({of_c}))"
        ))
    }

    /// `wgmma`: products of four warps, which go on beside them.
    pub(super) fn group_products(&self, words: &mut Words, operands: &[Operand]) -> Found<String> {
        let what = words.next().ok_or("what is done is missing")?;
        take_sync(words)?;
        match what {
            "fence" => return Ok("shim::products_fence()".to_owned()),
            "commit_group" => return Ok("shim::products_commit()".to_owned()),
            "wait_group" => {
                let groups = self.source(U32, operands.first().ok_or("no number")?)?;
                return Ok(format!("shim::products_wait({groups})"));
            }
            "mma_async" => {}
            _ => return Err(NOT_THERE.to_owned()),
        }
        let shape = words.next().ok_or("no shape is named")?;
        let saturates = words.take("satfinite");
        let (b, a, d) = (words.last_type()?, words.last_type()?, words.last_type()?);
        if !sums_fit(a, b, d) {
            return Err(NO_PRODUCT.to_owned());
        }
        let [64, n @ 8..=256, k] = extents(shape)[..] else {
            return Err(format!("`.{shape}` is not there on the CPU"));
        };
        // Of integers beyond 24, there is only each other one.
        let is_there = n % 8 == 0 && (!a.is_integer() || n % 16 == 0 || n < 32);
        if !is_there || k * a.bits() != 256 {
            return Err(format!("`.{shape}` is no shape of such numbers"));
        }
        let [to, first, second, adds, rest @ ..] = operands else {
            return Err("too few operands".to_owned());
        };
        let rest =
            rest.iter().map(|operand| self.source(Type::Signed(32), operand)).collect::<Found<Vec<_>>>()?;
        // Signs, but of integers; and which factors lie by columns in shared memory, of 16 bits.
        let in_registers = matches!(first, Operand::Vector(_));
        let turned = if a.bits() == 16 { 2 - usize::from(in_registers) } else { 0 };
        let signed = if a.is_integer() { 0 } else { 2 };
        if rest.len() != signed + turned {
            return Err(format!("{} operands are expected", 4 + signed + turned));
        }
        let (signs, turns) = rest.split_at(signed);
        let signs = if signs.is_empty() { "1, 1".to_owned() } else { signs.join(", ") };
        let turn = |at: Option<&String>| at.map_or("false".to_owned(), |turn| format!("{turn} != 0"));
        let matrix = |operand: &Operand, turn: &str| -> Found<String> {
            Ok(format!("shim::ptx::Matrix({}, {turn})", self.source(U64, operand)?))
        };
        let of_a = if in_registers {
            format!("shim::ptx::registers({})", self.names(first)?.join(", "))
        } else {
            matrix(first, &turn(turns.first()))?
        };
        let of_b = matrix(second, &turn(turns.last()))?;
        let sums = elements(to).iter().map(|sum| self.sum_place(sum)).collect::<Found<Vec<_>>>()?.join(", ");
        let kinds = [d, a, b].map(Type::name).join(", ");
        let adds = self.source(Type::Predicate, adds)?;
        Ok(format!(
            "shim::ptx::multiply_group<{n}, {k}, {saturates}, {kinds}>(shim::ptx::sums({sums}), {of_a}, {of_b}, {adds}, {signs})"
        ))
    }

    /// A register of sums, which are there later: where it is while the statement runs, and where it goes then.
    pub(super) fn sum_place(&self, operand: &Operand) -> Found<String> {
        Ok(match operand {
            Operand::Given(n) => format!("shim::ptx::sum_of(amk_given_{n}, amk_place_{n})"),
            _ => format!("shim::ptx::sum_of({})", self.place(operand)?),
        })
    }

    /// What brings matrices to registers and back, and turns them.
    pub(super) fn matrices(&self, opcode: &str, words: &mut Words, operands: &[Operand]) -> Found<String> {
        take_sync(words)?;
        if !words.take("m8n8") {
            return Err("`.m8n8` is what is there".to_owned());
        }
        let count = words.one_of(&["x1", "x2", "x4"]).map_or(1, |word| word[1..].parse().unwrap_or(1));
        let transposed = words.take("trans");
        for word in ["shared::cta", "shared"] {
            let _ = words.take(word);
        }
        words.last_type()?;
        let [first, second] = operands else { return Err("two operands are expected".to_owned()) };
        if opcode == "movmatrix" {
            return self.put(U32, first, &format!("shim::ptx::transposed({})", self.source(U32, second)?));
        }
        let (registers, address) = if opcode == "ldmatrix" { (first, second) } else { (second, first) };
        let registers = self.names(registers)?;
        if registers.len() != count {
            return Err(format!("{count} registers are expected"));
        }
        let Operand::Address(base, offset) = address else {
            return Err("an address stands in brackets".to_owned());
        };
        let offset = offset.as_deref().map_or(Ok("0".to_owned()), |offset| {
            self.bits(Type::Signed(64), offset).map(|text| format!("shim::ptx::offset({text})"))
        })?;
        // Only some lanes name a row: what the others name is not looked at.
        let row = format!("shim::ptx::row_address({}, {offset})", self.bits(Type::Unsigned(64), base)?);
        let (name, how) =
            if opcode == "ldmatrix" { ("load_matrices", "places") } else { ("store_matrices", "registers") };
        Ok(format!("shim::ptx::{name}<{transposed}>({row}, shim::ptx::{how}({}))", registers.join(", ")))
    }
}
