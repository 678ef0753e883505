//! The commands of programs.

mod replay;
mod run;
mod validate;

use super::{Command, describe, options};

/// `validate`, `replay` and `run`; the second takes documents of companions too.
pub const COMMANDS: &[Command] = &[
    Command {
        describe: || describe::<validate::Arguments>("validate"),
        run: |matches, _| options(matches).map_or_else(|code| code, |options| validate::run(&options)),
    },
    Command {
        describe: || describe::<super::replay::Arguments>("replay"),
        run: |matches, companions| {
            options(matches).map_or_else(
                |code| code,
                |options| super::replay::run(&options, &replay::Programs, companions),
            )
        },
    },
    Command {
        describe: || describe::<run::Arguments>("run"),
        run: |matches, _| options(matches).map_or_else(|code| code, |options| run::run(&options)),
    },
];
