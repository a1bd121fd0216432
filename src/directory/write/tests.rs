//! Directories and files that are written, replaced, refused and interrupted.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, Read as _, Write as _};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::*;
use crate::progress::Progress;

mod losses;

fn files(list: &[(&str, &'static str)]) -> Files {
    list.iter()
        .map(|(path, text)| (path.parse().unwrap(), Content::from(*text)))
        .collect()
}

fn one() -> Files {
    files(&[
        (".sourceignore", "/metadata/\n"),
        ("manifests/keep.yaml", "keep 1"),
        ("manifests/old.yaml", "old"),
        ("manifests/sub/deep/x.yaml", "x"),
        ("manifests/sub-y.yaml", "y"),
        ("metadata/annotations.yaml", "a: 1"),
    ])
}

fn two() -> Files {
    files(&[
        ("manifests/keep.yaml", "keep 2"),
        ("metadata/annotations.yaml", "a: 2"),
    ])
}

const PLAIN: WriteOptions = WriteOptions {
    force: false,
    prune: false,
    interrupted: None,
    progress: Progress::NONE,
};
const FORCE: WriteOptions = WriteOptions {
    force: true,
    ..PLAIN
};
const PRUNE: WriteOptions = WriteOptions {
    prune: true,
    ..FORCE
};

/// Everything below a directory, with links and empty directories.
fn tree(directory: &Path) -> BTreeMap<String, String> {
    fn list(directory: &Path, prefix: &str, into: &mut BTreeMap<String, String>) {
        for entry in fs::read_dir(directory).unwrap() {
            let entry = entry.unwrap();
            let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
            let kind = entry.file_type().unwrap();
            if kind.is_symlink() {
                let target = fs::read_link(entry.path()).unwrap();
                into.insert(name, format!("-> {}", target.display()));
            } else if kind.is_dir() {
                into.insert(format!("{name}/"), String::new());
                list(&entry.path(), &format!("{name}/"), into);
            } else {
                into.insert(name, fs::read_to_string(entry.path()).unwrap());
            }
        }
    }
    let mut all = BTreeMap::new();
    list(directory, "", &mut all);
    all
}

fn contents(files: &Files) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    for (path, content) in files {
        let bytes = content.to_bytes().unwrap().to_vec();
        all.insert(path.to_string(), String::from_utf8(bytes).unwrap());
        let mut parent = path.parent();
        while let Some(directory) = parent {
            all.insert(format!("{directory}/"), String::new());
            parent = directory.parent();
        }
    }
    all
}

/// Writes, and proves that a failure changes nothing and that nothing is left beside the destination.
#[track_caller]
fn write_in(parent: &Path, files: &Files, options: &WriteOptions) -> Result<Written> {
    let before = tree(parent);
    let result = write(files, &parent.join("out"), options);
    if result.is_err() {
        assert_eq!(tree(parent), before, "a failure changed something");
    } else {
        assert_eq!(tree(&parent.join("out")), contents(files));
        let outside = |tree: BTreeMap<String, String>| -> Vec<String> {
            tree.into_keys()
                .filter(|name| !name.starts_with("out/"))
                .collect()
        };
        assert_eq!(outside(tree(parent)), outside(before));
    }
    result
}

#[track_caller]
fn refused<T: std::fmt::Debug>(result: Result<T>, kind: Kind, words: &[&str]) -> Error {
    let error = result.unwrap_err();
    assert_eq!(error.kind(), kind, "{error}");
    for word in words {
        assert!(error.message().contains(word), "`{word}` in: {error}");
    }
    error
}

fn hint(error: &Error) -> &str {
    error.detail().hint.as_deref().unwrap_or_default()
}

#[test]
fn a_new_directory_has_the_files_and_the_modes_that_the_umask_leaves() {
    let parent = tempfile::tempdir().unwrap();
    let written = write_in(parent.path(), &one(), &PLAIN).unwrap();
    assert!(!written.replaced && written.removed.is_empty() && written.overwritten.is_empty());
    let mode = |path: &str| {
        let path = parent.path().join(path);
        fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777
    };
    fs::create_dir(parent.path().join("probe")).unwrap();
    let umask = 0o777 & !mode("probe");
    for directory in ["out", "out/manifests", "out/manifests/sub/deep"] {
        assert_eq!(mode(directory), 0o755 & !umask, "{directory}");
    }
    for file in ["out/.sourceignore", "out/manifests/sub/deep/x.yaml"] {
        assert_eq!(mode(file), 0o644 & !umask, "{file}");
    }
}

#[test]
fn many_files_and_spooled_contents_arrive_whole() {
    let parent = tempfile::tempdir().unwrap();
    let mut spool = crate::content::Spool::with_memory(parent.path(), 0);
    let mut files = Files::new();
    for n in 0..100 {
        let text = format!("{n} ").repeat(n * 1_000);
        let content = spool.store(&mut text.as_bytes()).unwrap();
        files.insert(
            format!("manifests/d{}/{n}.yaml", n % 7).parse().unwrap(),
            content,
        );
    }
    write_in(parent.path(), &files, &PLAIN).unwrap();
}

#[test]
fn an_empty_directory_is_as_good_as_none() {
    let parent = tempfile::tempdir().unwrap();
    fs::create_dir(parent.path().join("out")).unwrap();
    let written = write(&two(), &parent.path().join("out/"), &PLAIN).unwrap();
    assert!(!written.replaced);
    assert_eq!(tree(&parent.path().join("out")), contents(&two()));
    fs::remove_dir_all(parent.path().join("out")).unwrap();
    fs::create_dir(parent.path().join("out")).unwrap();
    assert!(!write_in(parent.path(), &two(), &FORCE).unwrap().replaced);
}

#[test]
fn links_files_and_nameless_places_are_refused_whatever_the_options() {
    let parent = tempfile::tempdir().unwrap();
    fs::create_dir(parent.path().join("real")).unwrap();
    fs::write(parent.path().join("file"), "x").unwrap();
    symlink("real", parent.path().join("link")).unwrap();
    symlink("nowhere", parent.path().join("dangling")).unwrap();
    let before = tree(parent.path());
    for (name, words) in [
        ("file", "is a file"),
        ("link", "is a link"),
        ("dangling", "is a link"),
    ] {
        for options in [&PLAIN, &PRUNE] {
            let path = parent.path().join(name);
            refused(write(&one(), &path, options), Kind::Conflict, &[words]);
        }
    }
    let content = Content::from("x");
    for (name, words) in [("real", "is a directory"), ("link", "is a link")] {
        let path = parent.path().join(name);
        refused(
            write_file(&path, &content, &FORCE),
            Kind::Conflict,
            &[words],
        );
    }
    refused(
        write_file(Path::new("/dev/null"), &content, &FORCE),
        Kind::Conflict,
        &["is a special file"],
    );
    for path in ["/", "..", "."] {
        refused(
            write(&one(), Path::new(path), &PRUNE),
            Kind::Usage,
            &["no name"],
        );
    }
    let missing = parent.path().join("missing/out");
    refused(
        write(&one(), &missing, &PLAIN),
        Kind::Io,
        &["missing`: no such"],
    );
    assert_eq!(tree(parent.path()), before);
}

#[test]
fn a_failure_in_the_middle_leaves_what_was_there() {
    let broken = |name: &str| {
        let file = tempfile::tempfile().unwrap();
        file.set_len(100_000).unwrap();
        let content = Content::of_file(file.try_clone().unwrap()).unwrap();
        file.set_len(70_000).unwrap();
        let mut files = two();
        files.insert(name.parse().unwrap(), content);
        files
    };
    let parent = tempfile::tempdir().unwrap();
    for name in ["manifests/z.yaml", ".a", "z/z/z"] {
        refused(
            write_in(parent.path(), &broken(name), &PLAIN),
            Kind::Io,
            &[name],
        );
    }
    write_in(parent.path(), &one(), &PLAIN).unwrap();
    refused(
        write_in(parent.path(), &broken("z"), &PRUNE),
        Kind::Io,
        &["cannot write"],
    );
    let file = parent.path().join("file.tar");
    fs::write(&file, "old").unwrap();
    let content = broken("z").remove("z").unwrap();
    refused(write_file(&file, &content, &FORCE), Kind::Io, &["file.tar"]);
    assert_eq!(fs::read(&file).unwrap(), b"old");
    // A file where a directory is needed, as no checked bundle has it.
    let clash = files(&[("a", "x"), ("a/b", "x")]);
    let elsewhere = tempfile::tempdir().unwrap();
    write_in(elsewhere.path(), &clash, &PLAIN).unwrap_err();
    assert!(tree(elsewhere.path()).is_empty());
}

#[test]
fn a_failure_among_many_files_leaves_nothing() {
    let file = tempfile::tempfile().unwrap();
    file.set_len(100_000).unwrap();
    let broken = Content::of_file(file.try_clone().unwrap()).unwrap();
    file.set_len(70_000).unwrap();
    let many: Files = (0..200)
        .map(|n| (format!("m/{n:03}").parse().unwrap(), Content::from("x")))
        .collect();
    let parent = tempfile::tempdir().unwrap();
    for name in ["m/000", "m/100", "m/199", "n/o/p"] {
        let mut files = many.clone();
        files.insert(name.parse().unwrap(), broken.clone());
        refused(
            write_in(parent.path(), &files, &PLAIN),
            Kind::Io,
            &["cannot write", name],
        );
    }
    // A file where a directory is needed, as no checked bundle has it.
    let mut clash = many.clone();
    clash.insert("m/100/a".parse().unwrap(), Content::from("y"));
    refused(
        write_in(parent.path(), &clash, &PLAIN),
        Kind::Io,
        &["cannot write", "m/100/a"],
    );
    let flag = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&flag);
    let options = WriteOptions {
        interrupted: Some(flag),
        progress: Progress::new(move |done, _| seen.store(done == 100, Ordering::Relaxed)),
        ..PLAIN
    };
    refused(
        write_in(parent.path(), &many, &options),
        Kind::Interrupted,
        &[],
    );
}

