//! The lock of images: that it can be read, and that it is one of the images that the manifests name.

use crate::error::{Kind, Result};
use crate::escape::shown;
use crate::finding::Finding;
use crate::images::{self, LOCK, Lock};

use super::Whole;
use super::context::Context;

/// What makes a lock right again.
const AGAIN: &str = "run `bundle lock` on the directory again";

/// Checks the lock, if there is one. The manifests are read once more for it.
pub(super) fn lock(
    context: &Context<'_>,
    _: &Whole<'_>,
    findings: &mut Vec<Finding>,
) -> Result<()> {
    let lock = match Lock::among(context.files, context.limits) {
        Ok(None) => return Ok(()),
        Ok(Some(Ok(lock))) => lock,
        Err(error) if error.kind() == Kind::Limit => {
            findings.push(Finding::error("lock-malformed", error.message()).at(LOCK, 0));
            return Ok(());
        }
        Err(error) => return Err(error),
        Ok(Some(Err(fault))) => {
            findings.push(
                Finding::error("lock-malformed", fault.message)
                    .at(LOCK, fault.line)
                    .hint(format!(
                        "remove `{LOCK}` and run `bundle lock` on the directory again"
                    )),
            );
            return Ok(());
        }
    };
    let inventory = images::collect_with(context.files, context.limits, context.has_placeholders)?;
    for image in lock.lacks(&inventory) {
        let Some(place) = image.places.first() else {
            continue;
        };
        let message = format!("the lock has no digest for `{}`", shown(image.written()));
        findings.push(
            Finding::error("lock-incomplete", message)
                .at(&place.file, place.line)
                .hint(AGAIN),
        );
    }
    // What cannot be read may name them.
    if inventory.unread.is_empty() {
        for pin in lock.unused(&inventory) {
            let message = format!("no manifest names `{}`", pin.image);
            findings.push(
                Finding::warning("lock-unused", message)
                    .at(LOCK, pin.line)
                    .hint(AGAIN),
            );
        }
    }
    Ok(())
}
