//! `cargo xtask tidy`: what no compiler checks. Ids, cases and code agree; links lead somewhere; crates depend only on what they
//! may; generated code is up to date. The corpus is compared by `cargo xtask corpus check`, which generates it. Each check is a
//! function of data, so that its tests can break the data.

mod adequacy;
pub mod cases;
mod edges;
pub mod examples;
pub mod habits;
pub mod ids;
pub mod links;
mod opcodes;
pub mod tree;
pub mod vanished;
pub mod versions;

use std::path::Path;
use std::process::ExitCode;

use megakernel_codegen::spec::Spec;

use crate::records;

/// Check that specification, cases, code and documents agree
#[derive(clap::Args)]
pub struct Args {
    /// Leave out the checks that need the corpus (while a new rule has no cases yet)
    #[arg(long)]
    without_corpus: bool,
}

/// One check and what it found: every line names a place and what to do.
struct Check {
    name: &'static str,
    problems: Vec<String>,
    warnings: Vec<String>,
}

/// The command: 0 when no check found a problem, 1 otherwise.
pub fn run(root: &Path, args: &Args) -> ExitCode {
    let mut failed = 0;
    let mut out = String::new();
    for Check { name, problems, warnings } in check(root, args.without_corpus) {
        let verdict = if problems.is_empty() { "ok" } else { "FAILED" };
        out.push_str(&format!("tidy: {name} ... {verdict}\n"));
        warnings.iter().for_each(|warning| out.push_str(&format!("  warning: {warning}\n")));
        problems.iter().for_each(|problem| out.push_str(&format!("  error: {problem}\n")));
        failed += problems.len();
    }
    out.push_str(&format!("tidy: {failed} problems\n"));
    if let Err(error) = crate::print(&out) {
        eprintln!("error: {error}");
        return ExitCode::FAILURE;
    }
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn check(root: &Path, without_corpus: bool) -> Vec<Check> {
    let mut checks = Vec::new();
    let mut report = |name, found: Result<Vec<String>, String>| {
        checks.push(Check { name, problems: found.unwrap_or_else(|e| vec![e]), warnings: Vec::new() });
    };
    let spec = Spec::read(root).unwrap_or_else(|problem| Spec { problems: vec![problem], ..Spec::default() });
    let files = tree::Files::read(root);
    report("ids are well formed and unique", Ok(spec.problems.clone()));
    report(
        "ids that documents mention exist",
        files.as_ref().map(|f| ids::mentioned(&spec, f)).map_err(Clone::clone),
    );
    report("every rule is in the code", files.as_ref().map(|f| ids::in_code(&spec, f)).map_err(Clone::clone));
    let table = megakernel_codegen::opcodes::Table::read(root);
    report(
        "no opcode lacks a place",
        table.clone().and_then(|table| Ok(opcodes::lacking(&table, files.as_ref().map_err(Clone::clone)?))),
    );
    if !without_corpus {
        report("no case id has vanished", vanished::vanished(root));
        match cases::read(&root.join("corpus/cases")) {
            Ok(cases) => {
                report("every rule has its cases", Ok(ids::rule_cases(&spec, &cases)));
                report("every clause is cited or not testable", Ok(ids::clause_cases(&spec, &cases)));
                report("every opcode has cases", table.map(|table| opcodes::uncited(&table, &cases)));
                report("cases cite ids and twins that exist", Ok(ids::case_references(&spec, &cases)));
                let page = std::fs::read_to_string(root.join("spec/adequacy.md"));
                let page = page.map_err(|cause| format!("spec/adequacy.md: {cause}"));
                report(
                    "the adequacy page is of this corpus",
                    page.map(|page| adequacy::stale(&page, &cases)),
                );
            }
            Err(error) => report("the corpus can be read", Err(error)),
        }
        checks.push(evidence(root));
    }
    let mut report = |name, found: Result<Vec<String>, String>| {
        checks.push(Check { name, problems: found.unwrap_or_else(|e| vec![e]), warnings: Vec::new() });
    };
    report("generated code is up to date", megakernel_codegen::update(root, true).map(|_| Vec::new()));
    report(
        "versions in the text are those of the code",
        files.as_ref().map_err(Clone::clone).and_then(versions::unlike),
    );
    report(
        "examples in documents are what they show",
        files.as_ref().map(examples::broken).map_err(Clone::clone),
    );
    report("links lead somewhere", files.as_ref().map(links::broken).map_err(Clone::clone));
    report("crates depend on what they may", edges::read(root).map(|found| edges::forbidden(&found)));
    report("no machine paths", files.as_ref().map(tree::machine_paths).map_err(Clone::clone));
    report("no stubs and no ignored tests", files.as_ref().map(tree::stubs).map_err(Clone::clone));
    report("tests of minutes say so", files.as_ref().map(tree::unmarked_minutes).map_err(Clone::clone));
    report(
        "nothing leads out of the repository",
        files.as_ref().map(habits::paths_out).map_err(Clone::clone),
    );
    report(
        "no test is green because it was skipped",
        files.as_ref().map(habits::silent_skips).map_err(Clone::clone),
    );
    report("no merge is half done", files.as_ref().map(habits::merge_marks).map_err(Clone::clone));
    report("documentation has no tests", files.as_ref().map(habits::doc_tests).map_err(Clone::clone));
    report(
        "modules stand in their folders",
        files.as_ref().map(habits::modules_beside).map_err(Clone::clone),
    );
    checks.push(Check {
        name: "files are short",
        problems: files.as_ref().map(habits::long_sources).unwrap_or_default(),
        warnings: files.as_ref().map(habits::long_texts).unwrap_or_default(),
    });
    checks
}

/// Records under `evidence/` that are none. One that is stale is only a warning: corpus and kernels change from day to day, and
/// evidence is made anew for a release, whose gate insists on it.
fn evidence(root: &Path) -> Check {
    let name = "evidence can be read";
    let records = match records::read(root, &root.join("evidence"), None) {
        Ok(records) => records,
        Err(problem) => return Check { name, problems: vec![problem], warnings: Vec::new() },
    };
    let mut check = Check { name, problems: Vec::new(), warnings: Vec::new() };
    for (file, found) in records {
        check.problems.extend(found.problem.map(|problem| format!("evidence/{file}: {problem}")));
        let findings = found.stale.iter().map(|why| format!("stale: {why}")).chain(found.wrong);
        check.warnings.extend(findings.map(|what| format!("evidence/{file}: {what}")));
    }
    check
}
