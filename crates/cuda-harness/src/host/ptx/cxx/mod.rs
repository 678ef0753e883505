//! PTX as C++: each instruction is a call of one of the functions of `host/ptx/`, which say what it does.

use std::collections::HashMap;

use super::assembly::{Instruction, Operand, Statement};
use super::types::{Type, Words};

/// What writes the statements of one `asm` as C++.
#[derive(Debug)]
pub struct Writer<'a> {
    /// Which it is: its labels are told from others by it.
    number: usize,
    /// File and line.
    place: &'a str,
    /// The names of registers, by scope, with what they are in C++.
    scopes: Vec<HashMap<String, (String, Type)>>,
    /// The declarations of all registers: no branch may jump over one.
    declarations: String,
    registers: usize,
    text: String,
}

/// What is found wrong.
type Found<T> = Result<T, String>;

/// Why an instruction is refused that the shim has not.
const NOT_THERE: &str = "it is not there on the CPU";

/// The spaces that instructions name, and those of the shim.
const SPACES: [(&str, &str); 6] = [
    ("shared::cluster", "SHARED"),
    ("shared::cta", "SHARED"),
    ("shared", "SHARED"),
    ("global", "GLOBAL"),
    ("local", "ANY"),
    ("const", "ANY"),
];

/// Scopes of memory, from the widest on.
const SCOPES: [&str; 4] = ["sys", "gpu", "cluster", "cta"];

