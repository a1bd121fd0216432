//! Cases from the public trackers of other tools, replayed with inputs of our own: one test a case, named after it.
//!
//! A second test of a case runs what the folder of the case itself holds, where that can be run as it is; it does
//! nothing without `BUNDLE_CORPUS`. These cases are proven elsewhere, and not again here:
//!
//! | Case | What | Tests |
//! |---|---|---|
//! | 50 | docker config shapes | `every_kind_of_entry_is_read`, `an_entry_answers_for_its_registry_or_namespace_and_nothing_else`, `a_file_that_is_not_strict_json_is_an_error_and_never_no_credentials`, `a_missing_helper_is_a_warning_and_a_note_and_no_other_account_is_taken`, `a_helper_is_asked_before_entries_and_passed_over_when_it_has_nothing`, `identity_and_registry_tokens_are_used_as_what_they_are`, `flags_win_over_what_is_stored`, `the_shapes_of_the_corpus_are_read_as_their_table_says` |
//! | 52 | redirect without the token | `storage_elsewhere_gets_no_credentials`, `credentials_do_not_come_back_after_a_way_through_another_origin`, `redirects_are_followed_within_bounds` |
//! | 53 | token lives short | `a_token_that_runs_out_is_renewed_once`, `many_requests_with_short_tokens_all_get_through` |
//! | 54 | TLS and plain HTTP | `http_and_https_are_not_mixed_up_in_silence`, `an_authority_is_trusted_when_it_is_named`, `bad_certificates_are_named_and_not_tried_again`, `a_certificate_of_a_stranger_is_refused`, `a_registry_that_speaks_tls_is_recognised_on_a_plain_connection`, and one here |
//! | 55 | proxy variables | `proxies_are_used_for_others_and_not_for_this_machine`, `a_proxy_that_refuses_is_named_without_its_password`, and one here |
//! | 61 | upload over 4 MiB | `large_blobs_go_in_pieces_where_whole_ones_are_refused` |
//! | 62 | upload location | `uploads_go_where_the_registry_says`, `an_upload_elsewhere_gets_no_credentials` |
//! | 68 | throttled | `throttling_is_waited_for_twice_and_only_for_a_minute`, `what_passes_is_tried_again_and_what_stays_is_an_error_after_five_attempts` |
//! | 72 | repository name depth | `a_name_that_is_too_deep_is_explained` |
//! | 110 | big bundle, small memory | `copying_a_large_blob_takes_little_memory`, `pulling_a_large_blob_takes_little_memory`, `packing_pulling_and_unpacking_much_takes_little_memory` |

mod documents;
mod edges;
mod images;
mod layers;
mod names;
mod packing;
mod registries;
mod resolution;

use std::fmt::Write as _;
use std::path::Path;

use crate::support::Sandbox;

/// A ConfigMap as short as one can be.
pub(crate) fn config_map(name: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n")
}

/// What a bare directory needs to become a bundle.
const IDENTITY: [&str; 6] = [
    "--package",
    "demo",
    "--version",
    "1.0.0",
    "--operator-id",
    "demo-operator",
];

/// The arguments that pack a bare directory.
fn pack<'a>(source: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["pack", source][..], &IDENTITY, more].concat()
}

/// The metadata of the bundles that these tests make.
const METADATA: &str = "annotations:
  k8s.io.bundle.mediatype.v1: manifests
  k8s.io.bundle.manifests.v1: manifests/
  k8s.io.bundle.metadata.v1: metadata/
  k8s.io.bundle.package.v1: demo
  k8s.io.bundle.version.v1: \"1.0.0\"
";

/// Writes a bundle directory with these manifests.
fn bundle(sandbox: &Sandbox, at: &str, manifests: &[(&str, &str)]) {
    sandbox.write(format!("{at}/metadata/annotations.yaml"), METADATA);
    for (name, text) in manifests {
        sandbox.write(format!("{at}/manifests/{name}"), text);
    }
}

/// The folder of a case, if the cases are there.
fn corpus_folder(name: &str) -> Option<std::path::PathBuf> {
    let corpus = crate::support::corpus()?;
    let folder = corpus.join("cases").join(name);
    assert!(folder.is_dir(), "{} is gone", folder.display());
    Some(folder)
}

/// The rows of a table below its head, each a list of cells.
fn table(path: &Path) -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(path).unwrap();
    let rows = text.lines().skip(1).filter(|line| !line.is_empty());
    let rows: Vec<Vec<String>> = rows
        .map(|line| line.split('\t').map(str::to_owned).collect())
        .collect();
    assert!(!rows.is_empty(), "{} is empty", path.display());
    rows
}

#[test]
fn cases_that_are_proven_elsewhere_are_proven() {
    fn read(directory: &Path, all: &mut String) {
        for entry in directory.read_dir().unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                read(&path, all);
            } else if path.extension().is_some_and(|kind| kind == "rs") {
                writeln!(all, "{}", std::fs::read_to_string(path).unwrap()).unwrap();
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut source = String::new();
    read(&root.join("src"), &mut source);
    read(&root.join("tests/it"), &mut source);
    let rows = include_str!("cases.rs")
        .lines()
        .filter_map(|line| line.strip_prefix("//! | "));
    let mut named = 0;
    for row in rows.skip(1) {
        for test in row.split('`').skip(1).step_by(2) {
            named += 1;
            let attributes = ["#[test]\n", "#[tokio::test]\n"];
            let declared = attributes.iter().any(|attribute| {
                ["fn", "async fn"]
                    .iter()
                    .any(|word| source.contains(&format!("{attribute}{word} {test}()")))
                    || source.contains(&format!("    {attribute}    fn {test}()"))
            });
            assert!(declared, "there is no test `{test}`: {row}");
        }
    }
    assert!(named > 20, "the table is not read");
}
