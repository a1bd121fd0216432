//! Entries that are neither files nor directories, each bare and with a content that is the header of another entry.

use super::{Case, UNSAFE, here};
use crate::support::targen::Head;

const KINDS: [(u8, &str); 14] = [
    (b'3', "is a character device"),
    (b'4', "is a block device"),
    (b'6', "is a named pipe"),
    (b'7', "is a contiguous file"),
    (b'D', "is the listing of a directory"),
    (b'M', "is the continuation of a file"),
    (b'N', "is a list of long names"),
    (b'S', "is a sparse file"),
    (b'V', "is the name of a volume"),
    (b'A', "is an access control list"),
    (b'X', "is of the unknown type 0x58"),
    (b'Z', "is of the unknown type 0x5a"),
    // Old archives have files of this type; some readers take one with a slash at its end for a directory.
    (0, "is a file of the old type NUL"),
    (0xff, "is of the unknown type 0xff"),
];

pub(super) fn cases() -> Vec<Case> {
    let name = "manifests/odd.yaml";
    let inner = Head::file("../../evil.yaml", 0).block();
    let mut cases = Vec::new();
    for (flag, words) in KINDS {
        for (what, data) in [("bare", &b""[..]), ("full", &inner)] {
            let head = Head::file(name, data.len() as u64);
            // These are GNU's own.
            let head = if matches!(flag, b'D' | b'M' | b'N' | b'S' | b'V') {
                head.gnu()
            } else {
                head
            };
            cases.push(Case::entries(
                format!("A8/0x{flag:02x}/{what}"),
                UNSAFE,
                format!("{} {words}", here(name)),
                |g| g.entry(head.clone().flag(flag), data),
                |g| g.entry(head.clone(), data),
            ));
        }
    }
    cases
}
