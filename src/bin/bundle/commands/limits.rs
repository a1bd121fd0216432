//! `bundle limits`: the ceilings and the flags that raise them.

use manifest_bundle::Result;
use manifest_bundle::limits::Ceiling;
use serde_json::{Value, json};

use crate::output::Answer;
use crate::settings::Settings;

/// List the limits on what comes from outside, and the flags that raise them
///
/// Every command takes these flags. An error about a limit names the one that raises it.
#[derive(Debug, clap::Args)]
#[command(after_help = table(|ceiling| ceiling.default_value()))]
pub(crate) struct Args {}

#[expect(clippy::unnecessary_wraps, reason = "every command has this shape")]
pub(crate) fn run(settings: &Settings) -> Result<Answer> {
    let limits = &settings.limits;
    let values: Vec<Value> = raisable()
        .map(|ceiling| {
            json!({
                "name": ceiling.name(),
                "flag": format!("--max-{}", ceiling.name()),
                "value": limits[ceiling],
                "default": ceiling.default_value(),
                "about": ceiling.about(),
            })
        })
        .collect();
    let value = json!({ "limits": values });
    Ok(Answer::new(table(|ceiling| limits[ceiling]), value))
}

fn raisable() -> impl Iterator<Item = Ceiling> {
    Ceiling::ALL
        .iter()
        .copied()
        .filter(|ceiling| ceiling.can_be_raised())
}

/// Writes a line for each limit: its flag, a value and what it is about.
fn table(value: impl Fn(Ceiling) -> u64) -> String {
    let lines = raisable().map(|ceiling| {
        let flag = format!("--max-{} N", ceiling.name());
        let about = ceiling.about();
        let about = about.trim_end_matches('.');
        format!("  {flag:27} {:>12}  {about}", value(ceiling))
    });
    let lines: Vec<String> = lines.collect();
    lines.join("\n")
}
