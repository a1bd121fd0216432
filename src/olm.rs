//! OLM's registry+v1 bundles in the terms of this format: what their keys and their ClusterServiceVersion say (spec/migration.md).
//!
//! Nothing is guessed: what neither of the two says is not known. OLM's own keys are kept as they are.

use std::collections::BTreeSet;

use crate::bundle::{Files, MANIFESTS, METADATA};
use crate::content::Content;
use crate::error::{Error, Result};
use crate::escape::shown;
use crate::finding::{self, Finding};
use crate::limits::{Ceiling, Limits};
use crate::metadata::{FILE, Mediatype, Metadata, key as ours, parse};
use crate::name::{ChannelName, PackageName};
use crate::objects::{Entry, Object, entries};
use crate::oci::Annotations;
use crate::path::BundlePath;
use crate::version::{KubernetesVersion, Version};

/// The keys of OLM.
pub mod key {
    /// What all of them begin with.
    pub use crate::metadata::key::OLM_PREFIX as PREFIX;
    /// Which format it is: [`REGISTRY_V1`](super::REGISTRY_V1).
    pub const MEDIATYPE: &str = "operators.operatorframework.io.bundle.mediatype.v1";
    /// Where the manifests are.
    pub const MANIFESTS: &str = "operators.operatorframework.io.bundle.manifests.v1";
    /// Where the metadata is.
    pub const METADATA: &str = "operators.operatorframework.io.bundle.metadata.v1";
    /// The name of the package.
    pub const PACKAGE: &str = "operators.operatorframework.io.bundle.package.v1";
    /// The channels, separated by commas; OLM's rules for their names are wider than ours.
    pub const CHANNELS: &str = "operators.operatorframework.io.bundle.channels.v1";
    /// The channel for those who name none.
    pub const DEFAULT_CHANNEL: &str = "operators.operatorframework.io.bundle.channel.default.v1";
}

/// The mediatype of OLM's bundles that have a ClusterServiceVersion.
pub const REGISTRY_V1: &str = "registry+v1";

/// The kind of the object that says what an operator is.
const CSV: (&str, &str) = ("operators.coreos.com", "ClusterServiceVersion");

/// Tells whether keys are those of OLM, and none of this format among them.
pub fn is_olm<'a>(keys: impl IntoIterator<Item = &'a str>) -> bool {
    let mut is_theirs = false;
    for key in keys {
        if key.starts_with(ours::PREFIX) {
            return false;
        }
        is_theirs |= key.starts_with(key::PREFIX);
    }
    is_theirs
}

/// Tells whether a file is part of an OLM bundle; what lies beside its two directories is for other tools.
pub fn is_part(path: &BundlePath) -> bool {
    [MANIFESTS, METADATA]
        .iter()
        .any(|directory| path.strip_prefix(directory).is_some())
}

/// What OLM's keys and the ClusterServiceVersion say, as far as they say it.
#[derive(Debug, Default)]
pub struct Said {
    /// The package, from OLM's keys.
    pub package: Option<PackageName>,
    /// The version, from the ClusterServiceVersion: its `spec.version`, else what its name has behind `.v`.
    pub version: Option<Version>,
    /// The file and line that say the version.
    at: (String, u32),
    /// The lowest version of Kubernetes, from the ClusterServiceVersion.
    pub min_kubernetes_version: Option<KubernetesVersion>,
    /// The channels that have a name of this format; each other one is a note in the findings.
    pub channels: Vec<ChannelName>,
    /// What is wrong with what they say.
    pub findings: Vec<Finding>,
}

/// Reads what OLM's keys and the ClusterServiceVersion say; `line` tells where a key stands.
///
/// # Errors
///
/// Only when a content cannot be read; whatever is wrong with it is a finding.
pub fn read(
    files: &Files,
    annotations: &Annotations,
    line: &dyn Fn(&str) -> u32,
    limits: &Limits,
) -> Result<Said> {
    let mut said = Said::default();
    let mut report = |code, key: &str, message: String| {
        let finding = Finding::error(code, message).at(FILE, line(key));
        said.findings.push(finding);
    };
    if let Some(found) = annotations.get(key::MEDIATYPE)
        && found != REGISTRY_V1
    {
        let message = format!(
            "`{}` is `{}`, and only `{REGISTRY_V1}` is read",
            key::MEDIATYPE,
            shown(found)
        );
        report("metadata-mediatype", key::MEDIATYPE, message);
    }
    for (key, wanted) in [(key::MANIFESTS, MANIFESTS), (key::METADATA, METADATA)] {
        if let Some(found) = annotations.get(key)
            && found.strip_suffix('/').unwrap_or(found) != wanted
        {
            let message = format!(
                "`{key}` is `{}`, and OLM finds nothing but `{wanted}/`",
                shown(found)
            );
            report("metadata-directory", key, message);
        }
    }
    if let Some(name) = annotations.get(key::PACKAGE) {
        match name.parse() {
            Ok(package) => said.package = Some(package),
            Err(invalid) => report(
                "metadata-package",
                key::PACKAGE,
                format!("`{}`: {invalid}", key::PACKAGE),
            ),
        }
    }
    read_channels(annotations, line(key::CHANNELS), &mut said);
    read_service_version(files, limits, &mut said)?;
    Ok(said)
}

