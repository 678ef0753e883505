//! EMBED, KV_APPEND and SAMPLE_ARGMAX with vocabularies, positions and rows as models have them.

use super::super::bench::{Bench, Spec, round};
use super::super::data::{Operand, Values, formula};
use super::elements::reals;
use super::{SIZES, at, draw, draws, empty, line, ordinary};
use crate::builder::{DType, Error, FLOATS, Result};
use megakernel_ir::formula::{Formula, Set, Term};
use megakernel_ir::rule::clause;

/// Numbers as they are drawn, so that hardly two places in a row hold the same.
fn telling(dtype: DType, shape: &[u64], seed: u64) -> Operand {
    ordinary(dtype, shape, 3, seed)
}

/// EMBED: ids beyond 2^17, more ids than 8 bits count, and rows beyond 4,096.
pub fn embed(b: &mut Bench) -> Result<()> {
    // Rows of the table, their length, and how many ids.
    let long: [(&str, u64, u64, u64); 6] = [
        ("vocabulary-131074", 131_074, 1, 300),
        ("vocabulary-151936", 151_936, 1, 260),
        ("vocabulary-152064", 152_064, 1, 517),
        ("hidden-4100", 5, 4100, 3),
        ("hidden-5121", 4, 5121, 3),
        ("hidden-8192", 3, 8192, 2),
    ];
    for (turn, (form, rows, width, count)) in long.into_iter().enumerate() {
        for pair in round(turn) {
            gathered(b, form, (rows, width), count, pair)?;
        }
    }
    let models: [(&str, u64, u64, u64); 5] = [
        ("vocabulary-257", 257, 66, 5),
        ("vocabulary-32000", 32_000, 3, 40),
        ("vocabulary-32771", 32_771, 2, 70),
        ("vocabulary-65540", 65_540, 2, 33),
        ("vocabulary-128256", 128_256, 2, 16),
    ];
    for ((form, rows, width, count), pair) in models.into_iter().zip(round(2)) {
        gathered(b, form, (rows, width), count, pair)?;
    }
    Ok(())
}

fn gathered(
    b: &mut Bench,
    form: &str,
    (rows, width): (u64, u64),
    count: u64,
    (from, to): (DType, DType),
) -> Result<()> {
    let table = telling(from, &[rows, width], b.formula_seed(&format!("{form}-{from}")));
    let mut ids = draws(DType::I32, &[count], (0, rows as i64 - 1), 0, b.formula_seed(form));
    // The last rows, and those that a narrower integer cannot tell from the first ones.
    let far = [rows - 1, rows - 2, 1 << 8, 1 << 15, 1 << 16, 1 << 17];
    let far = far.into_iter().filter(|id| *id < rows).zip(0..count.saturating_sub(1));
    ids.set.extend(far.map(|(id, place)| at(place, id as i64)));
    let picked = ids.integers().map_err(Error)?;
    let Values::Reals(held) = reals(&table)? else {
        return Err(Error(format!("{form}: a table of integers")));
    };
    let known =
        picked.iter().flat_map(|&id| held.iter().skip(id as usize * width as usize).take(width as usize));
    let known = Values::Reals(known.copied().collect());
    let shape = [count, width];
    let spec = Spec::new(form, SIZES, "ids as vocabularies have them, and rows as models have them")
        .inputs([formula(ids), table])
        .output(to, &shape)
        .param("hidden", width)
        .known(known);
    b.add_sampled(spec, &shape)
}

/// KV_APPEND: positions beyond 2^16, rows beyond 1,024 elements, and more sequences than a block may have threads.
pub fn kv_append(b: &mut Bench) -> Result<()> {
    // Shape of `new`, shape of the cache, position.
    let long: [(&str, &[u64], &[u64], u64); 10] = [
        ("position-65537", &[1, 1, 1], &[65_540, 1, 1], 65_537),
        ("position-66002", &[3, 1, 1], &[66_010, 1, 1], 66_002),
        ("position-65600", &[1, 1, 1], &[65_601, 1, 1], 65_600),
        ("row-8x160", &[1, 8, 160], &[3, 8, 160], 1),
        ("row-8x192", &[2, 8, 192], &[4, 8, 192], 2),
        ("row-5x256", &[1, 5, 256], &[3, 5, 256], 0),
        ("rows-260", &[260, 1, 3], &[300, 1, 3], 21),
        ("rows-300", &[300, 2, 2], &[301, 2, 2], 1),
        ("batch-260", &[260, 1, 2], &[260, 2, 1, 2], 1),
        ("rows-270", &[270, 1, 2], &[280, 1, 2], 5),
    ];
    for (turn, (form, new, cache, pos)) in long.into_iter().enumerate() {
        for pair in round(turn) {
            appended(b, form, (new, cache), pos, pair)?;
        }
    }
    let models: [(&str, &[u64], &[u64], u64); 6] = [
        ("position-257", &[1, 3, 80], &[260, 3, 80], 257),
        ("position-4097", &[1, 1, 5], &[4100, 1, 5], 4097),
        ("position-32769", &[1, 1, 2], &[32_772, 1, 2], 32_769),
        ("batch-70", &[70, 1, 3], &[70, 3, 1, 3], 2),
        ("position-131072", &[1, 1, 1], &[131_073, 1, 1], 131_072),
        ("row-8x128", &[1, 8, 128], &[2, 8, 128], 1),
    ];
    for ((form, new, cache, pos), pair) in models.into_iter().zip(round(2).chain(round(0))) {
        appended(b, form, (new, cache), pos, pair)?;
    }
    Ok(())
}

