//! `bundle completion`: scripts with which shells complete commands and flags.

use clap::CommandFactory as _;
use clap_complete::Shell;
use manifest_bundle::Result;
use serde_json::json;

use crate::args::Cli;
use crate::output::Answer;

/// Write a completion script for a shell
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  bundle completion bash > /etc/bash_completion.d/bundle")]
pub(crate) struct Args {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

#[expect(clippy::unnecessary_wraps, reason = "every command has this shape")]
pub(crate) fn run(args: &Args) -> Result<Answer> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "bundle", &mut script);
    let script = String::from_utf8_lossy(&script).trim_end().to_owned();
    let value = json!({ "shell": args.shell.to_string(), "script": script });
    let mut answer = Answer::new(script, value);
    answer.verbatim = true;
    Ok(answer)
}
