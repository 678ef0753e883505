//! Attention: of one token over a cache, and of the tokens of a request over its pages.

use serde_json::{Map, Value};

use super::{Planner, number};
use crate::bridge::given::Request;
use crate::bridge::tensors::Area;
use crate::bridge::work::{Access, Attention, Work};

/// Whether the first new token is where the operator has it, if it says so: what was before it is a part of what it computes.
fn begins(params: &Map<String, Value>, position: i64) -> Result<(), String> {
    let Some(wanted) = params.get("position") else { return Ok(()) };
    if wanted.as_i64() == Some(position) {
        return Ok(());
    }
    Err(format!(
        "its operator has the position {wanted}, and the run {position}: it would attend to other tokens than the operator was made for; give \
         that position, or take `position` out of the parameters of the operator if any text may be before its tokens"
    ))
}

impl Planner<'_, '_> {
    /// Attention of one token over a cache of one sequence.
    pub(super) fn attention(&mut self, params: &Map<String, Value>) -> Result<Work, String> {
        self.attention_arity()?;
        let caches = [self.input(1, Access::Cache)?, self.input(2, Access::Cache)?];
        self.same_shape(caches[0], caches[1])?;
        let extents = self.area(caches[0]).extents();
        let [batch @ .., length, kv_heads, head_dim] = &extents[..] else {
            return Err(format!(
                "the caches have extents {extents:?}; required: positions, heads and elements"
            ));
        };
        begins(params, self.position)?;
        let (x, out) = (self.tile(0)?, self.tile_of("outputs", 0)?);
        if x.rows() != 1 || batch.iter().any(|&extent| extent != 1) {
            return Err(format!(
                "attention takes {} rows over a cache of extents {extents:?}; \
                 required: one token of one sequence, which is what ATTENTION_TILE attends from",
                x.rows()
            ));
        }
        let shared = self.shared(params, [*length, *kv_heads, *head_dim])?;
        let attention = Attention { pages: vec![caches], ..shared };
        Ok(Work::Attention(vec![self.token(attention, x, out)?]))
    }

    /// Attention of the new tokens of one request over the pages of its text, to which they are appended.
    pub(super) fn paged_attention(&mut self, params: &Map<String, Value>) -> Result<Work, String> {
        self.attention_arity()?;
        let (key_pages, value_pages) = (self.tile(1)?, self.tile(2)?);
        let (extents, others) = (key_pages.extents(), value_pages.extents());
        let (&[pages, length, kv_heads, head_dim], true) = (&extents[..], extents == others) else {
            return Err(format!(
                "the pages of keys have extents {extents:?} and those of values {others:?}; required: pages, positions, heads \
                 and elements, the same of both"
            ));
        };
        let (x, out) = (self.tile(0)?, self.tile_of("outputs", 0)?);
        let (first, request) = self.request(&x, &out)?;
        begins(params, request.position)?;
        let end = request.position + request.tokens;
        let needed = usize::try_from((end + length - 1) / length).unwrap_or(usize::MAX);
        let Some(list) = request.pages.get(..needed) else {
            return Err(format!(
                "its request has {} pages of {length} for {end} tokens; required: {needed}",
                request.pages.len()
            ));
        };
        if let Some(page) = list.iter().find(|&&page| page >= pages) {
            return Err(format!("its request has page {page}; required: one of the {pages} of the cache"));
        }
        let shared = self.shared(params, [length, kv_heads, head_dim])?;
        let mut caches = Vec::new();
        for &page in list {
            let mut cache = |input: usize, all: &Area| {
                let area = all.slice(0, all.interval(0)[0] + page, 1);
                let pointer = self.pointer("inputs", input);
                self.put(area, Access::Cache, pointer)
            };
            caches.push([cache(1, &key_pages), cache(2, &value_pages)]);
        }
        let mut tokens = Vec::new();
        for token in 0..request.tokens {
            let (row, position) = (first + token, request.position + token);
            let seen = usize::try_from(position / length + 1).unwrap_or(usize::MAX);
            let attention = Attention {
                pages: caches.get(..seen).unwrap_or_default().to_vec(),
                row: Some((row, position)),
                ..shared.clone()
            };
            let of = |area: &Area| area.slice(0, area.interval(0)[0] + row, 1);
            tokens.push(self.token(attention, of(&x), of(&out))?);
        }
        Ok(if tokens.is_empty() { Work::Nothing } else { Work::Attention(tokens) })
    }

