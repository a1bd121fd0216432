//! Trees on disk, and what is read from them.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::process::Command;

use super::*;
use crate::error::Kind;
use crate::limits::Ceiling;

const OBJECT: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n";
const CONFIG: &str = "kind: Config\nclusters: []\nusers: []\n";

/// Makes a directory with files; a path that ends in `/` is a directory, ` -> ` makes a link.
fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = directory.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        if path.as_os_str().as_bytes().ends_with(b"/") {
            fs::create_dir_all(&path).unwrap();
        } else if let Some(target) = text.strip_prefix("-> ") {
            symlink(target, &path).unwrap();
        } else {
            fs::write(&path, text).unwrap();
        }
    }
    directory
}

fn read_with(path: &Path, options: &ReadOptions, limits: &Limits) -> Result<Source> {
    let spool = tempfile::tempdir().unwrap();
    let source = read(path, options, limits, &mut Spool::new(spool.path()))?;
    assert_eq!(fs::read_dir(spool.path()).unwrap().count(), 0);
    Ok(source)
}

fn read_at(path: &Path, options: &ReadOptions) -> Result<Source> {
    read_with(path, options, &Limits::default())
}

fn read_plain(path: &Path) -> Result<Source> {
    read_at(path, &ReadOptions::default())
}

fn resolving() -> ReadOptions {
    ReadOptions {
        resolve_symlinks: true,
        ..ReadOptions::default()
    }
}

fn names(source: &Source) -> Vec<&str> {
    source.files.keys().map(BundlePath::as_str).collect()
}

fn left_out(source: &Source) -> Vec<(&str, &str)> {
    source
        .left_out
        .iter()
        .map(|left| (left.path.as_str(), left.rule.as_str()))
        .collect()
}

fn text(source: &Source, path: &str) -> String {
    let content = source.files.get(path).unwrap();
    String::from_utf8(content.to_bytes().unwrap().to_vec()).unwrap()
}

#[track_caller]
fn refused(result: Result<Source>, kind: Kind, words: &[&str]) -> Error {
    let error = result.unwrap_err();
    assert_eq!(error.kind(), kind, "{error}");
    for word in words {
        assert!(error.message().contains(word), "`{word}` in: {error}");
    }
    error
}

#[test]
fn a_bare_directory_gives_its_manifests_and_lists_the_rest() {
    let tree = tree(&[
        ("cm.yaml", OBJECT),
        ("b.yml", OBJECT),
        ("c.json", "{}"),
        ("rbac/role.yaml", OBJECT),
        ("README.md", "x"),
        ("upper.YAML", OBJECT),
        ("empty/", ""),
        (".DS_Store", "x"),
        ("._cm.yaml", "x"),
        ("__MACOSX/._cm.yaml", "x"),
        ("sub/.git/HEAD", "x"),
    ]);
    let source = read_plain(tree.path()).unwrap();
    assert!(!source.declared);
    assert_eq!(
        names(&source),
        [
            "manifests/b.yml",
            "manifests/c.json",
            "manifests/cm.yaml",
            "manifests/rbac/role.yaml"
        ]
    );
    assert_eq!(text(&source, "manifests/cm.yaml"), OBJECT);
    assert_eq!(
        left_out(&source),
        [
            (".DS_Store", "built-in rule `.DS_Store`"),
            ("._cm.yaml", "built-in rule `._*`"),
            ("README.md", "not *.yaml, *.yml or *.json"),
            ("__MACOSX/", "built-in rule `__MACOSX`"),
            ("empty/", "empty directory"),
            ("sub/.git/", "built-in rule `.git`"),
            ("upper.YAML", "not *.yaml, *.yml or *.json"),
        ]
    );
    assert!(source.renamed.is_empty());
}

