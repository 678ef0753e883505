//! Documents that are accepted, and what they compute.

use megakernel_corpus::builder::Result;
use megakernel_corpus::families::{Document, Library, Sink};
use megakernel_ir::prng::SplitMix64;
use serde_json::{Value, json};

use crate::bases;
use crate::build::Made;
use crate::expr::bits;
use crate::families::modules;
use crate::item::{cited, path};

/// The clauses that a document of the library shows.
fn clauses(name: &str) -> Vec<&'static str> {
    let mut clauses = vec!["COL-01", "COL-12", "COL-18"];
    clauses.extend(match name.split('-').next().unwrap_or_default() {
        "hierarchical" | "published" => ["COL-02", "COL-03", "COL-19"].as_slice(),
        "rank" | "in" => &["COL-11", "COL-13", "COL-04"],
        "template" => &["COL-05", "COL-06"],
        "all" | "reduce" => &["COL-16", "COL-17"],
        "broadcast" => &["COL-17", "COL-03"],
        "wide" | "casts" => &["COL-14", "COL-19"],
        "over" => &["COL-16"],
        "star" => &["COL-02"],
        _ => &["COL-04"],
    });
    clauses
}

fn push(sink: &mut Sink, name: &str, summary: &str, clauses: &[&str]) -> Result<()> {
    let expect = json!({"verdict": "accept", "warnings": []});
    let id = format!("{}/{name}", sink.family());
    let file = path(name);
    let document = Document::Edited(&file, &[]);
    sink.push_as("validate", id, summary, &["collectives"], &cited(clauses)?, &document, expect, None)
}

/// Every document of the library.
pub fn accepted(_: &Library, sink: &mut Sink) -> Result<()> {
    for made in bases::all() {
        push(sink, &made.name, &made.summary, &clauses(&made.name))?;
    }
    for (name, _) in modules::bases() {
        push(sink, &name, "a module that can be launched", &["COL-07", "COL-08", "COL-09"])?;
    }
    Ok(())
}

/// What the tiles hold at the beginning.
#[derive(Clone, Copy)]
enum Data {
    /// Small integers, whose sums are exact in any order: a number that is lost or doubled shows.
    Integers,
    /// Numbers whose sums depend on the order.
    Spread,
    /// Infinities, NaN, subnormal numbers, zeros of both signs, and the largest.
    Special,
    /// Zeros, all of them negative: so are their sums.
    Zeros,
}

impl Data {
    fn name(self) -> &'static str {
        match self {
            Data::Integers => "integers",
            Data::Spread => "spread",
            Data::Special => "special",
            Data::Zeros => "zeros",
        }
    }

    fn bits(self, draws: &mut SplitMix64, element: usize, position: usize) -> u32 {
        match self {
            // Integers of binary16 up to 31, of both signs.
            Data::Integers => {
                let magnitude = (element * 7 + position * 5) % 31 + 1;
                let number =
                    if (element + position).is_multiple_of(3) { -1.0 } else { 1.0 } * magnitude as f64;
                megakernel_numerics::encode(megakernel_numerics::DType::F16, number)
            }
            // Exponents of 15 to 26 of 31: from 1 to 4094, so that small ones are rounded away and large ones do not overflow.
            Data::Spread => {
                let [sign, exponent, fraction] = [2, 11, 1024].map(|below| draws.below(below));
                u32::try_from(sign << 15 | (15 + exponent) << 10 | fraction).unwrap_or(0)
            }
            Data::Zeros => 0x8000,
            Data::Special => {
                const BITS: [u32; 12] = [
                    0x0000, 0x8000, 0x0001, 0x8001, 0x03FF, 0x0400, 0x7BFF, 0xFBFF, 0x7C00, 0xFC00, 0x7E00,
                    0x3C00,
                ];
                draws.pick(&BITS).copied().unwrap_or(0)
            }
        }
    }
}

