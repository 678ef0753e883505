//! The result as tables, and its page in the specification.

use std::fmt::Write;

use crate::faults::{self, Fault};
use megakernel_conformance::execution::Sizes;
use megakernel_ir::DType;

use super::{Column, LONG, Plan, Result, Tightness};

/// Cases that have to reject a fault, in each column where it can show.
pub const REQUIRED: usize = 3;

/// The columns of the kill table.
const COLUMNS: [(Column, &str); 7] = [
    (Some(DType::F32), "F32"),
    (Some(DType::F16), "F16"),
    (Some(DType::BF16), "BF16"),
    (Some(DType::F8E4M3), "F8E4M3"),
    (Some(DType::F8E5M2), "F8E5M2"),
    (Some(DType::I32), "I32"),
    (None, "any"),
];

/// Whether results in this dtype have a column of their own.
pub fn has_column(dtype: DType) -> bool {
    COLUMNS.iter().any(|(column, _)| *column == Some(dtype))
}

/// Where a fault has to be rejected.
fn required(fault: &Fault) -> Vec<Column> {
    if fault.is_of_launches() {
        return vec![None];
    }
    fault.outputs.iter().map(|&dtype| Some(dtype)).collect()
}

/// A fault that too few cases reject.
#[derive(Debug, PartialEq, Eq)]
pub struct Survivor {
    /// The fault.
    pub fault: &'static str,
    /// The column.
    pub column: &'static str,
    /// Of which cases.
    pub of: &'static str,
    /// How many cases reject it.
    pub count: usize,
}