#[test]
fn a_declared_bundle_gives_everything_in_its_two_directories() {
    let tree = tree(&[
        ("manifests/cm.yaml", OBJECT),
        ("manifests/Corefile", "."),
        ("manifests/base/x.yaml", OBJECT),
        ("metadata/annotations.yaml", "annotations: {}\n"),
        ("manifests/.DS_Store", "x"),
        (".sourceignore", "/metadata/\n"),
        ("bundle.Dockerfile", "FROM scratch\n"),
        ("tests/big", "x"),
        ("link", "-> /nowhere"),
    ]);
    let source = read_plain(tree.path()).unwrap();
    assert!(source.declared);
    assert_eq!(
        names(&source),
        [
            "manifests/Corefile",
            "manifests/base/x.yaml",
            "manifests/cm.yaml",
            "metadata/annotations.yaml"
        ]
    );
    let outside = "outside manifests/ and metadata/";
    assert_eq!(
        left_out(&source),
        [
            (".sourceignore", outside),
            ("bundle.Dockerfile", outside),
            ("link", outside),
            ("manifests/.DS_Store", "built-in rule `.DS_Store`"),
            ("tests/", outside),
        ]
    );
}

#[test]
fn a_part_of_the_layout_that_is_a_file_is_refused() {
    let tree = tree(&[("manifests", "x"), ("metadata/annotations.yaml", "x")]);
    refused(
        read_plain(tree.path()),
        Kind::Invalid,
        &["manifests` is not a directory"],
    );
}

#[test]
fn one_file_is_a_bundle_of_that_manifest() {
    let tree = tree(&[
        ("one.yaml", OBJECT),
        ("two.txt", "x"),
        ("l.yml", "-> one.yaml"),
    ]);
    let source = read_plain(&tree.path().join("one.yaml")).unwrap();
    assert_eq!(names(&source), ["manifests/one.yaml"]);
    let source = read_plain(&tree.path().join("l.yml")).unwrap();
    assert_eq!(names(&source), ["manifests/l.yml"], "the caller named it");
    refused(
        read_plain(&tree.path().join("two.txt")),
        Kind::Invalid,
        &["two.txt", "*.yaml"],
    );
}

#[test]
fn nothing_to_carry_is_an_error_that_says_so() {
    let empty = tree(&[]);
    refused(
        read_plain(empty.path()),
        Kind::Invalid,
        &["no manifests in"],
    );
    let other = tree(&[("a.txt", "x"), ("b.txt", "x")]);
    refused(
        read_plain(other.path()),
        Kind::Invalid,
        &["no manifests in", "2 left out", "a.txt", "*.json"],
    );
    let missing = empty.path().join("missing");
    refused(read_plain(&missing), Kind::NotFound, &["missing"]);
    refused(read_plain(Path::new("")), Kind::NotFound, &[]);
}

#[test]
fn however_a_directory_is_named_the_result_is_the_same() {
    let tree = tree(&[("in/one.yaml", OBJECT)]);
    for path in ["in", "in/", "in/../in", "./in/."] {
        let source = read_plain(&tree.path().join(path)).unwrap();
        assert_eq!(names(&source), ["manifests/one.yaml"]);
    }
}

#[test]
fn order_modes_and_times_do_not_show() {
    let a = tree(&[("one.yaml", OBJECT), ("sub/two.yaml", "kind: A\n")]);
    let b = tree(&[("sub/two.yaml", "kind: A\n"), ("one.yaml", OBJECT)]);
    let one = b.path().join("one.yaml");
    fs::set_permissions(&one, fs::Permissions::from_mode(0o775)).unwrap();
    fs::File::options()
        .write(true)
        .open(&one)
        .unwrap()
        .set_modified(std::time::UNIX_EPOCH)
        .unwrap();
    let [a, b] = [a, b].map(|tree| read_plain(tree.path()).unwrap());
    assert_eq!(names(&a), names(&b));
    for path in names(&a) {
        assert_eq!(text(&a, path), text(&b, path));
    }
}

