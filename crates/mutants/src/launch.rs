//! Whether a program fits its target (L rules), and what is probably a mistake (W rules).

use megakernel_ir::{CounterId, MemSpace, Opcode, Rule};

use crate::found::Found;
use crate::parameters::is_known;
use crate::program::{Program, Task};
use crate::steps::Steps;

/// The L rules.
pub fn judge(steps: &Steps, program: &Program, found: &Found<'_>) {
    let target = program.target.as_ref();
    let step = |name, right: bool, wrong: bool| steps.step(name, right, || wrong);
    if let Some(config) = &program.config {
        let smem = i128::from(config.smem);
        let optin = target.map(|target| target.int("smem_bytes_per_block_optin"));
        let within = |limit: Option<i128>| limit.is_none_or(|limit| smem <= limit);
        let good = smem >= 0 && within(optin);
        let good = step("smem-negative", good, within(optin));
        let good = step("smem-unbounded", good, smem >= 0);
        let good = step("smem-one-more", good, smem >= 0 && within(optin.map(|limit| limit + 1)));
        let good = step("smem-all-refused", good, smem >= 0 && within(optin.map(|limit| limit - 1)));
        let good = step("smem-of-zero-refused", good, good && smem > 0);
        let per_sm = target.map(|target| target.int("smem_bytes_per_sm"));
        let good = step("smem-of-the-whole-sm", good, smem >= 0 && within(per_sm));
        let good = step("smem-of-48-kib", good, (0..=48 << 10).contains(&smem));
        let good = step("smem-negative-without-target", good, good || target.is_none());
        found.require(Rule::L01, good);

        let threads = i128::from(config.threads);
        let most = target.map(|target| target.int("max_threads_per_sm"));
        let fits = |least: i128, limit: i128, most: Option<i128>| {
            threads >= least && threads <= limit && most.is_none_or(|most| threads <= most)
        };
        let good = fits(1, 1024, most);
        let good = step("threads-of-zero", good, fits(0, 1024, most));
        let good = step("threads-negative", good, fits(i128::MIN, 1024, most));
        let good = step("threads-of-1025", good, fits(1, 1025, most));
        let good = step("threads-without-limit", good, fits(1, i128::MAX, most));
        let good = step("threads-without-target", good, fits(1, 1024, None));
        let good = step("threads-of-1024-refused", good, fits(1, 1023, most));
        let good = step("threads-of-one-refused", good, fits(2, 1024, most));
        let good = step("threads-of-whole-warps", good, good && threads % 32 == 0);
        let good = step("threads-one-more-than-an-sm", good, fits(1, 1024, most.map(|most| most + 1)));
        let good = step("threads-of-an-sm-refused", good, fits(1, 1024, most.map(|most| most - 1)));
        let good =
            step("threads-beyond-1024-on-large-sms", good, most.map_or(good, |most| fits(1, most, None)));
        let good = step(
            "threads-limited-with-target-only",
            good,
            target.is_some() && good || target.is_none() && threads >= 1,
        );
        found.require(Rule::L02, good);

        let sms = target.map(|target| target.int("num_sms"));
        for (place, &(_, sm)) in config.assignment.iter().enumerate() {
            let sm = i128::from(sm);
            let below = |limit: Option<i128>| limit.is_none_or(|limit| sm < limit);
            let good = sm >= 0 && below(sms);
            let good = step("assignment-negative", good, below(sms));
            let good = step("assignment-negative-without-target", good, good || target.is_none());
            let good = step("assignment-one-too-far", good, sm >= 0 && below(sms.map(|sms| sms + 1)));
            let good = step("assignment-unbounded", good, sm >= 0);
            let good = step("assignment-last-refused", good, sm >= 0 && below(sms.map(|sms| sms - 1)));
            let good = step("assignment-first-refused", good, good && sm > 0);
            let largest = sm == i128::from(i64::MAX);
            let good = step("assignment-largest-refused", good, good && !largest);
            let good = step("assignment-first-entry-only", good, good || place > 0);
            let good = step("assignment-last-entry-only", good, good || place + 1 < config.assignment.len());
            found.require(Rule::L04, good);
        }
    }
    let good = target.is_none_or(|target| target.cooperative);
    let good = step("cooperative-with-config-only", good, good || program.config.is_none());
    let good = step("cooperative-without-config-only", good, good || program.config.is_some());
    let good = step("cooperative-turned", good, target.is_none_or(|target| !target.cooperative));
    let good = step("cooperative-with-tasks-only", good, good || program.tasks.is_empty());
    found.require(Rule::L03, good);
}

