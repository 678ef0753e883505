//! Products in place of several: of the same value, or summed up.

use serde_json::{Value as Json, json};

use super::{Merging, Product, Refusal};

/// BF16, as tensors of kernel graphs have it.
const BF16: u32 = 941;

impl Merging<'_> {
    /// A weight that is put together of others, which are inputs that nobody else reads, of products that make elements of this dtype.
    fn weight(
        &mut self,
        parts: &[Product],
        made: &str,
        shape: [i64; 2],
        tensor: impl Fn(&str, &[String]) -> Json,
    ) -> Result<usize, Refusal> {
        let weights: Vec<usize> = parts.iter().map(|part| part.weight).collect();
        for part in parts {
            let name = self.name(part.weight);
            let is_input = self.binding[name].get("tensor").is_some() && self.writer(part.weight).is_none();
            if !is_input || !self.is_for(part.weight, &[part.place]) {
                return self.refused(
                    part.place,
                    format!(
                        "`{name}` is no weight of this product alone, and cannot be a part of another one"
                    ),
                );
            }
            let dtypes = [part.weight, part.x, part.out].map(|buffer| self.member(buffer, "dtype"));
            if dtypes != ["BF16", "BF16", made] {
                return self.refused(
                    part.place,
                    format!(
                        "the product with `{name}` takes {}, {} and makes {}; required: BF16, and {made}, which is what task types have there",
                        dtypes[0], dtypes[1], dtypes[2]
                    ),
                );
            }
        }
        let name = self.names(&weights);
        let names: Vec<String> = weights.iter().map(|&weight| self.name(weight).to_owned()).collect();
        let whole = self.buffer(&name, weights.first().copied().unwrap_or(0), &shape);
        self.tensors.push(tensor(&name, &names));
        Ok(whole)
    }

    /// One product in place of several of the same value: their weights one above the other, and their results beside each other.
    pub(super) fn stacked(&mut self, place: usize, parts: &[Product]) -> Result<usize, Refusal> {
        let Some(&Product { x, out, .. }) = parts.first() else {
            return self.refused(place, "no product");
        };
        let wide = |part: &Product| self.shape(part.weight).first().copied().unwrap_or(0);
        let rows: i64 = parts.iter().map(wide).sum();
        let depth = self.shape(x).last().copied().unwrap_or(1);
        for part in parts {
            let [name, shape] = ["name", "shape"].map(|member| self.member(part.weight, member).clone());
            self.tensors.push(json!({"name": name, "data_type": BF16, "dims": shape, "io": "torch"}));
        }
        let weight = self.weight(parts, "BF16", [rows, depth], |name, parts| {
            json!({"name": name, "data_type": BF16, "dims": [rows, depth], "io": "fused", "num_groups": 1, "parts": parts})
        })?;
        let outs: Vec<usize> = parts.iter().map(|part| part.out).collect();
        let count = self.shape(out).first().copied().unwrap_or(1);
        let made = self.buffer(&self.names(&outs), out, &[count, rows]);
        let region = self.region(place);
        parts.iter().for_each(|part| self.take(part.place));
        self.put(place, "GEMM_TILE", region, vec![x, weight], made);
        Ok(made)
    }

    /// What heads attend to, beside each other: the sum of their products is one product, whose weight has theirs beside each other.
    pub(super) fn beside(&mut self, heads: &[(usize, usize)], depth: i64) -> Result<usize, Refusal> {
        let mut products = Vec::with_capacity(heads.len());
        for &(place, out) in heads {
            let reader = (0..self.all.len()).find(|&reader| {
                self.product_at(reader).is_some_and(|product| product.x == out) && self.is_for(out, &[reader])
            });
            let Some(product) = reader.and_then(|reader| self.product_at(reader)) else {
                return self.refused(
                    place,
                    format!(
                        "`{}` is not what one product alone reads; task type 116 writes all heads beside each other",
                        self.name(out)
                    ),
                );
            };
            products.push(product);
        }
        let mut terms: Vec<usize> = products.iter().map(|product| product.out).collect();
        let mut sums = Vec::new();
        while let &[first, _, ..] = terms.as_slice() {
            let is_sum = |place: &usize| {
                self.at(*place).is_some_and(|one| {
                    one.op == "ADD"
                        && matches!(one.ins.as_slice(), [a, b] if a != b && terms.contains(a) && terms.contains(b))
                        && one.ins.iter().all(|&term| {
                            self.is_for(term, &[*place]) && self.member(term, "dtype") == "F32"
                        })
                })
            };
            let found = (0..self.all.len()).find(is_sum);
            let Some((place, sum)) = found.and_then(|place| Some((place, self.at(place)?))) else {
                let place = heads.last().map_or(0, |&(place, _)| place);
                return self.refused(
                    place,
                    format!(
                        "`{}` and the products of the other heads are not summed up in F32 and with nothing between; only such a sum is one product of all heads",
                        self.name(first)
                    ),
                );
            };
            terms.retain(|term| !sum.ins.contains(term));
            terms.push(sum.out);
            sums.push(place);
        }
        let (Some(&place), Some(&out)) = (sums.last(), terms.first()) else {
            return self.refused(heads.first().map_or(0, |&(place, _)| place), "one head");
        };
        let columns = depth * heads.len() as i64;
        let wide = self.shape(out).last().copied().unwrap_or(1);
        let weight = self.weight(&products, "F32", [wide, columns], |name, parts| {
            json!({"name": name, "data_type": BF16, "dims": [wide, columns], "io": "torch", "columns": parts})
        })?;
        let outs: Vec<usize> = heads.iter().map(|&(_, out)| out).collect();
        let first = outs.first().copied().unwrap_or(0);
        let count = self.shape(first).first().copied().unwrap_or(1);
        let attended = self.buffer(&self.names(&outs), first, &[count, columns]);
        let region = self.region(place);
        products.iter().for_each(|product| self.take(product.place));
        sums.into_iter().for_each(|place| self.take(place));
        self.put(place, "GEMM_TILE", region, vec![attended, weight], out);
        Ok(attended)
    }
}
