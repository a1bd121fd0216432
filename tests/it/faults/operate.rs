//! The operations, in process: the calls into the library that the commands of the same names make, a registry that has
//! what they need, and what is there afterwards.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use manifest_bundle::content::Spool;
use manifest_bundle::credential::{Credential, Credentials, Secret};
use manifest_bundle::directory::{self, WriteOptions};
use manifest_bundle::docker_config::{self, Sources};
use manifest_bundle::error::Error;
use manifest_bundle::image::Image;
use manifest_bundle::limits::Limits;
use manifest_bundle::oci::ManifestBlob;
use manifest_bundle::ops::copy::{self, CopyOptions, ReferrersMode};
use manifest_bundle::ops::destination::Destination;
use manifest_bundle::ops::load::{self, Asked};
use manifest_bundle::ops::open::{self, Place, Reach};
use manifest_bundle::ops::pack::{self, PackRequest};
use manifest_bundle::store::memory::Memory;
use manifest_bundle::store::registry::{
    self, Access, AccessSettings, Event, Events, Registry, Time,
};
use manifest_bundle::store::{self, Name, Store};
use manifest_bundle::tag::Tag;

use crate::support::{MockRegistry, Origin, PASSWORD, USER, bundle_dir};

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
/// What the destination's tag names before.
const OLD: &[u8] = br#"{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","config":{"mediaType":"application/vnd.oci.empty.v1+json","digest":"sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a","size":2},"layers":[]}"#;

/// The one bundle that all of them are about.
pub(super) struct Sample {
    image: Image,
    /// Digest and bytes.
    pub(super) config: (String, Vec<u8>),
    pub(super) layer: (String, Vec<u8>),
    /// What is in its directory.
    files: BTreeMap<String, Vec<u8>>,
}

impl Sample {
    pub(super) fn get() -> &'static Self {
        static SAMPLE: OnceLock<Sample> = OnceLock::new();
        SAMPLE.get_or_init(Self::make)
    }

    fn make() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let source = bundle_dir(directory.path().join("in"), "demo", "1.0.0", None);
        let packed = pack(&source, directory.path());
        let mut blobs = packed.image.blobs().unwrap().map(|(descriptor, content)| {
            let bytes = content.to_bytes().unwrap().to_vec();
            (descriptor.digest.to_string(), bytes)
        });
        let (config, layer) = (blobs.next().unwrap(), blobs.next().unwrap());
        drop(blobs);
        let files = packed.bundle.files.iter();
        let files =
            files.map(|(path, content)| (path.to_string(), content.to_bytes().unwrap().to_vec()));
        Self {
            config,
            layer,
            files: files.collect(),
            image: packed.image,
        }
    }

    pub(super) fn manifest_bytes(&self) -> &[u8] {
        &self.image.manifest.bytes
    }

    pub(super) fn digest(&self) -> String {
        self.image.manifest.descriptor.digest.to_string()
    }
}

fn pack(source: &Path, spool: &Path) -> pack::Packed {
    pack::pack(source, &PackRequest::default(), &mut Spool::new(spool)).unwrap()
}

/// Puts in what the operations need: the bundle as `demo:1.0.0`, and something else under every `Stable`, a tag that no channel can have.
pub(super) fn fill(registry: &MockRegistry) {
    let sample = Sample::get();
    for (_, bytes) in [&sample.config, &sample.layer] {
        registry.put_blob("demo", bytes);
    }
    registry.put_manifest("demo", "1.0.0", MANIFEST, sample.manifest_bytes());
    for repository in ["demo", "to", "new"] {
        registry.put_manifest(repository, "Stable", MANIFEST, OLD);
    }
}

/// What was heard and waited for in one run.
#[derive(Default)]
pub(super) struct Heard {
    now: Duration,
    pub(super) waits: Vec<Duration>,
    pub(super) events: Vec<Event>,
}

/// One operation on a registry of its own.
pub(super) struct Setting {
    pub(super) registry: MockRegistry,
    directory: tempfile::TempDir,
    reach: Reach,
    heard: Arc<Mutex<Heard>>,
}

impl Setting {
    pub(super) fn new(registry: MockRegistry, idle: Option<Duration>) -> Self {
        fill(&registry);
        let directory = tempfile::Builder::new()
            .prefix("fault-")
            .tempdir_in(env!("CARGO_TARGET_TMPDIR"))
            .unwrap();
        for name in ["spool", "work"] {
            std::fs::create_dir(directory.path().join(name)).unwrap();
        }
        std::fs::write(directory.path().join("work/config.json"), "{}").unwrap();
        let heard = Arc::new(Mutex::new(Heard::default()));
        let reach = Reach {
            access: Access::new(AccessSettings {
                // Where there is a certificate it is to be looked at.
                plain_http: Some(!registry.base(Origin::Registry).starts_with("https")),
                ..settings(&heard, idle)
            })
            .unwrap(),
            limits: Limits::default(),
            spool_directory: directory.path().join("spool"),
            concurrency: 4,
        };
        Self {
            registry,
            directory,
            reach,
            heard,
        }
    }

