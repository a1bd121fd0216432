//! `bundle man`: the manual pages.

use std::path::PathBuf;

use manifest_bundle::content::Content;
use manifest_bundle::directory::{self, WriteOptions};
use manifest_bundle::{Error, Result};
use serde_json::json;

use crate::command::command;
use crate::output::Answer;

/// Write the manual pages into a directory
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The directory; pages that are there are replaced
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

pub(crate) fn run(args: &Args) -> Result<Answer> {
    std::fs::create_dir_all(&args.directory)
        .map_err(|error| Error::io("cannot make the directory", &args.directory, error))?;
    // `bundle help` has no page; built, the commands have the flags that all of them share.
    let mut root = command().disable_help_subcommand(true);
    root.build();
    let mut commands = Vec::new();
    collect(&root, "bundle", &mut commands);
    let mut pages = Vec::new();
    for command in commands {
        let page = format!("{}.1", command.get_name());
        let mut text = Vec::new();
        let path = args.directory.join(&page);
        clap_mangen::Man::new(command)
            .render(&mut text)
            .map_err(|error| Error::io("cannot write", &path, error))?;
        // What stands behind the flags is examples and tables, whose lines are kept as they are.
        let text = String::from_utf8_lossy(&text).replace(".SH EXTRA\n", ".SH NOTES\n.nf\n");
        let options = WriteOptions {
            force: true,
            ..WriteOptions::default()
        };
        directory::write_file(&path, &Content::from(text.into_bytes()), &options)?;
        pages.push(page);
    }
    let text: Vec<String> = pages
        .iter()
        .map(|page| args.directory.join(page).to_string_lossy().into_owned())
        .collect();
    Ok(Answer::new(
        text.join("\n"),
        json!({ "directory": args.directory.to_string_lossy(), "pages": pages }),
    ))
}

/// Collects a command and what is below it, each under the name of its page, such as `bundle-channel-add`.
fn collect(command: &clap::Command, page: &str, pages: &mut Vec<clap::Command>) {
    let page = page.to_owned();
    pages.push(
        command
            .clone()
            .name(page.clone())
            .display_name(page.clone()),
    );
    for below in command.get_subcommands() {
        if below.get_name() != "help" {
            collect(below, &format!("{page}-{}", below.get_name()), pages);
        }
    }
}