#[test]
fn a_request_to_stop_is_heard_and_leaves_nothing() {
    let parent = tempfile::tempdir().unwrap();
    let options = WriteOptions {
        interrupted: Some(Arc::new(AtomicBool::new(true))),
        ..PLAIN
    };
    refused(
        write_in(parent.path(), &one(), &options),
        Kind::Interrupted,
        &[],
    );
    let file = parent.path().join("f");
    refused(
        write_file(&file, &Content::from("x"), &options),
        Kind::Interrupted,
        &[],
    );
    // In the middle of a file, too, whatever its writer makes of that.
    let flag = Arc::new(AtomicBool::new(false));
    let options = WriteOptions {
        interrupted: Some(Arc::clone(&flag)),
        ..PLAIN
    };
    let stopped = write_file_with(&file, &options, |file| {
        file.write_all(b"half").unwrap();
        flag.store(true, Ordering::Relaxed);
        file.write_all(b"more").unwrap_err();
        Err(Error::invalid("no more"))
    });
    refused(stopped, Kind::Interrupted, &[]);
    assert!(tree(parent.path()).is_empty());
}

#[test]
fn of_many_writers_one_wins_and_the_others_hear_of_it() {
    for round in 0..10 {
        let parent = tempfile::tempdir().unwrap();
        let out = parent.path().join("out");
        if round % 2 == 0 {
            fs::create_dir(&out).unwrap();
        }
        let results: Vec<(String, Result<Written>)> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8)
                .map(|n| {
                    let (out, text) = (&out, n.to_string());
                    scope.spawn(move || {
                        let mut files = one();
                        let content = Content::from(text.clone().into_bytes());
                        files.insert("manifests/who.yaml".parse().unwrap(), content);
                        (text, write(&files, out, &PLAIN))
                    })
                })
                .collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .collect()
        });
        let mut winners = Vec::new();
        for (text, result) in results {
            match result {
                Ok(_) => winners.push(text),
                Err(error) => assert_eq!(error.kind(), Kind::Conflict, "{error}"),
            }
        }
        assert_eq!(winners.len(), 1);
        assert_eq!(
            fs::read_to_string(out.join("manifests/who.yaml")).unwrap(),
            winners[0]
        );
        assert_eq!(
            fs::read_dir(parent.path()).unwrap().count(),
            1,
            "nothing is left"
        );
    }
}

