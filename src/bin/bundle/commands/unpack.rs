//! `bundle unpack`: from an archive, a layout, a stream or a registry to a directory.

use manifest_bundle::Result;
use manifest_bundle::ops::load::{self, Asked};
use manifest_bundle::reference::Location;
use manifest_bundle::store::memory::Memory;

use super::ahead::look_ahead;
use super::pull::{self, WriteArgs};
use super::push::total_size;
use super::record::Record;
use super::source::{self, PackArgs};
use super::verify::tell_unchecked;
use crate::args::{AccessArgs, ExpectationArgs, TransferArgs, word};
use crate::output::Answer;
use crate::settings::Settings;

/// Unpack a bundle into a directory
///
/// Nothing is written unless every expectation holds and every digest is right.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  bundle unpack etcd-3.5.0.bundle.tar -o etcd
  bundle unpack oci:store:3.5.0
  bundle unpack - -o etcd < etcd-3.5.0.bundle.tar")]
pub(crate) struct Args {
    /// An archive, oci:DIR[:NAME], a registry reference, or `-`
    #[arg(value_name = "SRC", value_parser = word::<Location>)]
    pub(super) source: Location,
    #[command(flatten)]
    write: WriteArgs,
    #[command(flatten)]
    expect: ExpectationArgs,
    #[command(flatten)]
    access: AccessArgs,
    #[command(flatten)]
    pub(crate) transfer: TransferArgs,
}

pub(crate) async fn run(args: &Args, settings: &Settings) -> Result<Answer> {
    let reach = settings.reach(&args.access.access())?;
    let opened = source::open(&args.source, &PackArgs::default(), &reach, settings).await?;
    let manifest = opened.manifest(&reach).await?;
    let asked = Asked {
        tag: opened.tag.clone(),
        expectations: args.expect.expectations(&settings.talk),
        at_hand: look_ahead(&opened, &manifest, &args.write, settings).await?,
    };
    let from = opened.store.as_ref();
    let size = total_size(&manifest);
    let progress = settings
        .talk
        .transfer("unpack", size, [from, &Memory::new("")]);
    let loaded = load::load(opened.store.as_ref(), manifest, &asked, &reach).await?;
    drop(progress);
    let mut record = Record::of_store(
        opened.store.as_ref(),
        loaded.image.manifest.descriptor.digest,
        opened.tag.as_ref(),
    );
    record.size = Some(loaded.image.size());
    record.leave_out(&loaded.unpacked.left_out, settings);
    record.metadata = Some(loaded.unpacked.bundle.metadata.clone());
    if !asked.expectations.is_empty() {
        let metadata = &loaded.unpacked.bundle.metadata;
        tell_unchecked(metadata, &asked.expectations, settings);
    }
    let wrote = pull::write(&loaded, opened.tag.as_ref(), &args.write, settings).await?;
    record.output = Some(wrote.output);
    record.changed = Some(wrote.changed);
    Ok(record.answer())
}