/// The W rules but W06, which reading finds.
pub fn warn(steps: &Steps, program: &Program, found: &Found<'_>) {
    let step = |name, right: bool, wrong: bool| steps.step(name, right, || wrong);
    for task in &program.tasks {
        for (key, _) in &task.params {
            let known = is_known(key);
            let known = step(
                "w01-by-any-case",
                known,
                known || ["k", "n", "m", "Eps", "Theta", "Scale"].contains(&key.as_str()),
            );
            let known = step("w01-not-of-nop", known, known || task.op == Opcode::Nop);
            let known = step("w01-of-short-names-passed-over", known, known || key.len() <= 2);
            let row = crate::opcodes::arity(task.op, task.param("qdtype").is_some());
            let used = key == "qdtype"
                || row.required.contains(&key.as_str())
                || row.optional.contains(&key.as_str());
            let known = step("w01-of-unused-keys", known, known && used);
            found.require(Rule::W01, known);
        }
    }
    if let (Some(target), Some(gpu)) = (&program.target, &program.gpu) {
        let good = *gpu == target.name;
        let good = step("w02-in-any-case", good, gpu.eq_ignore_ascii_case(&target.name));
        let good = step("w02-with-spaces", good, gpu.trim() == target.name.trim());
        let good =
            step("w02-of-a-part", good, target.name.contains(gpu.as_str()) || gpu.contains(&target.name));
        let good = step("w02-of-empty-labels-passed-over", good, good || gpu.is_empty());
        found.require(Rule::W02, good);
    }
    if program.target.is_none() && program.gpu.is_some() && steps.errs("w02-without-target") {
        found.report(Rule::W02);
    }
    for (id, buffer) in program.buffers_by_id() {
        let judged = buffer.space.is_on_chip();
        let judged = step("w03-of-smem-only", judged, buffer.space == MemSpace::Smem);
        let judged = step("w03-of-registers-only", judged, buffer.space == MemSpace::Register);
        let judged = step("w03-of-scratch", judged, buffer.space != MemSpace::Hbm);
        if judged {
            let unplaced = |keep: &dyn Fn(&Task) -> bool| {
                program.tasks.iter().any(|task| task.sm.is_none() && keep(task))
            };
            let warned = unplaced(&|task| task.uses(id));
            let warned = step("w03-of-readers-only", warned, unplaced(&|task| task.reads(id)));
            let warned = step("w03-of-writers-only", warned, unplaced(&|task| task.writes(id)));
            let all = program.tasks.iter().filter(|task| task.uses(id)).all(|task| task.sm.is_none());
            let warned = step("w03-if-all-are-unplaced", warned, warned && all);
            found.require(Rule::W03, !warned);
        }
        let used = |keep: &dyn Fn(&Task) -> bool| program.tasks.iter().any(keep);
        let good = used(&|task| task.uses(id));
        let good = step("w04-readers-only", good, used(&|task| task.reads(id)));
        let good = step("w04-writers-only", good, used(&|task| task.writes(id)));
        let paged = program.pages.as_ref().is_some_and(|pages| pages.hold(id));
        let good = step("w04-of-paged-passed-over", good, good || paged);
        // An output that nobody makes breaks S19.
        let good = match buffer.kind {
            megakernel_ir::BufferKind::IoOutput => good,
            kind => steps.step_of(["w04-of-kind-passed-over", kind.name(), ""], good, || true),
        };
        found.require(Rule::W04, good);
    }
    for id in CounterId::range(0..program.counters.len()) {
        let made = program.tasks.iter().any(|task| task.increments(id));
        let waited = program.tasks.iter().any(|task| task.waits_on(id));
        let good = made || waited;
        let good = step("w05-without-producer", good, made);
        let good = step("w05-without-waiter", good, waited);
        let good = step("w05-of-counter-0-passed-over", good, good || id == CounterId::at(0));
        let good = step("w05-without-tasks-passed-over", good, good || program.tasks.is_empty());
        found.require(Rule::W05, good);
    }
}