    fn attention_arity(&self) -> Result<(), String> {
        let inputs = self.task.inputs().iter().filter(|tile| !tile.is_null()).count();
        if (3..=7).contains(&inputs) && self.task.outputs().len() == 1 {
            return Ok(());
        }
        Err(format!("attention has {inputs} inputs; required: 3 to 7, and one output"))
    }

    /// The request that the task names, and its first row in the batch.
    fn request(&self, x: &Area, out: &Area) -> Result<(i64, Request), String> {
        let requests = &self.run.requests;
        if requests.is_empty() {
            return Err(
                "it attends over the pages of a request, which are data: give the requests of the run"
                    .to_owned(),
            );
        }
        let rows: i64 = requests.iter().map(|request| request.tokens).sum();
        if x.axes != 2 || out.axes != 2 || [x.rows(), out.rows()] != [rows, rows] {
            return Err(format!(
                "the requests have {rows} new tokens, and the tiles {} rows; required: a row for each",
                x.rows()
            ));
        }
        let number = match self.task.request_id.0 {
            None if requests.len() == 1 => Some(0),
            number => number.and_then(|number| usize::try_from(number).ok()),
        };
        let found = number.and_then(|number| Some((number, requests.get(number)?)));
        let (number, request) = found.ok_or_else(|| {
            let of = self.task.request_id.0.map_or_else(|| "none".to_owned(), |id| id.to_string());
            format!("it is of request {of}, and {} are given", requests.len())
        })?;
        let first = requests.iter().take(number).map(|request| request.tokens).sum();
        Ok((first, request.clone()))
    }

    /// What all tokens of the task share: norms of heads, the rotation, the scale. The uses of rows are those of no token yet.
    fn shared(
        &mut self,
        params: &Map<String, Value>,
        [length, kv_heads, head_dim]: [i64; 3],
    ) -> Result<Attention, String> {
        let width = self.tile(0)?.width();
        let heads = width / head_dim - 2 * kv_heads;
        if width % head_dim != 0 || heads < 1 || heads % kv_heads != 0 {
            return Err(format!(
                "input 0 has {width} columns; required: q, k and v heads of {head_dim}, {kv_heads} of k and v, \
                 and a multiple of them of q"
            ));
        }
        for (name, found) in [("n_heads", heads), ("n_kv_heads", kv_heads), ("head_dim", head_dim)] {
            if params.get(name).is_some_and(|value| value.as_i64() != Some(found)) {
                return Err(format!("`{name}` of the operator is not {found}, which follows from the tiles"));
            }
        }
        let query_norm = self.optional(3)?;
        let key_norm = self.optional(4)?;
        for norm in [query_norm, key_norm].into_iter().flatten() {
            self.require(norm, head_dim, "the norm of heads has", "elements, the length of a head")?;
        }
        let eps = match query_norm.or(key_norm) {
            Some(_) => number(params, "eps")?,
            None => 0.0,
        };
        let theta = match (self.optional(5)?, self.optional(6)?) {
            (None, None) => None,
            (Some(_), Some(_)) => Some(number(params, "theta")?),
            _ => return Err("one of the two tables of the rotation is missing".to_owned()),
        };
        let scale = match params.get("scale") {
            Some(_) => number(params, "scale")?,
            None => (head_dim as f64).sqrt().recip(),
        };
        Ok(Attention {
            query: 0,
            key: 0,
            value: 0,
            pages: Vec::new(),
            row: None,
            query_norm,
            key_norm,
            eps,
            theta,
            scale,
            heads,
            kv_heads,
            head_dim,
            length,
            out: 0,
        })
    }

    /// The uses of one token: [q heads | k heads | v heads] of a row, and a row of the output.
    fn token(&mut self, attention: Attention, x: Area, out: Area) -> Result<Attention, String> {
        let [start, end] = x.columns();
        let keys = start + attention.heads * attention.head_dim;
        let values = keys + attention.kv_heads * attention.head_dim;
        let pointer = self.pointer("inputs", 0);
        let query = self.put(x.between(start, keys), Access::Read, pointer.clone());
        let key = self.put(x.between(keys, values), Access::Read, pointer.clone());
        let value = self.put(x.between(values, end), Access::Read, pointer);
        let out = self.put(out, Access::Write, self.pointer("outputs", 0));
        self.same_shape(query, out)?;
        Ok(Attention { query, key, value, out, ..attention })
    }
}
