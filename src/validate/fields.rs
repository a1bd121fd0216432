//! Fields of Kubernetes' own kinds that no API server takes as they are, that it does not know, or that are missing.

use crate::finding::Finding;
use crate::known_fields::{Wrong, faults};
use crate::objects::Object;
use crate::path::BundlePath;

use super::context::Context;
use super::selectors::looks_like_patch;

/// Reports what is wrong with the fields of an object.
pub(super) fn fields(
    context: &Context<'_>,
    path: &BundlePath,
    object: &Object,
    findings: &mut Vec<Finding>,
) {
    let is_patch = context.is_kustomize() || looks_like_patch(object);
    for fault in faults(object, is_patch) {
        let at = &fault.path;
        let finding = match fault.what {
            Wrong::Type(found, wanted, right) => {
                let message = format!("`{at}` is {found}, and must be {wanted}");
                let finding = Finding::error("field-type", message);
                match right {
                    Some(right) => finding.hint(format!("write it without quotes: {right}")),
                    None => finding,
                }
            }
            Wrong::Unquoted(found, written) => {
                let message =
                    format!("`{at}` is {found} (`{written}`), and Kubernetes wants a string");
                Finding::warning("unquoted", message).hint(format!("quote it: \"{written}\""))
            }
            Wrong::Form(form) => Finding::error("field-type", format!("`{at}` is not {form}")),
            Wrong::Missing => {
                Finding::error("field-missing", format!("`{at}` is missing, or empty"))
            }
            Wrong::Unknown(near) => {
                let message = format!(
                    "`{at}` is no field that Kubernetes knows: it is dropped, or refused by `kubectl`"
                );
                let finding = Finding::warning("field-unknown", message);
                match near {
                    Some(near) => finding.hint(format!("perhaps `{near}` is meant")),
                    None => finding,
                }
            }
        };
        findings.push(finding.at(path, fault.line));
    }
}
