//! `megakernel-conform completion`.

use clap_complete::Shell;

use super::{Done, print};

/// Print what completes commands and options in a shell
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  megakernel-conform completion bash > ~/.local/share/bash-completion/completions/megakernel-conform
  megakernel-conform completion zsh > ~/.zfunc/_megakernel-conform
      where ~/.zfunc is a folder of `fpath`
  megakernel-conform completion fish > ~/.config/fish/completions/megakernel-conform.fish")]
pub struct Args {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Runs the command.
pub fn run(args: &Args, mut program: clap::Command) -> Done {
    let name = program.get_name().to_owned();
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut program, name, &mut script);
    print(script)?;
    Ok(0)
}
