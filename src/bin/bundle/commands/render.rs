//! `bundle render`: the objects of a bundle in the order in which a cluster accepts them.

use std::io::{self, BufWriter, IsTerminal as _, Write};
use std::path::{Path, PathBuf};

use manifest_bundle::bundle::{Files, MANIFESTS};
use manifest_bundle::directory::{self, WriteOptions};
use manifest_bundle::escape::{shown, shown_lines};
use manifest_bundle::metadata::{Mediatype, Metadata};
use manifest_bundle::objects::Summary;
use manifest_bundle::order::{self, Document};
use manifest_bundle::reference::Location;
use manifest_bundle::{Error, Kind, Result};
use serde_json::{Value, json};

use super::contents::{self, Contents};
use super::pull;
use super::resolve::{self, ChannelArgs};
use super::verify::tell_unchecked;
use crate::args::{AccessArgs, ExpectationArgs, Format, TransferArgs, word};
use crate::output::Answer;
use crate::report::counted;
use crate::settings::Settings;

/// Write a bundle as one YAML stream, in the order in which a cluster accepts it
///
/// Namespaces and definitions come first, custom resources and webhooks last; the text of each document stays what it is.
/// `--format json` tells the order instead. Nothing is written unless every expectation holds and every digest is right.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  bundle render ghcr.io/team/etcd:3.5.0 | kubectl apply -f -
  bundle render ghcr.io/team/etcd --channel stable --operator-id etcd-manager --operator-version 1.4.0
  bundle render etcd/ --output-dir ordered")]
pub(crate) struct Args {
    /// A directory, a file, an archive, oci:DIR[:NAME], a registry reference, or `-`
    #[arg(value_name = "SRC", value_parser = word::<Location>)]
    pub(super) source: Location,
    /// Write a file for each document into this directory instead, numbered in the order
    #[arg(long, value_name = "DIR")]
    output_dir: Option<PathBuf>,
    /// Exchange the directory if it exists; files that were not written by this tool are kept safe
    #[arg(long, requires = "output_dir")]
    force: bool,
    /// With --force: also remove files that were not written by this tool, or that have lost their record in a copy or clone
    #[arg(long, requires = "force")]
    prune: bool,
    #[command(flatten)]
    expect: ExpectationArgs,
    #[command(flatten)]
    channel: ChannelArgs,
    #[command(flatten)]
    access: AccessArgs,
    #[command(flatten)]
    pub(crate) transfer: TransferArgs,
}

pub(crate) async fn run(args: &Args, settings: &Settings) -> Result<Answer> {
    let reach = settings.reach(&args.access.access())?;
    let expectations = args.expect.expectations(&settings.talk);
    let source = resolve::pin(&args.source, &args.channel, &expectations, &reach, settings).await?;
    let says_unchecked = !expectations.is_empty() || args.channel.channel.is_some();
    let found = contents::read(&source, expectations.clone(), &reach, settings).await?;
    if let Some(metadata) = &found.metadata {
        refuse_kustomize(metadata, &source)?;
        tell(metadata, settings);
        if says_unchecked {
            tell_unchecked(metadata, &expectations, settings);
        }
    }
    let documents = order::order(&found.files, &settings.limits).map_err(|error| {
        let error = error.located(|file| found.origin_of(file));
        match &found.metadata {
            Some(metadata) if metadata.placeholders.is_some() => {
                error.hint("the operator fills the placeholders of this bundle; no cluster takes it before that")
            }
            _ => error.hint("`bundle validate` lists everything that is wrong"),
        }
    })?;
    let objects = documents
        .iter()
        .map(|document| document.objects.len())
        .sum();
    for document in documents
        .iter()
        .filter(|document| document.ends_inside_a_text)
    {
        settings.talk.warn(format!(
            "`{}` ends inside a text without a line end, and gets one",
            shown(&found.place_of(document.path.as_str()))
        ));
    }
    let mut answer = Answer::new("", plan(&documents, &found));
    if let Some(directory) = &args.output_dir {
        let options = settings.stop.write_options(args.force, args.prune);
        write_directory(directory, &documents, &options, settings)?;
        answer.text = directory.display().to_string();
    } else if settings.format == Format::Text && !write_stream(&documents, &found)? {
        answer.code = READER_GONE;
        return Ok(answer);
    }
    answer.closing = settings.talk.closing(format!(
        "{} in {}",
        counted(objects, "object"),
        counted(documents.len(), "document")
    ));
    Ok(answer)
}

