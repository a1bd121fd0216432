//! A flag for each ceiling that can be raised.

use clap::Args;
use manifest_bundle::limits::{Ceiling, Limits};

/// One flag for each ceiling that can be raised: `--max-NAME N`; `bundle limits` lists them.
#[derive(Debug, Clone, Default)]
pub(crate) struct LimitArgs {
    pub(crate) limits: Limits,
}

impl Args for LimitArgs {
    fn augment_args(command: clap::Command) -> clap::Command {
        Ceiling::ALL
            .iter()
            .filter(|c| c.can_be_raised())
            .fold(command, |command, ceiling| {
                let name = flag(*ceiling);
                let help = format!(
                    "{} [default: {}]",
                    ceiling.about().trim_end_matches('.'),
                    ceiling.default_value()
                );
                command.arg(
                    clap::Arg::new(name)
                        .long(name)
                        .global(true)
                        .value_name("N")
                        .value_parser(amount)
                        .help(help)
                        .hide(true),
                )
            })
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        Self::augment_args(command)
    }
}

impl clap::FromArgMatches for LimitArgs {
    fn from_arg_matches(matches: &clap::ArgMatches) -> Result<Self, clap::Error> {
        let mut limits = Limits::default();
        for ceiling in Ceiling::ALL.iter().filter(|c| c.can_be_raised()) {
            if let Some(value) = matches.get_one::<u64>(flag(*ceiling)) {
                limits.set(*ceiling, *value);
            }
        }
        Ok(Self { limits })
    }

    fn update_from_arg_matches(&mut self, matches: &clap::ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Reads a ceiling: a number, or one with `Ki`, `Mi` or `Gi` behind it, as Kubernetes writes sizes.
fn amount(text: &str) -> Result<u64, String> {
    let cut = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at_checked(cut).unwrap_or((text, ""));
    let shift = match unit {
        "" => Some(0),
        "Ki" => Some(10),
        "Mi" => Some(20),
        "Gi" => Some(30),
        _ => None,
    };
    let (Some(shift), false) = (shift, number.is_empty()) else {
        return Err("write a number, such as `1000`, or one of `64Ki`, `16Mi`, `1Gi`".to_owned());
    };
    let factor = 1_u64 << shift;
    let value = number.parse().ok().and_then(|n: u64| n.checked_mul(factor));
    value.ok_or_else(|| "is too large".to_owned())
}

/// Returns the flag of a ceiling. A call makes each of them once or twice, so that leaking them costs nothing.
fn flag(ceiling: Ceiling) -> &'static str {
    format!("max-{}", ceiling.name()).leak()
}