#[test]
fn of_many_who_replace_the_result_is_one_of_theirs_and_whole() {
    let parent = tempfile::tempdir().unwrap();
    let out = parent.path().join("out");
    if !write(&one(), &out, &PLAIN).unwrap().marked {
        return;
    }
    let candidates: Vec<Files> = ["a", "b", "c", "d"]
        .iter()
        .map(|text| files(&[("manifests/x.yaml", text), ("manifests/y.yaml", text)]))
        .collect();
    std::thread::scope(|scope| {
        for files in &candidates {
            scope.spawn(|| {
                for _ in 0..5 {
                    if let Err(error) = write(files, &out, &FORCE) {
                        assert_eq!(error.kind(), Kind::Conflict, "{error}");
                    }
                }
            });
        }
    });
    let found = tree(&out);
    assert!(
        candidates.iter().any(|files| contents(files) == found),
        "{found:?}"
    );
    assert_eq!(
        fs::read_dir(parent.path()).unwrap().count(),
        1,
        "nothing is left"
    );
}

#[test]
fn a_file_is_written_whole_and_replaced_only_by_force() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("b.tar");
    assert!(!write_file(&path, &Content::from("one"), &PLAIN).unwrap());
    let error = refused(
        write_file(&path, &Content::from("two"), &PLAIN),
        Kind::Conflict,
        &["b.tar` exists already"],
    );
    assert!(hint(&error).contains("--force"));
    assert!(write_file(&path, &Content::from("two"), &FORCE).unwrap());
    assert!(!write_file(&parent.path().join("c"), &Content::from("c"), &FORCE).unwrap());
    let want = [("b.tar", "two"), ("c", "c")].map(|(a, b)| (a.to_owned(), b.to_owned()));
    assert_eq!(tree(parent.path()), BTreeMap::from(want));
    let failed = write_file_with(&parent.path().join("d"), &PLAIN, |file| {
        file.write_all(b"half").unwrap();
        Err(Error::invalid("no more"))
    });
    refused(failed, Kind::Invalid, &["no more"]);
    assert_eq!(tree(parent.path()).len(), 2);
}

