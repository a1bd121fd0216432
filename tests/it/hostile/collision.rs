//! Names that are two on one system and one on another.

use super::{AT, Case, DATA, UNSAFE, named};

pub(super) fn cases() -> Vec<Case> {
    let one_file = "are one file where case or Unicode form is ignored";
    let at_end = "ends with a space or a dot";
    let pairs = [
        ("A.yaml", "a.yaml", one_file),
        ("caf\u{e9}.yaml", "cafe\u{301}.yaml", one_file),
        ("\u{fb01}.yaml", "fi.yaml", one_file),
        ("STRASSE.yaml", "stra\u{df}e.yaml", one_file),
        ("\u{ff41}.yaml", "a.yaml", one_file),
        ("RBAC/a.yaml", "rbac/b.yaml", one_file),
        ("x", "x.", at_end),
        ("x", "x ", at_end),
    ];
    let cases = pairs.iter().enumerate().map(|(n, (one, other, words))| {
        let [one, other] = [one, other].map(|name| format!("manifests/{name}"));
        // A header and a block of content further on.
        let says = named(&other, AT + 1024);
        Case::entries(
            format!("A18/{}", n + 1),
            UNSAFE,
            says,
            |g| g.file(&one, DATA).file(&other, DATA),
            |g| g.file(&one, DATA).file("manifests/other.yaml", DATA),
        )
        .and(*words)
    });
    cases.collect()
}