fn appended(
    b: &mut Bench,
    form: &str,
    (new, cache): (&[u64], &[u64]),
    pos: u64,
    (from, to): (DType, DType),
) -> Result<()> {
    let seed = |what: String| b.formula_seed(&format!("{form}-{what}"));
    let x = telling(from, new, seed(format!("{from}-new")));
    let held = telling(to, cache, seed(format!("{to}-held")));
    // The rows that are written, and their neighbours, are judged with the sample.
    let row: u64 = cache.iter().rev().take(2).product();
    let count = new.iter().product::<u64>() / row;
    let first = pos * row;
    let written = if cache.len() == 4 { row } else { count * row };
    let n: u64 = cache.iter().product();
    let mut places = super::sample(seed("sample".into()), cache).unwrap_or_else(|| (0..n).collect());
    places.extend(first.saturating_sub(2)..(first + 4).min(n));
    places.extend((first + written).saturating_sub(4)..(first + written + 3).min(n));
    places.extend((first + 64..first + written).step_by(61));
    places.sort_unstable();
    places.dedup();
    let (Values::Reals(rows), Values::Reals(before)) = (reals(&x)?, reals(&held)?) else {
        return Err(Error(format!("{form}: a cache of integers")));
    };
    let known = super::super::movement::appended(new, cache, pos as usize, &rows, &before);
    let spec = Spec::new(
        form,
        SIZES,
        "positions, rows and sequences as models have them; other rows keep what they hold",
    )
    .input(x)
    .cache(held)
    .param("pos", pos)
    .clause(clause::NUM_11)
    .clause(clause::NUM_13);
    b.add(spec.known(Values::Reals(known)).sampled(places))
}

/// SAMPLE_ARGMAX over vocabularies: one maximum at places that narrower integers cannot tell, the first of several equal
/// ones far apart, and more rows than 8 bits count.
pub fn argmax(b: &mut Bench) -> Result<()> {
    // Length of a row, and where its largest logits are; the first of them wins.
    let rows: [(&str, u64, &[u64]); 12] = [
        ("vocabulary-32000", 32_000, &[31_999]),
        ("vocabulary-32771", 32_771, &[32_768, 32_770]),
        ("vocabulary-50257", 50_257, &[50_256]),
        ("vocabulary-65537", 65_537, &[65_536]),
        ("vocabulary-128256", 128_256, &[128_255]),
        ("vocabulary-131075", 131_075, &[131_072, 131_074]),
        ("vocabulary-151936", 151_936, &[151_935]),
        ("vocabulary-152064", 152_064, &[152_000, 152_063]),
        ("ties-66000", 66_000, &[255, 256, 65_791, 65_792]),
        ("ties-132000", 132_000, &[131_073, 131_329]),
        ("ties-152064", 152_064, &[65_535, 65_536, 131_071]),
        ("ties-4100", 4100, &[1023, 1024, 4099]),
    ];
    for (turn, (form, width, tops)) in rows.into_iter().enumerate() {
        for &dtype in FLOATS.iter().cycle().skip(turn).take(2) {
            let most = if dtype == DType::F8E5M2 { 6 } else { 14 };
            let mut logits =
                draws(dtype, &[1, width], (-most, most), -1, b.formula_seed(&format!("{form}-{dtype}")));
            logits.set = tops.iter().map(|&top| at(top, most + 2)).collect();
            let known = tops.iter().take(1).map(|&top| top as i64).collect();
            let spec = Spec::new(
                form,
                SIZES,
                "the largest logit beyond what narrower integers count, or the first of several",
            )
            .input(formula(logits))
            .output(DType::I32, &[1])
            .known(Values::Ints(known));
            b.add(spec.clause(clause::NUM_13))?;
        }
    }
    for (form, count, width) in
        [("rows-300", 300_u64, 7_u64), ("rows-260", 260, 9), ("rows-70x1100", 70, 1100)]
    {
        for &dtype in FLOATS {
            // Row r has its largest logit at r modulo the width, and is otherwise below it.
            let noise = Term::Draw(draw(-6, 0, b.formula_seed(&format!("{form}-{dtype}"))));
            let tops = (0..width.min(count)).map(|r| Set {
                first: r * width + r,
                count: (count - r).div_ceil(width),
                stride: width * width,
                value: 2,
            });
            let logits = Formula {
                terms: vec![noise, line(-1, 0, 1, None)],
                set: tops.collect(),
                ..empty(dtype, &[count, width])
            };
            let known = (0..count).map(|r| (r % width) as i64).collect();
            let spec = Spec::new(form, SIZES, "more rows than 8 bits count")
                .input(formula(logits))
                .output(DType::I32, &[count])
                .known(Values::Ints(known));
            b.add(spec.clause(clause::NUM_13))?;
        }
    }
    Ok(())
}
