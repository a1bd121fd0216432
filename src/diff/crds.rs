//! The versions of custom resource definitions, where they differ.

use crate::crd::versions;
use crate::objects::Object;

use super::Place;

/// What a definition says of one version.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CrdVersion {
    /// The version, such as `v1beta1`.
    pub name: String,
    /// Whether the API server answers for it.
    pub served: bool,
    /// Whether objects are stored in it.
    pub storage: bool,
}

/// A definition whose versions differ between two sides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CrdVersions {
    /// The definition.
    pub name: String,
    /// Where it is on the old side and on the new one.
    pub places: [Option<Place>; 2],
    /// Its versions on the old side; none when it was added.
    pub old: Vec<CrdVersion>,
    /// Its versions on the new side; none when it was removed.
    pub new: Vec<CrdVersion>,
}

/// Returns what is to be said of the versions of two states of a definition, if they differ.
pub(super) fn compare(
    old: Option<&Object>,
    new: Option<&Object>,
    places: &[Option<Place>; 2],
) -> Option<CrdVersions> {
    let list = |object: Option<&Object>| -> Vec<CrdVersion> {
        let all = object.map(versions).unwrap_or_default();
        all.into_iter()
            .map(|version| CrdVersion {
                name: version.name.to_owned(),
                served: version.served,
                storage: version.storage,
            })
            .collect()
    };
    let name = old.or(new)?.id.name.clone();
    let (old, new) = (list(old), list(new));
    // Their order is the author's affair.
    let sorted = |versions: &[CrdVersion]| {
        let mut sorted = versions.to_vec();
        sorted.sort_by(|a, b| a.name.cmp(&b.name));
        sorted
    };
    (sorted(&old) != sorted(&new)).then_some(CrdVersions {
        name,
        places: places.clone(),
        old,
        new,
    })
}