#[test]
fn ignore_files_count_at_every_depth_and_are_not_carried() {
    let tree = tree(&[
        (".bundleignore", "docs/\n*.tmp.yaml\n"),
        ("a.yaml", OBJECT),
        ("b.tmp.yaml", OBJECT),
        ("docs/x.yaml", OBJECT),
        ("sub/.bundleignore", "!keep.tmp.yaml\n/a.yaml\n"),
        ("sub/a.yaml", OBJECT),
        ("sub/keep.tmp.yaml", OBJECT),
        ("sub/deep/a.yaml", OBJECT),
        ("tail/keep.tmp.yaml", OBJECT),
    ]);
    let source = read_plain(tree.path()).unwrap();
    assert_eq!(
        names(&source),
        [
            "manifests/a.yaml",
            "manifests/sub/deep/a.yaml",
            "manifests/sub/keep.tmp.yaml"
        ]
    );
    assert_eq!(
        left_out(&source),
        [
            (".bundleignore", "ignore file"),
            ("b.tmp.yaml", ".bundleignore:2 `*.tmp.yaml`"),
            ("docs/", ".bundleignore:1 `docs/`"),
            ("sub/.bundleignore", "ignore file"),
            ("sub/a.yaml", "sub/.bundleignore:2 `/a.yaml`"),
            ("tail/keep.tmp.yaml", ".bundleignore:2 `*.tmp.yaml`"),
        ]
    );
    // In a declared bundle the patterns are relative to the bundle, not to its manifests.
    let declared = tree_declared();
    let source = read_plain(declared.path()).unwrap();
    assert_eq!(names(&source), ["manifests/b.yaml"]);
}

fn tree_declared() -> tempfile::TempDir {
    tree(&[
        (".bundleignore", "/manifests/a.yaml\n"),
        ("manifests/.bundleignore", "/c.yaml\n"),
        ("manifests/a.yaml", OBJECT),
        ("manifests/b.yaml", OBJECT),
        ("manifests/c.yaml", OBJECT),
    ])
}

#[test]
fn what_is_left_out_is_what_git_would_ignore() {
    let patterns = [
        "!keep/*.yaml\nkeep/*\nout/\n!out/x.yaml\nhalf/*\n!half/b.yaml\n\\#hash.yaml\ntrail.yaml   \n",
        "*\n!*/\n!*.json\n",
        "/a.yaml\nkeep\n",
        "**/a.yaml\n!half/**/a.yaml\n",
        "half/**\n!half/b.yaml\n",
        "a?yaml\n[b-c].yaml\n",
        "sub/*.yaml\r\n# no\r\nout/ \r\n",
        "\u{feff}a.yaml\nb.yaml",
        "trail.yaml\\ \n\\!bang.yaml\n!\n/\n",
        "sub/deep\n!sub/deep/a.yaml\n",
        "sub/\n!sub/\n",
        "*.yaml\n!/sub/deep/*.yaml\n",
        "de*p/\n[!a].yaml\n",
        "sub/**/a.yaml\n",
        "deep/a.yaml\n",
        "*/deep/\n",
        "**\n!a.yaml\n",
        "a.yaml/\n",
    ];
    let files = [
        "!bang.yaml",
        "#hash.yaml",
        "a.yaml",
        "b.yaml",
        "c.json",
        "half/a.yaml",
        "half/b.yaml",
        "half/in/a.yaml",
        "keep/a.yaml",
        "out/x.yaml",
        "stay.yaml",
        "sub/a.yaml",
        "sub/deep/a.yaml",
        "sub/deep/deep/b.yaml",
        "trail.yaml",
    ];
    if Command::new("git").arg("--version").output().is_err() {
        return;
    }
    for text in patterns {
        let listed: Vec<(&str, &str)> = files.iter().map(|file| (*file, OBJECT)).collect();
        let tree = tree(&listed);
        let git = |arguments: &[&str]| {
            let output = Command::new("git")
                .arg("-C")
                .arg(tree.path())
                .args(arguments)
                .env("GIT_CONFIG_GLOBAL", "/dev/null")
                .env("GIT_CONFIG_NOSYSTEM", "1")
                .output()
                .unwrap();
            String::from_utf8(output.stdout).unwrap()
        };
        git(&["init", "--quiet"]);
        fs::write(tree.path().join(".gitignore"), text).unwrap();
        let ignored = git(&[
            &["-c", "core.quotePath=false", "check-ignore", "--"],
            &files[..],
        ]
        .concat());
        let want: Vec<String> = files
            .iter()
            .filter(|file| !ignored.lines().any(|line| line == **file))
            .map(|file| format!("manifests/{file}"))
            .collect();
        fs::rename(
            tree.path().join(".gitignore"),
            tree.path().join(".bundleignore"),
        )
        .unwrap();
        match read_plain(tree.path()) {
            Ok(source) => assert_eq!(names(&source), want, "{text:?}"),
            Err(error) => {
                assert_eq!(error.kind(), Kind::Invalid, "{error}");
                assert!(want.is_empty(), "{text:?}: {error}");
            }
        }
    }
}

