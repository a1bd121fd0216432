//! The table of what a ClusterServiceVersion says.

use std::fmt::Write as _;

use manifest_bundle::bundle::Files;
use manifest_bundle::limits::Limits;
use manifest_bundle::oci::Annotations;
use manifest_bundle::olm;

use super::{list, optional, same};
use crate::spec::markdown::code;
use crate::spec::schemas::All;

/// What is said, as members of `spec` and the name; what that means.
pub(super) fn says(cells: &[String], _: &All) -> Result<(), String> {
    let mut name = "";
    let mut spec = String::new();
    for word in list(&cells[0])? {
        match word.split_once(": ").ok_or("write `KEY: VALUE`")? {
            ("name", value) => name = value,
            (key, value) => writeln!(spec, "  {key}: {value}").unwrap(),
        }
    }
    let text = format!(
        "apiVersion: operators.coreos.com/v1alpha1\nkind: ClusterServiceVersion\nmetadata:\n  name: {name}\nspec:\n  displayName: x\n{spec}"
    );
    let path = "manifests/csv.yaml".parse().unwrap();
    let files = Files::from([(path, text.into_bytes().into())]);
    let said = olm::read(&files, &Annotations::new(), &|_| 0, &Limits::default()).unwrap();
    if cells[1] == "refused" {
        let codes: Vec<_> = said.findings.iter().map(|finding| finding.code).collect();
        return same("the list of findings", codes, vec!["metadata-version"]);
    }
    let version = said.version.map(|version| version.to_string());
    same("the version", version.as_deref(), Some(code(&cells[1])?))?;
    let minimum = said
        .min_kubernetes_version
        .map(|version| version.to_string());
    same("Kubernetes", minimum.as_deref(), optional(&cells[2])?)
}