/// Reads the channels; a name that is none here stays where it is, and that is said.
fn read_channels(annotations: &Annotations, line: u32, said: &mut Said) {
    let list = annotations.get(key::CHANNELS).map_or("", String::as_str);
    for name in list.split(',').map(str::trim).filter(|n| !n.is_empty()) {
        match name.parse() {
            Ok(channel) if said.channels.contains(&channel) => {}
            Ok(channel) => said.channels.push(channel),
            Err(_) => said.findings.push(
                Finding::note(
                    "metadata-channels",
                    format!(
                        "OLM's channel `{}` has a name that no channel has here: it stays OLM's alone",
                        shown(name)
                    ),
                )
                .at(FILE, line),
            ),
        }
    }
}

/// Finds the one ClusterServiceVersion and reads what it says.
fn read_service_version(files: &Files, limits: &Limits, said: &mut Said) -> Result<()> {
    let mut found: Vec<(&BundlePath, Object)> = Vec::new();
    for (path, content) in files {
        if path.strip_prefix(MANIFESTS).is_some() {
            let objects = service_versions(path, content, limits)?;
            found.extend(objects.into_iter().map(|object| (path, object)));
        }
    }
    let [(path, object)] = &found[..] else {
        said.findings.push(match found.get(1) {
            None => Finding::error(
                "olm-csv",
                format!(
                    "there is no {}, and OLM needs one to install anything",
                    CSV.1
                ),
            )
            .at(MANIFESTS, 0)
            .hint("without one, pack it for everybody else: leave out --olm and OLM's keys"),
            Some((path, object)) => Finding::error(
                "olm-csv",
                format!(
                    "this is one of {} objects of the kind {}, and OLM wants one",
                    found.len(),
                    CSV.1
                ),
            )
            .at(path, object.line)
            .hint("pack each version of the operator as a bundle of its own"),
        });
        return Ok(());
    };
    let line_of = |field: &[&str]| object.node.at(field).map_or(object.line, |node| node.line);
    said.at = (path.to_string(), line_of(&["spec", "version"]));
    match version(object) {
        Ok(version) => said.version = Some(version),
        Err(why) => said
            .findings
            .push(Finding::error("metadata-version", why).at(path, said.at.1)),
    }
    let field = ["spec", "minKubeVersion"];
    let minimum = object.node.at(&field).filter(|node| !node.is_null());
    match minimum.map(|node| node.as_str().map(str::parse)) {
        None => {}
        // As for OLM, an empty one is none.
        Some(Some(_)) if minimum.and_then(|node| node.as_str()) == Some("") => {}
        Some(Some(Ok(version))) => said.min_kubernetes_version = Some(version),
        Some(Some(Err(invalid))) => said.findings.push(
            Finding::error(
                "metadata-min-kubernetes-version",
                format!("`{}`: {invalid}", field.join(".")),
            )
            .at(path, line_of(&field)),
        ),
        Some(None) => said.findings.push(
            Finding::error(
                "metadata-min-kubernetes-version",
                format!("`{}` is no string", field.join(".")),
            )
            .at(path, line_of(&field)),
        ),
    }
    Ok(())
}

/// Returns the objects of a file that are ClusterServiceVersions; a file that does not have the word has none.
fn service_versions(path: &BundlePath, content: &Content, limits: &Limits) -> Result<Vec<Object>> {
    if content.len() > limits[Ceiling::File] {
        return Ok(Vec::new());
    }
    let bytes = content
        .to_bytes()
        .map_err(|error| Error::io("cannot read", path.as_str().as_ref(), error))?;
    let has_word = std::str::from_utf8(&bytes).is_ok_and(|text| text.contains(CSV.1));
    if !has_word {
        return Ok(Vec::new());
    }
    let objects = entries(path.file_name(), &bytes, limits).filter_map(|entry| match entry {
        Entry::Object(object) => ((&*object.id.group, &*object.id.kind) == CSV).then_some(object),
        _ => None,
    });
    Ok(objects.collect())
}

