//! Reading a document in one pass over its text, so that a large one is never held as a tree of values. Whatever is not as the format says ends it: then
//! [`crate::decode`] says what is wrong.

use std::borrow::Cow;

use megakernel_ir::stream::{Names, Reader, once};

use crate::decode::Named;
use crate::document::{
    Along, Body, Boundary, Document, Dtype, Fold, Function, Index, Init, Lifetime, Mask, Memory, Node, Op,
    Operands, Region, Residency, Sizes, State, Stream, Target, Term, Terms, Tile, Update, Value, Waits,
};

/// Reads a text of a document that breaks none of the rules S01 to S05. Nothing where it breaks one, and of a text that is something else. Some documents
/// that break none are not read either, those with a member of a type of its own where the member counts for nothing: a tree tells.
pub fn read_text(text: &str) -> Option<Document> {
    let mut reader = Reader::new(text);
    let document = Records::default().document(&mut reader)?;
    reader.end()?;
    Some(document)
}

/// What is needed to read records.
#[derive(Default)]
struct Records<'t> {
    names: Names<'t>,
}

/// One of some names.
fn one_of<T: Copy>(reader: &mut Reader<'_>, all: &[T], name: fn(T) -> &'static str) -> Option<T> {
    let text = reader.string()?;
    all.iter().copied().find(|&one| name(one) == text)
}

/// The members of which it depends on `op` whether they count.
#[derive(Default)]
struct Members<'t> {
    at: Option<Vec<Index>>,
    version: Option<i64>,
    wait: Option<Waits>,
    function: Option<Cow<'t, str>>,
    by: Option<(i64, i64)>,
    along: Option<Along>,
    rows: Option<Index>,
    columns: Option<Index>,
    window: Option<Option<i64>>,
    axis: Option<i64>,
    /// Those that are something else than what counts.
    others: Vec<String>,
}

impl<'t> Records<'t> {
    fn document(&mut self, reader: &mut Reader<'t>) -> Option<Document> {
        let (mut values, mut inputs, mut outputs, mut regions) = (None, None, None, None);
        let (mut boundaries, mut residency, mut target) = (None, None, None);
        reader.object(|reader, member| match member {
            "values" => once(&mut values, self.values(reader)),
            "inputs" => once(&mut inputs, self.listed(reader)),
            "outputs" => once(&mut outputs, self.listed(reader)),
            "regions" => once(&mut regions, reader.list(|reader| self.region(reader))),
            "boundaries" => once(&mut boundaries, reader.list(|reader| self.boundary(reader))),
            "residency" => once(&mut residency, reader.list(|reader| self.residency(reader))),
            "target" => once(&mut target, self::target(reader)),
            _ => Some(false),
        })?;
        Some(Document {
            names: std::mem::take(&mut self.names).into_texts(),
            values: values?,
            inputs: inputs?,
            outputs: outputs?,
            regions: regions?,
            boundaries: boundaries.unwrap_or_default(),
            residency: residency.unwrap_or_default(),
            target: target.unwrap_or_default(),
        })
    }

    fn name(&mut self, reader: &mut Reader<'t>) -> Option<u32> {
        Some(self.names.number(reader.string()?))
    }

    fn operands(&mut self, reader: &mut Reader<'t>) -> Option<Operands> {
        reader.few(|reader| self.name(reader))
    }

    fn listed(&mut self, reader: &mut Reader<'t>) -> Option<Vec<u32>> {
        reader.list(|reader| self.name(reader))
    }

    /// Puts records in the order of their names; no name stands there twice.
    fn in_order<T>(&self, all: &mut [T], name: fn(&T) -> u32) -> Option<()> {
        let text = |one: &T| self.names.text(name(one));
        let is_in_order = |all: &[T]| all.windows(2).all(|pair| text(&pair[0]) < text(&pair[1]));
        if !is_in_order(all) {
            // What texts begin with decides mostly, and is at hand.
            all.sort_by_cached_key(|one| (beginning(text(one)), text(one)));
            return is_in_order(all).then_some(());
        }
        Some(())
    }

    fn values(&mut self, reader: &mut Reader<'t>) -> Option<Vec<Value>> {
        let mut all = Vec::new();
        reader.members(|reader, name| {
            let number = self.names.number(name);
            all.push(self.value(number, reader)?);
            Some(())
        })?;
        self.in_order(&mut all, |value| value.name)?;
        Some(all)
    }

    fn sizes(&mut self, reader: &mut Reader<'t>) -> Option<Sizes> {
        let mut all = Sizes::new();
        reader.members(|reader, name| {
            all.push((self.names.number(name), reader.integer()?));
            Some(())
        })?;
        self.in_order(&mut all, |&(axis, _)| axis)?;
        Some(all)
    }

    fn value(&mut self, name: u32, reader: &mut Reader<'t>) -> Option<Value> {
        let (mut shape, mut dtype, mut memory, mut buffers) = (None, None, None, None);
        reader.object(|reader, member| match member {
            "shape" => once(&mut shape, reader.few(Reader::integer)),
            "dtype" => once(&mut dtype, one_of(reader, Dtype::ALL, Dtype::name)),
            "residency" => once(&mut memory, one_of(reader, Memory::ALL, Memory::name)),
            "buffers" => once(&mut buffers, reader.integer()),
            _ => Some(false),
        })?;
        let buffers = buffers.unwrap_or(1);
        Some(Value { name, shape: shape?, dtype: dtype?, memory: memory?, buffers })
    }

