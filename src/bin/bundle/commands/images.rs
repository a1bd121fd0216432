//! `bundle images`: the container images that a bundle names.

use manifest_bundle::Result;
use manifest_bundle::escape::shown;
use manifest_bundle::images::{self, ContainerImage, Grade, Inventory, LOCK, Lock, Place};
use manifest_bundle::reference::Location;
use serde_json::{Value, json};

use super::inspect;
use super::source_files::{self, SourceArgs, SourceFiles};
use crate::args::{AccessArgs, TransferArgs, word};
use crate::output::Answer;
use crate::report::counted;
use crate::settings::Settings;

/// List the container images that a bundle names
///
/// One image a line, each once, sorted. An image is certain where an API has it (the pods of workloads, known custom
/// resources, related images of operators), and likely where a text looks like one (variables, arguments, ConfigMaps);
/// both are printed, because what runs needs both, and how many are likely is said on stderr. No registry is asked for them.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  bundle images etcd/ --why
  bundle images ghcr.io/team/etcd:3.5.0 --full | xargs -n1 crane digest
  bundle images etcd.tar --certain --format json")]
pub(crate) struct Args {
    /// A directory, a file, an archive, oci:DIR[:NAME], a registry reference, or `-`
    #[arg(value_name = "SRC", value_parser = word::<Location>)]
    pub(super) source: Location,
    /// Show the grade of each image, and every place that names it
    #[arg(long)]
    why: bool,
    /// List only those that are certain
    #[arg(long)]
    certain: bool,
    /// Write names in full: with registry and tag, also where the manifests leave them out
    #[arg(long)]
    full: bool,
    #[command(flatten)]
    files: SourceArgs,
    #[command(flatten)]
    access: AccessArgs,
    #[command(flatten)]
    pub(crate) transfer: TransferArgs,
}

pub(crate) async fn run(args: &Args, settings: &Settings) -> Result<Answer> {
    let reach = settings.reach(&args.access.access())?;
    let contents = source_files::read(&args.source, &args.files, &reach, settings).await?;
    let inventory = images::collect(&contents.files, &settings.limits)?;
    let allow_invalid = args.files.allow_invalid;
    source_files::unread(&contents, &inventory.unread, allow_invalid, settings)?;
    let mut listed: Vec<&ContainerImage> = inventory
        .images
        .iter()
        .filter(|image| image.grade == Grade::Certain || !args.certain)
        .collect();
    if args.full {
        listed.sort_by_cached_key(|image| image.reference.to_string());
    }
    let lock = lock(&contents, settings);
    let mut text = Vec::new();
    for image in &listed {
        text.push(if args.full {
            image.reference.to_string()
        } else {
            image.written().to_owned()
        });
        if args.why {
            text.extend(why(image, lock.as_ref(), &contents));
        }
    }
    let value = value(&listed, lock.as_ref(), &inventory, &contents);
    let mut answer = Answer::new(text.join("\n"), value);
    if args.why {
        answer.aside = unnamed(&inventory, &contents).join("\n");
    }
    answer.closing = settings.talk.closing(closing(&inventory, args));
    Ok(answer)
}

/// Reads the lock, where there is one that can be read.
fn lock(contents: &SourceFiles, settings: &Settings) -> Option<Lock> {
    let read = inspect::lock(&contents.files, &settings.limits)?;
    read.inspect_err(|why| {
        let (place, why) = (shown(&contents.place_of(LOCK)), shown(why));
        settings
            .talk
            .warn(format!("`{place}` cannot be read: {why}"));
    })
    .ok()
}

/// Returns the digest that the lock gives an image.
fn locked(image: &ContainerImage, lock: Option<&Lock>) -> Option<String> {
    let pin = lock?.pins.get(&image.reference.to_string())?;
    Some(pin.digest.to_string())
}

/// Says what a list alone does not: how many images are likely only, and what names none yet.
fn closing(inventory: &Inventory, args: &Args) -> String {
    let (certain, likely) = (
        inventory.count(Grade::Certain),
        inventory.count(Grade::Likely),
    );
    let mut line = counted(certain.saturating_add(likely), "image");
    if likely > 0 {
        let left = if args.certain { ", not listed" } else { "" };
        line = format!("{line}: {certain} certain, {likely} likely{left}");
    }
    line.push_str(&without_image(inventory));
    if !args.why && (likely > 0 || !inventory.unnamed.is_empty()) {
        line.push_str(" (--why shows where)");
    }
    line
}

