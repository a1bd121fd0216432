//! What the code says of the specification: every page and section that a comment names exists.

use std::path::Path;

use super::markdown::Page;

#[test]
fn every_page_and_section_that_the_code_names_exists() {
    let pages = super::pages();
    let mut faults = Vec::new();
    let mut named = 0;
    sources(&super::root().join("src"), &mut |path, text| {
        for (before, rest) in text.match_indices("spec/").map(|(at, _)| text.split_at(at)) {
            let rest = &rest["spec/".len()..];
            let Some(end) = rest.find(".md") else {
                continue;
            };
            let (name, rest) = rest.split_at(end + ".md".len());
            if !name.chars().all(|c| c.is_ascii_lowercase() || c == '.') {
                continue;
            }
            named += 1;
            let line = before.lines().count();
            let place = format!("{}:{line}", path.display());
            let Some(page) = pages.iter().find(|page| page.name == name) else {
                faults.push(format!("{place}: there is no {name}"));
                continue;
            };
            let section = rest.strip_prefix(", \"").and_then(|r| r.split('"').next());
            if let Some(section) = section.filter(|section| !has_section(page, section)) {
                faults.push(format!("{place}: {name} has no section {section:?}"));
            }
        }
    });
    super::report(&faults);
    assert!(named > 10, "{named} pages are named");
}

fn has_section(page: &Page, section: &str) -> bool {
    page.prose.iter().any(|(_, text)| {
        text.strip_prefix('#')
            .is_some_and(|title| title.trim_start_matches('#').trim() == section)
    })
}

fn sources(directory: &Path, look: &mut dyn FnMut(&Path, &str)) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, look);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            look(&path, &std::fs::read_to_string(&path).unwrap());
        }
    }
}
