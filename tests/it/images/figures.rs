//! How much is found and how much of it is true, measured on released manifests.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use manifest_bundle::bundle::Files;
use manifest_bundle::images::{self, Grade, Inventory};
use manifest_bundle::limits::Limits;

use crate::support::corpus;

/// Images that are certain outside the pods of built-in kinds, and what shows that they are true; tab-separated.
const REVIEWED: &str = include_str!("reviewed.tsv");

/// The lists of images that projects publish beside their manifests.
const LISTS: [&str; 4] = [
    "longhorn/v1.6.2/longhorn-images.txt",
    "longhorn/v1.11.0/longhorn-images.txt",
    "longhorn/v1.12.1/longhorn-images.txt",
    "rook/v1.20.6/images.txt",
];

/// All files below a directory, as those of a bundle.
fn files(root: &Path) -> Files {
    let mut files = Files::new();
    let mut open = vec![root.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in directory.read_dir().unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if path.is_file() {
                let name = path.strip_prefix(root).unwrap().to_str().unwrap();
                let name = format!("manifests/{name}").parse().unwrap();
                files.insert(name, std::fs::read(&path).unwrap().into());
            }
        }
    }
    files
}

fn inventory(root: &Path) -> Inventory {
    images::collect(&files(root), &Limits::default()).unwrap()
}

/// The directories of the corpus that are one version of one package.
fn sets(root: &Path) -> Vec<PathBuf> {
    let below = |directory: &Path| -> Vec<PathBuf> {
        let entries = directory.read_dir().unwrap().map(|e| e.unwrap().path());
        entries.filter(|path| path.is_dir()).collect()
    };
    let mut sets = Vec::new();
    for package in below(root) {
        for version in below(&package) {
            if package.ends_with("olm-bundles") {
                sets.extend(below(&version));
            } else {
                sets.push(version);
            }
        }
    }
    sets.sort();
    sets
}

#[test]
fn corpus_lists_of_images_are_found_whole() {
    let Some(root) = corpus() else { return };
    let root = root.join("corpus");
    let (mut listed, mut named, mut found, mut sure) = (0, 0, 0, 0);
    let mut missed = Vec::new();
    for list in LISTS {
        let path = root.join(list);
        let text = std::fs::read_to_string(&path).unwrap();
        let directory = path.parent().unwrap();
        let inventory = inventory(directory);
        let manifests = files(directory)
            .into_iter()
            .filter(|(p, _)| !list.ends_with(p.file_name()));
        let all: Vec<Vec<u8>> = manifests
            .map(|(_, c)| c.to_bytes().unwrap().to_vec())
            .collect();
        for line in text.lines().filter(|line| !line.is_empty()) {
            listed += 1;
            // What no manifest names cannot be found in one.
            let short = line.trim_start_matches("docker.io/").as_bytes();
            let is_named = all
                .iter()
                .any(|file| file.windows(short.len()).any(|part| part == short));
            if !is_named {
                eprintln!("images: {list}: no manifest names {line}");
                continue;
            }
            named += 1;
            let wanted = images::full_name(line).unwrap();
            match inventory
                .images
                .iter()
                .find(|image| image.reference == wanted)
            {
                Some(image) => {
                    found += 1;
                    sure += usize::from(image.grade == Grade::Certain);
                }
                None => missed.push(line.to_owned()),
            }
        }
    }
    eprintln!(
        "images: {found} of {named} that the manifests name are found, {sure} of them certain; the lists have {listed}"
    );
    assert!(
        named > 45 && found * 100 >= named * 95,
        "missed: {missed:?}"
    );
}

#[test]
fn corpus_images_that_are_certain_are_true() {
    let Some(root) = corpus() else { return };
    let root = root.join("corpus");
    let reviewed: BTreeMap<(&str, &str), &str> = REVIEWED
        .lines()
        .skip(1)
        .map(|line| {
            let cells: Vec<&str> = line.split('\t').collect();
            ((cells[0], cells[1]), cells[2])
        })
        .collect();
    let (mut certain, mut likely, mut in_pods) = (0, 0, 0);
    let mut used = BTreeSet::new();
    let mut faults = Vec::new();
    for set in sets(&root) {
        let name = set.strip_prefix(&root).unwrap().to_str().unwrap();
        for image in inventory(&set).images {
            if image.grade == Grade::Likely {
                likely += 1;
                continue;
            }
            certain += 1;
            // What a pod of a built-in kind names is what runs, by Kubernetes' own API.
            let is_pod = image.places.iter().any(|place| {
                let kind = |id: &manifest_bundle::objects::ObjectId| {
                    ["", "apps", "batch", "extensions"].contains(&id.group.as_str())
                };
                let path = place.path.as_str();
                place.grade == Grade::Certain
                    && place.object.as_ref().is_some_and(|id| kind(id))
                    && (path.ends_with("ontainers[0].image")
                        || path.contains("ontainers[") && path.ends_with("].image"))
            });
            if is_pod {
                in_pods += 1;
                continue;
            }
            let written = image.written();
            match reviewed.get(&(name, written)) {
                Some(_) => drop(used.insert((name.to_owned(), written.to_owned()))),
                None => faults.push(format!("{name}\t{written}\t{:?}", image.places[0])),
            }
        }
    }
    eprintln!(
        "images: {certain} certain, {in_pods} of them in pods and {} reviewed; {likely} likely; not shown true: {}",
        used.len(),
        faults.len()
    );
    assert!(certain > 250, "only {certain}");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert_eq!(
        used.len(),
        reviewed.len(),
        "every line of the list is found"
    );
}
