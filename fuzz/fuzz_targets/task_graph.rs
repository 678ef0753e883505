//! Task graphs and systems from any bytes: a verdict, never a panic; what is read is written again as it was; and a run for
//! each finding takes steps that exist.
#![no_main]

use libfuzzer_sys::fuzz_target;
use megakernel_ir::{Layout, write_record};
use megakernel_task_graph::{read_kernel_graph, read_system, read_task_graph, read_translation};
use megakernel_task_graph_reference::explore::{Machine, Setup, replay};
use megakernel_task_graph_reference::validate;

fuzz_target!(|bytes: &[u8]| {
    let verdict = validate(bytes);
    assert_eq!(verdict.accepts(), verdict.diagnostics.iter().all(|diagnostic| !diagnostic.is_error()));
    drop((read_kernel_graph(bytes), read_translation(bytes)));
    if let Ok(graph) = read_task_graph(bytes) {
        let text = write_record(&graph, Layout::Compact);
        let again = read_task_graph(text.as_bytes()).expect("what is written reads");
        assert_eq!(write_record(&again, Layout::Compact), text);
    }
    let setup = match (read_system(bytes), read_task_graph(bytes)) {
        (Ok(system), _) => Setup::new(&system),
        (_, Ok(graph)) => Setup::bare(&graph),
        _ => return,
    };
    let Ok(setup) = setup else { return };
    for diagnostic in &verdict.diagnostics {
        let Ok(run) = replay(&setup, diagnostic) else { continue };
        let mut machine = Machine::new(&setup, 3);
        for step in run.steps {
            machine.step(step).expect("a run takes steps that the semantics allow");
        }
    }
});
