//! JSON and YAML documents. What is accepted means the same when it is written and read again, and to other readers.

use manifest_bundle::json::parse as strict_json;
use manifest_bundle::limits::Limits;
use manifest_bundle::metadata::{self, Identity, Metadata};
use manifest_bundle::oci::{Annotations, Document, ImageConfig};
use manifest_bundle::yaml::documents;
use serde_json::Value;

/// A document without equal keys is the same to serde_json, also when it is written again.
pub(crate) fn json(data: &[u8]) {
    let Ok(value) = strict_json("fuzz", data, &Limits::default()) else {
        return;
    };
    if has_floats(&value) {
        return;
    }
    assert_eq!(serde_json::from_slice::<Value>(data).unwrap(), value);
    let text = serde_json::to_vec(&value).unwrap();
    assert_eq!(
        strict_json("again", &text, &Limits::default()).unwrap(),
        value
    );
}

/// A manifest that is written reads back, and its descriptors are those that stand in the text.
pub(crate) fn manifest(data: &[u8]) {
    let limits = Limits::default();
    let Ok(document) = Document::parse(data, "", &limits) else {
        return;
    };
    let value: Value = serde_json::from_slice(data).unwrap();
    let written = match &document {
        Document::Manifest(manifest) => {
            let found: Vec<String> = manifest
                .blobs()
                .map(|blob| blob.digest.to_string())
                .collect();
            let mut stands = vec![value["config"]["digest"].as_str().unwrap().to_owned()];
            let layers = value["layers"].as_array().unwrap();
            stands.extend(
                layers
                    .iter()
                    .map(|layer| layer["digest"].as_str().unwrap().to_owned()),
            );
            assert_eq!(found.len(), stands.len());
            assert!(stands.iter().all(|digest| found.contains(digest)));
            manifest.write().unwrap()
        }
        Document::Index(index) => {
            let listed = value["manifests"].as_array().unwrap();
            assert_eq!(listed.len(), index.manifests.len());
            index.write().unwrap()
        }
    };
    let again = Document::parse(&written, "", &limits).unwrap();
    assert_eq!(again, document);
}

/// A config that is written reads back with the same labels and diff ids.
pub(crate) fn config(data: &[u8]) {
    let limits = Limits::default();
    let Ok(config) = ImageConfig::parse(data, &limits) else {
        return;
    };
    let again = ImageConfig::parse(&config.write().unwrap(), &limits).unwrap();
    assert_eq!(again.config.labels, config.config.labels);
    assert_eq!(again.rootfs.diff_ids, config.rootfs.diff_ids);
}

/// Metadata that is written reads back; what is complete stays as it is when it is completed again.
pub(crate) fn annotations(data: &[u8]) {
    let limits = Limits::default();
    let Ok((annotations, lines)) = metadata::parse(data, &limits) else {
        return;
    };
    assert_eq!(annotations.len(), lines.len());
    let written = metadata::write(&annotations);
    assert_eq!(metadata::parse(&written, &limits).unwrap().0, annotations);
    let Ok(metadata) = Metadata::parse(data, &limits) else {
        return;
    };
    let Ok(complete) = metadata::complete(
        Some(data),
        &Identity::default(),
        None,
        &Annotations::new(),
        &limits,
    ) else {
        return;
    };
    assert_eq!(complete.metadata.package, metadata.package);
    assert_eq!(complete.metadata.version, metadata.version);
    let again = metadata::complete(
        Some(&complete.bytes),
        &Identity::default(),
        None,
        &Annotations::new(),
        &limits,
    )
    .unwrap();
    assert_eq!(again.bytes, complete.bytes);
    assert_eq!(again.added, [""; 0]);
}

/// Documents lie in the text one after the other, faults name a place in it, and JSON means what it means as JSON.
pub(crate) fn yaml(data: &[u8]) {
    let limits = Limits::default();
    let lines = u32::try_from(data.iter().filter(|b| matches!(b, b'\n' | b'\r')).count()).unwrap();
    let mut end = 0;
    let mut read = Vec::new();
    for document in documents(data, &limits) {
        match document {
            Ok(document) => {
                assert!(document.range.start >= end && document.range.end <= data.len());
                end = document.range.end;
                read.push(document.root.to_json());
            }
            Err(fault) => {
                assert!(fault.line >= 1 && fault.line <= lines + 1, "{fault:?}");
                return;
            }
        }
    }
    let Ok(value) = strict_json("fuzz", data, &limits) else {
        return;
    };
    if !has_floats(&value) && !data.contains(&b'\r') {
        assert_eq!(read, [value]);
    }
}

/// Tells whether a number is not one of 64 bits; readers of JSON round those in their own ways.
fn has_floats(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.as_i64().is_none() && number.as_u64().is_none(),
        Value::Array(items) => items.iter().any(has_floats),
        Value::Object(members) => members.values().any(has_floats),
        _ => false,
    }
}