#[test]
fn what_a_killed_run_left_is_removed_by_the_next_one() {
    const KILLED: &str = "BUNDLE_TEST_KILLED_WRITER";
    if let Some(path) = std::env::var_os(KILLED) {
        // The process that is to be killed: this test, run by itself.
        let _ = write_file_with(Path::new(&path), &FORCE, |file| {
            file.write_all(b"half").unwrap();
            std::io::stdout().write_all(b"\nhalf is written\n").unwrap();
            let _ = std::io::stdin().read(&mut [0]);
            Ok(())
        });
        return;
    }
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("b.tar");
    fs::write(&path, "old").unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "directory::write::tests::what_a_killed_run_left_is_removed_by_the_next_one",
        ])
        .env(KILLED, &path)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = std::io::BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(
        lines
            .map_while(io::Result::ok)
            .any(|line| line == "half is written")
    );
    // While it lives, its directory is its own.
    write_file(&path, &Content::from("between"), &FORCE).unwrap();
    let count = || fs::read_dir(parent.path()).unwrap().count();
    assert_eq!(count(), 2);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(count(), 2, "it left something");
    assert_eq!(fs::read(&path).unwrap(), b"between");
    write_file(&path, &Content::from("new"), &FORCE).unwrap();
    assert_eq!(count(), 1);
    assert_eq!(fs::read(&path).unwrap(), b"new");
}