/// Refuses bundles whose files are no objects that could be applied one by one.
fn refuse_kustomize(metadata: &Metadata, source: &Location) -> Result<()> {
    if metadata.mediatype != Mediatype::Kustomize {
        return Ok(());
    }
    let name = format!("{}-{}", metadata.package, metadata.version);
    let hint = match source {
        Location::Path(path) if path.is_dir() => {
            format!("`kubectl apply -k {}/{MANIFESTS}`", path.display())
        }
        Location::Registry(_) | Location::Layout { .. } => {
            format!("`bundle pull {source} -o {name}`, then `kubectl apply -k {name}/{MANIFESTS}`")
        }
        _ => format!(
            "`bundle unpack {source} -o {name}`, then `kubectl apply -k {name}/{MANIFESTS}`"
        ),
    };
    Err(Error::usage(format!(
        "`{source}` is a bundle of kustomize's, which decides on the objects and their order"
    ))
    .hint(hint))
}

/// Says what the reader should know before applying.
fn tell(metadata: &Metadata, settings: &Settings) {
    if metadata.placeholders.is_some() {
        settings.talk.warn("the bundle declares placeholders: what is not filled in goes to the cluster as it stands");
    }
}

/// Returns the documents in their order, as data.
fn plan(documents: &[Document], contents: &Contents) -> Value {
    let object = |object: &Summary| {
        json!({
            "apiVersion": object.api_version(),
            "kind": object.id.kind,
            "namespace": object.id.namespace,
            "name": object.id.name,
            "line": object.line,
        })
    };
    let document = |document: &Document| {
        json!({
            "file": contents.place_of(document.path.as_str()),
            "bundlePath": document.path.as_str(),
            "line": document.line,
            "phase": document.phase.name(),
            "objects": document.objects.iter().map(object).collect::<Vec<_>>(),
        })
    };
    json!({ "documents": documents.iter().map(document).collect::<Vec<_>>() })
}

/// The exit code when the reader of a stream went away, as a shell has it for SIGPIPE.
const READER_GONE: u8 = 141;

/// Writes all documents to stdout, each with a comment that says where it stands; tells whether somebody read them all.
fn write_stream(documents: &[Document], contents: &Contents) -> Result<bool> {
    let is_terminal = io::stdout().is_terminal();
    let mut out = BufWriter::new(io::stdout().lock());
    let written = documents
        .iter()
        .try_for_each(|document| {
            let file = contents.within(document.path.as_str());
            write_document(document, &file, is_terminal, &mut out)
        })
        .and_then(|()| out.flush());
    match written {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => {
            Err(Error::new(Kind::Io, format!("cannot write to stdout: {error}")).source(error))
        }
    }
}

fn write_document(
    document: &Document,
    file: &str,
    is_terminal: bool,
    out: &mut impl Write,
) -> io::Result<()> {
    let place = format!("{file}:{}", document.line);
    writeln!(out, "---\n# {}", shown(&place))?;
    if is_terminal {
        // What a person looks at must not move the cursor or turn the text around.
        let bytes = document.text.to_bytes()?;
        return writeln!(
            out,
            "{}",
            shown_lines(String::from_utf8_lossy(&bytes).trim_end_matches('\n'))
        );
    }
    io::copy(&mut document.text.reader(), out)?;
    if ends_without_line_end(document)? {
        writeln!(out)?;
    }
    Ok(())
}

fn ends_without_line_end(document: &Document) -> io::Result<bool> {
    let mut last = [0];
    let n = document
        .text
        .read_at(&mut last, document.text.len().saturating_sub(1))?;
    Ok(n == 1 && last != *b"\n")
}

/// Writes a file for each document, whole or not at all.
fn write_directory(
    directory: &Path,
    documents: &[Document],
    options: &WriteOptions,
    settings: &Settings,
) -> Result<()> {
    let mut files = Files::new();
    let digits = documents.len().to_string().len().max(3);
    for (number, document) in (1_usize..).zip(documents) {
        let name = file_name(document);
        let path = format!("{number:0digits$}-{name}")
            .parse()
            .map_err(|invalid: manifest_bundle::invalid::Invalid| invalid.of_kind(Kind::Invalid))?;
        files.insert(path, document.text.clone());
    }
    let written = directory::write(&files, directory, options)?;
    pull::tell(directory, &written, settings);
    Ok(())
}

/// The longest part of a file name that comes from an object's name.
const NAME_MAX: usize = 100;

/// Returns `kind-name.yaml`, with nothing in it that a file system could stumble over.
fn file_name(document: &Document) -> String {
    let what = match document.objects.as_slice() {
        [object] => format!("{}-{}", object.id.kind, object.id.name),
        _ => "list".to_owned(),
    };
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '.';
    let plain: String = what
        .chars()
        .take(NAME_MAX)
        .map(|c| {
            if is_plain(c) {
                c.to_ascii_lowercase()
            } else {
                '-'
            }
        })
        .collect();
    let extension = document
        .path
        .file_name()
        .rsplit_once('.')
        .map_or("yaml", |(_, end)| end);
    format!("{plain}.{extension}")
}
