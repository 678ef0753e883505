//! Instructions in which threads meet: barriers and functions of a warp; and those that only have an effect.

use super::{Found, NOT_THERE, Operand, SCOPES, Type, Words, Writer};

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
}
