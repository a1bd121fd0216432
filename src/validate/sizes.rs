//! Sizes that named consumers refuse: warnings, because others take the bundle.

use std::io::{Read as _, Write as _};

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::content::{CHUNK, Content};
use crate::error::{Error, Result};
use crate::finding::Finding;
use crate::metadata::key;
use crate::objects::is_manifest_name;
use crate::path::BundlePath;

use super::Whole;
use super::context::Context;

/// Argo CD: bytes of all YAML and JSON of one application (`--max-combined-directory-manifests-size`, 10M).
const ARGO_CD_MANIFESTS: u64 = 10_000_000;
/// Argo CD: bytes of an image once unpacked (`--oci-manifest-max-extracted-size`, 1G).
const ARGO_CD_UNPACKED: u64 = 1_000_000_000;
/// OLM: characters of all files, each compressed and then written as base64, in the ConfigMap that it unpacks to.
const OLM_DATA: u64 = 1 << 20;

/// Reports what Argo CD does not take with the settings that it comes with.
pub(super) fn argo_cd(context: &Context<'_>, _: &Whole<'_>, findings: &mut Vec<Finding>) {
    let sum = |all: &mut dyn Iterator<Item = &Content>| -> u64 { all.map(Content::len).sum() };
    let mut manifests = context
        .manifests()
        .filter(|(path, _, _)| is_manifest_name(path.file_name()))
        .map(|(_, _, content)| content);
    let manifests = sum(&mut manifests);
    let unpacked = sum(&mut context.files.values());
    // Where kustomize runs, only the second one counts.
    for (found, limit, what, flag) in [
        (
            if context.is_kustomize() { 0 } else { manifests },
            ARGO_CD_MANIFESTS,
            "manifests",
            "--max-combined-directory-manifests-size",
        ),
        (
            unpacked,
            ARGO_CD_UNPACKED,
            "files",
            "--oci-manifest-max-extracted-size",
        ),
    ] {
        if found > limit {
            let message =
                format!("the {what} have {found} bytes, and Argo CD takes {limit} by default");
            findings.push(
                Finding::warning("size-argo-cd", message)
                    .hint(format!("raise `{flag}` there, or split the bundle")),
            );
        }
    }
}

/// Reports bundles for OLM that do not fit into the ConfigMap to which OLM unpacks them.
///
/// Measured as OLM does it, file by file; other bundles are never OLM's to unpack. It stops at the limit.
pub(super) fn olm(
    context: &Context<'_>,
    whole: &Whole<'_>,
    findings: &mut Vec<Finding>,
) -> Result<()> {
    let is_for_olm = context
        .annotations
        .keys()
        .any(|key| key.starts_with(key::OLM_PREFIX))
        || whole.objects.iter().any(|object| {
            object.id.group == "operators.coreos.com" && object.id.kind == "ClusterServiceVersion"
        });
    let plain: u64 = context.files.values().map(Content::len).sum();
    // Base64 makes four characters of three bytes, and gzip never makes a file much longer.
    if !is_for_olm || plain < OLM_DATA / 2 {
        return Ok(());
    }
    let mut packed = 0;
    for (path, content) in context.files {
        packed += compressed(path, content)?.div_ceil(3) * 4;
        if packed > OLM_DATA {
            let message = format!(
                "the files, compressed and in base64, have more than {OLM_DATA} bytes, which OLM cannot unpack"
            );
            findings.push(Finding::warning("size-olm", message));
            break;
        }
    }
    Ok(())
}

/// Returns the length of a file under gzip at the level that OLM uses.
fn compressed(path: &BundlePath, content: &Content) -> Result<u64> {
    let fail = |source| Error::io("cannot read", path.as_str().as_ref(), source);
    let mut encoder = GzEncoder::new(Count(0), Compression::default());
    let mut reader = content.reader();
    let mut buffer = vec![0; CHUNK];
    loop {
        let n = reader.read(&mut buffer).map_err(fail)?;
        if n == 0 {
            break;
        }
        encoder
            .write_all(buffer.get(..n).unwrap_or_default())
            .map_err(fail)?;
    }
    encoder.finish().map(|count| count.0).map_err(fail)
}

/// Counts what is written to it.
struct Count(u64);

impl std::io::Write for Count {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
