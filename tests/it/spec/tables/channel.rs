//! The table of changes of a channel, run with the tool itself on bundles that name the channel.

use super::same;
use crate::spec::schemas::All;
use crate::support::{Sandbox, bundle_dir};

const PLACE: &str = "oci:store";
const CHANNEL: &str = "beta";

/// Returns what is listed before the word `withdrawn`, and what is after it.
fn halves(cell: &str) -> (Vec<&str>, Vec<&str>) {
    let (listed, withdrawn) = match cell.split_once("withdrawn ") {
        Some((listed, withdrawn)) => (listed, withdrawn),
        None => (cell, ""),
    };
    let versions = |text| {
        let parts = str::split(text, '`').skip(1).step_by(2);
        parts.collect::<Vec<_>>()
    };
    (versions(listed), versions(withdrawn))
}

fn add(sandbox: &Sandbox, versions: &[&str]) {
    for version in versions {
        let action = ["channel", "add", PLACE, CHANNEL, version];
        sandbox.run(action).ok();
    }
}

fn push(sandbox: &Sandbox, version: &str) {
    bundle_dir(sandbox.path(version), "etcd", version, None);
    let push = ["push", version, PLACE, "--channels", CHANNEL];
    sandbox.run(push).ok();
}

fn remove(sandbox: &Sandbox, versions: &[&str], more: &[&str]) {
    let remove = ["channel", "remove", PLACE, CHANNEL];
    let all = remove.iter().chain(versions).chain(more);
    sandbox.run(all.copied()).ok();
}

pub(super) fn change(cells: &[String], _: &All) -> Result<(), String> {
    let sandbox = Sandbox::new();
    let (listed, withdrawn) = halves(&cells[0]);
    let (what, versions) = cells[1].split_once(' ').ok_or("there is no change")?;
    let (versions, _) = halves(versions);
    let mut all = [&listed[..], &withdrawn, &versions].concat();
    all.sort_unstable();
    all.dedup();
    for version in all {
        push(&sandbox, version);
    }
    add(&sandbox, &listed);
    if !withdrawn.is_empty() {
        add(&sandbox, &withdrawn);
        remove(&sandbox, &withdrawn, &[]);
    }
    match what {
        "withdraw" => remove(&sandbox, &versions, &[]),
        "forget" | "remove" => remove(&sandbox, &versions, &["--forget"]),
        "add" => add(&sandbox, &versions),
        "synchronise" => {
            sandbox.run(["channel", "sync", PLACE]).ok();
        }
        other => return Err(format!("nobody can `{other}`")),
    }
    let show = ["channel", "show", PLACE, CHANNEL, "--format", "json"];
    let shown = sandbox.run(show).ok().json();
    let versions = |key: &str| {
        let all = shown[key].as_array().unwrap().iter();
        let mut all: Vec<_> = all.map(|one| one["version"].as_str().unwrap()).collect();
        all.sort_unstable();
        all
    };
    let (listed, withdrawn) = halves(&cells[2]);
    same("what is listed", versions("entries"), listed)?;
    same("what is withdrawn", versions("withdrawn"), withdrawn)
}