/// Returns the version that a ClusterServiceVersion says, or why it says none.
fn version(object: &Object) -> std::result::Result<Version, String> {
    let field = object.node.at(&["spec", "version"]);
    if let Some(node) = field.filter(|node| !node.is_null()) {
        let text = node
            .as_str()
            .ok_or_else(|| format!("`spec.version` is {}, no string", node.value.kind_name()))?;
        return text
            .parse()
            .map_err(|invalid| format!("`spec.version`: {invalid}"));
    }
    let name = &object.id.name;
    let (_, behind) = name.split_once(".v").ok_or_else(|| {
        format!(
            "there is no `spec.version`, and the name `{}` does not end in `.vVERSION`",
            shown(name)
        )
    })?;
    behind
        .parse()
        .map_err(|invalid| format!("there is no `spec.version`, and the name: {invalid}"))
}

/// Reads the metadata of a bundle that has OLM's keys alone.
///
/// There is none when a finding is an error. Its annotations are OLM's; it names no operator, because OLM has no such thing.
///
/// # Errors
///
/// As [`read`].
pub fn metadata(
    files: &Files,
    annotations: &Annotations,
    line: &dyn Fn(&str) -> u32,
    limits: &Limits,
) -> Result<(Option<Metadata>, Vec<Finding>)> {
    let mut said = read(files, annotations, line, limits)?;
    let mut findings = Metadata::check_keys(annotations, line);
    if !annotations.contains_key(key::PACKAGE) {
        let message = format!("`{}` is missing", key::PACKAGE);
        findings.push(Finding::error("metadata-required", message).at(FILE, 0));
    }
    findings.append(&mut said.findings);
    if finding::has_errors(&findings) {
        return Ok((None, findings));
    }
    let (Some(package), Some(version)) = (said.package, said.version) else {
        return Ok((None, findings));
    };
    let metadata = Metadata {
        annotations: annotations.clone(),
        mediatype: Mediatype::RegistryV1,
        package,
        version,
        operator_id: None,
        min_operator_version: None,
        min_kubernetes_version: said.min_kubernetes_version,
        channels: said.channels,
        placeholders: None,
    };
    Ok((Some(metadata), findings))
}

/// Reads what files say about themselves in `metadata/annotations.yaml`: with the keys of this format, or with OLM's alone, where
/// the ClusterServiceVersion says the rest. There is none when there is no such file.
///
/// # Errors
///
/// The inner ones are what is wrong with what they say. [`Kind::Limit`](crate::Kind::Limit) for a file over its ceiling, and content that cannot
/// be read.
pub fn metadata_of(
    files: &Files,
    limits: &Limits,
) -> Result<Option<std::result::Result<Metadata, Vec<Finding>>>> {
    let Some(content) = files.get(FILE) else {
        return Ok(None);
    };
    let (found, limit) = (content.len(), limits[Ceiling::Yaml]);
    if found > limit {
        return Err(Error::limit(Ceiling::Yaml, limit, found).at(FILE));
    }
    let bytes = content
        .to_bytes()
        .map_err(|error| Error::io("cannot read", FILE.as_ref(), error))?;
    let (annotations, lines) = match parse(&bytes, limits) {
        Ok(read) => read,
        Err(findings) => return Ok(Some(Err(findings))),
    };
    let line = |key: &str| lines.get(key).copied().unwrap_or(0);
    if !is_olm(annotations.keys().map(String::as_str)) {
        return Ok(Some(Metadata::of(annotations, &line)));
    }
    let (metadata, findings) = self::metadata(files, &annotations, &line, limits)?;
    let is_bad = finding::has_errors(&findings);
    Ok(Some(metadata.filter(|_| !is_bad).ok_or(findings)))
}

/// Returns the keys of this format that packing adds to a source with OLM's keys alone, and nothing for any other source.
///
/// What is wrong with what they say is not said here: packing and validation say it.
///
/// # Errors
///
/// As [`read`].
pub fn additions(files: &Files, annotations: &Annotations, limits: &Limits) -> Result<Annotations> {
    if !is_olm(annotations.keys().map(String::as_str)) {
        return Ok(Annotations::new());
    }
    let said = read(files, annotations, &|_| 0, limits)?;
    Ok(complete(annotations, &|_| 0, said).0)
}

