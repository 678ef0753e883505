//! The commands of programs.

mod replay;
mod run;
mod validate;

use super::{Command, describe, options};

/// `validate`, `replay`, `draw` and `run`; the second and the third take documents of companions too.
pub const COMMANDS: &[Command] = &[
    Command {
        describe: || describe::<validate::Arguments>("validate"),
        run: |matches, companions| {
            options(matches).map_or_else(|code| code, |options| validate::run(&options, companions))
        },
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
        describe: || describe::<super::draw::Arguments>("draw"),
        run: |matches, companions| {
            options(matches)
                .map_or_else(|code| code, |options| super::draw::run(&options, &replay::Programs, companions))
        },
    },
    Command {
        describe: || describe::<run::Arguments>("run"),
        run: |matches, _| options(matches).map_or_else(|code| code, |options| run::run(&options)),
    },
];
