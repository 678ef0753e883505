//! Operators as the task types of MPK take them: queries, keys and values of all heads from one product, their attention one operator with a cache, the products of
//! what heads attend to one product of all of them, and gate and up beside each other.
//!
//! Products of the same value, whose weights stand one above the other, are one product; so is a sum of products without a rounding, with the weights beside
//! each other. What cannot be said in this way is refused.

mod products;

use std::collections::HashSet;

use serde_json::{Value as Json, json};

use super::{APPEND_K, APPEND_V, CACHED, HALVES, Operator};

/// A region, by its label, and why its operators are none of MPK's.
pub(super) type Refusal = (Json, String);

/// The tensors of a kernel graph that are put together of weights, and their parts.
pub(super) type Tensors = Vec<Json>;

/// Merges operators.
pub(super) fn merged(
    all: Vec<Operator>,
    buffers: &mut Vec<Json>,
    binding: &Json,
) -> Result<(Vec<Operator>, Tensors), Refusal> {
    let all = all.into_iter().map(|one| vec![one]).collect();
    let mut merging = Merging { all, buffers, binding, tensors: Vec::new() };
    let places = |merging: &Merging<'_>, op: &str| -> Vec<usize> {
        (0..merging.all.len()).filter(|&place| merging.at(place).is_some_and(|one| one.op == op)).collect()
    };
    let mut layers: Vec<Vec<Head>> = Vec::new();
    for place in places(&merging, "ATTENTION_TILE") {
        let head = merging.head(place)?;
        match layers.iter_mut().find(|heads| heads.iter().any(|other| other.x == head.x)) {
            Some(heads) => heads.push(head),
            None => layers.push(vec![head]),
        }
    }
    for heads in layers {
        merging.attention(heads)?;
    }
    for place in places(&merging, "SILU_MUL") {
        merging.gate(place)?;
    }
    Ok((merging.all.into_iter().flatten().collect(), merging.tensors))
}

/// A product of two operands: its place, what it reads, its weight, and what it writes.
#[derive(Clone, Copy)]
struct Product {
    place: usize,
    x: usize,
    weight: usize,
    out: usize,
}

/// The attention of one head of queries.
struct Head {
    place: usize,
    x: usize,
    /// Products of queries, keys and values.
    parts: [Product; 3],
    /// Copies of keys and values.
    copies: Vec<usize>,
    out: usize,
    depth: i64,
    scale: Json,
}

struct Merging<'b> {
    /// By the place of an operator of the sequence, what stands there now.
    all: Vec<Vec<Operator>>,
    buffers: &'b mut Vec<Json>,
    binding: &'b Json,
    tensors: Tensors,
}

