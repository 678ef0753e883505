//! Verdicts are the same, to the last word and in the same order, however many threads judge a program.

use std::num::NonZeroUsize;

use megakernel_ir::model::Program;
use megakernel_ir::read;
use megakernel_reference::validate::{Classes, Threads, Verdict, validate_in_threads};
use megakernel_test_support::{files, part, root};

use crate::programs;

/// Something wrong all over the program, so that many rules are broken in every part of it.
type Damage = (&'static str, fn(&mut Program<'_>));

const DAMAGES: [Damage; 10] = [
    ("is as it was", |_| {}),
    ("waits for nothing", |p| p.tasks.iter_mut().for_each(|task| task.waits.clear())),
    ("waits for one of each", |p| {
        p.tasks.iter_mut().flat_map(|task| &mut task.waits).for_each(|wait| wait.threshold = 1);
    }),
    ("waits for too many", |p| {
        p.tasks.iter_mut().flat_map(|task| &mut task.waits).for_each(|wait| wait.threshold += 100);
    }),
    ("is reversed", |p| p.tasks.reverse()),
    ("is reversed on two SMs", |p| {
        p.tasks.reverse();
        for (index, task) in p.tasks.iter_mut().enumerate() {
            task.id = index as i64;
            task.sm = Some(index as i64 % 2);
        }
    }),
    ("refers to what is not there", |p| {
        for task in &mut p.tasks {
            task.inputs.iter_mut().for_each(|id| *id += 10_000_000);
            task.out_counter = -1;
        }
    }),
    ("has lost its parameters", |p| p.tasks.iter_mut().for_each(|task| task.params.0.clear())),
    ("has other shapes", |p| p.buffers.iter_mut().for_each(|buffer| buffer.shape.push(1))),
    ("has everything on one page", |p| {
        if let Some(pages) = &mut p.pages {
            pages.buffer_to_page.0.iter_mut().for_each(|entry| entry.1 = 0);
        }
    }),
];

fn judge(program: &Program<'_>, threads: usize) -> Verdict {
    let threads = Threads::exactly(NonZeroUsize::new(threads).expect("not zero"));
    validate_in_threads(program, Classes::ALL, threads)
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let programs = files::json_in(&root().join("corpus/programs"));
    let corpus = part::one_in(7, programs.iter()).map(|path| files::bytes(path));
    let large = [
        programs::decoder::program(1_500),
        programs::random::program(1_500, 3),
        programs::paged::program(1_500),
    ];
    let (mut rejected, mut flooded) = (0, 0);
    for bytes in corpus.chain(large.map(String::into_bytes)) {
        let program = read(&bytes).expect("it reads");
        for (what, damage) in DAMAGES {
            let mut damaged = program.clone();
            damage(&mut damaged);
            let alone = judge(&damaged, 1);
            rejected += usize::from(!alone.accepts());
            flooded += usize::from(!alone.suppressed.is_empty());
            for threads in [2, 3, 7] {
                let together = judge(&damaged, threads);
                let name = &program.tasks.len();
                assert_eq!(
                    together.diagnostics, alone.diagnostics,
                    "{name} tasks; {what}; {threads} threads"
                );
                assert_eq!(together.suppressed, alone.suppressed, "{name} tasks; {what}; {threads} threads");
            }
        }
    }
    assert!(rejected > 200 && flooded > 20, "{rejected} rejected, {flooded} with more than is kept");
}