/// Every fault with a column in which too few cases reject it.
pub fn survivors(faults: &[&'static Fault], result: &Result) -> Vec<Survivor> {
    let mut found = Vec::new();
    for fault in faults {
        let required = required(fault);
        for (column, name) in COLUMNS.iter().filter(|(column, _)| required.contains(column)) {
            let count = result.count(fault.id, *column);
            let long = OF_LONG_SUMS.contains(&fault.id);
            if long && long_count(result, fault.id, *column) < REQUIRED {
                let count = long_count(result, fault.id, *column);
                found.push(Survivor { fault: fault.id, column: name, of: "long sums", count });
            } else if count < REQUIRED {
                found.push(Survivor { fault: fault.id, column: name, of: "all", count });
            }
        }
    }
    found
}

/// Faults by output dtype, with the number of cases that reject each.
pub fn kill_table(faults: &[&'static Fault], result: &Result) -> String {
    let mut out = String::from("| fault | an implementation that |");
    COLUMNS.iter().for_each(|(_, name)| out.extend([" ", name, " |"]));
    out.push_str("\n| --- | --- |");
    out.push_str(&" ---: |".repeat(COLUMNS.len()));
    out.push('\n');
    for fault in faults {
        let _ = write!(out, "| `{}` | {} |", fault.id, fault.summary);
        let required = required(fault);
        for (column, _) in &COLUMNS {
            let count = result.count(fault.id, *column);
            let cell = match (required.contains(column), count) {
                (true, count) if count < REQUIRED => format!("**{count}**"),
                (false, 0) => "–".to_owned(),
                (_, count) => count.to_string(),
            };
            let _ = write!(out, " {cell} |");
        }
        out.push('\n');
    }
    out
}

/// What a long sum hides best: faults of the sum over K that show at any length.
const OF_LONG_SUMS: [&str; 12] = [
    "accumulator-bf16",
    "accumulator-fp16",
    "k-first-dropped",
    "k-last-dropped",
    "k-tile-dropped",
    "k-tile-missed",
    "k-tile-overlapping",
    "k-tile-repeated",
    "k-tile-stale-input",
    "k-tile-stale-weight",
    "partial-sums-bf16",
    "partial-sums-fp16",
];

/// The kill table of the longest sums.
pub fn long_table(result: &Result) -> String {
    let columns = COLUMNS.get(..5).unwrap_or_default();
    let mut out = format!("| fault, at K = {LONG} |");
    columns.iter().for_each(|(_, name)| out.extend([" ", name, " |"]));
    out.push_str("\n| --- |");
    out.push_str(&" ---: |".repeat(columns.len()));
    out.push('\n');
    for fault in OF_LONG_SUMS {
        let _ = write!(out, "| `{fault}` |");
        for (column, _) in columns {
            let _ = write!(out, " {} |", long_count(result, fault, *column));
        }
        out.push('\n');
    }
    out
}

fn long_count(result: &Result, fault: &str, column: Column) -> usize {
    result.long_kills.get(fault).and_then(|columns| columns.get(&column)).copied().unwrap_or_default()
}

/// Why some cells of the table are empty, one reason a line.
pub fn reasons(faults: &[&'static Fault]) -> String {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for fault in faults.iter().filter(|fault| !fault.why.is_empty()) {
        match reasons.iter_mut().find(|(why, _)| *why == fault.why) {
            Some((_, ids)) => ids.push(fault.id),
            None => reasons.push((fault.why, vec![fault.id])),
        }
    }
    let line = |(why, ids): (&str, Vec<&str>)| {
        let ids: Vec<String> = ids.iter().map(|id| format!("`{id}`")).collect();
        format!("- {}: {why}.\n", ids.join(", "))
    };
    reasons.into_iter().map(line).collect()
}

/// How far legitimate results are from their bounds, and how near wrong ones come.
pub fn tightness_table(result: &Result) -> String {
    let mut out = String::from(
        "| opcode | output | cases | largest legitimate error | smallest fault | which |\n\
         | --- | --- | ---: | ---: | ---: | --- |\n",
    );
    let (programs, opcodes): (Vec<_>, Vec<_>) =
        result.tightness.iter().partition(|((opcode, _), _)| opcode.is_none());
    for ((opcode, dtype), tightness) in opcodes.into_iter().chain(programs) {
        let Tightness { cases, legitimate, fault } = tightness;
        let opcode = opcode.map_or("programs of several", |opcode| opcode.name());
        let (smallest, which) = match fault {
            Some((worst, id)) => (number(*worst), format!("`{id}`")),
            None => ("–".to_owned(), "–".to_owned()),
        };
        let _ = writeln!(
            out,
            "| {opcode} | {dtype} | {cases} | {} | {smallest} | {which} |",
            number(*legitimate)
        );
    }
    out
}

/// What 16 bits count.
const SIXTEEN_BITS: u64 = 1 << 16;

/// How large what the cases compute with is, by opcode and axis; bold where it is beyond what 16 bits count.
pub fn sizes_table(plan: &Plan<'_>) -> String {
    let mut sizes = Sizes::default();
    for case in &plan.cases {
        sizes.extend(Sizes::of(plan.corpus, case));
    }
    let mut lines: Vec<(&str, Vec<String>)> = Vec::new();
    for (opcode, axis, extent) in sizes.rows() {
        let name = opcode.map_or("programs", |opcode| opcode.name());
        let cell =
            if extent > SIXTEEN_BITS { format!("{axis} **{extent}**") } else { format!("{axis} {extent}") };
        match lines.last_mut() {
            Some((last, cells)) if *last == name => cells.push(cell),
            _ => lines.push((name, vec![cell])),
        }
    }
    let mut out = String::from("| opcode | sizes up to |\n| --- | --- |\n");
    for (name, cells) in lines {
        let _ = writeln!(out, "| {name} | {} |", cells.join(", "));
    }
    out
}

/// Two digits, so that what a compiler does to the last bits of a result is not seen.
fn number(value: f64) -> String {
    match value {
        0.0 => "0".to_owned(),
        value if value.is_infinite() => "∞".to_owned(),
        value if value < 0.001 => "< 0.001".to_owned(),
        value if value < 10.0 => format!("{value:.2}"),
        value if value < 1e6 => format!("{value:.0}"),
        value => format!("{value:.0e}"),
    }
}

/// Where the page stands.
pub const DOCUMENT: &str = "spec/adequacy.md";

/// What the page says besides the tables, with places for them.
const PAGE: &str = include_str!("page.txt");

/// The page, with what the companions have to say on it.
pub fn page(plan: &Plan<'_>, result: &Result, companions: &str) -> String {
    let faults = &plan.faults;
    PAGE.replace("{faults}", &faults.len().to_string())
        .replace("{variants}", &plan.variants.len().to_string())
        .replace("{cases}", &plan.cases.len().to_string())
        .replace("{required}", &REQUIRED.to_string())
        .replace("{sizes}", sizes_table(plan).trim_end())
        .replace("{companions}", companions.trim_end())
        .replace("{kills}", kill_table(faults, result).trim_end())
        .replace("{long}", long_table(result).trim_end())
        .replace("{reasons}", reasons(faults).trim_end())
        .replace("{tightness}", tightness_table(result).trim_end())
}

/// All faults, as a plan without filter has them.
pub fn all_faults() -> Vec<&'static Fault> {
    faults::ALL.iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `cases` rejections of a fault at each of these columns.
    fn result(fault: &'static str, columns: &[(Column, usize)]) -> Result {
        let cases = |count| (0..count).map(|case| format!("case-{case}")).collect();
        let columns = columns.iter().map(|&(column, count)| (column, cases(count))).collect();
        Result { kills: [(fault, columns)].into(), ..Result::default() }
    }

    fn only(id: &str) -> Vec<&'static Fault> {
        faults::fault(id).into_iter().collect()
    }

    #[test]
    fn a_fault_survives_where_fewer_than_three_cases_reject_it() {
        let narrow = [DType::F16, DType::BF16, DType::F8E4M3];
        let mut columns: Vec<(Column, usize)> = narrow.map(|dtype| (Some(dtype), 3)).into();
        columns.push((Some(DType::F8E5M2), 2));
        let found = survivors(&only("cast-truncates"), &result("cast-truncates", &columns));
        let expected = Survivor { fault: "cast-truncates", column: "F8E5M2", of: "all", count: 2 };
        assert_eq!(found, [expected]);
    }

    #[test]
    fn a_fault_of_launches_counts_in_any_program() {
        let enough = result("counters-kept", &[(None, 3)]);
        assert_eq!(survivors(&only("counters-kept"), &enough), []);
        assert_eq!(survivors(&only("counters-kept"), &Result::default()).len(), 1);
    }

    #[test]
    fn long_sums_are_required_by_themselves() {
        let all = FLOATS.map(|dtype| (Some(dtype), 9));
        let found = survivors(&only("k-tile-dropped"), &result("k-tile-dropped", &all));
        assert_eq!(found.len(), FLOATS.len());
        assert!(found.iter().all(|survivor| survivor.of == "long sums" && survivor.count == 0));
    }

    const FLOATS: [DType; 5] = [DType::F32, DType::F16, DType::BF16, DType::F8E4M3, DType::F8E5M2];

    #[test]
    fn cells_say_what_falls_short_and_what_cannot_show() {
        let table = kill_table(&only("cast-fp16-saturates"), &result("", &[]));
        let row = table.lines().nth(2).unwrap_or_default();
        assert!(row.ends_with("| – | **0** | – | – | – | – | – |"), "{row}");
        assert!(reasons(&only("cast-fp16-saturates")).starts_with("- `cast-fp16-saturates`: "));
    }

    #[test]
    fn every_fault_of_long_sums_exists() {
        assert!(OF_LONG_SUMS.iter().all(|id| faults::fault(id).is_some()));
    }

    #[test]
    fn numbers_have_few_digits() {
        let shown = [0.0, 1e-7, 0.4567, 12.7, 3.2e9, f64::INFINITY].map(number);
        assert_eq!(shown, ["0", "< 0.001", "0.46", "13", "3e9", "∞"]);
    }
}