fn simulate(sink: &mut Sink, made: &Made, data: Data) -> Result<()> {
    let name = format!("{}-{}", made.name, data.name());
    let mut draws = sink.draws(&name);
    let tile = |element: usize| -> Vec<u32> {
        (0..made.n_elem()).map(|position| data.bits(&mut draws, element, position)).collect()
    };
    let tiles: Vec<Vec<u32>> = (0..made.elements()).map(tile).collect();
    let mut end = tiles.clone();
    for (held, parts) in end.iter_mut().zip(&made.results) {
        for (from, to, expr) in parts {
            for (position, held) in held.iter_mut().enumerate().take(*to).skip(*from) {
                *held = bits(expr, &|element| tiles.get(element).map_or(0, |tile| tile[position]));
            }
        }
    }
    let edit: [Value; 1] = [json!({"op": "add", "path": "/tiles", "value": tiles})];
    let file = path(&made.name);
    let document = Document::Edited(&file, &edit);
    let id = format!("{}/{name}", sink.family());
    let summary = format!("{}, run on {} numbers", made.summary, data.name());
    let expect = json!({"verdict": "accept", "document": {"tiles": end}});
    let clauses = cited(&["COL-20", "COL-14"])?;
    sink.push_as("simulate", id, &summary, &["collectives"], &clauses, &document, expect, None)
}

/// What documents of the library compute: all of them on numbers that depend on the order, small ones on others too.
pub fn simulated(_: &Library, sink: &mut Sink) -> Result<()> {
    for (number, made) in bases::all().iter().enumerate() {
        simulate(sink, made, Data::Spread)?;
        if made.elements() <= 9 && number % 2 == 0 {
            simulate(sink, made, Data::Special)?;
        }
        if made.elements() <= 9 && number % 9 == 4 {
            simulate(sink, made, Data::Zeros)?;
        }
        if made.elements() <= 16 && number % 2 == 1 {
            simulate(sink, made, Data::Integers)?;
        }
    }
    Ok(())
}

/// Devices that are connected by another cube than the middle one, and the same logs where it is that one.
pub fn linked(_: &Library, sink: &mut Sink) -> Result<()> {
    for made in bases::linked() {
        push(sink, &made.name, &made.summary, &["COL-02", "COL-03"])?;
        simulate(sink, &made, Data::Spread)?;
        let twin = format!("{}/{}", sink.family(), made.name);
        let summary = format!("{}, but the middle cube is connected", made.summary);
        let edit = [json!({"op": "remove", "path": "/topology/link_cube"})];
        let (file, id) = (path(&made.name), format!("{twin}-middle"));
        let expect = json!({"verdict": "reject", "rules": ["CS08"]});
        let document = Document::Edited(&file, &edit);
        let clauses = cited(&["CS08", "COL-02"])?;
        sink.push_as("validate", id, &summary, &["collectives"], &clauses, &document, expect, Some(twin))?;
    }
    Ok(())
}

/// Sums in binary32 that binary16 sums are not.
pub fn wide(_: &Library, sink: &mut Sink) -> Result<()> {
    for made in bases::wide() {
        push(sink, &made.name, &made.summary, &["COL-14"])?;
        simulate(sink, &made, Data::Spread)?;
    }
    Ok(())
}

/// Documents without tiles, which there is nothing to simulate with.
pub fn untold(_: &Library, sink: &mut Sink) -> Result<()> {
    for made in bases::all().iter().step_by(17) {
        let id = format!("{}/{}", sink.family(), made.name);
        let file = path(&made.name);
        let document = Document::Edited(&file, &[]);
        let summary = format!("{}, to be run on nothing", made.summary);
        let expect = json!({"verdict": "reject", "rules": ["CS15"]});
        let twin = Some(format!("collectives/accept/{}", made.name));
        sink.push_as(
            "simulate",
            id,
            &summary,
            &["collectives"],
            &cited(&["CS15"])?,
            &document,
            expect,
            twin,
        )?;
    }
    Ok(())
}
