//! Laws that hold for every comparison, tried on real input: nothing differs from itself, nor from itself written otherwise, and the two
//! directions mirror each other. And what is found between versions of real projects, compared with what was found by hand.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use manifest_bundle::bundle::Files;
use manifest_bundle::diff::{Change, Diff, Field, FieldChange, FieldPath, Side, Step, diff};
use manifest_bundle::limits::Limits;
use manifest_bundle::yaml;

use crate::support::corpus;

/// Findings that were looked up in the files by hand, and with another reader of YAML; tab-separated.
const FINDINGS: &str = include_str!("findings.tsv");

/// Directories whose findings are all in the table, but for those that only may break.
const WHOLE: [&str; 2] = ["metallb/v0.14.5/crd", "tekton-pipeline/v0.56.0"];

/// Reads all YAML and JSON below a directory.
fn read(directory: &Path) -> Files {
    let mut files = Files::new();
    let mut open = vec![directory.to_owned()];
    while let Some(next) = open.pop() {
        for entry in std::fs::read_dir(&next).unwrap() {
            let path = entry.unwrap().path();
            let kind = path
                .extension()
                .and_then(|kind| kind.to_str())
                .unwrap_or_default();
            if path.is_dir() && !path.is_symlink() {
                open.push(path);
            } else if ["yaml", "yml", "json"].contains(&kind) && path.is_file() {
                let name = path.strip_prefix(directory).unwrap().to_str().unwrap();
                files.insert(
                    format!("manifests/{name}").parse().unwrap(),
                    std::fs::read(&path).unwrap().into(),
                );
            }
        }
    }
    files
}

fn compare(old: &Files, new: &Files) -> Result<Diff, manifest_bundle::Error> {
    let side = |files| Side {
        files,
        annotations: None,
        places: None,
    };
    diff(&side(old), &side(new), &Limits::default())
}

/// Returns the directories of the corpus that hold one version of something.
fn versions(root: &Path) -> Vec<std::path::PathBuf> {
    let below = |directory: &Path| -> Vec<std::path::PathBuf> {
        let entries = std::fs::read_dir(directory).unwrap();
        let mut all: Vec<_> = entries
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.is_dir())
            .collect();
        all.sort();
        all
    };
    let mut all = Vec::new();
    for project in below(root) {
        for version in below(&project) {
            if project.ends_with("olm-bundles") {
                all.extend(below(&version));
            } else {
                all.push(version);
            }
        }
    }
    all
}

/// Up to this many bytes a directory is small, and cheap to compare several times.
const SMALL: u64 = 400 * 1024;

fn size(files: &Files) -> u64 {
    files
        .values()
        .map(manifest_bundle::content::Content::len)
        .sum()
}

#[test]
fn nothing_in_the_corpus_differs_from_itself_or_from_itself_written_otherwise() {
    let Some(root) = corpus() else { return };
    let directories = versions(&root.join("corpus"));
    let (next, rewritten) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let work = || {
        while let Some(directory) = directories.get(next.fetch_add(1, Ordering::Relaxed)) {
            let files = read(directory);
            // What is written otherwise and does not differ does not differ from itself either.
            let other = written_otherwise(&files).filter(|_| size(&files) < SMALL);
            rewritten.fetch_add(other.is_some().into(), Ordering::Relaxed);
            let found = compare(&files, other.as_ref().unwrap_or(&files)).unwrap();
            assert!(
                found.is_empty(),
                "{}: {:?}",
                directory.display(),
                found.changes.first()
            );
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(work);
        work();
    });
    let rewritten = rewritten.into_inner();
    assert!(
        directories.len() > 90 && rewritten > 40,
        "{} directories, {rewritten} of them written otherwise",
        directories.len()
    );
}

/// Writes every document as JSON, keys in another order, the last document of each file first, into files of other names.
fn written_otherwise(files: &Files) -> Option<Files> {
    let limits = Limits::default();
    let mut others = Files::new();
    for (path, content) in files {
        let bytes = content.to_bytes().unwrap();
        let mut documents = Vec::new();
        for document in yaml::documents(&bytes, &limits) {
            let root = document.ok()?.root;
            // What is known by its name keeps it.
            if path.file_name().contains("kustom")
                || path.file_name().contains("values")
                || path.file_name().contains("Chart")
            {
                return None;
            }
            documents.push(format!("# another form\n{}\n", root.to_json()));
        }
        documents.reverse();
        let name = format!("{}.other.yaml", path.as_str());
        others.insert(
            name.parse().unwrap(),
            documents.join("---\n").into_bytes().into(),
        );
    }
    Some(others)
}

