//! Plays the cases of the corpus to mutants of the reference: `megakernel-player CORPUS FILTER BUDGET JOBS MUTANTS`.
//!
//! A run without a mutant tells which mutants each case reaches, and where they have another value. Then each mutant is a process of
//! its own, which plays the cases in which it may make a difference, cheapest first, up to the first that rejects it. The last argument
//! is a file with a line for each mutant: id, file, and whether documents have to be read anew. The results are lines of JSON.

mod judge;
mod process;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::path::Path;

use judge::{Unit, Units};
use megakernel_conformance::store::{Corpus, Filter};
use process::{End, Processes};
use serde_json::json;

struct Mutant<'t> {
    id: u32,
    file: &'t str,
    reads: bool,
}

fn main() -> Result<(), String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [corpus, filter, budget, jobs, mutants] = arguments.as_slice() else {
        return Err("usage: megakernel-player CORPUS FILTER BUDGET JOBS MUTANTS".to_owned());
    };
    let number = |text: &String| text.parse::<u64>().map_err(|cause| format!("{text}: {cause}"));
    let (budget, jobs) = (number(budget)? * 1_000_000, number(jobs)?);
    let text = std::fs::read_to_string(mutants).map_err(|cause| format!("{mutants}: {cause}"))?;
    let mutants: Vec<Mutant<'_>> = text.lines().filter_map(mutant).collect();
    let corpus = Corpus::load(Path::new(corpus)).map_err(|cause| cause.to_string())?;
    let filter = Filter::new(filter)?;
    let units = Units::probe(&corpus, &filter)?;
    let total: u64 = units.all.iter().map(|unit| unit.micros).sum();
    println!("{}", json!({"units": units.all.len(), "seconds": total as f64 / 1e6}));

    let mut by_cost: Vec<usize> = (0..units.all.len()).collect();
    by_cost.sort_by_key(|&n| units.all[n].micros);
    let mut processes = Processes::new(jobs as usize);
    let mut killers: HashMap<&str, VecDeque<usize>> = HashMap::new();
    let mut under_way: BTreeMap<u32, (&Mutant<'_>, Vec<usize>)> = BTreeMap::new();
    let mut next = mutants.iter();
    loop {
        let started = if processes.has_room() { next.next() } else { None };
        if let Some(mutant) = started {
            let first = killers.get(mutant.file).into_iter().flatten().copied();
            let candidates = candidates(&units.all, first.collect(), &by_cost, mutant.id);
            processes.start(mutant.id, |report| play(mutant, &units, &candidates, budget, report));
            under_way.insert(mutant.id, (mutant, candidates));
            continue;
        }
        let Some((id, end)) = processes.wait() else { break };
        let Some((mutant, candidates)) = under_way.remove(&id) else { continue };
        let killer = candidates.get(end.played as usize).copied();
        if let (Some(killer), false) = (killer, end.survived()) {
            let killers = killers.entry(mutant.file).or_default();
            killers.retain(|&other| other != killer);
            killers.push_front(killer);
            killers.truncate(100);
        }
        report(&units, mutant, &candidates, killer, &end);
    }
    Ok(())
}

fn mutant(line: &str) -> Option<Mutant<'_>> {
    let mut words = line.split('\t');
    Some(Mutant { id: words.next()?.parse().ok()?, file: words.next()?, reads: words.next()? == "reads" })
}

/// The units in which a mutant may make a difference: the ones that rejected its neighbours, and the others, cheapest first.
fn candidates(units: &[Unit<'_>], first: Vec<usize>, by_cost: &[usize], id: u32) -> Vec<usize> {
    let others = by_cost.iter().copied().filter(|n| !first.contains(n));
    let others: Vec<usize> = others.collect();
    first.into_iter().chain(others).filter(|&n| units[n].differs(id)).collect()
}

/// In a process of its own.
fn play(mutant: &Mutant<'_>, units: &Units<'_>, candidates: &[usize], budget: u64, report: &process::Report) {
    let mut spent = 0;
    for (played, &n) in candidates.iter().enumerate() {
        let unit = &units.all[n];
        spent += unit.micros;
        if played > 0 && spent > budget {
            report.end(process::PART);
            return;
        }
        report.plays(played as u32);
        process::alarm(4 * unit.micros + 1_000_000);
        megakernel_active::activate(mutant.id);
        let judged = judge::judge(unit, mutant.reads);
        megakernel_active::activate(megakernel_active::NONE);
        match judged {
            Ok(other) => report.differs(other),
            Err(reason) => {
                report.end(process::REJECTED);
                report.say(&reason);
                return;
            }
        }
    }
    report.plays(candidates.len() as u32);
    report.end(process::SURVIVED);
}

fn report(units: &Units<'_>, mutant: &Mutant<'_>, candidates: &[usize], killer: Option<usize>, end: &End) {
    let status = match end.state {
        process::SURVIVED if units.reached(mutant.id) == 0 => "not reached",
        process::SURVIVED if candidates.is_empty() => "same value",
        process::SURVIVED => "survives",
        process::PART => "survives a part",
        _ => "rejected",
    };
    let killer = killer.filter(|_| status == "rejected").map(|n| &units.all[n]);
    let mut examples = candidates.iter().map(|&n| units.all[n].case.id.as_str()).collect::<Vec<_>>();
    examples.dedup();
    examples.truncate(5);
    let line = json!({
        "id": mutant.id,
        "status": status,
        "by": killer.map(|unit| &unit.case.id),
        "profile": killer.map(|unit| unit.profile.name()),
        "how": end.how,
        "other": judge::OTHERS.get(end.other as usize),
        "played": end.played,
        "cases": candidates.len(),
        "reached": units.reached(mutant.id),
        "examples": if status.starts_with("survives") { examples } else { Vec::new() },
    });
    println!("{line}");
}