#[test]
fn a_link_is_refused_with_its_target_and_never_its_content() {
    let tree = tree(&[
        ("ro/namespace.yaml", "secret content"),
        ("rw/plain.yaml", OBJECT),
        ("rw/namespace.yaml", "-> ../ro/namespace.yaml"),
    ]);
    let error = refused(
        read_plain(&tree.path().join("rw")),
        Kind::Unsafe,
        &["rw/namespace.yaml", "`../ro/namespace.yaml`"],
    );
    assert!(!format!("{error:?}").contains("secret content"));
    assert!(
        error
            .detail()
            .hint
            .as_deref()
            .unwrap()
            .contains("--symlink-root DIR"),
        "`--resolve-symlinks` alone would not help"
    );
    refused(
        read_at(&tree.path().join("rw"), &resolving()),
        Kind::Unsafe,
        &["rw/namespace.yaml", "outside the source"],
    );
    let options = ReadOptions {
        symlink_roots: vec![tree.path().join("ro")],
        ..ReadOptions::default()
    };
    let source = read_at(&tree.path().join("rw"), &options).unwrap();
    assert_eq!(text(&source, "manifests/namespace.yaml"), "secret content");
    // What an ignore rule leaves out is not looked at.
    let options = ReadOptions {
        ignore: vec!["namespace.yaml".into()],
        ..ReadOptions::default()
    };
    let source = read_at(&tree.path().join("rw"), &options).unwrap();
    assert_eq!(names(&source), ["manifests/plain.yaml"]);
}

#[test]
fn links_inside_the_source_become_what_they_lead_to() {
    let tree = tree(&[
        ("real/a.yaml", OBJECT),
        ("real/notes.txt", "x"),
        ("one.yaml", "-> real/a.yaml"),
        ("chain.yaml", "-> one.yaml"),
        ("dir", "-> real"),
        ("deep/up.yaml", "-> ../dir/a.yaml"),
    ]);
    symlink(
        tree.path().join("real/a.yaml"),
        tree.path().join("absolute.yaml"),
    )
    .unwrap();
    let source = read_at(tree.path(), &resolving()).unwrap();
    assert_eq!(
        names(&source),
        [
            "manifests/absolute.yaml",
            "manifests/chain.yaml",
            "manifests/deep/up.yaml",
            "manifests/dir/a.yaml",
            "manifests/one.yaml",
            "manifests/real/a.yaml"
        ]
    );
    for path in names(&source) {
        assert_eq!(text(&source, path), OBJECT);
    }
    let options = ReadOptions {
        ignore: vec!["dir/".into()],
        ..resolving()
    };
    let source = read_at(tree.path(), &options).unwrap();
    assert!(!names(&source).contains(&"manifests/dir/a.yaml"));
}

#[test]
fn a_mounted_config_map_is_read_through_its_links_once() {
    let tree = tree(&[
        ("..2024_01_01/a.yaml", OBJECT),
        ("..data", "-> ..2024_01_01"),
        ("a.yaml", "-> ..data/a.yaml"),
    ]);
    let source = read_at(tree.path(), &resolving()).unwrap();
    assert_eq!(names(&source), ["manifests/a.yaml"]);
}

#[test]
fn links_that_lead_nowhere_in_a_circle_or_out_are_refused() {
    for (files, words) in [
        (&[("x.yaml", "-> gone.yaml")][..], "which is not there"),
        (&[("x.yaml", "-> x.yaml")], "leads nowhere"),
        (&[("x.yaml", "-> y"), ("y", "-> x.yaml")], "leads nowhere"),
        (&[("a/b/x", "-> ..")], "a directory that it is in"),
        (&[("x", "-> .")], "a directory that it is in"),
        (&[("x.yaml", "-> /etc/passwd")], "`/etc/passwd`, outside"),
        (&[("x.yaml", "-> /proc/self/environ")], "outside"),
        (&[("x", "-> /")], "outside"),
        (&[("a/x", "-> ../..")], "outside"),
    ] {
        let tree = tree(files);
        refused(read_at(tree.path(), &resolving()), Kind::Unsafe, &[words]);
    }
}

