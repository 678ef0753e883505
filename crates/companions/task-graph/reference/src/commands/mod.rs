//! The commands of task graphs.

mod bridge;
mod replay;
mod translate;
mod validate;

use megakernel_reference::commands::{Command, Companion, describe, options};

/// What this companion adds to the reference of programs.
pub static COMPANION: Companion = Companion {
    reference: || Box::new(crate::TaskGraphs),
    commands: COMMANDS,
    replay: Some(&replay::TaskGraphs),
};

const COMMANDS: &[Command] = &[
    Command {
        describe: || describe::<validate::Arguments>("validate-task-graph"),
        run: |matches, _| options(matches).map_or_else(|code| code, |options| validate::run(&options)),
    },
    Command {
        describe: || describe::<translate::Arguments>("translate"),
        run: |matches, _| options(matches).map_or_else(|code| code, |options| translate::run(&options)),
    },
    Command {
        describe: || describe::<translate::GenerateArguments>("generate-code"),
        run: |matches, _| {
            options(matches).map_or_else(|code| code, |options| translate::run_generate(&options))
        },
    },
    Command {
        describe: || describe::<bridge::ImportArguments>("import-task-graph"),
        run: |matches, _| options(matches).map_or_else(|code| code, |options| bridge::run_import(&options)),
    },
    Command {
        describe: || describe::<bridge::ExportArguments>("export-task-graph"),
        run: |matches, _| options(matches).map_or_else(|code| code, |options| bridge::run_export(&options)),
    },
];
