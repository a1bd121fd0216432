//! The `bundle` command: parses the call, runs it, prints the answer, exits with the code of the contract.

mod args;
mod command;
mod commands;
mod habits;
mod interrupt;
mod output;
mod report;
mod sarif;
mod settings;
mod stdin;
mod talk;
mod terminal;

use std::process::ExitCode;

use clap::FromArgMatches as _;

use args::Cli;
use talk::Talk;

fn main() -> ExitCode {
    interrupt::survive_full_files();
    let cli = match parse() {
        Ok(cli) => cli,
        Err(error) => return report::usage(error, wants_machine_format()),
    };
    let format = cli.common.format;
    let talk = Talk::new(&cli.common);
    match commands::run(cli, &talk) {
        Ok(answer) => {
            talk.release();
            output::print(&answer, format)
        }
        Err(error) => report::failure(&error, format, &talk.held()),
    }
}

/// Tells whether arguments that could not be parsed ask for an answer for machines.
fn wants_machine_format() -> bool {
    let arguments: Vec<String> = std::env::args_os()
        .map(|argument| argument.to_string_lossy().into_owned())
        .take_while(|argument| argument != "--")
        .collect();
    let is_machine = |format: &str| ["json", "yaml", "sarif"].contains(&format);
    let after = arguments.iter().skip(1).map(String::as_str);
    arguments
        .iter()
        .zip(after)
        .any(|(flag, value)| flag == "--format" && is_machine(value))
        || arguments
            .iter()
            .any(|argument| argument.strip_prefix("--format=").is_some_and(is_machine))
}

/// Parses the arguments; linked as `kubectl-bundle`, help texts say `kubectl bundle`.
fn parse() -> Result<Cli, clap::Error> {
    let mut arguments = std::env::args_os().peekable();
    let name = arguments.peek().map(std::path::PathBuf::from);
    let is_plugin = name.is_some_and(|path| {
        path.file_stem()
            .is_some_and(|stem| stem == "kubectl-bundle")
    });
    let command = command::command();
    let mut command = if is_plugin {
        command.bin_name("kubectl bundle")
    } else {
        command
    };
    let matches = command.try_get_matches_from_mut(arguments)?;
    Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}