#[test]
fn the_two_directions_in_the_corpus_mirror_each_other() {
    let Some(root) = corpus() else { return };
    let mut pairs: Vec<(&str, &str)> = rows().iter().map(|row| (row[0], row[1])).collect();
    pairs.dedup();
    for (old, new) in pairs {
        let [a, b] = [old, new].map(|name| read(&root.join("corpus").join(name)));
        if size(&a) > SMALL {
            continue;
        }
        let (there, back) = (compare(&a, &b).unwrap(), compare(&b, &a).unwrap());
        let mirrored: Vec<Change> = there.changes.into_iter().map(mirrored).collect();
        let sorted = |mut changes: Vec<Change>| {
            for change in &mut changes {
                change.breaking.clear();
                change.fields.sort_by(|a, b| a.path.cmp(&b.path));
            }
            changes.sort_by(|a, b| (&a.subject, &a.old, &a.new).cmp(&(&b.subject, &b.old, &b.new)));
            changes
        };
        let (mirrored, back_changes) = (sorted(mirrored), sorted(back.changes));
        for (one, other) in mirrored.iter().zip(&back_changes) {
            assert_eq!(one, other, "{old} and {new}");
        }
        assert_eq!(mirrored.len(), back_changes.len(), "{old} and {new}");
        assert_eq!(
            (there.images_added, there.images_removed),
            (back.images_removed, back.images_added)
        );
        let sides = |diff: &Vec<manifest_bundle::diff::Grants>| {
            diff.iter()
                .map(|one| (one.gained.clone(), one.lost.clone()))
                .collect::<Vec<_>>()
        };
        let mut turned = sides(&there.grants);
        for (gained, lost) in &mut turned {
            std::mem::swap(gained, lost);
        }
        assert_eq!(turned.len(), back.grants.len());
        assert!(
            turned.iter().all(|one| sides(&back.grants).contains(one)),
            "{old} and {new}"
        );
    }
}

fn mirrored(mut change: Change) -> Change {
    std::mem::swap(&mut change.old, &mut change.new);
    change.fields = change.fields.into_iter().map(mirrored_field).collect();
    change
}

fn mirrored_field(field: Field) -> Field {
    let step = |step| match step {
        Step::Index(old, new) => Step::Index(new, old),
        other => other,
    };
    Field {
        path: FieldPath(field.path.0.into_iter().map(step).collect()),
        change: match field.change {
            FieldChange::Added => FieldChange::Removed,
            FieldChange::Removed => FieldChange::Added,
            other => other,
        },
        old: field.new,
        new: field.old,
        hidden: field.hidden,
        old_line: field.new_line,
        new_line: field.old_line,
    }
}

fn rows() -> Vec<Vec<&'static str>> {
    FINDINGS
        .lines()
        .skip(1)
        .map(|line| line.split('\t').collect())
        .collect()
}

#[test]
fn what_breaks_between_versions_in_the_corpus_is_what_was_found_by_hand() {
    let Some(root) = corpus() else { return };
    /// Object, rule, message, and whether it is certain.
    type Found = Vec<(String, &'static str, String, bool)>;
    let mut diffs: BTreeMap<(&str, &str), Found> = BTreeMap::new();
    for row in rows() {
        assert_eq!(row.len(), 6, "{row:?}");
        let found = diffs.entry((row[0], row[1])).or_insert_with(|| {
            let [a, b] = [row[0], row[1]].map(|name| read(&root.join("corpus").join(name)));
            let found = compare(&a, &b).unwrap();
            let name = |change: &Change| match &change.subject {
                manifest_bundle::diff::Subject::Object(id) => id.name.clone(),
                other => panic!("{other:?} breaks nothing"),
            };
            let all = found.changes.iter().flat_map(|change| {
                change
                    .breaking
                    .iter()
                    .map(|one| (name(change), one.rule, one.message.clone(), one.certain))
            });
            all.collect()
        });
        let is_found = found.iter().any(|(object, rule, message, _)| {
            object == row[2] && *rule == row[3] && message == row[4]
        });
        assert!(is_found, "{} is not found among {found:#?}", row.join(" "));
    }
    for ((old, _), found) in &diffs {
        for (object, rule, message, certain) in found.iter().filter(|_| WHOLE.contains(old)) {
            let is_known = rows()
                .iter()
                .any(|row| row[0] == *old && row[2] == object && row[3] == *rule);
            let is_alike = *old == "tekton-pipeline/v0.56.0" && *rule == "crd-unknown-fields";
            assert!(
                is_known || is_alike || !certain,
                "{old}: {object}: {message} [{rule}] was not looked at"
            );
        }
    }
}
