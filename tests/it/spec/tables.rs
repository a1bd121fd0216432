//! The tables of the specification, each kind run by the function that its header names.

mod channel;
mod compatibility;
mod directory;
mod image;
mod images;
mod limits;
mod metadata;
mod olm;
mod order;
mod references;
mod resolution;
mod security;
mod tool;
mod verification;

use super::markdown::{Table, code};
use super::schemas::All;

/// Runs one table; returns what does not hold, with the line.
pub(super) fn run(page: &str, table: &Table, schemas: &All) -> Vec<(usize, String)> {
    let header: Vec<&str> = table.header.iter().map(String::as_str).collect();
    let row: fn(&[String], &All) -> Result<(), String> = match header[..] {
        ["Reference", "Kind"] => references::kind,
        ["Reference", "Registry", "Repository", "Tag", "Digest"] => references::parts,
        ["Refused", "Proposed"] => references::refused,
        ["Registry", "By itself"] => references::transport,
        ["Reference", "Path", "Name", "Digest"] => references::layout,
        ["Version", "Tag"] => references::version_tag,
        ["Tag", "Is"] => references::tag,
        ["Word", "Pattern", "Longest, in bytes"] => metadata::pattern,
        ["Word", "Longest, in bytes"] => metadata::length,
        ["Word", "Right", "Wrong"] => metadata::right_and_wrong,
        ["Check", "Asked", "The bundle says", "Outcome"] => verification::expectation,
        ["Requirement", "Satisfied by", "Not satisfied by"] => verification::requirement,
        ["Refused requirement"] => verification::refused_requirement,
        ["Line of `.bundleignore`", "Leaves out", "Keeps"] => directory::ignore_line,
        ["By itself left out", "What it is"] => return directory::built_in(table),
        [
            "In a bare source" | "In a declared source" | "Flattened",
            "In the bundle",
        ] => {
            return directory::source(table);
        }
        ["Key of an answer", "Is"] => return tool::answer_keys(table),
        ["Command", "Key of its answer", "Is"] => return tool::command_keys(table),
        ["Key of an error", "Present", "Is"] => return tool::error_keys(table),
        ["Exit code", "Kind", "Meaning"] => return tool::exit_codes(table),
        ["Older", "Newer"] => resolution::order,
        ["Asked", "The bundle says", "Outcome"] => resolution::fits,
        ["Asked", "The head of the channel", "Known", "Outcome"] => resolution::known,
        ["Rule of a change", "Finds"] => return super::changes::rules(table),
        ["Code of a reason", "Means"] => return resolution::codes(table),
        ["Phase", "Kinds", "Because"] => return order::phases(table),
        ["Channel", "Is"] => resolution::channel_name,
        ["The channel file lists", "The channel of `etcd` has"] => resolution::channel_file,
        ["The channel", "Change", "The channel then"] => channel::change,
        ["Key of a channel", "On", "Required", "Is"] => return resolution::keys(table),
        ["Text from outside", "Shown as"] => security::shown_text,
        ["Image", "In full"] => images::full_name,
        ["No image", "Because"] => images::none,
        ["Name", "Speaks of images"] => images::name,
        ["API group", "Kind", "Field"] => return images::fields(table),
        ["Group that only speaks of images"] => return images::spoken_of(table),
        ["Refused JSON", "Because"] => image::refused_json,
        ["Path", "Kind of refusal", "Because"] => image::path,
        ["Path", "Collides with"] => image::collision,
        ["Code", "About", "Severity", "Means"] => return tool::findings(table),
        ["Consumer", "Version", "Works", "How", "Evidence"]
        | ["Registry", "Version", "Takes it", "Notes", "Evidence"] => compatibility::evidence,
        ["KEP-2494" | "registry+v1", "Here"] => metadata::counterpart,
        [
            "The ClusterServiceVersion says",
            "Version",
            "Lowest Kubernetes",
        ] => olm::says,
        ["Schema", "Describes"] => return metadata::schema_list(table, schemas),
        ["Not seen by a schema", "Example"] => metadata::unseen,
        // Reasons, and nothing that could be run.
        ["Rule", "Because"] => |cells, _| compatibility::reason(cells),
        ["Offset", "Bytes", "Field", "Content"] => return image::header_fields(table),
        ["Refused key", "Because"] => metadata::refused_key,
        ["Key", "Required", "Value", "Example"] => return metadata::keys(table, schemas),
        ["Without quotes", "Is"] => metadata::without_quotes,
        ["Type of a layer", "Compressed with"] => image::layer_type,
        ["Escaped from", "To"] => return metadata::escaped(table),
        ["Name", "Default", "Flag", "Bounds", "Why this value"] => return limits::ceilings(table),
        _ => {
            return vec![(
                table.line,
                format!("{page} has a table {header:?} that nothing executes"),
            )];
        }
    };
    let mut faults = Vec::new();
    for line in &table.rows {
        if let Err(why) = row(&line.cells, schemas) {
            faults.push((line.line, why));
        }
    }
    if table.rows.is_empty() {
        faults.push((table.line, "the table is empty".into()));
    }
    faults
}

/// Fails unless both are the same.
#[expect(
    clippy::needless_pass_by_value,
    reason = "its callers make both values for it"
)]
pub(super) fn same<T: PartialEq + std::fmt::Debug>(
    what: &str,
    found: T,
    wanted: T,
) -> Result<(), String> {
    if found == wanted {
        Ok(())
    } else {
        Err(format!("{what} is {found:?}, the page says {wanted:?}"))
    }
}

/// Returns what a cell holds as code; nothing when the cell is empty.
fn optional(cell: &str) -> Result<Option<&str>, String> {
    (!cell.is_empty()).then(|| code(cell)).transpose()
}

/// Returns the code spans of a cell that is a list of them.
fn list(cell: &str) -> Result<Vec<&str>, String> {
    cell.split(", ").map(code).collect()
}