    /// What was heard and waited for.
    pub(super) fn take_heard(&self) -> Heard {
        std::mem::take(&mut self.heard.lock().unwrap())
    }

    /// Waits for what is still being tidied up: later, it could reach another registry under the same port.
    pub(super) async fn settle(&self) {
        self.reach.access.settle(Duration::from_secs(10)).await;
    }

    fn work(&self) -> PathBuf {
        self.directory.path().join("work")
    }

    /// Does an operation.
    pub(super) async fn run(&self, operation: &str) -> Result<(), Error> {
        match operation {
            "pack" => self.pack(),
            "push" => self.push().await,
            "pull" => self.pull().await,
            "verify" => self.verify().await,
            "list" => self.list().await,
            "tag" => self.tag().await,
            "login" => self.login().await,
            "copy" => self.copy().await,
            _ => panic!("no operation is called `{operation}`"),
        }
    }

    fn pack(&self) -> Result<(), Error> {
        let source = bundle_dir(self.directory.path().join("in"), "demo", "1.0.0", None);
        let packed = pack(&source, &self.reach.spool_directory);
        let memory = Memory::of_image("memory", &packed.image, None)?;
        let options = WriteOptions::default();
        directory::write_file_with(&self.work().join("out.tar"), &options, |out| {
            store::archive::write(&memory, out)
        })?;
        std::fs::remove_file(self.work().join("out.tar")).unwrap();
        Ok(())
    }

    async fn push(&self) -> Result<(), Error> {
        let sample = Sample::get();
        let memory = Memory::of_image("memory", &sample.image, None)?;
        self.put(
            &memory,
            &sample.image.manifest,
            "new",
            ReferrersMode::Ignore,
        )
        .await
    }

    async fn copy(&self) -> Result<(), Error> {
        let (source, name) = self.source().await?;
        let manifest = store::fetch_manifest(source.as_ref(), &name, &self.reach.limits).await?;
        self.put(source.as_ref(), &manifest, "to", ReferrersMode::Copy)
            .await
    }

    /// Moves the tag `Stable`, as push and copy do.
    async fn put(
        &self,
        from: &dyn Store,
        manifest: &ManifestBlob,
        repository: &str,
        referrers: ReferrersMode,
    ) -> Result<(), Error> {
        let location = format!("{}:Stable", self.registry.repository(repository));
        let destination = Destination::open(&location.parse().unwrap(), &self.reach)?;
        destination.look_ahead(false, &manifest.descriptor.digest)?;
        let to = destination.store.as_ref();
        let stable = stable();
        self.look(to, &stable, manifest).await?;
        let options = CopyOptions {
            // One at a time, so that it is known which request is the first.
            concurrency: 1,
            spool_directory: self.reach.spool_directory.clone(),
            limits: self.reach.limits.clone(),
            referrers,
            confirm: true,
        };
        copy::copy(from, manifest, to, &[stable], &options).await?;
        destination.finish(&WriteOptions::default()).map(drop)
    }

    /// Looks where the tag is, and believes only the manifest itself that nothing has to be done.
    async fn look(&self, to: &dyn Store, tag: &Tag, manifest: &ManifestBlob) -> Result<(), Error> {
        if to.tagged(tag).await? == Some(manifest.descriptor.digest) {
            let name = Name::Tag(tag.clone());
            let found = store::fetch_manifest(to, &name, &self.reach.limits).await?;
            assert_ne!(found.descriptor.digest, manifest.descriptor.digest);
        }
        Ok(())
    }

    /// Opens `demo:1.0.0`.
    async fn source(&self) -> Result<(Arc<dyn Store>, Name), Error> {
        let location = format!("{}:1.0.0", self.registry.repository("demo"));
        match open::open(&location.parse().unwrap(), &self.reach).await? {
            Place::Store(store, name) => Ok((store, name)),
            Place::Directory(_) => unreachable!("it is a registry"),
        }
    }

    async fn pull(&self) -> Result<(), Error> {
        let (source, name) = self.source().await?;
        let manifest = store::fetch_manifest(source.as_ref(), &name, &self.reach.limits).await?;
        let asked = Asked::default();
        let loaded = load::load(source.as_ref(), manifest, &asked, &self.reach).await?;
        let out = self.work().join("out");
        directory::write(
            &loaded.unpacked.bundle.files,
            &out,
            &WriteOptions::default(),
        )?;
        Ok(())
    }

