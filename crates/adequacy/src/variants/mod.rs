//! Legitimate variants: implementations that differ from the plain one in what the clauses leave open. Every one
//! conforms, the truncating ones under the accumulator that they claim.

pub mod random;
mod steps;
pub mod style;

use crate::order::Order;
use crate::parts::Unwritten;
use random::Random;
use style::{Arithmetic, Exponential, Factors, Frequency, Nan, Passes, Quantised, Scaled, Style, Variance};

/// How many variants there are.
pub const COUNT: usize = 220;

/// A variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variant {
    /// From 0.
    pub number: usize,
    /// Its choices.
    pub style: Style,
}

impl Variant {
    /// What it does differently.
    pub fn summary(&self) -> String {
        let (style, plain) = (&self.style, &Style::PLAIN);
        let mut parts = Vec::new();
        let mut say = |differs: bool, text: String| {
            if differs {
                parts.push(text);
            }
        };
        say(style.order != plain.order, format!("sums {:?}", style.order));
        say(style.scalar_order != plain.scalar_order, format!("other sums {:?}", style.scalar_order));
        say(style.arithmetic != plain.arithmetic, format!("arithmetic {:?}", style.arithmetic));
        say(style.exponential != plain.exponential, format!("exponential {:?}", style.exponential));
        say(style.reciprocal, "division by reciprocal".to_owned());
        say(style.newton, "inverse root by a Newton step".to_owned());
        say(style.variance != plain.variance, format!("variance {:?}", style.variance));
        say(style.factors != plain.factors, format!("factors {:?}", style.factors));
        say(style.scaled_mean, "mean scaled before it is subtracted".to_owned());
        say(style.passes != plain.passes, format!("softmax {:?}", style.passes));
        say(style.quantised != plain.quantised, format!("quantised weights {:?}", style.quantised));
        say(style.scaled != plain.scaled, format!("scale on {:?}", style.scaled));
        say(style.divided_weights, "attention weights divided first".to_owned());
        say(style.skips, "rows of weight 0 skipped".to_owned());
        say(style.infinite_masks, "rows that a mask leaves out scored -inf".to_owned());
        say(style.multiplied, "equal shards multiplied by their number".to_owned());
        say(style.nan != plain.nan, format!("NaN {:?}", style.nan));
        say(style.unwritten != plain.unwritten, format!("unwritten buffers {:?}", style.unwritten));
        say(style.bias_first, "bias first".to_owned());
        say(style.complements, "erfc and sigmoid".to_owned());
        say(style.frequency != plain.frequency, format!("frequencies {:?}", style.frequency));
        let schedule = match style.schedule {
            u64::MAX => "last task first".to_owned(),
            Style::IN_TURN => "first and last task in turn".to_owned(),
            seed => format!("schedule {seed}"),
        };
        say(style.schedule != 0, schedule);
        if parts.is_empty() { "plain binary32".to_owned() } else { parts.join(", ") }
    }
}

/// The variant with this number; nothing from [`COUNT`] on.
pub fn variant(number: usize) -> Option<Variant> {
    all().into_iter().nth(number)
}

/// Every variant: first those that differ in one choice, then random mixtures.
pub fn all() -> Vec<Variant> {
    let mut styles = single();
    let mut seed = 0;
    while styles.len() < COUNT {
        seed += 1;
        let style = mixture(seed);
        if !styles.contains(&style) {
            styles.push(style);
        }
    }
    styles.into_iter().take(COUNT).enumerate().map(|(number, style)| Variant { number, style }).collect()
}

/// What is not plain.
const EXPONENTIALS: [Exponential; 6] = [
    Exponential::Base2,
    Exponential::Folded,
    Exponential::FoldedFused,
    Exponential::Wide,
    Exponential::Flushed,
    Exponential::Reduced,
];

/// Other NaN.
const NANS: [Nan; 3] = [Nan::Negative, Nan::Lowest, Nan::Ones];

/// What unwritten buffers hold that are not zeros.
const UNWRITTEN: [Unwritten; 2] = [Unwritten::Garbage, Unwritten::Last];

