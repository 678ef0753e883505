//! Instructions that load, store and change memory, and copies that go on beside the threads.

use super::{Found, NOT_THERE, Operand, SCOPES, SPACES, Type, Words, Writer, elements};

const U32: Type = Type::Unsigned(32);
const U64: Type = Type::Unsigned(64);

/// Words that say by which cache an access goes, and change no result but by that.
const CACHES: [&str; 8] = ["nc", "ca", "cg", "cs", "lu", "cv", "wb", "wt"];

/// What an atomic change does with a word and a value.
const OPERATIONS: [&str; 8] = ["add", "min", "max", "and", "or", "xor", "inc", "dec"];

/// The order that a word gives, of accesses to memory.
fn order(word: &str) -> &'static str {
    match word {
        "acquire" => "shim::ACQUIRES",
        "release" => "shim::RELEASES",
        "acq_rel" => "shim::Order{true, true}",
        _ => "shim::Order{}",
    }
}

fn space(words: &mut Words) -> &'static str {
    SPACES.iter().find(|(word, _)| words.take(word)).map_or("ANY", |(_, space)| space)
}

/// What the words of a load, a store or an atomic change say, but for what is done.
struct Access<'a> {
    order: &'a str,
    for_all: bool,
    space: &'static str,
    cache: Option<&'a str>,
    extent: usize,
    kind: Type,
}

