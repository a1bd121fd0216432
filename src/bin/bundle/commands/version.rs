//! `bundle version`: which version of this tool it is.

use manifest_bundle::Result;
use serde_json::json;

use crate::output::Answer;

/// Say which version of this tool it is
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

#[expect(clippy::unnecessary_wraps, reason = "every command has this shape")]
pub(crate) fn run(_: &Args) -> Result<Answer> {
    let version = env!("CARGO_PKG_VERSION");
    let spec = manifest_bundle::SPEC_VERSION;
    Ok(Answer::new(
        format!("bundle {version} (specification {spec})"),
        json!({ "version": version, "specification": spec }),
    ))
}