impl Merging<'_> {
    fn at(&self, place: usize) -> Option<&Operator> {
        self.all.get(place)?.first()
    }

    fn region(&self, place: usize) -> Json {
        self.at(place).map(|one| one.region.clone()).unwrap_or_default()
    }

    fn refused<T>(&self, place: usize, reason: impl Into<String>) -> Result<T, Refusal> {
        Err((self.region(place), reason.into()))
    }

    fn member(&self, buffer: usize, name: &str) -> &Json {
        self.buffers.get(buffer).map_or(&Json::Null, |buffer| &buffer[name])
    }

    fn name(&self, buffer: usize) -> &str {
        self.member(buffer, "name").as_str().unwrap_or_default()
    }

    fn shape(&self, buffer: usize) -> Vec<i64> {
        self.member(buffer, "shape").as_array().into_iter().flatten().filter_map(Json::as_i64).collect()
    }

    fn names(&self, buffers: &[usize]) -> String {
        let all: Vec<&str> = buffers.iter().map(|&buffer| self.name(buffer)).collect();
        all.join(" ")
    }

    fn buffer(&mut self, name: &str, like: usize, shape: &[i64]) -> usize {
        let dtype = self.member(like, "dtype").clone();
        self.buffers.push(json!({"name": name, "dtype": dtype, "shape": shape}));
        self.buffers.len() - 1
    }

    fn writer(&self, buffer: usize) -> Option<usize> {
        (0..self.all.len()).find(|&place| self.at(place).is_some_and(|one| one.out == buffer))
    }

    /// Whether nobody but these operators reads what is no output of the document.
    fn is_for(&self, buffer: usize, readers: &[usize]) -> bool {
        let reads = |place: &usize| self.at(*place).is_some_and(|one| one.ins.contains(&buffer));
        self.member(buffer, "kind") != "IO_OUTPUT"
            && (0..self.all.len()).filter(reads).all(|place| readers.contains(&place))
    }

    /// The product at a place.
    fn product_at(&self, place: usize) -> Option<Product> {
        let one = self.at(place)?;
        let &[x, weight] = one.ins.as_slice() else { return None };
        let is_product = ["GEMM_TILE", "GEMV_TILE"].contains(&one.op);
        is_product.then_some(Product { place, x, weight, out: one.out })
    }

    /// The product that writes a buffer, and the copies on the way.
    fn product_of(&self, mut buffer: usize, copies: &mut Vec<usize>) -> Option<Product> {
        loop {
            let place = self.writer(buffer)?;
            let one = self.at(place)?;
            match (one.op, one.ins.as_slice()) {
                // No operator reads what it or a later one writes, so that this ends.
                ("COPY", &[from]) if self.member(from, "dtype") == self.member(buffer, "dtype") => {
                    copies.push(place);
                    buffer = from;
                }
                _ => return self.product_at(place),
            }
        }
    }

    fn head(&self, place: usize) -> Result<Head, Refusal> {
        let Some(one) = self.at(place) else { return self.refused(place, "no operator") };
        let name = self.name(one.out);
        let &[q, k, v, ref mask @ ..] = one.ins.as_slice() else {
            return self.refused(place, format!("`{name}` is an attention without queries, keys and values"));
        };
        let mut copies = Vec::new();
        let mut parts = Vec::with_capacity(3);
        for operand in [q, k, v] {
            let Some(product) = self.product_of(operand, &mut copies) else {
                return self.refused(
                    place,
                    format!(
                        "`{name}` attends with `{}`, which no product writes; task type 116 takes queries, keys and values as a product writes them",
                        self.name(operand)
                    ),
                );
            };
            parts.push(product);
        }
        let Ok(parts) = <[Product; 3]>::try_from(parts) else {
            return self.refused(place, "an attention has three operands");
        };
        let [queries, keys, values] = parts.map(|part| self.shape(part.out));
        let (Some(&[rows, depth]), true) =
            (queries.first_chunk::<2>(), queries.len() == 2 && queries == keys && queries == values)
        else {
            return self.refused(
                place,
                format!(
                    "`{name}` has queries of shape {queries:?}, keys of {keys:?} and values of {values:?}; task type 116 takes rows of one length, one of each for a token"
                ),
            );
        };
        let x = parts[0].x;
        if parts.iter().any(|part| part.x != x) {
            return self.refused(
                place,
                format!(
                    "queries, keys and values of `{name}` are products of more than one value; task type 116 takes those of one product"
                ),
            );
        }
        let kept = mask.first().map(|&mask| &self.binding[self.name(mask)]["values"]);
        let is_causal = match kept {
            None => rows == 1,
            Some(kept) => (0..rows).all(|row| {
                (0..rows).all(|key| {
                    let at = usize::try_from(row * rows + key).unwrap_or(usize::MAX);
                    kept.get(at).and_then(Json::as_u64) == Some(u64::from(key <= row))
                })
            }),
        };
        if !is_causal || one.params["n_heads"] != json!(rows) {
            return self.refused(
                place,
                format!(
                    "`{name}` has another mask than the causal one; in task type 116 a token meets itself and those before it"
                ),
            );
        }
        Ok(Head { place, x, parts, copies, out: one.out, depth, scale: one.params["scale"].clone() })
    }

    /// All heads of a layer: one product, which writes the heads of queries, their keys and values, and then those of the next keys; and one attention.
    fn attention(&mut self, heads: Vec<Head>) -> Result<(), Refusal> {
        let Some(last) = heads.last() else { return Ok(()) };
        let (place, depth, scale) = (last.place, last.depth, last.scale.clone());
        if heads.iter().any(|head| head.depth != depth || head.scale != scale) {
            return self.refused(
                place,
                "heads of one layer have more than one length or scale, and task type 116 has one of each",
            );
        }
        let mut groups: Vec<Vec<&Head>> = Vec::new();
        for head in &heads {
            let keys = |head: &Head| [head.parts[1].place, head.parts[2].place];
            match groups.iter_mut().find(|group| keys(group[0]) == keys(head)) {
                Some(group) => group.push(head),
                None => groups.push(vec![head]),
            }
        }
        let each = groups.first().map_or(0, Vec::len);
        let mut parts: Vec<Product> = Vec::new();
        for group in &groups {
            parts.extend(group.iter().map(|head| head.parts[0]));
            parts.extend(group.first().into_iter().flat_map(|head| [head.parts[1], head.parts[2]]));
        }
        let mut seen = HashSet::new();
        if groups.iter().any(|group| group.len() != each) || !parts.iter().all(|part| seen.insert(part.place))
        {
            return self.refused(
                place,
                "heads of keys and values are shared by more heads of queries here than there, or by each other; task type 116 has as many for each",
            );
        }
        let mut readers: Vec<usize> = heads.iter().map(|head| head.place).collect();
        readers.extend(heads.iter().flat_map(|head| head.copies.iter().copied()));
        let copied: Vec<usize> = heads.iter().flat_map(|head| &head.copies).copied().collect();
        let made = copied.iter().filter_map(|&copy| self.at(copy)).map(|copy| copy.out);
        let made: Vec<usize> = made.chain(parts.iter().map(|part| part.out)).collect();
        if let Some(&other) = made.iter().find(|&&buffer| !self.is_for(buffer, &readers)) {
            return self.refused(
                place,
                format!(
                    "`{}` is no matter of its attention alone, and task type 116 takes all of it",
                    self.name(other)
                ),
            );
        }
        let order: Vec<(usize, usize)> = groups.iter().flatten().map(|head| (head.place, head.out)).collect();
        let outs: Vec<usize> = order.iter().map(|&(_, out)| out).collect();
        let attended = match outs.as_slice() {
            &[out] => out,
            _ => self.beside(&order, depth)?,
        };
        let first = parts.iter().map(|part| part.place).min().unwrap_or(place);
        let x = self.stacked(first, &parts)?;
        let name = self.name(attended).to_owned();
        let rows = self.shape(x).first().copied().unwrap_or(1);
        let [keys, values] =
            ["keys", "values"].map(|what| self.buffer(&format!("{what} of {name}"), x, &[rows, depth]));
        let [k_cache, v_cache] = ["keys", "values"].map(|what| format!("cache of {what} of {name}"));
        let region = self.region(place);
        let params = |effects: Json| json!({"head_dim": depth, "scale": scale, "effects": effects});
        let writes = |cache: &str| params(json!({"flags": ["cache"], "writes": [cache]}));
        let reads = params(json!({"flags": ["cache"], "reads": [k_cache, v_cache]}));
        let one = |op, params, ins: &[usize], out| Operator {
            op,
            params,
            region: region.clone(),
            ins: ins.to_vec(),
            out,
        };
        readers.into_iter().for_each(|place| self.take(place));
        if let Some(here) = self.all.get_mut(place) {
            here.push(one(APPEND_K, writes(&k_cache), &[x], keys));
            here.push(one(APPEND_V, writes(&v_cache), &[x], values));
            here.push(one(CACHED, reads, &[x, keys, values], attended));
        }
        Ok(())
    }

    fn take(&mut self, place: usize) {
        self.all.get_mut(place).into_iter().for_each(Vec::clear);
    }

    /// Adds an operator without parameters to those of a place.
    fn put(&mut self, place: usize, op: &'static str, region: Json, ins: Vec<usize>, out: usize) {
        if let Some(here) = self.all.get_mut(place) {
            here.push(Operator { op, params: json!({}), region, ins, out });
        }
    }

    /// Gate and up as one product, in the halves of whose rows SILU_MUL finds them.
    fn gate(&mut self, place: usize) -> Result<(), Refusal> {
        let Some(one) = self.at(place) else { return Ok(()) };
        let (out, region) = (one.out, one.region.clone());
        let products: Vec<Product> = one
            .ins
            .iter()
            .filter(|&&operand| self.is_for(operand, &[place]))
            .filter_map(|&operand| self.product_at(self.writer(operand)?))
            .collect();
        let [gate, up] = products.as_slice() else {
            return self.refused(
                place,
                format!(
                    "`{}` is not of two products that nobody else reads; task type 118 takes gate and up as one product writes them",
                    self.name(out)
                ),
            );
        };
        if gate.x != up.x || gate.place == up.place {
            return self.refused(
                place,
                format!("gate and up of `{}` are not two products of one value; task type 118 takes them from one", self.name(out)),
            );
        }
        let made = self.stacked(gate.place.min(up.place), &products)?;
        self.take(place);
        self.put(place, HALVES, region, vec![made], out);
        Ok(())
    }
}