#[test]
fn a_root_is_a_directory_and_not_the_beginning_of_a_name() {
    let tree = tree(&[
        ("in/x.yaml", "-> ../in-secret/x.yaml"),
        ("in-secret/x.yaml", OBJECT),
    ]);
    refused(
        read_at(&tree.path().join("in"), &resolving()),
        Kind::Unsafe,
        &["outside"],
    );
}

#[test]
fn links_cannot_multiply_a_tree_past_the_ceiling() {
    let mut files = vec![("d9/x.txt".to_owned(), "x".to_owned())];
    for level in 0..9 {
        for name in ["a", "b", "c", "d"] {
            files.push((format!("d{level}/{name}"), format!("-> ../d{}", level + 1)));
        }
    }
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(path, text)| (path.as_str(), text.as_str()))
        .collect();
    let tree = tree(&files);
    let limits = Limits::default().with(Ceiling::Entries, 500);
    refused(
        read_with(tree.path(), &resolving(), &limits),
        Kind::Limit,
        &["limit `entries` = 500"],
    );
}

#[test]
fn special_files_are_refused_and_nothing_waits_for_them() {
    let tree = tree(&[("cm.yaml", OBJECT)]);
    let pipe = tree.path().join("pipe.yaml");
    rustix::fs::mknodat(CWD, &pipe, FileType::Fifo, 0o600.into(), 0).unwrap();
    refused(
        read_plain(tree.path()),
        Kind::Unsafe,
        &["pipe.yaml", "a named pipe"],
    );
    refused(read_plain(&pipe), Kind::Unsafe, &["a named pipe"]);
    fs::remove_file(&pipe).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(tree.path().join("s")).unwrap();
    refused(read_plain(tree.path()), Kind::Unsafe, &["a socket"]);
    refused(
        read_plain(Path::new("/dev/zero")),
        Kind::Unsafe,
        &["a device"],
    );
    symlink("s", tree.path().join("a.yaml")).unwrap();
    refused(
        read_at(tree.path(), &resolving()),
        Kind::Unsafe,
        &["a.yaml", "no file and no directory"],
    );
}

#[test]
fn names_that_a_bundle_cannot_carry_are_refused_and_shown_escaped() {
    for (name, kind, words) in [
        (&b"a\xff.yaml"[..], Kind::Unsafe, "not UTF-8"),
        (b"a\x1b[2J.yaml", Kind::Unsafe, "\\u{1b}[2J"),
        (b"a\n.yaml", Kind::Unsafe, "\\u{a}"),
        (b"nul.yaml", Kind::Unsafe, "reserves for a device"),
        (b"a:b.yaml", Kind::Unsafe, "`:`"),
        (b".wh.x.yaml", Kind::Unsafe, ".wh."),
    ] {
        let tree = tree(&[]);
        let name = std::ffi::OsStr::from_bytes(name);
        fs::write(tree.path().join(name), OBJECT).unwrap();
        let error = refused(read_plain(tree.path()), kind, &[words]);
        assert!(!error.message().contains(['\u{1b}', '\n']));
    }
    let deep = "d/".repeat(31) + "x.yaml";
    let tree = tree(&[(&deep, OBJECT)]);
    refused(
        read_plain(tree.path()),
        Kind::Limit,
        &["limit `path-depth` = 32"],
    );
}

#[test]
fn names_that_collide_are_refused() {
    for (one, two) in [
        ("A.yaml", "a.yaml"),
        ("caf\u{e9}.yaml", "cafe\u{301}.yaml"),
        ("Sub/a.yaml", "sub/b.yaml"),
    ] {
        let tree = tree(&[(one, OBJECT), (two, OBJECT)]);
        if fs::read_dir(tree.path()).unwrap().count() == 2 {
            refused(read_plain(tree.path()), Kind::Unsafe, &["are one file"]);
        }
    }
}

