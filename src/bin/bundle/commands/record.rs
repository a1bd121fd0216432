//! What the commands that move a bundle answer: one record with all its keys, in text the pinned reference alone.

use manifest_bundle::directory::{LeftOut, OUTSIDE};
use manifest_bundle::image;
use manifest_bundle::metadata::Metadata;
use manifest_bundle::name::ChannelName;
use manifest_bundle::oci::ManifestBlob;
use manifest_bundle::path::BundlePath;
use manifest_bundle::store::Store;
use manifest_bundle::{digest::Digest, tag::Tag};
use serde_json::{Value, json};

use crate::output::Answer;
use crate::settings::Settings;

/// Where a bundle or an image is, and what it is.
#[derive(Debug)]
pub(super) struct Record {
    /// `repo@sha256:…`, `oci:DIR@sha256:…` or `oci-archive:FILE@sha256:…`.
    pub(super) reference: String,
    /// The repository, where it is in a registry.
    pub(super) repository: Option<String>,
    /// The tag, where it has one there.
    pub(super) tag: Option<String>,
    /// The digest of the manifest.
    pub(super) digest: Digest,
    /// The bytes of manifest, config and layers; absent where that was not looked at.
    pub(super) size: Option<u64>,
    /// The metadata, where it is a bundle.
    pub(super) metadata: Option<Metadata>,
    /// What was in the source and was not packed.
    pub(super) left_out: Option<Vec<LeftOut>>,
    /// The keys that packing added to the metadata.
    pub(super) added: Option<Vec<String>>,
    /// The file or directory that it was written to.
    pub(super) output: Option<String>,
    /// Whether anything is other than it was, where the command was to change something.
    pub(super) changed: Option<bool>,
}

impl Record {
    /// Makes the record of something in a store.
    ///
    /// In a layout the name stays in the reference: other tools find an image there by its name only.
    pub(super) fn of_store(store: &dyn Store, digest: Digest, tag: Option<&Tag>) -> Self {
        let place = store.place();
        let name = match tag {
            Some(tag) if place.starts_with("oci:") => format!(":{tag}"),
            _ => String::new(),
        };
        Self {
            reference: format!("{place}{name}@{digest}"),
            repository: store.repository().map(ToString::to_string),
            tag: tag.map(ToString::to_string),
            digest,
            size: None,
            metadata: None,
            left_out: None,
            added: None,
            output: None,
            changed: None,
        }
    }

    /// Adds what an OLM image holds beside its bundle, and says so.
    pub(super) fn leave_out(&mut self, beside: &[BundlePath], settings: &Settings) {
        for path in beside {
            let one = LeftOut {
                path: path.to_string(),
                rule: OUTSIDE.to_owned(),
            };
            settings
                .talk
                .say(format!("left out `{}`: {}", one.path, one.rule));
            self.left_out.get_or_insert_default().push(one);
        }
    }

    /// Returns the JSON form: every key is there, and those that do not apply are null.
    pub(super) fn value(&self) -> Value {
        let metadata = self.metadata.as_ref();
        json!({
            "reference": self.reference,
            "repository": self.repository,
            "tag": self.tag,
            "digest": self.digest.to_string(),
            "size": self.size,
            "package": metadata.map(|m| m.package.as_str()),
            "version": metadata.map(|m| m.version.to_string()),
            "operatorId": metadata.and_then(|m| m.operator_id.as_ref()).map(ToString::to_string),
            "minOperatorVersion": metadata.and_then(|m| m.min_operator_version.as_ref()).map(ToString::to_string),
            "leftOut": self.left_out.as_ref().map(|all| all.iter().map(left_out).collect::<Vec<_>>()),
            "addedKeys": self.added,
            "output": self.output,
            "changed": self.changed,
        })
    }

    /// Returns the JSON form where there is no bundle: the same keys, and only the repository is known.
    pub(super) fn nothing(store: &dyn Store) -> Value {
        let mut value = Self::none();
        if let Some(members) = value.as_object_mut() {
            let repository = store.repository().map(ToString::to_string);
            members.insert("repository".into(), repository.into());
        }
        value
    }

    /// Returns the JSON form where nothing of it applies: every key is null.
    pub(super) fn none() -> Value {
        Self::unpacked(None)
    }

    /// Returns the JSON form of files that are not packed: they have no reference and no digest.
    pub(super) fn unpacked(metadata: Option<&Metadata>) -> Value {
        let of_nothing = Self {
            reference: String::new(),
            repository: None,
            tag: None,
            digest: Digest::of(b""),
            size: None,
            metadata: metadata.cloned(),
            left_out: None,
            added: None,
            output: None,
            changed: None,
        };
        let mut value = of_nothing.value();
        for key in ["reference", "digest"] {
            if let Some(member) = value.get_mut(key) {
                *member = Value::Null;
            }
        }
        value
    }

    /// Returns the answer that is the record alone.
    pub(super) fn answer(&self) -> Answer {
        Answer::new(self.reference.clone(), self.value())
    }
}

/// Adds the tags and channels that the bundle has now, for machines.
pub(super) fn insert_names(answer: &mut Answer, tags: &[Tag], channels: &[ChannelName]) {
    if let Some(members) = answer.value.as_object_mut() {
        members.insert("tags".into(), tags.iter().map(Tag::as_str).collect());
        let names = channels.iter().map(ChannelName::as_str);
        members.insert("channels".into(), names.collect());
    }
}

/// Returns the metadata that a manifest says by itself, if it is a bundle's.
pub(super) fn said(manifest: &ManifestBlob) -> Option<Metadata> {
    let oci = image::manifest_of(manifest).ok()?;
    let copies = image::identify(oci, None).ok()?;
    Metadata::of_copy(&copies.annotations).ok()
}

fn left_out(one: &LeftOut) -> Value {
    json!({ "path": one.path, "rule": one.rule })
}