/// Says how many fields are for an image and hold none.
pub(super) fn without_image(inventory: &Inventory) -> String {
    match inventory.unnamed.len() {
        0 => String::new(),
        count => format!("; {} for an image without one", counted(count, "field")),
    }
}

/// Says what an image is in full, how sure it is, what it is locked to, and where it is named.
fn why(image: &ContainerImage, lock: Option<&Lock>, contents: &SourceFiles) -> Vec<String> {
    let locked = match (lock, locked(image, lock)) {
        (None, _) => String::new(),
        (Some(_), Some(digest)) => format!(", locked {digest}"),
        (Some(_), None) => ", not locked".to_owned(),
    };
    let mut lines = vec![format!("  {}, {}{locked}", image.reference, image.grade)];
    for place in &image.places {
        let grade = if place.grade == image.grade {
            String::new()
        } else {
            format!(" ({})", place.grade)
        };
        lines.push(format!("  {}{grade}", located(place, contents)));
    }
    if image.more > 0 {
        lines.push(format!("  and {}", counted(image.more, "more place")));
    }
    lines
}

/// Says where fields for images hold something else.
pub(super) fn unnamed(inventory: &Inventory, contents: &SourceFiles) -> Vec<String> {
    let line = |one: &images::Unnamed| {
        let (place, text) = (located(&one.place, contents), shown(&one.place.written));
        format!("{place}: `{text}` is {}", one.why)
    };
    inventory.unnamed.iter().map(line).collect()
}

fn located(place: &Place, contents: &SourceFiles) -> String {
    let file = shown(&contents.place_of(place.file.as_str()));
    let object = match &place.object {
        Some(id) => format!(" {}", shown(&id.to_string())),
        None => String::new(),
    };
    format!("{file}:{}{object} {}", place.line, shown(&place.path))
}

fn value(
    listed: &[&ContainerImage],
    lock: Option<&Lock>,
    inventory: &Inventory,
    contents: &SourceFiles,
) -> Value {
    let images: Vec<Value> = listed
        .iter()
        .map(|image| {
            let places = image.places.iter();
            json!({
                "image": image.written(),
                "written": image.spellings(),
                "reference": image.reference.to_string(),
                "registry": image.reference.repository.registry().to_string(),
                "repository": image.reference.repository.path(),
                "tag": image.reference.tag.as_ref().map(ToString::to_string),
                "digest": image.reference.digest.map(|digest| digest.to_string()),
                "locked": locked(image, lock),
                "grade": image.grade.name(),
                "places": places.map(|place| self::place(place, contents)).collect::<Vec<_>>(),
                "morePlaces": image.more,
            })
        })
        .collect();
    let mut value = contents.record();
    if let Some(members) = value.as_object_mut() {
        members.insert("images".into(), images.into());
        members.insert("unnamed".into(), unnamed_values(inventory, contents).into());
        members.insert("certain".into(), inventory.count(Grade::Certain).into());
        members.insert("likely".into(), inventory.count(Grade::Likely).into());
    }
    value
}

/// Returns where fields for images hold something else, as data.
pub(super) fn unnamed_values(inventory: &Inventory, contents: &SourceFiles) -> Vec<Value> {
    let unnamed = inventory.unnamed.iter().map(|one| {
        let mut value = place(&one.place, contents);
        if let Some(members) = value.as_object_mut() {
            members.insert("why".into(), one.why.as_str().into());
        }
        value
    });
    unnamed.collect()
}

fn place(place: &Place, contents: &SourceFiles) -> Value {
    let object = place.object.as_ref();
    json!({
        "file": contents.place_of(place.file.as_str()),
        "bundlePath": place.file.as_str(),
        "line": place.line,
        "group": object.map(|id| id.group.as_str()),
        "kind": object.map(|id| id.kind.as_str()),
        "namespace": object.and_then(|id| id.namespace.as_deref()),
        "name": object.map(|id| id.name.as_str()),
        "path": place.path,
        "written": place.written,
        "grade": place.grade.name(),
    })
}
