//! Many processes that write to one place at once.

use super::scene::{check_layout, sources};
use crate::support::{MockRegistry, Snapshot};

#[test]
fn of_eight_pulls_to_one_directory_all_find_the_reference() {
    let (sandbox, mock) = (sources(), MockRegistry::plain());
    let reference = format!("{}:2.0.0", mock.repository("demo"));
    sandbox.run(["copy", "2.tar", &reference]).ok();
    sandbox.run(["unpack", "2.tar", "-o", "reference"]).ok();
    let wanted = Snapshot::of(sandbox.path("reference"));
    for count in [2, 8] {
        let args = ["pull", &reference, "-o", "d"];
        let runs: Vec<_> = (0..count).map(|_| sandbox.bundle(args).spawn()).collect();
        let codes: Vec<i32> = runs.into_iter().map(|run| run.wait().code()).collect();
        assert!(codes.contains(&0), "{codes:?}");
        assert!(codes.iter().all(|code| [0, 13].contains(code)), "{codes:?}");
        wanted.assert_same(sandbox.path("d"));
        std::fs::remove_dir_all(sandbox.path("d")).unwrap();
    }
    let left = Snapshot::of(sandbox.work()).paths();
    assert!(
        !left.iter().any(|path| path.contains(".bundle-")),
        "{left:?}"
    );
}

#[test]
fn fifty_who_write_into_one_layout_are_all_in_it() {
    let sandbox = sources();
    let runs: Vec<_> = (0..50)
        .map(|n| {
            let archive = if n % 2 == 0 { "1.tar" } else { "2.tar" };
            sandbox
                .bundle(["copy", archive, &format!("oci:out:t{n}")])
                .spawn()
        })
        .collect();
    for run in runs {
        run.wait().ok();
    }
    check_layout(&sandbox, "fifty");
    let index = std::fs::read_to_string(sandbox.path("out/index.json")).unwrap();
    for n in 0..50 {
        assert!(
            index.contains(&format!("\"t{n}\"")),
            "t{n} is missing: {index}"
        );
    }
    let left = Snapshot::of(sandbox.path("out")).paths();
    assert!(
        !left.iter().any(|path| path.starts_with(".bundle-")),
        "{left:?}"
    );
}
