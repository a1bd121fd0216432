//! Locks come back as they were written, and everything else is refused with its line.

use super::*;
use crate::bundle::Files;

const DIGEST: &str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

fn inventory() -> Inventory {
    let text = "apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  containers:
  - {name: a, image: nginx}
  - {name: b, image: 'docker.io/library/nginx:latest'}
  - {name: c, image: 'reg.io/app:1', args: ['--x=reg.io/agent:2']}
";
    let path = "manifests/p.yaml".parse().unwrap();
    let files = Files::from([(path, text.as_bytes().to_vec().into())]);
    crate::images::collect(&files, &Limits::default()).unwrap()
}

fn lock(inventory: &Inventory) -> Lock {
    let digest: Digest = DIGEST.parse().unwrap();
    Lock::of(inventory.images.iter().map(|image| Pin::of(image, digest)))
}

#[test]
fn a_lock_is_read_as_it_was_written_and_written_the_same_again() {
    let lock = lock(&inventory());
    let text = lock.write();
    let mut read = Lock::parse(&text, &Limits::default()).unwrap();
    assert_eq!(read.write(), text);
    for pin in read.pins.values_mut() {
        assert!(pin.line > 0);
        pin.line = 0;
    }
    assert_eq!(read, lock);
    assert_eq!(lock.pins.len(), 3);
    let empty = Lock::default();
    assert_eq!(Lock::parse(&empty.write(), &Limits::default()), Ok(empty));
}

#[test]
fn what_manifests_and_lock_do_not_share_is_told() {
    let inventory = inventory();
    let mut lock = lock(&inventory);
    assert_eq!(lock.lacks(&inventory).len(), 0);
    assert_eq!(lock.unused(&inventory).len(), 0);
    lock.pins.remove("reg.io/agent:2").unwrap();
    assert_eq!(lock.lacks(&inventory).len(), 0, "it is likely only");
    lock.pins.remove("reg.io/app:1").unwrap();
    assert_eq!(lock.lacks(&inventory)[0].written(), "reg.io/app:1");
    let nothing = Inventory::default();
    let names = lock.unused(&nothing);
    assert_eq!(
        names[0].pinned().to_string(),
        format!("docker.io/library/nginx:latest@{DIGEST}")
    );
}

#[test]
fn what_is_no_lock_is_refused_with_its_line() {
    let text = String::from_utf8(lock(&inventory()).write()).unwrap();
    for (from, to, line, message) in [
        ("lockVersion: \"1\"", "lockVersion: \"2\"", 2, "version"),
        ("lockVersion: \"1\"", "lockVersion: 1", 2, "no string"),
        (
            "images:\n",
            "other: 1\nimages:\n",
            3,
            "`other` is not known",
        ),
        ("  grade: \"certain\"\n", "", 4, "`grade` is missing"),
        ("\"certain\"", "\"sure\"", 6, "grade"),
        (
            "docker.io/library/nginx:latest\"\n  digest",
            "nginx\"\n  digest",
            4,
            "in full",
        ),
        (
            "- image: \"reg.io/agent:2\"",
            "- image: \"reg.io/app:1\"",
            21,
            "no way to write",
        ),
        (DIGEST, "sha256:abc", 5, "digest"),
        ("  - \"nginx\"", "  - \"httpd\"", 9, "no way to write"),
        (
            "    path: \"spec.containers[0].image\"\n",
            "",
            11,
            "`path` is missing",
        ),
        ("images:\n", "images: {}\nx:\n", 4, "not known"),
    ] {
        assert!(text.contains(from), "{from}: {text}");
        let fault =
            Lock::parse(text.replacen(from, to, 1).as_bytes(), &Limits::default()).unwrap_err();
        assert!(fault.message.contains(message), "{to}: {}", fault.message);
        assert_eq!(fault.line, line, "{to}: {}\n{text}", fault.message);
    }
    let twice = format!("{text}{}", text.split("images:\n").nth(1).unwrap());
    let fault = Lock::parse(twice.as_bytes(), &Limits::default()).unwrap_err();
    assert!(fault.message.contains("twice"), "{}", fault.message);
    let anchored = text.replacen("images:", "images: &a", 1);
    assert!(Lock::parse(anchored.as_bytes(), &Limits::default()).is_err());
    assert!(Lock::parse(b"", &Limits::default()).is_err());
}
