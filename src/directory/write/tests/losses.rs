//! What is there already: what `force` exchanges, and what only `prune` may lose.

use super::*;

#[test]
fn what_is_there_is_refused_without_force_and_exchanged_with_it() {
    let parent = tempfile::tempdir().unwrap();
    let marked = write_in(parent.path(), &one(), &PLAIN).unwrap().marked;
    let error = refused(
        write_in(parent.path(), &two(), &PLAIN),
        Kind::Conflict,
        &["out` exists already"],
    );
    assert!(hint(&error).contains("--force"));
    let options = if marked { FORCE } else { PRUNE };
    let written = write_in(parent.path(), &two(), &options).unwrap();
    assert!(written.replaced);
    assert_eq!(
        written.removed,
        [
            ".sourceignore",
            "manifests/old.yaml",
            "manifests/sub/deep/x.yaml",
            "manifests/sub-y.yaml",
        ]
    );
    assert_eq!(written.overwritten.is_empty(), marked);
}

#[test]
fn files_of_the_user_are_never_deleted_without_a_word() {
    type Change = fn(&Path);
    let changes: &[(Change, &str, bool)] = &[
        (
            |out| fs::write(out.join("mine.txt"), "mine").unwrap(),
            "mine.txt",
            true,
        ),
        (
            |out| fs::write(out.join("manifests/mine.yaml"), "mine").unwrap(),
            "manifests/mine.yaml",
            true,
        ),
        (
            |out| fs::write(out.join("manifests/old.yaml"), "edited").unwrap(),
            "manifests/old.yaml",
            true,
        ),
        (
            |out| fs::write(out.join("manifests/keep.yaml"), "edited").unwrap(),
            "manifests/keep.yaml",
            false,
        ),
        (
            |out| fs::rename(out.join("manifests/old.yaml"), out.join("moved")).unwrap(),
            "moved",
            true,
        ),
        (
            |out| fs::create_dir(out.join("empty")).unwrap(),
            "empty/",
            true,
        ),
        (
            |out| symlink("/etc/passwd", out.join("link")).unwrap(),
            "link",
            true,
        ),
    ];
    for (change, name, is_removed) in changes {
        let parent = tempfile::tempdir().unwrap();
        if !write_in(parent.path(), &one(), &PLAIN).unwrap().marked {
            return;
        }
        change(&parent.path().join("out"));
        let error = refused(
            write_in(parent.path(), &two(), &FORCE),
            Kind::Conflict,
            &[&format!("(1): `{name}`")],
        );
        assert!(hint(&error).contains("--prune"));
        let written = write_in(parent.path(), &two(), &PRUNE).unwrap();
        assert_eq!(
            written.removed.contains(&(*name).to_owned()),
            *is_removed,
            "{name}"
        );
        assert_eq!(
            written.overwritten.contains(&(*name).to_owned()),
            !is_removed,
            "{name}"
        );
    }
}

#[test]
fn what_is_written_between_the_look_and_the_exchange_is_seen() {
    type Change = fn(&Path);
    let changes: &[(Change, bool)] = &[
        (|_| {}, true),
        (|out| fs::write(out.join("late"), "").unwrap(), false),
        (|out| fs::create_dir(out.join("late")).unwrap(), false),
        (
            |out| fs::write(out.join("manifests/keep.yaml"), "longer than it was").unwrap(),
            false,
        ),
        (
            |out| fs::remove_file(out.join("manifests/keep.yaml")).unwrap(),
            false,
        ),
    ];
    for (change, still) in changes {
        let parent = tempfile::tempdir().unwrap();
        let out = parent.path().join("out");
        write(&one(), &out, &PLAIN).unwrap();
        let destination = Destination::open(&out).unwrap();
        let There::Former(former) = Former::look(&destination, &two(), &PRUNE).unwrap() else {
            panic!("nothing is there");
        };
        let staging = Staging::beside(&destination).unwrap();
        make(&two(), &destination, &staging, || Ok(())).unwrap();
        change(&out);
        exchange(&destination, &staging).unwrap();
        assert_eq!(former.is_still(&staging, &destination).unwrap(), *still);
        let error = staging.keep(destination.changed());
        let (_, kept) = hint(&error).split_once('`').unwrap();
        let kept = tree(Path::new(kept.trim_end_matches('`')));
        assert!(kept.contains_key("manifests/old.yaml"), "{kept:?}");
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 2);
    }
}

#[test]
fn an_empty_directory_that_comes_again_is_no_loss() {
    let parent = tempfile::tempdir().unwrap();
    let out = parent.path().join("out");
    write_in(parent.path(), &one(), &PLAIN).unwrap();
    fs::remove_dir_all(out.join("manifests")).unwrap();
    fs::create_dir_all(out.join("manifests/sub/deep")).unwrap();
    let written = write_in(parent.path(), &one(), &FORCE).unwrap();
    assert_eq!(written.removed, Vec::<String>::new());
    // One that does not come is somebody's, and so is a file where one comes.
    fs::create_dir(out.join("manifests/su")).unwrap();
    fs::remove_dir_all(out.join("manifests/sub")).unwrap();
    fs::write(out.join("manifests/sub"), "mine").unwrap();
    let refused = refused(
        write_in(parent.path(), &one(), &FORCE),
        Kind::Conflict,
        &["(2)", "manifests/su/", "manifests/sub`"],
    );
    assert!(hint(&refused).contains("--prune"));
}

#[test]
fn a_directory_that_no_bundle_made_is_not_replaced_by_force_alone() {
    let parent = tempfile::tempdir().unwrap();
    fs::create_dir(parent.path().join("out")).unwrap();
    fs::write(parent.path().join("out/mine.txt"), "mine").unwrap();
    refused(
        write_in(parent.path(), &one(), &PLAIN),
        Kind::Conflict,
        &["exists already"],
    );
    refused(
        write_in(parent.path(), &one(), &FORCE),
        Kind::Conflict,
        &["mine.txt"],
    );
    let written = write_in(parent.path(), &one(), &PRUNE).unwrap();
    assert_eq!(written.removed, ["mine.txt"]);
}

#[test]
fn files_without_a_mark_are_safe_to_replace_with_the_same_bytes() {
    let parent = tempfile::tempdir().unwrap();
    // As a copy or a checkout leaves it: the bytes, and no attributes.
    let out = parent.path().join("out");
    fs::create_dir_all(out.join("manifests")).unwrap();
    fs::write(out.join("manifests/keep.yaml"), "keep 2").unwrap();
    let written = write_in(parent.path(), &two(), &FORCE).unwrap();
    assert!(written.replaced && written.removed.is_empty() && written.overwritten.is_empty());
}

#[test]
fn a_list_of_losses_is_short_and_escaped() {
    let parent = tempfile::tempdir().unwrap();
    let out = parent.path().join("out");
    fs::create_dir(&out).unwrap();
    for n in 0..30 {
        fs::write(out.join(format!("\u{1b}{n:02}")), "").unwrap();
    }
    let error = refused(
        write_in(parent.path(), &one(), &FORCE),
        Kind::Conflict,
        &["(30)", "`\\u{1b}00`", "`\\u{1b}09`, …"],
    );
    assert!(!error.message().contains('\u{1b}'));
}