#[test]
fn keys_and_kubeconfigs_are_left_out_of_bare_sources_and_refused_in_bundles() {
    let key = format!("-----BEGIN EC {} KEY-----\nAAAA\n", "PRIVATE");
    let bare = tree(&[("a.yaml", OBJECT), ("k.yaml", &key), ("c.yml", CONFIG)]);
    let source = read_plain(bare.path()).unwrap();
    assert_eq!(names(&source), ["manifests/a.yaml"]);
    assert_eq!(
        left_out(&source),
        [
            ("c.yml", "kubeconfig (content)"),
            ("k.yaml", "private key (content)")
        ]
    );
    let including = ReadOptions {
        include: vec!["/c.yml".into()],
        ..ReadOptions::default()
    };
    let source = read_at(bare.path(), &including).unwrap();
    assert_eq!(names(&source), ["manifests/a.yaml", "manifests/c.yml"]);
    refused(
        read_plain(&bare.path().join("c.yml")),
        Kind::Unsafe,
        &["c.yml", "is a kubeconfig"],
    );
    read_at(&bare.path().join("c.yml"), &including).unwrap();

    let declared = tree(&[("manifests/a.yaml", OBJECT), ("manifests/tls.key", &key)]);
    let error = refused(
        read_plain(declared.path()),
        Kind::Unsafe,
        &["manifests/tls.key", "is a private key"],
    );
    assert!(!format!("{error:?}").contains("AAAA"));
    let ignoring = ReadOptions {
        ignore: vec!["*.key".into()],
        ..ReadOptions::default()
    };
    read_at(declared.path(), &ignoring).unwrap();
}

#[test]
fn what_is_included_by_name_needs_no_ending_and_the_built_in_rules_can_be_dropped() {
    let tree = tree(&[("a.yaml", OBJECT), ("Corefile", "."), ("._b.yaml", OBJECT)]);
    let options = ReadOptions {
        include: vec!["Corefile".into()],
        built_in_rules: false,
        ..ReadOptions::default()
    };
    let source = read_at(tree.path(), &options).unwrap();
    assert_eq!(
        names(&source),
        [
            "manifests/._b.yaml",
            "manifests/Corefile",
            "manifests/a.yaml"
        ]
    );
}

#[test]
fn flattening_joins_the_path_and_refuses_a_collision() {
    let options = ReadOptions {
        flatten: true,
        ..ReadOptions::default()
    };
    let bare = tree(&[("rbac/role.yaml", OBJECT), ("a.yaml", OBJECT)]);
    let source = read_at(bare.path(), &options).unwrap();
    assert_eq!(
        names(&source),
        ["manifests/a.yaml", "manifests/rbac-role.yaml"]
    );
    let renamed: BundlePath = "manifests/rbac-role.yaml".parse().unwrap();
    assert_eq!(source.renamed, [("rbac/role.yaml".to_owned(), renamed)]);

    let declared = tree(&[
        ("manifests/x/y/z.yaml", OBJECT),
        ("metadata/sub/annotations.yaml", "x"),
    ]);
    let source = read_at(declared.path(), &options).unwrap();
    assert_eq!(
        names(&source),
        ["manifests/x-y-z.yaml", "metadata/sub/annotations.yaml"]
    );
    assert_eq!(source.renamed[0].0, "manifests/x/y/z.yaml");

    let twice = tree(&[("rbac/role.yaml", OBJECT), ("rbac-role.yaml", OBJECT)]);
    refused(
        read_at(twice.path(), &options),
        Kind::Invalid,
        &[
            "`rbac/role.yaml`",
            "`rbac-role.yaml`",
            "manifests/rbac-role.yaml",
        ],
    );
}

#[test]
fn ceilings_hold_at_the_limit_and_not_past_it() {
    let tree = tree(&[
        (".bundleignore", "12345678"),
        ("a.yaml", "0123456789"),
        ("sub/b.yaml", "0123456789"),
    ]);
    // Two files and two directories.
    for (ceiling, enough) in [
        (Ceiling::Entries, 4),
        (Ceiling::File, 10),
        (Ceiling::Unpacked, 20),
        (Ceiling::IgnoreFile, 8),
    ] {
        let read = |value| {
            let limits = Limits::default().with(ceiling, value);
            read_with(tree.path(), &ReadOptions::default(), &limits)
        };
        read(enough).unwrap();
        let words = format!("limit `{}` = {}", ceiling.name(), enough - 1);
        refused(read(enough - 1), Kind::Limit, &[&words]);
    }
}