    fn boundary(&mut self, reader: &mut Reader<'t>) -> Option<Boundary> {
        let (mut value, mut location) = (None, None);
        reader.object(|reader, member| match member {
            "value" => once(&mut value, self.name(reader)),
            "location" => once(&mut location, one_of(reader, &[Memory::Global], Memory::name)),
            _ => Some(false),
        })?;
        Some(Boundary { value: value? })
    }

    fn residency(&mut self, reader: &mut Reader<'t>) -> Option<Residency> {
        let (mut memory, mut values, mut lifetime) = (None, None, None);
        let on_chip = &[Memory::Shared, Memory::Register];
        reader.object(|reader, member| match member {
            "memory" => once(&mut memory, one_of(reader, on_chip, Memory::name)),
            "values" => once(&mut values, self.listed(reader)),
            "lifetime" => once(&mut lifetime, one_of(reader, Lifetime::ALL, Lifetime::name)),
            _ => Some(false),
        })?;
        Some(Residency { memory: memory?, values: values?, lifetime: lifetime? })
    }

    fn region(&mut self, reader: &mut Reader<'t>) -> Option<Region> {
        let (mut id, mut inputs, mut outputs, mut streaming) = (None, None, None, None);
        reader.object(|reader, member| match member {
            "id" => once(&mut id, self.name(reader)),
            "inputs" => once(&mut inputs, self.operands(reader)),
            "outputs" => once(&mut outputs, self.operands(reader)),
            "streaming" => once(&mut streaming, self.streaming(reader)),
            _ => Some(false),
        })?;
        let (stream, state, tile) = streaming?;
        Some(Region { id: id?, inputs: inputs?, outputs: outputs?, stream, state, tile })
    }

    fn streaming(&mut self, reader: &mut Reader<'t>) -> Option<(Option<Stream>, Vec<State>, Tile)> {
        let (mut stream, mut state, mut tile) = (None, None, None);
        reader.object(|reader, member| match member {
            "stream" => once(&mut stream, reader.nullable(|reader| self.stream(reader))),
            "state" => once(&mut state, reader.list(|reader| self.state(reader))),
            "tile" => once(&mut tile, self.tile(reader)),
            _ => Some(false),
        })?;
        Some((stream.flatten(), state.unwrap_or_default(), tile?))
    }

    fn stream(&mut self, reader: &mut Reader<'t>) -> Option<Stream> {
        let (mut axis, mut from, mut to) = (None, None, None);
        reader.object(|reader, member| match member {
            "axis" => once(&mut axis, self.name(reader)),
            "from" => once(&mut from, reader.few(|reader| self.index(reader))),
            "to" => once(&mut to, reader.few(|reader| self.index(reader))),
            _ => Some(false),
        })?;
        Some(Stream { axis: axis?, from: from.unwrap_or_default(), to: to? })
    }

    fn state(&mut self, reader: &mut Reader<'t>) -> Option<State> {
        let (mut value, mut init) = (None, None);
        reader.object(|reader, member| match member {
            "value" => once(&mut value, self.name(reader)),
            "init" => once(&mut init, self::init(reader)),
            _ => Some(false),
        })?;
        Some(State { value: value?, init: init? })
    }

    fn tile(&mut self, reader: &mut Reader<'t>) -> Option<Tile> {
        let (mut shape, mut blocks) = (None, None);
        let mut bodies = [None, None, None];
        reader.object(|reader, member| match member {
            "tile_shape" => once(&mut shape, self.sizes(reader)),
            "blocks" => once(&mut blocks, self.sizes(reader)),
            _ => match Body::ALL.iter().position(|body| body.name() == member) {
                Some(place) => once(&mut bodies[place], reader.list(|reader| self.node(reader))),
                None => Some(false),
            },
        })?;
        let bodies = bodies.map(Option::unwrap_or_default);
        Some(Tile { shape: shape?, blocks: blocks.unwrap_or_default(), bodies })
    }

    fn indices(&mut self, reader: &mut Reader<'t>) -> Option<Vec<Index>> {
        reader.list(|reader| self.index(reader))
    }

    fn index(&mut self, reader: &mut Reader<'t>) -> Option<Index> {
        if reader.peek()? == b'[' {
            let terms = reader.few(|reader| self.term(reader))?;
            return Some(Index { terms, is_array: true });
        }
        Some(Index { terms: Terms::from_iter([self.term(reader)?]), is_array: false })
    }

    fn term(&mut self, reader: &mut Reader<'t>) -> Option<Term> {
        match reader.peek()? {
            b'[' => {
                let (factor, axis) = reader.pair(Reader::integer, |reader| self.name(reader))?;
                Some(Term::Scaled(factor, axis))
            }
            b'"' => self.name(reader).map(Term::Axis),
            _ => reader.integer().map(Term::Number),
        }
    }

