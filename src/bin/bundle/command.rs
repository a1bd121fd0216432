//! The command line as help, manual pages and completion see it: what the declarations of the arguments cannot say.

use clap::{Arg, CommandFactory as _, ValueHint};

use crate::args::Cli;

/// Where to read on; the flags for limits would fill every help text.
const LIMITS: &str =
    "The limits on what comes from outside, and the flags that raise them: `bundle help limits`";

/// What scripts look for, in the long help and the manual page of the whole tool.
const EXIT_CODES: &str = "Exit codes:
  0         done, or the answer is yes
  1         the answer is no
  2         usage
  3         not found
  4         not authorised
  5         network: unreachable, timed out, certificate not trusted
  6         the registry broke the protocol
  7         a digest or size does not match
  8         unsafe content
  9         over a limit
  10        refused by verification
  11        not a bundle, or invalid metadata or objects
  12        local I/O
  13        conflict: something exists and differs
  101       a fault of this tool
  130, 143  stopped by a signal
  141       the reader of stdout went away";

/// Returns the whole command line.
pub(crate) fn command() -> clap::Command {
    let command = Cli::command().mut_args(hint);
    let closing = command.get_after_help().cloned().unwrap_or_default();
    let command = command.after_long_help(format!("{closing}\n\n{EXIT_CODES}"));
    let names: Vec<String> = command
        .get_subcommands()
        .map(|sub| sub.get_name().to_owned())
        .collect();
    names.iter().fold(command, |command, name| {
        command.mut_subcommand(name, |sub| subcommand(name, sub))
    })
}

fn subcommand(name: &str, command: clap::Command) -> clap::Command {
    let command = command.mut_args(hint).mut_args(|arg| {
        let heading = arg.get_help_heading().unwrap_or_default();
        // They work, for whoever calls two commands with the same flags; here they have little or no meaning.
        let hide = match name {
            "inspect" => {
                let expected = ["package", "version", "operator_id"];
                heading == "Packing"
                    || heading == "Identity" && !expected.contains(&arg.get_id().as_str())
            }
            "list" | "login" => arg.get_id() == "concurrency",
            "logout" => heading == "Registry" && arg.get_id() != "registry-config",
            _ => false,
        };
        let arg = if hide { arg.hide(true) } else { arg };
        // The opposite of `--include` had this name; what `validate` ignores is findings.
        if arg.get_id() == "exclude" && name != "validate" {
            arg.alias("ignore")
        } else {
            arg
        }
    });
    if ["limits", "completion", "man", "version", "logout"].contains(&name) {
        return command;
    }
    let closing = match command.get_after_help() {
        Some(text) => format!("{text}\n\n{LIMITS}"),
        None => LIMITS.to_owned(),
    };
    command.after_help(closing)
}

/// Says what shells complete a value with: what it is called tells.
fn hint(arg: Arg) -> Arg {
    if !arg.get_action().takes_values() {
        return arg;
    }
    let name = arg
        .get_value_names()
        .and_then(|names| names.first())
        .map(ToString::to_string)
        .unwrap_or_default();
    let hint = match name.as_str() {
        "SRC" | "DST" | "REF" | "OUT" => ValueHint::AnyPath,
        // What is packed is a directory, or one file.
        "DIR" if arg.get_id() == "source" => ValueHint::AnyPath,
        "DIR" => ValueHint::DirPath,
        "FILE" => ValueHint::FilePath,
        _ => ValueHint::Other,
    };
    // Values that are listed one by one are completed from the list.
    arg.value_hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn help(name: &str) -> String {
        let mut command = command();
        command.build();
        let sub = command.find_subcommand_mut(name).unwrap();
        sub.render_long_help().to_string()
    }

    #[test]
    fn the_exit_codes_are_those_of_the_readme() {
        let readme = include_str!("../../../README.md");
        let (_, table) = readme.split_once("| code | meaning |").unwrap();
        let (table, _) = table.split_once("\n\n").unwrap();
        let codes: Vec<&str> = table
            .lines()
            .skip(2)
            .filter_map(|row| row.split('|').nth(1))
            .map(str::trim)
            .collect();
        let listed: Vec<&str> = EXIT_CODES
            .lines()
            .skip(1)
            .filter_map(|line| line.trim().split_once("  "))
            .map(|(code, _)| code)
            .collect();
        assert_eq!(listed, codes);
        let help = command().render_long_help().to_string();
        assert!(help.contains(EXIT_CODES), "{help}");
    }

    #[test]
    fn flags_stand_where_they_matter() {
        command().debug_assert();
        for (name, has, lacks) in [
            ("limits", "--max-unpacked", "--plain-http"),
            ("pack", "bundle help limits", "--max-"),
            ("pack", "--flatten", "--username"),
            ("pull", "bundle help limits", "--max-"),
            ("inspect", "--metadata-only", "--flatten"),
            ("inspect", "--plain-http", "--min-operator-version"),
            ("inspect", "--operator-id", "--mediatype"),
            ("pull", "--concurrency", "--flatten"),
            ("list", "--timeout", "--concurrency"),
            ("login", "--timeout", "--concurrency"),
            ("logout", "--registry-config", "--plain-http"),
        ] {
            let help = help(name);
            assert!(help.contains(has), "{name} lacks {has}: {help}");
            assert!(!help.contains(lacks), "{name} has {lacks}: {help}");
        }
    }
}