#[test]
fn large_files_come_through_whole() {
    let directory = tempfile::tempdir().unwrap();
    for size in [0, 1, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 3 << 20] {
        let bytes: Vec<u8> = (0..=250).cycle().take(size).collect();
        fs::write(directory.path().join(format!("{size}.yaml")), &bytes).unwrap();
    }
    let source = read_plain(directory.path()).unwrap();
    for path in names(&source) {
        let size: usize = path["manifests/".len()..path.len() - 5].parse().unwrap();
        let content = source.files.get(path).unwrap();
        let bytes = content.to_bytes().unwrap();
        assert_eq!(bytes.len(), size);
        assert!(bytes.iter().copied().eq((0..=250).cycle().take(size)));
    }
}

#[test]
fn an_unreadable_file_or_directory_is_named_with_the_reason() {
    const INNER: &str = "BUNDLE_TEST_WITHOUT_CAPABILITIES";
    let tree = tree(&[
        ("in/ok.yaml", OBJECT),
        ("in/secret.yaml", OBJECT),
        ("d/x/y.yaml", OBJECT),
    ]);
    let file = tree.path().join("in/secret.yaml");
    let directory = tree.path().join("d/x");
    for path in [&file, &directory] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o000)).unwrap();
    }
    if fs::read(&file).is_ok() {
        assert!(std::env::var_os(INNER).is_none(), "still reads everything");
        // Root reads everything until it gives up its capabilities, so this test runs itself again without them.
        let output = Command::new("setpriv")
            .args(["--bounding-set=-all", "--inh-caps=-all", "--"])
            .arg(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "directory::read::tests::an_unreadable_file_or_directory_is_named_with_the_reason",
            ])
            .env(INNER, "1")
            .output()
            .expect("this test needs `setpriv` to run as root");
        let stdout = String::from_utf8_lossy(&output.stdout);
        assert!(
            output.status.success() && stdout.contains("1 passed"),
            "{stdout}"
        );
    } else {
        refused(
            read_plain(&tree.path().join("in")),
            Kind::Io,
            &["in/secret.yaml", "permission denied"],
        );
        refused(
            read_plain(&tree.path().join("d")),
            Kind::Io,
            &["d/x", "permission denied"],
        );
        refused(read_plain(&file), Kind::Io, &["permission denied"]);
    }
    fs::set_permissions(&directory, fs::Permissions::from_mode(0o700)).unwrap();
}

/// The corpus keeps the links of a project whose manifests lead out of their directory; where it was laid without links,
/// each is a file that holds nothing but its target, as git writes them on systems that have none.
#[test]
fn the_corpus_of_links_is_read_only_when_it_is_allowed() {
    let Some(corpus) = std::env::var_os("BUNDLE_CORPUS") else {
        return;
    };
    let kept = Path::new(&corpus).join("corpus/knative-serving-symlinks/knative-v1.23.0");
    let tree = tempfile::tempdir().unwrap();
    let mut copy = Command::new("cp");
    copy.arg("-R").arg(&kept).arg(tree.path().join("t"));
    assert!(copy.status().unwrap().success());
    let core = tree.path().join("t/config/core");
    for link in [
        "300-imagecache.yaml",
        "300-resources/certificate.yaml",
        "300-resources/domain-claim.yaml",
        "300-resources/ingress.yaml",
        "300-resources/serverlessservice.yaml",
        "configmaps/network.yaml",
    ] {
        let path = core.join(link);
        if !path.is_symlink() {
            let target = fs::read_to_string(&path).unwrap();
            fs::set_permissions(path.parent().unwrap(), fs::Permissions::from_mode(0o755)).unwrap();
            fs::remove_file(&path).unwrap();
            symlink(target, &path).unwrap();
        }
    }
    refused(read_plain(&core), Kind::Unsafe, &["is a link to"]);
    refused(read_at(&core, &resolving()), Kind::Unsafe, &["outside"]);
    let options = ReadOptions {
        symlink_roots: vec![tree.path().join("t/vendor")],
        ..ReadOptions::default()
    };
    let source = read_at(&core, &options).unwrap();
    assert!(
        text(&source, "manifests/300-imagecache.yaml").contains("kind: CustomResourceDefinition")
    );
}