impl<'a> Writer<'a> {
    /// For the `asm` of this number, in this line of a file.
    pub fn new(number: usize, place: &'a str) -> Writer<'a> {
        Writer {
            number,
            place,
            scopes: vec![HashMap::new()],
            declarations: String::new(),
            registers: 0,
            text: String::new(),
        }
    }

    /// The statements as C++.
    ///
    /// # Errors
    /// The first instruction that is not there on the CPU, and why.
    pub fn write(mut self, statements: &[Statement]) -> Found<String> {
        let mut carries = false;
        for statement in statements {
            match statement {
                Statement::Open => self.scopes.push(HashMap::new()),
                Statement::Close => {
                    self.scopes.pop();
                    if self.scopes.is_empty() {
                        return Err("a brace is closed that is not open".to_owned());
                    }
                }
                Statement::Label(name) => self.text += &format!("{}: ; ", self.label(name)),
                Statement::Registers(kind, names) => self.declare(kind, names)?,
                Statement::Instruction(instruction) => {
                    let said = |why| format!("`{}`: {why}", instruction.name);
                    let opcode = instruction.name.split('.').next().unwrap_or_default();
                    let takes = matches!(opcode, "addc" | "subc" | "madc");
                    carries |= instruction.name.split('.').any(|word| word == "cc") && !takes;
                    if takes && !carries {
                        return Err(said("what another statement carries is not kept".to_owned()));
                    }
                    let text = self.instruction(instruction).map_err(said)?;
                    // Whoever finds a fault says where.
                    let text = format!(
                        "shim::self().doing = {:?}; {text}",
                        format!("{}, {}", self.place, instruction.name)
                    );
                    match &instruction.guard {
                        None => self.text += &format!("{text}; "),
                        Some((name, holds)) => {
                            let guard = self
                                .source(Type::Predicate, &Operand::Register(name.clone()))
                                .map_err(said)?;
                            self.text += &format!("if ({guard} == {holds}) {{ {text}; }} ");
                        }
                    }
                }
            }
        }
        Ok(format!(
            "bool amk_carry = false; (void)amk_carry; {}{}shim::self().doing = nullptr; ",
            self.declarations, self.text
        ))
    }

    fn label(&self, name: &str) -> String {
        format!("amk_label_{}_{name}", self.number)
    }

    fn declare(&mut self, kind: &str, names: &[String]) -> Found<()> {
        let kind = Type::of(kind).ok_or_else(|| format!("`.reg .{kind}` is not understood"))?;
        for name in names {
            self.registers += 1;
            let cxx = format!("amk_register_{}", self.registers);
            self.declarations += &match kind {
                Type::Predicate => format!("bool {cxx} = false; "),
                _ => format!("auto {cxx} = shim::ptx::unset<{}>(); ", Type::Unsigned(kind.bits()).name()),
            };
            if let Some(scope) = self.scopes.last_mut() {
                scope.insert(name.clone(), (cxx, kind));
            }
        }
        Ok(())
    }

    /// What a register or an operand is called in C++.
    fn place(&self, operand: &Operand) -> Found<String> {
        match operand {
            Operand::Given(n) => Ok(format!("amk_given_{n}")),
            Operand::Nowhere => Ok("shim::ptx::nowhere".to_owned()),
            Operand::Register(name) => {
                let found = self.scopes.iter().rev().find_map(|scope| scope.get(name));
                found
                    .map(|(cxx, _)| cxx.clone())
                    .ok_or_else(|| format!("the register `{name}` is not declared in this statement"))
            }
            _ => Err("a register has to stand where another operand does".to_owned()),
        }
    }

    /// A source operand's bits, or a constant.
    fn bits(&self, kind: Type, operand: &Operand) -> Found<String> {
        match operand {
            Operand::Register(name) if name.starts_with('%') => match special(name) {
                Some(text) => Ok(text.to_owned()),
                None => self.place(operand),
            },
            Operand::Integer(value) => Ok(format!("shim::ptx::Constant{{{}}}", integer(*value))),
            Operand::Expression(text) => Ok(format!("shim::ptx::Constant{{static_cast<long long>({text})}}")),
            Operand::Bits(bits, 32) => Ok(format!("std::uint32_t({bits:#x}u)")),
            Operand::Bits(bits, _) => Ok(format!("std::uint64_t({bits:#x}u)")),
            Operand::Real(text) if kind.bits() == 32 => Ok(format!("__float_as_uint(float({text}))")),
            Operand::Real(text) if kind.bits() == 64 => {
                Ok(format!("std::bit_cast<std::uint64_t>(double({text}))"))
            }
            _ => self.place(operand),
        }
    }

    /// A source operand as a value of a type.
    fn source(&self, kind: Type, operand: &Operand) -> Found<String> {
        match operand {
            Operand::Not(inner) => Ok(format!("!{}", self.source(kind, inner)?)),
            Operand::Vector(elements) => {
                let each =
                    elements.iter().map(|element| self.bits(kind, element)).collect::<Found<Vec<_>>>()?;
                Ok(format!("shim::ptx::packed<{}>({})", kind.name(), each.join(", ")))
            }
            _ => Ok(format!("shim::ptx::as<{}>({})", kind.name(), self.bits(kind, operand)?)),
        }
    }

    /// The same of a register that may have more bits than the type.
    fn part(&self, kind: Type, operand: &Operand) -> Found<String> {
        Ok(format!("shim::ptx::part<{}>({})", kind.name(), self.bits(kind, operand)?))
    }

    /// A value of this type goes to an operand.
    fn put(&self, kind: Type, operand: &Operand, value: &str) -> Found<String> {
        match operand {
            Operand::Vector(elements) => {
                let each = elements.iter().map(|element| self.place(element)).collect::<Found<Vec<_>>>()?;
                Ok(format!("shim::ptx::unpack<{}>({value}, {})", kind.name(), each.join(", ")))
            }
            _ => Ok(format!("shim::ptx::put<{}>({}, {value})", kind.name(), self.place(operand)?)),
        }
    }

    /// A function of values of one type.
    fn function(&self, name: &str, kind: Type, result: Type, operands: &[Operand]) -> Found<String> {
        let (to, sources) = operands.split_first().ok_or("no operands")?;
        let sources = sources.iter().map(|source| self.source(kind, source)).collect::<Found<Vec<_>>>()?;
        self.put(result, to, &format!("shim::ptx::{name}({})", sources.join(", ")))
    }

    /// An address, of which so many bytes are meant.
    fn address(&self, space: &str, operand: &Operand, bytes: &str) -> Found<String> {
        let Operand::Address(base, offset) = operand else {
            return Err("an address stands in brackets".to_owned());
        };
        let offset = match offset.as_deref() {
            None => "0".to_owned(),
            Some(offset) => {
                self.bits(Type::Signed(64), offset).map(|text| format!("shim::ptx::offset({text})"))?
            }
        };
        let base = self.bits(Type::Unsigned(64), base)?;
        Ok(format!("shim::ptx::place<shim::ptx::{space}>({base}, {offset}, {bytes})"))
    }

    fn instruction(&self, instruction: &Instruction) -> Found<String> {
        let (opcode, mut words) = Words::of(&instruction.name);
        let operands = &instruction.operands[..];
        let text = match opcode {
            "mov" => self.moved(&mut words, operands),
            "ld" | "ldu" => self.load(&mut words, operands),
            "st" => self.store(&mut words, operands),
            "atom" | "red" => self.atomic(opcode, &mut words, operands),
            "cvt" => self.convert(&mut words, operands),
            "cvta" => self.cast(&mut words, operands),
            "setp" | "set" => self.compare(opcode, &mut words, operands),
            "bar" | "barrier" => self.barrier(&mut words, operands),
            "mbarrier" => self.phases(&mut words, operands),
            "cp" => self.copy(&mut words, operands),
            "shfl" | "vote" | "match" | "redux" | "activemask" | "elect" => {
                self.lanes(opcode, &mut words, operands)
            }
            "mma" => self.matrix_product(&mut words, operands),
            "wgmma" => self.group_products(&mut words, operands),
            "tcgen05" => self.tensor_memory(&mut words, operands),
            "ldmatrix" | "stmatrix" | "movmatrix" => self.matrices(opcode, &mut words, operands),
            _ => self.plain(opcode, &mut words, operands),
        }?;
        words.finish()?;
        Ok(text)
    }
}

/// The elements of a vector, or the one that stands by itself.
fn elements(operand: &Operand) -> Vec<Operand> {
    match operand {
        Operand::Vector(elements) => elements.clone(),
        other => vec![other.clone()],
    }
}

/// A constant of C++.
fn integer(value: i128) -> String {
    match i64::try_from(value) {
        Ok(i64::MIN) => "-0x7fffffffffffffff - 1".to_owned(),
        Ok(value) => format!("{value}ll"),
        Err(_) => format!("static_cast<long long>({:#x}ull)", value as u64),
    }
}

/// What a special register is.
fn special(name: &str) -> Option<&'static str> {
    Some(match name {
        "%tid.x" => "std::uint32_t(shim::self().thread.x)",
        "%tid.y" | "%tid.z" | "%ctaid.y" | "%ctaid.z" | "%clusterid.y" | "%clusterid.z"
        | "%cluster_ctarank" | "%cluster_ctaid.x" | "%cluster_ctaid.y" | "%cluster_ctaid.z" | "%gridid" => {
            "std::uint32_t(0)"
        }
        "%is_explicit_cluster" => "false",
        "%ntid.x" => "std::uint32_t(shim::self().threads_per_block.x)",
        "%ntid.y" | "%ntid.z" | "%nctaid.y" | "%nctaid.z" | "%nclusterid.y" | "%nclusterid.z"
        | "%cluster_nctarank" | "%cluster_nctaid.x" | "%cluster_nctaid.y" | "%cluster_nctaid.z" => {
            "std::uint32_t(1)"
        }
        // Each block has an SM of its own, and is a cluster.
        "%ctaid.x" | "%clusterid.x" | "%smid" => "std::uint32_t(shim::self().block.x)",
        "%nctaid.x" | "%nclusterid.x" | "%nsmid" => "std::uint32_t(shim::self().blocks.x)",
        "%laneid" => "std::uint32_t(amk_lane())",
        "%warpid" => "std::uint32_t(shim::self().thread.x / 32)",
        "%nwarpid" => "std::uint32_t((shim::self().threads_per_block.x + 31) / 32)",
        "%lanemask_eq" => "(1u << amk_lane())",
        "%lanemask_lt" => "((1u << amk_lane()) - 1)",
        "%lanemask_le" => "(2u * (1u << amk_lane()) - 1)",
        "%lanemask_ge" => "(~((1u << amk_lane()) - 1))",
        "%lanemask_gt" => "(~(2u * (1u << amk_lane()) - 1))",
        "%clock" | "%clock_lo" | "%globaltimer_lo" => "std::uint32_t(clock64())",
        "%clock_hi" | "%globaltimer_hi" => "std::uint32_t(clock64() >> 32)",
        "%clock64" | "%globaltimer" => "std::uint64_t(clock64())",
        _ => return None,
    })
}

mod arithmetic;
mod matrices;
mod memory;
mod tensor_memory;
mod threads;