    async fn verify(&self) -> Result<(), Error> {
        let (source, name) = self.source().await?;
        let manifest = store::fetch_manifest(source.as_ref(), &name, &self.reach.limits).await?;
        let asked = Asked::default();
        let loaded = load::verify(source.as_ref(), manifest, &asked, &self.reach).await?;
        manifest_bundle::expectation::require(&loaded.checks)
    }

    async fn list(&self) -> Result<(), Error> {
        let repository = self.registry.repository("demo").parse().unwrap();
        let tags = Registry::open(repository, &self.reach.access)?
            .tags()
            .await?;
        let names: Vec<&str> = tags.iter().map(Tag::as_str).collect();
        assert!(
            names == ["1.0.0", "Stable"] || names == ["1.0.0", "stable"] || names.is_empty(),
            "{names:?}"
        );
        Ok(())
    }

    async fn tag(&self) -> Result<(), Error> {
        let (source, name) = self.source().await?;
        let manifest = store::fetch_manifest(source.as_ref(), &name, &self.reach.limits).await?;
        let location = self.registry.repository("demo").parse().unwrap();
        let destination = Destination::open(&location, &self.reach)?;
        let to = destination.store.as_ref();
        self.look(to, &stable(), &manifest).await?;
        copy::name(to, &manifest, &[stable()]).await
    }

    async fn login(&self) -> Result<(), Error> {
        let host = self.registry.host().parse().unwrap();
        registry::check_login(&host, &self.reach.access).await?;
        let path = self.work().join("config.json");
        docker_config::login(&path, &host, &credential(), &Sources::none().helpers).await?;
        Ok(())
    }

    /// Says what the operation left: `nothing` or `whole`, the tag or file `old` or `new`; anything else is half done.
    pub(super) fn written(&self, operation: &str) -> String {
        let spool: Vec<_> = std::fs::read_dir(&self.reach.spool_directory)
            .unwrap()
            .collect();
        if !spool.is_empty() {
            return format!("left in the spool: {spool:?}");
        }
        let config = std::fs::read_to_string(self.work().join("config.json")).unwrap();
        let mut there = std::fs::read_dir(self.work()).unwrap();
        let has_other = there.any(|entry| entry.unwrap().file_name() != "config.json");
        match operation {
            "push" => self.tag_state("new"),
            "copy" => self.tag_state("to"),
            "tag" => self.tag_state("demo"),
            "login" if config == "{}" => "old".into(),
            "login" if config.contains(self.registry.host()) => "new".into(),
            "login" => config,
            "pull" if has_other => self.tree_state(),
            _ if has_other => "something".into(),
            _ => "nothing".into(),
        }
    }

    /// Compares the tag with what it was and with what it should be, with everything below it.
    fn tag_state(&self, repository: &str) -> String {
        let sample = Sample::get();
        let manifest = self.registry.manifest(repository, "Stable").unwrap();
        if manifest == OLD {
            return "old".into();
        }
        let blobs = [&sample.config, &sample.layer];
        let mut whole = blobs
            .iter()
            .map(|(digest, bytes)| self.registry.blob(repository, digest).as_ref() == Some(bytes));
        if whole.all(|there| there) && manifest == sample.manifest_bytes() {
            return "new".into();
        }
        "a tag whose parts are missing".into()
    }

    fn tree_state(&self) -> String {
        let sample = Sample::get();
        let out = self.work().join("out");
        let whole = sample
            .files
            .iter()
            .all(|(path, bytes)| std::fs::read(out.join(path)).is_ok_and(|found| found == *bytes));
        let entries = std::fs::read_dir(self.work()).unwrap().count();
        if whole && entries == 2 {
            return "whole".into();
        }
        "a part".into()
    }
}

fn stable() -> Tag {
    "Stable".parse().unwrap()
}

fn credential() -> Credential {
    Credential::Basic {
        username: USER.into(),
        password: Secret::new(PASSWORD),
    }
}

/// A clock whose waits are over at once and written down.
fn settings(heard: &Arc<Mutex<Heard>>, idle: Option<Duration>) -> AccessSettings {
    let (now, sleep, tell) = (heard.clone(), heard.clone(), heard.clone());
    let time = Time::new(
        move || now.lock().unwrap().now,
        move |wait| {
            let mut heard = sleep.lock().unwrap();
            heard.now += wait;
            heard.waits.push(wait);
            Box::pin(std::future::ready(()))
        },
    );
    let mut settings = AccessSettings {
        credentials: Credentials::fixed(credential(), "the test"),
        time,
        events: Events::new(move |event| tell.lock().unwrap().events.push(event)),
        ..AccessSettings::default()
    };
    if let Some(idle) = idle {
        settings.timeouts.idle = idle;
    }
    settings
}