/// Returns what comes to the metadata of a bundle that is packed for OLM too, and what forbids that.
///
/// `annotations` is what file and call say. Where this format's keys are missing they are what OLM's and the
/// ClusterServiceVersion say, and the other way round; the two may not contradict each other in package and version.
pub fn complete(
    annotations: &Annotations,
    line: &dyn Fn(&str) -> u32,
    said: Said,
) -> (Annotations, Vec<Finding>) {
    let mut findings = said.findings;
    let mut added = Annotations::new();
    let mut add = |key: &str, value: Option<String>| {
        if let (false, Some(value)) = (annotations.contains_key(key), value) {
            added.insert(key.to_owned(), value);
        }
    };
    let get = |key: &str| annotations.get(key).map(String::as_str);
    let names: Vec<&str> = said.channels.iter().map(ChannelName::as_str).collect();
    let channels = (!names.is_empty()).then(|| names.join(","));
    add(
        ours::PACKAGE,
        said.package.as_ref().map(ToString::to_string),
    );
    add(
        ours::VERSION,
        said.version.as_ref().map(ToString::to_string),
    );
    add(
        ours::MIN_KUBERNETES_VERSION,
        said.min_kubernetes_version.map(|v| v.to_string()),
    );
    add(ours::CHANNELS, channels);
    add(key::MEDIATYPE, Some(REGISTRY_V1.to_owned()));
    add(key::MANIFESTS, Some(format!("{MANIFESTS}/")));
    add(key::METADATA, Some(format!("{METADATA}/")));
    add(key::PACKAGE, get(ours::PACKAGE).map(str::to_owned));
    if !annotations.contains_key(key::CHANNELS) {
        let list = get(ours::CHANNELS).map(|list| {
            let names: Vec<&str> = list.split(',').map(str::trim).collect();
            names.join(",")
        });
        match &list {
            // Whoever writes OLM's channels themselves also says whether one of them is to be the default.
            Some(list) => add(
                key::DEFAULT_CHANNEL,
                list.split(',').next().map(str::to_owned),
            ),
            None => findings.push(
                Finding::error(
                    "metadata-channels",
                    "OLM wants a bundle to be in one channel at least",
                )
                .at(FILE, 0)
                .hint("name it: `--channels stable`"),
            ),
        }
        add(key::CHANNELS, list);
    } else if let (Some(theirs), Some(list)) = (get(key::CHANNELS), get(ours::CHANNELS))
        && !is_same_list(theirs, list)
    {
        let message = format!(
            "OLM's channels stay as they are, `{}`, and `{}` is `{}`",
            shown(theirs),
            ours::CHANNELS,
            shown(list)
        );
        findings.push(
            Finding::warning("metadata-channels", message)
                .at(FILE, line(key::CHANNELS))
                .hint(format!("change `{}` too, or leave it out", key::CHANNELS)),
        );
    }
    let disagree = |code, key: &'static str, wanted: Option<String>, what: &str| {
        let found = get(key)?;
        let wanted = wanted.filter(|wanted| wanted != found)?;
        let message = format!("`{key}` is `{}`, and {what} `{wanted}`", shown(found));
        Some(Finding::error(code, message).at(FILE, line(key)))
    };
    findings.extend(disagree(
        "metadata-package",
        ours::PACKAGE,
        said.package.map(|package| package.to_string()),
        "OLM's key says",
    ));
    let (file, at) = &said.at;
    findings.extend(disagree(
        "metadata-version",
        ours::VERSION,
        said.version.map(|version| version.to_string()),
        &format!("{file}:{at} says"),
    ));
    if let Some(kind) = get(ours::MEDIATYPE).filter(|kind| *kind != Mediatype::Manifests.name()) {
        let message = format!(
            "the mediatype is `{}`, and OLM reads flat manifests only",
            shown(kind)
        );
        findings
            .push(Finding::error("metadata-mediatype", message).at(FILE, line(ours::MEDIATYPE)));
    }
    (added, findings)
}

/// Tells whether two lists name the same channels.
fn is_same_list(a: &str, b: &str) -> bool {
    let names = |list: &str| -> BTreeSet<String> {
        list.split(',').map(|name| name.trim().to_owned()).collect()
    };
    names(a) == names(b)
}

#[cfg(test)]
mod tests;
