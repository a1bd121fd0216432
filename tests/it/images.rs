//! `bundle images`: on the published lists of the corpus, and as a command.

mod figures;
mod locking;

use crate::support::{Sandbox, bundle_dir};

const OPERATOR: &str = "apiVersion: apps/v1
kind: Deployment
metadata: {name: operator}
spec:
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}}
    spec:
      containers:
      - name: operator
        image: reg.example/operator:1
        args: ['--server-image=team/server:2']
      - name: sidecar
        image: $(SIDECAR)
";

#[test]
fn an_archive_and_its_directory_name_the_same_images() {
    let sandbox = Sandbox::new();
    bundle_dir(sandbox.path("in"), "demo", "1.0.0", None);
    sandbox.write("in/manifests/operator.yaml", OPERATOR);
    sandbox
        .run(["pack", "in", "-o", "out.tar", "--allow-invalid"])
        .ok();
    let of = |source: &str| {
        let ran = sandbox.run(["images", source, "--full"]);
        ran.ok().assert_stderr_has(
            "3 images: 2 certain, 1 likely; 1 field for an image without one (--why shows where)",
        );
        ran.stdout().to_owned()
    };
    assert_eq!(
        of("in"),
        "docker.io/team/server:2\nreg.example/operator:1\nregistry.example/server:1.0.0\n"
    );
    assert_eq!(of("in"), of("out.tar"));
    let value = sandbox
        .run(["images", "out.tar", "--format", "json"])
        .ok()
        .json();
    assert!(
        value["digest"].as_str().unwrap().starts_with("sha256:"),
        "the bundle that was looked at: {value}"
    );
    assert_eq!(value["images"][2]["written"][0], "team/server:2");
    assert_eq!(value["images"][2]["grade"], "likely");
    assert_eq!(value["unnamed"][0]["why"], "a variable");
    let certain = sandbox.run(["images", "in", "--certain"]);
    assert_eq!(
        certain.ok().stdout(),
        "reg.example/operator:1\nregistry.example/server:1.0.0\n"
    );
    certain.assert_stderr_has("1 likely, not listed");
    sandbox
        .run(["images", "in", "--why"])
        .ok()
        .assert_stdout_has("  docker.io/team/server:2, likely\n  in/manifests/operator.yaml:12 Deployment.apps operator spec.template.spec.containers[0].args[0]")
        .assert_stderr_has("in/manifests/operator.yaml:14 Deployment.apps operator spec.template.spec.containers[1].image: `$(SIDECAR)` is a variable");
}

#[test]
fn a_document_that_cannot_be_read_is_an_error_unless_it_may_be_passed_over() {
    let sandbox = Sandbox::new();
    sandbox.write("in/good.yaml", OPERATOR);
    sandbox.write("in/bad.yaml", "a: b\nc: [\n");
    let ran = sandbox.run(["images", "in"]);
    ran.assert_code(11).assert_stderr_has("in/bad.yaml:");
    assert_eq!(ran.stdout(), "");
    let ran = sandbox.run(["images", "in", "--allow-invalid"]);
    assert_eq!(ran.ok().stdout(), "reg.example/operator:1\nteam/server:2\n");
    ran.assert_stderr_has("in/bad.yaml:2: passed over");
}
