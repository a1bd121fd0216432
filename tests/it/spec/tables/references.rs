//! Tables of references and tags.

use manifest_bundle::reference::{Entry, Location, Registry};
use manifest_bundle::tag::Tag;
use manifest_bundle::version::Version;

use super::{optional, same};
use crate::spec::markdown::code;
use crate::spec::schemas::All;

fn location(text: &str) -> Result<Location, String> {
    let parsed: Location = text.parse().map_err(|e| format!("{e}"))?;
    let printed = parsed.to_string();
    let again: Location = printed.parse().map_err(|e| format!("{e}"))?;
    same("what is printed and read again", again, parsed.clone())?;
    Ok(parsed)
}

pub(super) fn kind(cells: &[String], _: &All) -> Result<(), String> {
    let found = match location(code(&cells[0])?)? {
        Location::Stream => "stream",
        Location::Path(_) => "path",
        Location::Layout { .. } => "layout",
        Location::Archive { .. } => "archive",
        Location::Registry(_) => "registry",
    };
    same("the kind", found, &cells[1])
}

pub(super) fn parts(cells: &[String], _: &All) -> Result<(), String> {
    let Location::Registry(found) = location(code(&cells[0])?)? else {
        return Err("this names no registry".into());
    };
    same(
        "the registry",
        &*found.repository.registry().to_string(),
        code(&cells[1])?,
    )?;
    same("the repository", found.repository.path(), code(&cells[2])?)?;
    same(
        "the tag",
        found.tag.as_ref().map(Tag::as_str),
        optional(&cells[3])?,
    )?;
    let digest = found.digest.map(|digest| digest.to_string());
    same("the digest", digest.as_deref(), optional(&cells[4])?)
}

pub(super) fn refused(cells: &[String], _: &All) -> Result<(), String> {
    let text = code(&cells[0])?;
    let Err(invalid) = text.parse::<Location>() else {
        return Err("this is accepted".into());
    };
    if invalid.to_string().contains("password") {
        return Err("the refusal repeats a password".into());
    }
    same(
        "the proposal",
        invalid.hint.as_deref().unwrap_or_default(),
        &cells[1],
    )
}

pub(super) fn transport(cells: &[String], _: &All) -> Result<(), String> {
    let registry: Registry = code(&cells[0])?.parse().map_err(|e| format!("{e}"))?;
    let found = if registry.is_loopback() {
        "plain HTTP"
    } else {
        "TLS"
    };
    same("the transport", found, &cells[1])
}

pub(super) fn layout(cells: &[String], _: &All) -> Result<(), String> {
    let (Location::Layout { path, entry } | Location::Archive { path, entry }) =
        location(code(&cells[0])?)?
    else {
        return Err("this names neither a layout nor an archive".into());
    };
    let Entry { name, digest } = entry;
    same("the path", path.to_str(), Some(code(&cells[1])?))?;
    same(
        "the name",
        name.as_ref().map(Tag::as_str),
        optional(&cells[2])?,
    )?;
    let digest = digest.map(|digest| digest.to_string());
    same("the digest", digest.as_deref(), optional(&cells[3])?)
}

pub(super) fn version_tag(cells: &[String], _: &All) -> Result<(), String> {
    let version: Version = code(&cells[0])?.parse().map_err(|e| format!("{e}"))?;
    let tag = Tag::of_version(&version).map_err(|e| e.to_string())?;
    same("the tag", tag.as_str(), code(&cells[1])?)?;
    same("the tag's version", tag.version(), Some(version))
}

pub(super) fn tag(cells: &[String], _: &All) -> Result<(), String> {
    let tag: Tag = code(&cells[0])?.parse().map_err(|e| format!("{e}"))?;
    let found = match tag.version() {
        Some(version) => format!("version `{version}`"),
        None if tag.is_referrers() => "referrers".into(),
        None => "other".into(),
    };
    same("the tag", &*found, &cells[1])
}