impl<'a> Access<'a> {
    /// Of the orders that there are, the first one where none is named.
    fn of(words: &mut Words, orders: &[&'a str]) -> Found<Access<'a>> {
        let order = words.one_of(orders).unwrap_or(orders[0]);
        // Of memory of a device that is none here.
        let _ = words.take("mmio");
        let scope = words.one_of(&SCOPES);
        let space = space(words);
        // `ld.global.nc.ca` and the like.
        let cache = words.one_of(&CACHES);
        let _ = words.one_of(&CACHES);
        words.take_hints();
        let extent = words.one_of(&["v2", "v4", "v8"]).map_or(1, |word| word[1..].parse().unwrap_or(1));
        let kind = words.last_type()?;
        if !matches!(order, "weak" | "volatile")
            && orders[0] == "relaxed"
            && !matches!(kind.bits(), 16 | 32 | 64)
        {
            return Err("words of 16, 32 and 64 bits are there on the CPU".to_owned());
        }
        // What is for the block alone orders nothing for others; volatile accesses are for all.
        Ok(Access { order, for_all: order == "volatile" || scope != Some("cta"), space, cache, extent, kind })
    }

    /// The elements of an operand, as many as there have to be.
    fn elements(&self, operand: Option<&Operand>) -> Found<Vec<Operand>> {
        let elements = elements(operand.ok_or("an operand is missing")?);
        if elements.len() == self.extent {
            Ok(elements)
        } else {
            Err(format!("{} registers are expected", self.extent))
        }
    }
}

/// Operands as arguments of a function.
fn listed(operands: &[Operand], text: impl Fn(&Operand) -> Found<String>) -> Found<String> {
    Ok(operands.iter().map(text).collect::<Found<Vec<_>>>()?.join(", "))
}

impl Writer<'_> {
    pub(super) fn load(&self, words: &mut Words, operands: &[Operand]) -> Found<String> {
        let access = Access::of(words, &["weak", "volatile", "relaxed", "acquire"])?;
        let address = self.accessed(&access, operands.get(1))?;
        let places = listed(&access.elements(operands.first())?, |place| self.place(place))?;
        let (name, order) = (access.kind.name(), order(access.order));
        Ok(if access.order == "weak" {
            let way = match access.cache {
                Some("nc") => "incoherent",
                Some("cg" | "cv") => "second",
                _ => "plain",
            };
            format!("shim::ptx::load<{name}, weak::Way::{way}>({address}, {places})")
        } else {
            format!("shim::ptx::poll<{name}, {}>({address}, {order}, {places})", access.for_all)
        })
    }

    pub(super) fn store(&self, words: &mut Words, operands: &[Operand]) -> Found<String> {
        if words.take("bulk") {
            let (_, space) = (words.take("weak"), space(words));
            let [to, bytes, Operand::Integer(0)] = operands else {
                return Err("only zeros are stored so".to_owned());
            };
            let bytes = self.source(if matches!(bytes, Operand::Integer(_)) { U32 } else { U64 }, bytes)?;
            return Ok(format!("std::memset({}, 0, {bytes})", self.address(space, to, &bytes)?));
        }
        if words.take("async") {
            return Err(NOT_THERE.to_owned());
        }
        let access = Access::of(words, &["weak", "volatile", "relaxed", "release"])?;
        let address = self.accessed(&access, operands.first())?;
        let values = listed(&access.elements(operands.get(1))?, |value| self.part(access.kind, value))?;
        let (name, order) = (access.kind.name(), order(access.order));
        Ok(if access.order == "weak" {
            format!("shim::ptx::store<{name}>({address}, {values})")
        } else {
            format!("shim::ptx::change<{name}, {}>({address}, {order}, {values})", access.for_all)
        })
    }

    pub(super) fn atomic(&self, opcode: &str, words: &mut Words, operands: &[Operand]) -> Found<String> {
        if words.take("async") {
            return Err(NOT_THERE.to_owned());
        }
        let access = Access::of(words, &["relaxed", "acquire", "release", "acq_rel"])?;
        let operation = words
            .one_of(&OPERATIONS)
            .or_else(|| words.one_of(&["exch", "cas"]))
            .ok_or("no operation is named")?;
        let _ = words.take("noftz");
        let (to, operands) = match operands.split_first() {
            Some((to, rest)) if opcode == "atom" => (access.elements(Some(to))?, rest),
            _ => (vec![Operand::Nowhere; access.extent], operands),
        };
        let address = self.accessed(&access, operands.first())?;
        let values = if operation == "cas" {
            operands.get(1..3).ok_or("two values are expected")?.to_vec()
        } else {
            access.elements(operands.get(1))?
        };
        let values = listed(&values, |value| self.source(access.kind, value))?;
        let places = listed(&to, |place| self.place(place))?;
        let (name, order) = (access.kind.name(), order(access.order));
        Ok(format!(
            "shim::ptx::atomic<{name}, {}>(shim::ptx::{operation}_word{{}}, {address}, {order}, \
             shim::ptx::values<{name}>({values}), {places})",
            access.for_all
        ))
    }

    /// The place of an access.
    fn accessed(&self, access: &Access<'_>, operand: Option<&Operand>) -> Found<String> {
        let bytes = format!("{} * sizeof({})", access.extent, access.kind.name());
        self.address(access.space, operand.ok_or("an address is missing")?, &bytes)
    }

    /// `cp.async`, of words and in bulk.
    pub(super) fn copy(&self, words: &mut Words, operands: &[Operand]) -> Found<String> {
        if words.take("reduce") {
            return self.join(words, operands);
        }
        if !words.take("async") {
            return Err(NOT_THERE.to_owned());
        }
        if words.take("bulk") {
            return self.bulk(words, operands);
        }
        if words.take("commit_group") {
            return Ok("shim::copy_commit()".to_owned());
        }
        if words.take("wait_all") {
            return Ok("(shim::copy_commit(), shim::copy_wait(0))".to_owned());
        }
        if words.take("wait_group") {
            return Ok(format!(
                "shim::copy_wait({})",
                self.source(U32, operands.first().ok_or("no number")?)?
            ));
        }
        if words.take("mbarrier") {
            let counts = !words.take("noinc");
            let _ = (words.take("arrive"), space(words), words.last_type()?);
            let barrier = self.address("SHARED_OR_ANY", operands.first().ok_or("no address")?, "8")?;
            return Ok(format!("shim::ptx::arrive_after_copies<{counts}>({barrier})"));
        }
        let cache = words.one_of(&["ca", "cg"]).ok_or("`.ca` or `.cg` is missing")?;
        for word in ["shared::cta", "shared"] {
            let _ = words.take(word);
        }
        let _ = words.take("global");
        words.take_hints();
        let (to, from) = (operands.first().ok_or("no operands")?, operands.get(1).ok_or("no source")?);
        let bytes = self.source(U32, operands.get(2).ok_or("no size")?)?;
        // Either how many bytes are copied, the rest being zeros, or whether none is; a policy of the cache may follow.
        let copied = match operands.get(3) {
            None => bytes.clone(),
            Some(Operand::Register(name)) if self.is_predicate(name) => {
                format!("({} ? 0u : {bytes})", self.source(Type::Predicate, &operands[3])?)
            }
            Some(size) => format!("shim::ptx::size_of_copy({bytes}, {})", self.bits(U32, size)?),
        };
        let to = self.address("SHARED", to, &bytes)?;
        let from = self.address("GLOBAL", from, "0")?;
        Ok(format!("shim::ptx::copy<{}>({to}, {from}, {bytes}, {copied})", cache == "cg"))
    }

    fn is_predicate(&self, name: &str) -> bool {
        self.scopes
            .iter()
            .rev()
            .find_map(|scope| scope.get(name))
            .is_some_and(|(_, kind)| *kind == Type::Predicate)
    }

    /// `cp.reduce.async.bulk`.
    fn join(&self, words: &mut Words, operands: &[Operand]) -> Found<String> {
        if !words.take("async") || !words.take("bulk") || words.take("tensor") {
            return Err(NOT_THERE.to_owned());
        }
        words.take_hints();
        if (words.next(), words.next()) != (Some("global"), Some("shared::cta")) {
            return Err(NOT_THERE.to_owned());
        }
        let kind = words.last_type()?;
        let operation = words.one_of(&OPERATIONS).ok_or("no operation is named")?;
        let _ = words.take("noftz");
        let (text, kind) = (self.stored(words, operands)?, kind.name());
        Ok(format!("shim::bulk_store({text}, shim::ptx::join<{kind}, shim::ptx::{operation}_word>)"))
    }

    /// The arguments of a bulk copy out of shared memory.
    fn stored(&self, words: &mut Words, operands: &[Operand]) -> Found<String> {
        if !words.take("bulk_group") {
            return Err("`.bulk_group` is missing".to_owned());
        }
        let [to, from, bytes, ..] = operands else { return Err("too few operands".to_owned()) };
        let bytes = self.source(U32, bytes)?;
        let to = self.address("GLOBAL", to, "0")?;
        Ok(format!("{to}, {}, {bytes}", self.address("SHARED", from, &bytes)?))
    }

    fn bulk(&self, words: &mut Words, operands: &[Operand]) -> Found<String> {
        if words.take("commit_group") {
            return Ok("shim::bulk_commit()".to_owned());
        }
        if words.take("wait_group") {
            let only_read = words.take("read");
            let groups = self.source(U32, operands.first().ok_or("no number")?)?;
            return Ok(format!("shim::bulk_wait({groups}, {only_read})"));
        }
        if words.take("prefetch") {
            while let Some(word) = words.next() {
                if word == "tensor" {
                    return Err(NOT_THERE.to_owned());
                }
            }
            return Ok("(void)0".to_owned());
        }
        for word in ["tensor", "multicast::cluster"] {
            if words.take(word) {
                return Err(NOT_THERE.to_owned());
            }
        }
        words.take_hints();
        let [to, from, bytes, rest @ ..] = operands else { return Err("too few operands".to_owned()) };
        let bytes = self.source(U32, bytes)?;
        match (words.next(), words.next()) {
            (Some("shared::cluster" | "shared::cta"), Some("global")) => {
                if !words.take("mbarrier::complete_tx::bytes") {
                    return Err("`.mbarrier::complete_tx::bytes` is missing".to_owned());
                }
                let to = self.address("SHARED", to, &bytes)?;
                let from = self.address("GLOBAL", from, "0")?;
                let barrier = self.address("SHARED", rest.first().ok_or("no mbarrier")?, "8")?;
                Ok(format!("shim::ptx::bulk_load({to}, {from}, {bytes}, {barrier})"))
            }
            (Some("global"), Some("shared::cta")) => {
                Ok(format!("shim::bulk_store({})", self.stored(words, operands)?))
            }
            _ => Err(NOT_THERE.to_owned()),
        }
    }

    /// `mbarrier`.
    pub(super) fn phases(&self, words: &mut Words, operands: &[Operand]) -> Found<String> {
        let what = words.next().ok_or("an operation is missing")?;
        if what == "pending_count" {
            return Err(NOT_THERE.to_owned());
        }
        let with = words.one_of(&["expect_tx"]);
        if words.take("noComplete") {
            return Err(NOT_THERE.to_owned());
        }
        let parity = words.take("parity");
        let order = words.one_of(&["acquire", "release", "relaxed"]);
        let relaxed = order == Some("relaxed");
        let _ = (words.one_of(&["cta", "cluster"]), words.take("nosleep"));
        let space = if space(words) == "SHARED" { "SHARED" } else { "SHARED_OR_ANY" };
        words.last_type()?;
        let returns = !matches!(operands.first(), Some(Operand::Address(..)) | None);
        let (to, operands) = if returns {
            operands.split_first().map(|(to, rest)| (Some(to), rest)).ok_or("no operands")?
        } else {
            (None, operands)
        };
        let (address, rest) = operands.split_first().ok_or("no address")?;
        let barrier = self.address(space, address, "8")?;
        let number =
            |at: usize| -> Found<String> { self.source(U32, rest.get(at).ok_or("a number is missing")?) };
        let release = if relaxed { "shim::Order{}" } else { "shim::RELEASES" };
        let acquire = if relaxed { "shim::Order{}" } else { "shim::ACQUIRES" };
        match (what, with) {
            ("init", None) => Ok(format!("shim::ptx::phases_begin({barrier}, {})", number(0)?)),
            ("inval", None) => Ok(format!("shim::ptx::phases_end({barrier})")),
            ("expect_tx", None) => Ok(format!("shim::ptx::expect({barrier}, {})", number(0)?)),
            ("complete_tx", None) => Ok(format!("shim::ptx::complete({barrier}, {})", number(0)?)),
            ("arrive" | "arrive_drop", _) => {
                let expected = if with.is_some() { number(0)? } else { "0u".to_owned() };
                let count = if with.is_none() && !rest.is_empty() { number(0)? } else { "1u".to_owned() };
                let value = format!("shim::ptx::{what}({barrier}, {count}, {expected}, {release})");
                to.map_or_else(|| Ok(format!("(void){value}")), |to| self.put(U64, to, &value))
            }
            ("test_wait" | "try_wait", None) => {
                let state = rest.first().ok_or("the state or the parity is missing")?;
                let value = if parity {
                    format!("shim::ptx::has_passed({barrier}, {}, {acquire})", self.source(U32, state)?)
                } else {
                    format!("shim::ptx::has_passed_since({barrier}, {}, {acquire})", self.source(U64, state)?)
                };
                to.map_or_else(|| Err("no predicate".to_owned()), |to| self.put(Type::Predicate, to, &value))
            }
            _ => Err(NOT_THERE.to_owned()),
        }
    }
}
