//! `bundle completion`: scripts with which shells complete commands and flags.

use clap_complete::Shell;
use manifest_bundle::Result;
use serde_json::json;

use crate::command::command;
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
    clap_complete::generate(args.shell, &mut command(), "bundle", &mut script);
    let mut script = String::from_utf8_lossy(&script).trim_end().to_owned();
    if args.shell == Shell::Bash {
        script = positional_files(&script);
    }
    let value = json!({ "shell": args.shell.to_string(), "script": script });
    let mut answer = Answer::new(script, value);
    answer.verbatim = true;
    Ok(answer)
}

/// Tells whether the words behind a command are commands again, as in `channel add`.
fn has_commands(name: &str) -> bool {
    let command = command();
    command
        .find_subcommand(name)
        .is_some_and(clap::Command::has_subcommands)
}

/// Lets bash complete arguments with files, where a flag is not begun, and leaves out what no help text shows.
///
/// An empty answer makes bash look for files itself.
fn positional_files(script: &str) -> String {
    const FLAGS: &str = "COMPREPLY=( $(compgen -W \"${opts}\" -- \"${cur}\") )";
    let mut takes_files = false;
    let mut behind_condition = false;
    let lines = script.lines().map(|line| {
        let (indent, text) = line.split_at(line.len().saturating_sub(line.trim_start().len()));
        if let Some(name) = text.strip_prefix("bundle__subcmd__")
            && let Some(name) = name.strip_suffix(')')
        {
            takes_files = !name.starts_with("help") && name != "completion" && !has_commands(name);
        }
        let line = match text
            .strip_prefix("opts=\"")
            .and_then(|rest| rest.strip_suffix('"'))
        {
            Some(words) => {
                let kept: Vec<&str> = words
                    .split(' ')
                    .filter(|word| !word.starts_with("--max-") && !word.starts_with(['<', '[']))
                    .collect();
                format!("{indent}opts=\"{}\"", kept.join(" "))
            }
            None if takes_files && text == FLAGS && !behind_condition => {
                format!("{indent}COMPREPLY=()")
            }
            None if takes_files => {
                let asked = line.split_once(" || ${COMP_CWORD} -eq ");
                let asked =
                    asked.and_then(|(before, rest)| Some((before, rest.split_once(" ]]")?.1)));
                match asked {
                    Some((before, after)) => format!("{before} ]]{after}"),
                    None => line.to_owned(),
                }
            }
            None => line.to_owned(),
        };
        behind_condition = text.starts_with("if ");
        line
    });
    lines.collect::<Vec<_>>().join("\n")
}
