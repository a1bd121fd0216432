//! For operators: from a repository and a question to the files of the newest bundle, in one call.

use crate::bundle::Bundle;
use crate::digest::Digest;
use crate::error::Result;
use crate::expectation::Expectations;
use crate::name::ChannelName;
use crate::resolution::Question;
use crate::store::{self, Name, Store};

use super::load::{self, Asked};
use super::open::Reach;
use super::resolve::{self, PassedOver};

/// What an operator is told.
#[derive(Debug, Clone)]
pub enum Newest {
    /// The bundle that it had is still the newest that fits; nothing was fetched.
    Unchanged(Digest),
    /// The newest bundle that fits, whole and checked.
    Bundle {
        /// Where it is, with its digest: `registry.example/team/etcd@sha256:…`.
        reference: String,
        /// The digest of its manifest, to be given as `known` the next time.
        digest: Digest,
        /// Its metadata and files; the contents are in memory, or in a temporary file where they are large.
        bundle: Box<Bundle>,
        /// The newer bundles and why they do not fit.
        passed_over: Vec<PassedOver>,
    },
    /// No bundle fits; why, for each.
    None(Vec<PassedOver>),
}

/// Resolves the newest bundle that fits and loads it.
///
/// `known` is the digest that an earlier call returned to the same question; it is not judged again, so after the question,
/// such as the version of the operator, or the channel has changed it must not be named. What was resolved by what channel and manifest say is judged once
/// more by the metadata in the bundle itself.
///
/// # Errors
///
/// What [`resolve::resolve`] and [`load::load`] refuse.
pub async fn newest(
    store: &dyn Store,
    channel: Option<&ChannelName>,
    question: &Question,
    known: Option<&Digest>,
    reach: &Reach,
) -> Result<Newest> {
    let resolution = resolve::resolve(store, channel, question, known, reach).await?;
    let Some(chosen) = resolution.chosen else {
        return Ok(Newest::None(resolution.passed_over));
    };
    let digest = chosen.digest;
    if known == Some(&digest) {
        return Ok(Newest::Unchanged(digest));
    }
    let manifest = match chosen.bundle {
        Some(bundle) => bundle.manifest,
        None => store::fetch_manifest(store, &Name::Digest(digest), &reach.limits).await?,
    };
    let asked = Asked {
        expectations: Expectations {
            package: question.package.clone(),
            // The version was judged by the rules of resolution, which know more about pre-releases.
            version: None,
            operator_id: question.operator_id.clone(),
            operator_version: question.operator_version.clone(),
            kubernetes_version: question.kubernetes_version,
            allow_unbound: question.allow_unbound,
        },
        ..Asked::default()
    };
    let loaded = load::load(store, manifest, &asked, reach).await?;
    Ok(Newest::Bundle {
        reference: format!("{}@{digest}", store.place()),
        digest,
        bundle: Box::new(loaded.unpacked.bundle),
        passed_over: resolution.passed_over,
    })
}