    fn node(&mut self, reader: &mut Reader<'t>) -> Option<Node> {
        let (mut id, mut op, mut ins, mut outs) = (None, None, None, None);
        let mut of = Members::default();
        reader.object(|reader, member| match member {
            "id" => once(&mut id, self.name(reader)),
            "op" => once(&mut op, reader.string()),
            "in" => once(&mut ins, self.operands(reader)),
            "out" => once(&mut outs, self.operands(reader)),
            _ => of.member(self, reader, member),
        })?;
        let op = of.op(&op?)?;
        Some(Node { id: id?, op, ins: ins.unwrap_or_default(), outs: outs.unwrap_or_default() })
    }

    fn wait(&mut self, reader: &mut Reader<'t>) -> Option<(u32, i64)> {
        reader.pair(|reader| self.name(reader), Reader::integer)
    }
}

impl<'t> Members<'t> {
    /// One more member. One that is not what counts is passed over, since it may be of another op; nothing where one stands there twice.
    fn member(&mut self, records: &mut Records<'t>, reader: &mut Reader<'t>, member: &str) -> Option<bool> {
        let before = reader.clone();
        let is_read = match member {
            "at" => put(&mut self.at, records.indices(reader)),
            "version" => put(&mut self.version, reader.integer()),
            "wait" => put(&mut self.wait, reader.few(|reader| records.wait(reader))),
            "fn" => put(&mut self.function, reader.string()),
            "by" => put(&mut self.by, reader.pair(Reader::integer, Reader::integer)),
            "along" => put(&mut self.along, one_of(reader, Along::ALL, Along::name)),
            "rows" => put(&mut self.rows, records.index(reader)),
            "columns" => put(&mut self.columns, records.index(reader)),
            "window" => put(&mut self.window, reader.nullable(Reader::integer)),
            "axis" => put(&mut self.axis, reader.integer()),
            _ => return Some(false),
        }?;
        if self.is_other(member) {
            return None;
        }
        if !is_read {
            self.others.push(member.to_owned());
            *reader = before;
        }
        Some(is_read)
    }

    fn is_other(&self, member: &str) -> bool {
        self.others.iter().any(|other| other == member)
    }

    /// What a node does, by its `op`.
    fn op(self, op: &str) -> Option<Op> {
        // Of those that need not be there; without the others there is nothing.
        let (along, window) = (self.is_other("along"), self.is_other("window"));
        let function = || self.function.as_deref();
        Some(match op {
            "LoadTile" => Op::LoadTile(self.at?),
            "StoreTile" => Op::StoreTile(self.at?),
            "Prefetch" => Op::Prefetch(self.at?, self.version?),
            "Barrier" => Op::Barrier(self.wait?),
            "Reduce" => {
                let fold = Fold::ALL.iter().find(|fold| Some(fold.name()) == function())?;
                Op::Reduce(*fold, self.axis?)
            }
            "UpdateState" => {
                Op::UpdateState(*Update::ALL.iter().find(|update| Some(update.name()) == function())?)
            }
            "Compute" => Op::Compute(match Named::of(function()?)? {
                Named::Matmul(transposed) => Function::Matmul(transposed),
                Named::Transpose => Function::Transpose,
                Named::Unary(unary) => Function::Unary(unary),
                Named::Scale => self.by.map(|(p, q)| Function::Scale(p, q))?,
                Named::Binary(_) if along => return None,
                Named::Mask if window => return None,
                Named::Binary(binary) => Function::Binary(binary, self.along),
                Named::Mask => {
                    let (rows, columns, window) = (self.rows?, self.columns?, self.window.flatten());
                    Function::Mask(Box::new(Mask { rows, columns, window }))
                }
            }),
            _ => return None,
        })
    }
}

/// Whether a member has such a value; nothing where it has one already.
fn put<T>(member: &mut Option<T>, value: Option<T>) -> Option<bool> {
    let is_read = value.is_some();
    let before = if is_read { std::mem::replace(member, value).is_some() } else { member.is_some() };
    (!before).then_some(is_read)
}

/// The first eight bytes of a text, as a number that is in the order of texts.
fn beginning(text: &str) -> u64 {
    let mut bytes = [0; 8];
    let count = text.len().min(8);
    bytes[..count].copy_from_slice(&text.as_bytes()[..count]);
    u64::from_be_bytes(bytes)
}

fn init(reader: &mut Reader<'_>) -> Option<Init> {
    if reader.peek()? != b'"' {
        return reader.integer().map(Init::Number);
    }
    match &*reader.string()? {
        "-inf" => Some(Init::Least),
        "inf" => Some(Init::Most),
        _ => None,
    }
}

fn target(reader: &mut Reader<'_>) -> Option<Target> {
    let (mut shared, mut register) = (None, None);
    reader.object(|reader, member| match member {
        "shared_bytes" => once(&mut shared, reader.nullable(Reader::integer)),
        "register_bytes" => once(&mut register, reader.nullable(Reader::integer)),
        _ => Some(false),
    })?;
    Some(Target { shared: shared.flatten(), register: register.flatten() })
}
