//! The rules; each takes a tree and returns every breach of it as a sentence with file and line.

use std::collections::{BTreeMap, BTreeSet};

use super::paths::{Named, named};
use super::tree::Tree;

/// What a file of the library may not name, and where it may after all.
struct Ban {
    /// A path begins with one of these; a macro is named with its `!`.
    names: &'static [&'static str],
    /// The one floor that may, if any.
    floor: Option<u32>,
    /// Files that may, each for a reason.
    except: &'static [(&'static str, &'static str)],
    why: &'static str,
}

const BANS: [Ban; 6] = [
    Ban {
        names: &["std::fs", "rustix", "tokio::fs", "cap_std", "tempfile"],
        floor: Some(2),
        except: &[(
            "src/content.rs",
            "spools contents that are too large for memory",
        )],
        why: "only floor 2 touches the disk",
    },
    Ban {
        names: &[
            "std::net",
            "std::os::unix::net",
            "tokio::net",
            "reqwest",
            "hyper",
            "rustls",
        ],
        floor: Some(2),
        except: &[],
        why: "only floor 2 touches the network",
    },
    Ban {
        names: &["std::process", "tokio::process"],
        floor: None,
        except: &[(
            "src/docker_config/run.rs",
            "credential helpers are programs",
        )],
        why: "the library starts no program",
    },
    Ban {
        names: &[
            "std::env",
            "tempfile::tempfile",
            "tempfile::tempdir",
            "tempfile::NamedTempFile::new",
            "NamedTempFile::new",
            "tempfile::env",
        ],
        floor: None,
        except: &[],
        why: "the library reads no environment: settings come in as values",
    },
    Ban {
        names: &["std::time::SystemTime::now", "SystemTime::now"],
        floor: None,
        except: &[],
        why: "the library reads no clock: times come in as values",
    },
    Ban {
        names: &[
            "print!",
            "println!",
            "eprint!",
            "eprintln!",
            "dbg!",
            "std::io::stdout",
            "std::io::stderr",
            "std::io::stdin",
        ],
        floor: None,
        except: &[],
        why: "the library is silent",
    },
];

/// Names below the banned ones that are values: they open and start nothing.
const VALUES: [&str; 8] = [
    "std::net::IpAddr",
    "std::net::Ipv4Addr",
    "std::net::Ipv6Addr",
    "std::net::SocketAddr",
    "std::net::SocketAddrV4",
    "std::net::SocketAddrV6",
    "std::net::AddrParseError",
    "std::process::ExitStatus",
];

/// Files of more than 500 lines, each a table.
const TABLES: [(&str, &str); 2] = [
    ("src/directory/read/tests.rs", "a table of tests"),
    ("src/validate/tests.rs", "a table of tests"),
];

/// Suites that read nothing but the corpus; `.ci/run` asks for them by their names too.
const CORPUS_SUITES: [&str; 1] = ["tests/it/malo.rs"];

/// What reads the corpus.
const CORPUS: [&str; 2] = ["\"BUNDLE_CORPUS\"", "corpus()"];

/// The floor of every module, from the groups of `src/lib.rs`.
fn map(tree: &Tree, faults: &mut Vec<String>) -> BTreeMap<String, u32> {
    let mut map = BTreeMap::new();
    let mut floor = None;
    for (line, text) in tree.get("src/lib.rs").unwrap().text.lines().enumerate() {
        if let Some(rest) = text.strip_prefix("// Floor ") {
            floor = rest.split(':').next().and_then(|n| n.parse().ok());
        }
        let declared = text
            .strip_prefix("pub ")
            .unwrap_or(text)
            .strip_prefix("mod ");
        let Some(module) = declared.and_then(|rest| rest.strip_suffix(';')) else {
            continue;
        };
        match floor {
            Some(floor) => drop(map.insert(module.to_owned(), floor)),
            None => faults.push(format!(
                "src/lib.rs:{}: `{module}` is on no floor",
                line + 1
            )),
        }
    }
    map
}

/// Imports of higher floors, modules on no floor, circles on one floor, names taken from the root of the crate.
pub(super) fn floors(tree: &Tree) -> Vec<String> {
    let mut faults = Vec::new();
    let map = map(tree, &mut faults);
    let mut uses: BTreeMap<&str, BTreeMap<String, String>> = BTreeMap::new();
    for (path, module, file) in tree.library() {
        let Some(floor) = map.get(module[0]) else {
            faults.push(format!(
                "{path}: `{}` is on no floor of src/lib.rs",
                module[0]
            ));
            continue;
        };
        for Named { path: name, line } in named(&file.code, &module) {
            let Some(target) = name
                .strip_prefix("crate::")
                .and_then(|rest| rest.split("::").next())
            else {
                continue;
            };
            let at = format!("{path}:{line}");
            match map.get(target) {
                None => faults.push(format!(
                    "{at}: takes `{target}` from the crate root instead of its module"
                )),
                Some(above) if above > floor => faults.push(format!(
                    "{at}: `{}` (floor {floor}) uses `{target}` (floor {above})",
                    module[0]
                )),
                Some(same) if same == floor && target != module[0] => {
                    uses.entry(module[0])
                        .or_default()
                        .entry(target.to_owned())
                        .or_insert(at);
                }
                Some(_) => {}
            }
        }
    }
    faults.extend(circles(&uses));
    faults
}

