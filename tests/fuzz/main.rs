//! All fuzz targets in one binary, driven by libFuzzer: what parses input from outside, each with an oracle that says more
//! than "no panic". `.ci/run fuzz` builds it, runs every target over its seeds in `testdata/fuzz` and then over a
//! number of inputs of its own; `FUZZ_SECONDS=3600 .ci/run fuzz` goes on for as long, `FUZZ_TARGETS="tar gzip"` takes some of them.
//!
//! An input that fails becomes a seed when its fault is mended.
#![no_main]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "what must hold and does not ends the run"
)]

mod archives;
mod documents;
mod files;
mod headers;
mod words;

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;

type Target = fn(&[u8]);

/// The targets by their names, which are also those of the folders of seeds.
const TARGETS: &[(&str, Target)] = &[
    ("annotations", documents::annotations),
    ("archive", archives::archive),
    ("challenge", headers::challenge),
    ("config", documents::config),
    ("docker-config", files::docker_config),
    ("gzip", archives::gzip),
    ("ignore", files::ignore),
    ("json", documents::json),
    ("layout", archives::layout),
    ("link", headers::link),
    ("location", headers::location),
    ("login", files::login),
    ("manifest", documents::manifest),
    ("path", words::path),
    ("reference", words::reference),
    ("requirement", words::requirement),
    ("retry-after", headers::retry_after),
    ("tar", archives::tar),
    ("text", words::text),
    ("yaml", documents::yaml),
    ("zstd", archives::zstd),
];

/// The one that this process runs.
static TARGET: LazyLock<Target> = LazyLock::new(|| {
    let name = std::env::var("BUNDLE_FUZZ").unwrap_or_default();
    match TARGETS.iter().find(|(known, _)| *known == name) {
        Some((_, target)) => *target,
        None => panic!(
            "BUNDLE_FUZZ names no target; there are {}",
            TARGETS
                .iter()
                .map(|(name, _)| *name)
                .collect::<Vec<_>>()
                .join(" ")
        ),
    }
});

fuzz_target!(|data: &[u8]| TARGET(data));