/// Plain, and plain but for one choice.
fn single() -> Vec<Style> {
    let plain = Style::PLAIN;
    let mut styles = vec![plain];
    let mut orders = vec![Order::Reversed, Order::Pairwise, Order::Kahan, Order::Wide];
    orders.extend([2, 4, 8, 16, 32, 64, 128, 256].map(Order::Lanes));
    orders.extend([2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 32, 48, 64].map(Order::Split));
    orders.extend([16, 32, 64, 128, 256, 512].map(Order::Tiles));
    orders.extend([1, 2, 3].map(Order::Shuffled));
    orders.extend([1, 2, 3].map(Order::Tree));
    styles.extend(orders.iter().map(|&order| Style { order, scalar_order: order, ..plain }));
    styles.extend([4, 8, 16, 32].map(|block| Style { order: Order::Truncating(block), ..plain }));
    styles.extend([Arithmetic::Fused, Arithmetic::Binary64].map(|arithmetic| Style { arithmetic, ..plain }));
    // Everything in binary64: the nearest that an implementation comes to the reference.
    let (order, arithmetic) = (Order::Wide, Arithmetic::Binary64);
    styles.push(Style { order, scalar_order: order, arithmetic, ..plain });
    styles.extend(EXPONENTIALS.map(|exponential| Style { exponential, ..plain }));
    styles.extend([1, 2, 8, 16, 32, 64].map(|length| Style { passes: Passes::Online(length), ..plain }));
    styles.extend([2, 3, 4].map(|pieces| Style { passes: Passes::Pieces(pieces), ..plain }));
    let quantised = [Quantised::ByGroup, Quantised::ShiftedByGroup];
    styles.extend(quantised.map(|quantised| Style { quantised, ..plain }));
    styles.push(Style { reciprocal: true, ..plain });
    styles.push(Style { newton: true, ..plain });
    let variances = [Variance::Welford, Variance::Merged(2), Variance::Merged(32)];
    styles.extend(variances.map(|variance| Style { variance, ..plain }));
    styles.extend([Factors::RowAndWeight, Factors::WeightFirst].map(|factors| Style { factors, ..plain }));
    let arithmetics = [Arithmetic::Binary32, Arithmetic::Fused];
    styles.extend(arithmetics.map(|arithmetic| Style { scaled_mean: true, arithmetic, ..plain }));
    styles.extend([Scaled::Query, Scaled::Key].map(|scaled| Style { scaled, ..plain }));
    styles.push(Style { divided_weights: true, ..plain });
    styles.push(Style { skips: true, ..plain });
    styles.push(Style { skips: true, exponential: Exponential::Flushed, ..plain });
    styles.push(Style { skips: true, infinite_masks: true, ..plain });
    styles.push(Style { skips: true, infinite_masks: true, passes: Passes::Online(16), ..plain });
    styles.push(Style { multiplied: true, ..plain });
    styles.extend(NANS.map(|nan| Style { nan, ..plain }));
    styles.extend(UNWRITTEN.map(|unwritten| Style { unwritten, ..plain }));
    // Lanes and tiles of more than a thousand terms.
    styles.extend([Order::Lanes(1024), Order::Tiles(4096)].map(|order| Style {
        order,
        scalar_order: order,
        ..plain
    }));
    styles.push(Style {
        quantised: Quantised::ByGroup,
        order: Order::Wide,
        arithmetic: Arithmetic::Fused,
        ..plain
    });
    styles.push(Style { bias_first: true, ..plain });
    styles.push(Style { complements: true, ..plain });
    let frequencies = [Frequency::Inverse, Frequency::Base2, Frequency::BaseE];
    styles.extend(frequencies.map(|frequency| Style { frequency, ..plain }));
    styles.extend([u64::MAX, Style::IN_TURN, 1, 2, 3, 4].map(|schedule| Style { schedule, ..plain }));
    styles
}

/// Every choice drawn at random.
fn mixture(seed: u64) -> Style {
    let mut random = Random::new(seed);
    let order = |random: &mut Random| match random.below(9) {
        0 => Order::Forward,
        1 => Order::Reversed,
        2 => Order::Pairwise,
        3 => Order::Kahan,
        4 => Order::Lanes(1 << random.below(9)),
        5 => Order::Split(2 + random.below(63) as usize),
        6 => Order::Tiles(1 << random.below(10)),
        7 => Order::Shuffled(1 + random.below(1 << 32)),
        _ => Order::Tree(1 + random.below(1 << 32)),
    };
    let main =
        if random.below(5) == 0 { Order::Truncating(4 << random.below(4)) } else { order(&mut random) };
    let passes = match random.below(3) {
        0 => Passes::Whole,
        1 => Passes::Online(1 << random.below(8)),
        _ => Passes::Pieces(2 + random.below(7) as usize),
    };
    Style {
        order: main,
        scalar_order: order(&mut random),
        arithmetic: random.pick(Arithmetic::Binary32, &[Arithmetic::Fused, Arithmetic::Binary64]),
        exponential: random.pick(Exponential::Library, &EXPONENTIALS),
        reciprocal: random.below(2) == 0,
        newton: random.below(2) == 0,
        variance: random
            .pick(Variance::TwoPass, &[Variance::Welford, Variance::Merged(4), Variance::Merged(32)]),
        factors: random.pick(Factors::RowFirst, &[Factors::RowAndWeight, Factors::WeightFirst]),
        passes,
        quantised: random.pick(Quantised::Expanded, &[Quantised::ByGroup, Quantised::ShiftedByGroup]),
        scaled: random.pick(Scaled::Score, &[Scaled::Query, Scaled::Key]),
        divided_weights: random.below(3) == 0,
        bias_first: random.below(2) == 0,
        complements: random.below(2) == 0,
        frequency: random.pick(Frequency::Power, &[Frequency::Inverse, Frequency::Base2, Frequency::BaseE]),
        schedule: random.below(1 << 32),
        scaled_mean: random.below(2) == 0,
        skips: random.below(2) == 0,
        infinite_masks: false,
        multiplied: random.below(2) == 0,
        nan: random.pick(Nan::Quiet, &NANS),
        unwritten: random.pick(Unwritten::Zeros, &UNWRITTEN),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_so_many_and_all_differ() {
        let all = all();
        assert_eq!(all.len(), COUNT);
        for (number, variant) in all.iter().enumerate() {
            assert_eq!(variant.number, number);
            assert!(all.iter().take(number).all(|other| other.style != variant.style));
        }
        assert!(all.iter().filter(|variant| variant.style.truncates()).count() >= 10);
        assert_eq!(variant(COUNT), None);
    }

    #[test]
    fn the_summary_names_every_choice() {
        assert_eq!(all().first().map(Variant::summary), Some("plain binary32".to_owned()));
        let last = all().last().map(Variant::summary).unwrap_or_default();
        assert!(last.contains("sums") && last.contains("schedule"), "{last}");
    }
}