/// A sentence for each module that is used by what it uses.
fn circles(uses: &BTreeMap<&str, BTreeMap<String, String>>) -> Vec<String> {
    let mut faults = Vec::new();
    for (module, direct) in uses {
        for (next, at) in direct {
            let mut seen = BTreeSet::from([next.as_str()]);
            let mut open = vec![next.as_str()];
            while let Some(name) = open.pop() {
                let further = uses.get(name).into_iter().flat_map(BTreeMap::keys);
                open.extend(further.map(String::as_str).filter(|name| seen.insert(name)));
            }
            if seen.contains(module) {
                faults.push(format!(
                    "{at}: `{module}` uses `{next}`, which uses `{module}`"
                ));
            }
        }
    }
    faults
}

/// Disk and network outside floor 2; surroundings and output anywhere in the library.
pub(super) fn library_reach(tree: &Tree) -> Vec<String> {
    let mut faults = Vec::new();
    let map = map(tree, &mut faults);
    for (path, module, file) in tree.library() {
        let floor = map.get(module[0]).copied();
        for Named { path: name, line } in named(&file.code, &module) {
            for ban in &BANS {
                let allowed = (ban.floor.is_some() && ban.floor == floor)
                    || ban.except.iter().any(|(file, _)| *file == path)
                    || VALUES.iter().any(|value| begins(&name, value));
                if !allowed && ban.names.iter().any(|banned| begins(&name, banned)) {
                    faults.push(format!("{path}:{line}: `{name}`: {}", ban.why));
                }
            }
        }
    }
    faults
}

/// Whether the words of `path` begin with those of `start`.
fn begins(path: &str, start: &str) -> bool {
    path.strip_prefix(start)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

/// What the binary names of the network, and files of the library that it would take in past the public interface.
pub(super) fn binary_reach(tree: &Tree) -> Vec<String> {
    let network = &BANS[1];
    let mut faults = Vec::new();
    for (path, file) in tree
        .files()
        .filter(|(path, _)| path.starts_with("src/bin/"))
    {
        if file.code.contains("#[path") {
            faults.push(format!("{path}: takes in a file by its path"));
        }
        for Named { path: name, line } in named(&file.code, &[]) {
            if ["include!", "std::include!"].contains(&name.as_str()) {
                faults.push(format!("{path}:{line}: takes in source by `include!`"));
            }
            let value = VALUES.iter().any(|value| begins(&name, value));
            if !value && network.names.iter().any(|banned| begins(&name, banned)) {
                faults.push(format!("{path}:{line}: `{name}`: the binary reaches the network through the library alone"));
            }
        }
    }
    faults
}

/// Files that no `mod` takes into the build.
pub(super) fn orphans(tree: &Tree) -> Vec<String> {
    let mut faults = Vec::new();
    for (path, _) in tree.files() {
        let (directory, name) = path.rsplit_once('/').unwrap();
        let name = name.strip_suffix(".rs").unwrap();
        let main = format!("{directory}/main.rs");
        let parent = match directory {
            "src" => "src/lib.rs".to_owned(),
            _ if tree.get(&main).is_some() => main,
            _ => format!("{directory}.rs"),
        };
        if path == parent {
            continue;
        }
        let declared = tree.get(&parent).is_some_and(|file| {
            let mut lines = file.text.lines().map(str::trim);
            lines.any(|line| {
                line.strip_suffix(';')
                    .and_then(|l| l.strip_suffix(name))
                    .is_some_and(|l| l.ends_with("mod "))
            })
        });
        if !declared {
            faults.push(format!("{path}: not in {parent}, so nothing builds it"));
        }
    }
    faults
}

/// Files without a head comment, and long ones that are not named as tables.
pub(super) fn shape(tree: &Tree) -> Vec<String> {
    let mut faults = Vec::new();
    for (path, file) in tree.files() {
        if !file.text.starts_with("//! ") {
            faults.push(format!(
                "{path}: does not open with `//!` and what it is for"
            ));
        }
        let lines = file.text.lines().count();
        if lines > 500 && !TABLES.iter().any(|(table, _)| *table == path) {
            faults.push(format!(
                "{path}: {lines} lines, more than 500, and not named as a table"
            ));
        }
    }
    faults
}

/// Tests that read the corpus without saying so in their names: the filter `corpus` would not find them.
pub(super) fn corpus(tree: &Tree) -> Vec<String> {
    let mut faults = Vec::new();
    let others = tree
        .files()
        .filter(|(path, _)| !path.starts_with("tests/it/floors"));
    for (path, file) in others {
        let mut function = "";
        // The text, not the code: tests are what this is about.
        for (line, text) in file.text.lines().enumerate() {
            if let Some((_, rest)) = text.split_once("fn ") {
                function = rest.split(['(', '<']).next().unwrap_or(rest);
            }
            let code = text.split("//").next().unwrap_or(text);
            let reads = code.contains(CORPUS[0]) || code.contains(CORPUS[1]);
            if reads && !CORPUS_SUITES.contains(&path) && !function.contains("corpus") {
                faults.push(format!(
                    "{path}:{}: `{function}` reads the corpus without its name",
                    line + 1
                ));
            }
        }
    }
    faults
}

/// Exceptions that nothing needs any more.
pub(super) fn stale(tree: &Tree) -> Vec<String> {
    let tables = TABLES.iter().filter(|(path, _)| {
        tree.get(path)
            .is_none_or(|file| file.text.lines().count() <= 500)
    });
    let mut faults: Vec<_> = tables
        .map(|(path, _)| format!("{path}: named as a table, and is none"))
        .collect();
    for ban in &BANS {
        for (path, _) in ban.except {
            let needed = tree.get(path).is_some_and(|file| {
                named(&file.code, &[])
                    .iter()
                    .any(|n| ban.names.iter().any(|banned| begins(&n.path, banned)))
            });
            if !needed {
                faults.push(format!(
                    "{path}: an exception from \"{}\" that it does not need",
                    ban.why
                ));
            }
        }
    }
    faults
}
