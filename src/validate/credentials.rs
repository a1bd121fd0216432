//! Credentials of people that came into a bundle: packing leaves them out, but not every bundle was packed by us.

use crate::finding::Finding;
use crate::sensitive;

use super::context::Context;
use super::files::File;

/// Reports private keys and kubeconfigs. Included by name they are the author's wish, so this is no error.
pub(super) fn credentials(_: &Context<'_>, file: &File<'_>, findings: &mut Vec<Finding>) {
    if let Some(what) = sensitive::recognise(file.bytes) {
        let message = format!("this is a {what}, and everybody who reads the bundle has it");
        findings.push(
            Finding::warning("credentials", message)
                .at(file.path, 0)
                .hint("leave it out with `.bundleignore`, and replace what it gives access to"),
        );
    }
}
