//! Instructions in which threads meet: barriers, functions of a warp, matrix units; and those that only have an effect.

use super::{Found, NOT_THERE, Operand, SCOPES, Type, Words, Writer, elements};

const U32: Type = Type::Unsigned(32);

impl Writer<'_> {
    /// What changes no register.
    pub(super) fn effect(&self, opcode: &str, words: &mut Words) -> Found<String> {
        match opcode {
            // What is said of other kinds of memory, and of launches and registers, means nothing on a CPU.
            "prefetch" | "prefetchu" | "applypriority" | "griddepcontrol" | "setmaxnreg" | "pmevent" => {
                while words.next().is_some() {}
                Ok("(void)0".to_owned())
            }
            "fence" | "membar" => {
                if words.take("mbarrier_init") {
                    while words.next().is_some() {}
                    return Ok("(void)0".to_owned());
                }
                if words.take("proxy") {
                    // Of other proxies, and of global memory alone, nothing is modelled.
                    let is_known =
                        words.one_of(&["async", "async::generic"]).is_some() && !words.take("global");
                    while words.next().is_some() {}
                    return Ok(if is_known { "shim::fence_proxy()" } else { "(void)0" }.to_owned());
                }
                let _ = words.one_of(&["sc", "acq_rel", "acquire", "release"]);
                let scope = words.one_of(&SCOPES).or_else(|| words.take("gl").then_some("gpu"));
                let name = if scope.ok_or("no scope is named")? == "cta" { "fence_block" } else { "fence" };
                Ok(format!("shim::{name}()"))
            }
            "nanosleep" => {
                let _ = words.take("u32");
                Ok("shim::pause()".to_owned())
            }
            "trap" | "brkpt" => Ok("__trap()".to_owned()),
            "exit" => Ok("shim::leave_kernel()".to_owned()),
            _ => Err(NOT_THERE.to_owned()),
        }
    }

    pub(super) fn barrier(&self, words: &mut Words, operands: &[Operand]) -> Found<String> {
        let what = words.one_of(&["sync", "arrive", "red", "wait"]);
        let _ = words.take("aligned");
        if words.take("warp") {
            let mask = self.source(U32, operands.first().ok_or("no mask")?)?;
            return Ok(format!("__syncwarp({mask})"));
        }
        if words.take("cluster") {
            let _ = words.one_of(&["release", "acquire", "relaxed"]);
            // A cluster is a block here. Who has come need not wait before the second half.
            return match what {
                Some("arrive") => Ok("shim::fence_block()".to_owned()),
                Some("wait") => Ok("shim::block_barrier()".to_owned()),
                _ => Err("`.arrive` or `.wait` is missing".to_owned()),
            };
        }
        let _ = words.take("cta");
        let number = |operand: Option<&Operand>| operand.map(|operand| self.source(U32, operand)).transpose();
        match what {
            Some(what @ ("sync" | "arrive")) => {
                let id = number(operands.first())?.ok_or("no barrier is named")?;
                let threads =
                    number(operands.get(1))?.unwrap_or_else(|| "shim::self().threads_per_block.x".to_owned());
                Ok(format!("shim::ptx::meet({id}, {threads}, {})", what == "sync"))
            }
            Some("red") => {
                let (to, rest) = operands.split_first().ok_or("no operands")?;
                let (holds, rest) = rest.split_last().ok_or("no predicate")?;
                let id = number(rest.first())?.ok_or("no barrier is named")?;
                let threads =
                    number(rest.get(1))?.unwrap_or_else(|| "shim::self().threads_per_block.x".to_owned());
                let how = words.one_of(&["popc", "and", "or"]).ok_or("what is joined is missing")?;
                let kind = words.last_type()?;
                let holds = self.source(Type::Predicate, holds)?;
                let value = match how {
                    "popc" => format!("shim::ptx::meet({id}, {threads}, true, {holds})"),
                    "or" => format!("(shim::ptx::meet({id}, {threads}, true, {holds}) != 0)"),
                    _ => format!("(shim::ptx::meet({id}, {threads}, true, !({holds})) == 0)"),
                };
                self.put(kind, to, &format!("{}({value})", kind.name()))
            }
            _ => Err("`.sync`, `.arrive` or `.red` is missing".to_owned()),
        }
    }

    pub(super) fn lanes(&self, opcode: &str, words: &mut Words, operands: &[Operand]) -> Found<String> {
        if opcode == "activemask" {
            words.last_type()?;
            return self.put(U32, operands.first().ok_or("no operands")?, "__activemask()");
        }
        if !words.take("sync") {
            return Err("only what has `.sync` is there on the CPU".to_owned());
        }
        let (to, sources) = operands.split_first().ok_or("no operands")?;
        let (first, second) = match to {
            Operand::Pair(first, second) => (&**first, &**second),
            other => (other, &Operand::Nowhere),
        };
        let source =
            |at: usize, kind: Type| self.source(kind, sources.get(at).ok_or("an operand is missing")?);
        let two = |kind: Type, value: &str| -> Found<String> {
            Ok(format!(
                "{{ const auto amk_found = {value}; {}; {}; }}",
                self.put(kind, first, "amk_found.value")?,
                self.put(Type::Predicate, second, "amk_found.holds")?
            ))
        };
        match opcode {
            "shfl" => {
                let how = words.one_of(&["idx", "up", "down", "bfly"]).ok_or("the direction is missing")?;
                let kind = words.last_type()?;
                let [value, lane, clamp, mask] =
                    [source(0, kind)?, source(1, U32)?, source(2, U32)?, source(3, U32)?];
                two(kind, &format!("shim::ptx::shuffle_{how}({value}, {lane}, {clamp}, {mask})"))
            }
            "vote" => {
                let how = words.one_of(&["all", "any", "uni", "ballot"]).ok_or("what is asked is missing")?;
                let kind = words.last_type()?;
                let value =
                    format!("shim::ptx::vote_{how}({}, {})", source(0, Type::Predicate)?, source(1, U32)?);
                self.put(kind, to, &value)
            }
            "match" => {
                let how = words.one_of(&["any", "all"]).ok_or("`.any` or `.all` is missing")?;
                let kind = words.last_type()?;
                two(U32, &format!("shim::ptx::match_{how}({}, {})", source(0, kind)?, source(1, U32)?))
            }
            "redux" => {
                let how = words
                    .one_of(&["add", "min", "max", "and", "or", "xor"])
                    .ok_or("no operation is named")?;
                let kind = words.last_type()?;
                if !kind.is_integer() {
                    return Err(NOT_THERE.to_owned());
                }
                // Those of bits are of unsigned words.
                self.put(kind, to, &format!("__reduce_{how}_sync({}, {})", source(1, U32)?, source(0, kind)?))
            }
            _ => two(U32, &format!("shim::ptx::elect({})", source(0, U32)?)),
        }
    }

    pub(super) fn matrices(&self, opcode: &str, words: &mut Words, operands: &[Operand]) -> Found<String> {
        if !words.take("sync") {
            return Err("`.sync` is missing".to_owned());
        }
        let _ = words.take("aligned");
        let names = |operand: &Operand| -> Found<Vec<String>> {
            elements(operand).iter().map(|element| self.bits(U32, element)).collect()
        };
        if opcode == "mma" {
            let shape = words.next().ok_or("no shape is named")?;
            let extents: Vec<u32> =
                shape.split(['m', 'n', 'k']).skip(1).filter_map(|extent| extent.parse().ok()).collect();
            let [16, 8, k] = extents[..] else { return Err(format!("`.{shape}` is not there on the CPU")) };
            if !words.take("row") || !words.take("col") {
                return Err("`.row.col` is what is there".to_owned());
            }
            let saturates = words.take("satfinite");
            let (c, b, a, d) =
                (words.last_type()?, words.last_type()?, words.last_type()?, words.last_type()?);
            let factor = |kind| match kind {
                Type::Unsigned(8) | Type::Signed(8) => Some(true),
                Type::Other("F16" | "BF16" | "TF32" | "E4M3" | "E5M2", _) => Some(false),
                _ => None,
            };
            let of_integers = factor(a).filter(|integers| factor(b) == Some(*integers));
            let sums_fit = match of_integers {
                Some(true) => [c, d] == [Type::Signed(32); 2],
                Some(false) => {
                    [c, d].iter().all(|kind| matches!(kind, Type::Float(32) | Type::Other("F16", _)))
                }
                None => false,
            };
            if !sums_fit {
                return Err("a product of such numbers is not there on the CPU".to_owned());
            }
            let [to, of_a, of_b, of_c] = operands else {
                return Err("four operands are expected".to_owned());
            };
            let kinds = [d, a, b, c].map(Type::name).join(", ");
            let all = [names(to)?, names(of_a)?, names(of_b)?, names(of_c)?];
            let [to, of_a, of_b, of_c] = all.map(|names| names.join(", "));
            return Ok(format!(
                "shim::ptx::multiply<{k}, {saturates}, {kinds}>(shim::ptx::places({to}), shim::ptx::registers({of_a}), \
                 shim::ptx::registers({of_b}), shim::ptx::registers({of_c}))"
            ));
        }
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
        let registers = names(registers)?;
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
