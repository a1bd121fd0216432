//! Whiteouts in a layer that has none below it, some of which would reach outside.

use super::{AT, Case, DATA, UNSAFE};
use crate::support::targen::Head;

pub(super) fn cases() -> Vec<Case> {
    let names: [(&[u8], &str); 6] = [
        (b"../../.wh.victim.secret", "../../.wh.victim.secret"),
        (b"manifests/.wh..wh..opq", "manifests/.wh..wh..opq"),
        (b"manifests/.wh.", "manifests/.wh."),
        (b"manifests/.wh.../x.yaml", "manifests/.wh.../x.yaml"),
        (b"manifests/.wh..", "manifests/.wh.."),
        (b"manifests/.wh.\0first.yaml", "manifests/.wh."),
    ];
    let cases = names.iter().enumerate().map(|(n, (name, shown))| {
        Case::entries(
            format!("A24/{}", n + 1),
            UNSAFE,
            format!("entry `{shown}` at byte {AT}"),
            |g| g.entry(Head::file("", 0).name(name), b""),
            |g| g.file("manifests/wh.first.yaml", DATA),
        )
    });
    cases.collect()
}
