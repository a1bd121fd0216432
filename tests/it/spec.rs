//! The specification, executed: every example, table and JSON Schema in `spec/` is run through the library.
//!
//! A fenced block or table that no executor claims fails, so nothing can be written there that is not tested.

mod blocks;
mod changes;
mod golden;
mod markdown;
mod references;
mod schemas;
mod tables;
mod words;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use manifest_bundle::bundle::Files;

use markdown::Page;
use schemas::All;

/// The directory of the project.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The directory of the specification.
fn directory() -> PathBuf {
    root().join("spec")
}

/// Reads all files below a directory, by their paths in it.
fn files(below: &Path) -> Files {
    let mut files = Files::new();
    let mut directories = vec![below.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
            } else {
                let name = path.strip_prefix(below).unwrap().to_str().unwrap();
                files.insert(name.parse().unwrap(), std::fs::read(&path).unwrap().into());
            }
        }
    }
    files
}

/// All pages, in the order of their names.
fn pages() -> Vec<Page> {
    let files = std::fs::read_dir(directory()).unwrap();
    let mut paths: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|e| e == "md"));
    paths.sort();
    assert!(!paths.is_empty(), "the specification has pages");
    paths.iter().map(|path| Page::read(path)).collect()
}

/// Fails with all that went wrong, each with its place.
#[track_caller]
fn report(faults: &[String]) {
    assert!(
        faults.is_empty(),
        "{} faults in spec/:\n{}",
        faults.len(),
        faults.join("\n")
    );
}

#[test]
fn every_example_holds() {
    let schemas = All::load();
    let mut faults = Vec::new();
    for page in pages() {
        for block in &page.blocks {
            if let Err(why) = blocks::run(block, &schemas) {
                faults.push(format!("{}:{}: {why}", page.name, block.line));
            }
        }
    }
    report(&faults);
}

#[test]
fn every_table_holds() {
    let schemas = All::load();
    let mut faults = Vec::new();
    for page in pages() {
        for table in &page.tables {
            for (line, why) in tables::run(&page.name, table, &schemas) {
                faults.push(format!("{}:{line}: {why}", page.name));
            }
        }
    }
    report(&faults);
}

#[test]
fn what_no_executor_knows_is_a_fault() {
    let schemas = All::load();
    let page = Page::parse("x.md", "```yaml whatever\n```\n\n| A |\n|---|\n| b |\n");
    assert!(blocks::run(&page.blocks[0], &schemas).is_err());
    assert!(!tables::run("x.md", &page.tables[0], &schemas).is_empty());
}

/// Prose has one sentence a line, so that a change of one shows as one.
#[test]
fn prose_has_one_sentence_a_line() {
    let mut faults = Vec::new();
    for page in pages() {
        for (line, text) in &page.prose {
            let heading = text.starts_with('#');
            let ends = |c: &str| text.ends_with(c);
            if !(heading || ends(".") || ends(":") || ends("?")) {
                faults.push(format!(
                    "{}:{line}: no sentence ends here: {text}",
                    page.name
                ));
            }
            let mut words = text.split_whitespace().peekable();
            while let Some(word) = words.next() {
                let next = words.peek().and_then(|next| next.chars().next());
                if word.len() > 2 && word.ends_with('.') && next.is_some_and(char::is_uppercase) {
                    faults.push(format!("{}:{line}: two sentences: {text}", page.name));
                }
            }
        }
    }
    report(&faults);
}

/// A link leads to a file and, where it names one, to a heading in it.
#[test]
fn links_lead_somewhere_and_every_page_is_linked() {
    let all = pages();
    let anchors: BTreeSet<String> = all
        .iter()
        .flat_map(|page| {
            let headings = page.prose.iter().filter_map(|(_, text)| {
                let title = text.strip_prefix('#')?.trim_start_matches('#').trim();
                Some(format!("{}#{}", page.name, anchor(title)))
            });
            headings.chain([page.name.clone()]).collect::<Vec<_>>()
        })
        .collect();
    let mut faults = Vec::new();
    let mut linked = BTreeSet::new();
    for page in &all {
        let cells = page.tables.iter().flat_map(|t| &t.rows);
        let cells = cells.flat_map(|row| row.cells.iter().map(|cell| (row.line, cell)));
        for (line, text) in page.prose.iter().map(|(l, t)| (*l, t)).chain(cells) {
            // Every second piece between backticks is code, in which nothing is a link.
            let text: String = text.split('`').step_by(2).collect();
            for target in text.split("](").skip(1).filter_map(|t| t.split(')').next()) {
                let whole = match target.strip_prefix('#') {
                    Some(heading) => format!("{}#{heading}", page.name),
                    None => target.to_owned(),
                };
                let file = target.split('#').next().unwrap_or_default();
                if page.name == "README.md" {
                    linked.insert(file.to_owned());
                }
                let found =
                    if file.is_empty() || Path::new(file).extension().is_some_and(|e| e == "md") {
                        anchors.contains(&whole)
                    } else {
                        directory().join(file).exists()
                    };
                if !found && !target.starts_with("https://") {
                    faults.push(format!("{}:{line}: nothing at {target}", page.name));
                }
            }
        }
    }
    let others = all.iter().filter(|page| page.name != "README.md");
    faults.extend(
        others
            .filter(|page| !linked.contains(&page.name))
            .map(|page| format!("README.md: no link to {}", page.name)),
    );
    report(&faults);
}

/// Returns the anchor that a renderer gives a heading.
fn anchor(title: &str) -> String {
    let kept = title
        .chars()
        .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}
