//! Networks as they are: names without hosts, hosts without servers, slow wires, old servers, and clocks that are wrong.

use std::time::{Duration, SystemTime};

use manifest_bundle::credential::Credentials;
use manifest_bundle::error::Kind;
use manifest_bundle::store::Store;
use manifest_bundle::store::registry::{Event, Time};
use tokio::net::TcpSocket;

use super::{Client, Sample, bytes, password};
use crate::support::{Act, Auth, MockRegistry, Modes, Origin, Response, on};

/// The longest that four waits between five attempts take.
const WAITED: Duration = Duration::from_millis(7_500);

#[tokio::test]
async fn t_n8_a_host_without_an_address_is_named_and_not_waited_for_long() {
    let name = "no-such-host.invalid";
    let mut client = Client::new();
    let error = client.open(&format!("{name}/a")).tags().await.unwrap_err();
    assert_eq!(error.kind(), Kind::Unreachable, "{error}");
    assert!(error.to_string().contains(name), "{error}");
    // A name server that cannot be asked is another matter than one that knows of no such host.
    let waits = client.waits();
    let is_known = error.to_string().contains("there is no host");
    assert_eq!(waits.len(), if is_known { 0 } else { 4 }, "{error}");
    assert!(waits.iter().sum::<Duration>() <= WAITED, "{waits:?}");

    // It is the host that has no address that is named, not the one that points to it.
    let mock = MockRegistry::plain();
    let sample = Sample::new(&bytes(1000));
    sample.put(&mock, "a");
    let away = Response::redirect(&format!("https://{name}/blob"));
    mock.rule(on("GET", "/blobs/"), Act::Respond(away));
    let mut client = Client::new();
    let error = sample
        .pull(&client.open(&mock.repository("a")))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), Kind::Unreachable, "{error}");
    assert!(error.to_string().contains(name), "{error}");
    assert!(client.waits().iter().sum::<Duration>() <= WAITED);
}

#[tokio::test]
async fn t_n9_a_port_where_nobody_listens_is_tried_for_some_seconds_and_each_attempt_is_told() {
    let host = MockRegistry::plain().host().to_owned();
    let mut client = Client::new();
    let error = client.open(&format!("{host}/a")).tags().await.unwrap_err();
    assert_eq!(error.kind(), Kind::Unreachable, "{error}");
    assert!(error.detail().retryable);
    let said = error.to_string();
    assert!(
        said.contains(&host) && said.contains("the connection is refused"),
        "{said}"
    );
    let total: Duration = client.waits().iter().sum();
    assert!(total >= WAITED / 2 && total <= WAITED, "{total:?}");
    let heard = client.heard.lock().unwrap();
    let told: Vec<(u32, u32)> = heard
        .events
        .iter()
        .filter_map(|event| match event {
            Event::Retry {
                why,
                attempt,
                attempts,
                ..
            } => {
                assert!(why.contains("the connection is refused"), "{why}");
                Some((*attempt, *attempts))
            }
            _ => None,
        })
        .collect();
    assert_eq!(told, [(2, 5), (3, 5), (4, 5), (5, 5)]);
}

/// A port that takes no connection and refuses none; what holds it that way comes with it.
async fn blackhole() -> (String, tokio::net::TcpListener, Vec<tokio::net::TcpStream>) {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(1).unwrap();
    let address = listener.local_addr().unwrap();
    let mut held = Vec::new();
    for _ in 0..64 {
        let connecting = tokio::net::TcpStream::connect(address);
        match tokio::time::timeout(Duration::from_millis(300), connecting).await {
            Ok(stream) => held.push(stream.unwrap()),
            Err(_) => return (address.to_string(), listener, held),
        }
    }
    panic!("this system queues more connections than it was told");
}

#[tokio::test]
async fn t_n9_a_host_that_swallows_every_packet_is_given_up_in_bounded_time() {
    let (host, _listener, _held) = blackhole().await;
    let connect = Duration::from_millis(100);
    let mut client = Client::with(|settings| settings.timeouts.connect = connect);
    let error = client.open(&format!("{host}/a")).tags().await.unwrap_err();
    assert_eq!(error.kind(), Kind::Unreachable, "{error}");
    let said = error.to_string();
    assert!(
        said.contains(&host) && said.contains("no connection in time"),
        "{said}"
    );
    assert_eq!(client.waits().len(), 4);
    assert!(client.waits().iter().sum::<Duration>() <= WAITED);
}

/// Every answer of a registry, changed; then all that a client does with it works without another attempt.
async fn all_is_well(change: impl Fn(&mut Response) + Send + Sync + 'static, size: usize) {
    let mock = MockRegistry::plain();
    mock.rule(on("", "/"), Act::change(change));
    let sample = Sample::new(&bytes(size));
    let mut client = Client::new();
    let there = client.open(&mock.repository("a"));
    sample.push(&there, "1").await.unwrap();
    sample.pull(&there).await.unwrap();
    assert_eq!(there.tags().await.unwrap(), ["1".parse().unwrap()]);
    let digest = sample.manifest.descriptor.digest;
    let referrers = there.referrers(&digest, None).await.unwrap();
    assert!(referrers.descriptors.is_empty());
    assert_eq!(client.retries(), [""; 0]);
}

#[tokio::test]
async fn t_n13_old_servers_and_interim_answers_are_understood() {
    all_is_well(|r| r.is_old = true, 100_000).await;
    for (status, count) in [(100, 1), (102, 1), (103, 1), (103, 1000)] {
        let one = format!("HTTP/1.1 {status} Soon\r\nlink: </a>; rel=preload\r\n\r\n");
        let interim = one.repeat(count);
        all_is_well(move |r| r.interim.clone_from(&interim), 100_000).await;
    }
    // A head may be large, and hold many headers, up to a bound.
    all_is_well(|r| r.set("x-large", &"x".repeat(60_000)), 1000).await;
    all_is_well(
        |r| (0..80).for_each(|n| r.set(&format!("x-{n}"), "x")),
        1000,
    )
    .await;
}

#[tokio::test]
async fn t_n13_answers_that_http_does_not_have_break_the_protocol() {
    let large = |length: usize| Act::change(move |r| r.set("x-large", &"x".repeat(length)));
    for (name, act) in [
        ("64 KiB", large(64 << 10)),
        ("1 MiB", large(1 << 20)),
        (
            "1,000 headers",
            Act::change(|r| (0..1000).for_each(|n| r.set(&format!("x-{n}"), "x"))),
        ),
        (
            "another protocol",
            Act::Raw(
                b"HTTP/1.1 101 Switching Protocols\r\nupgrade: h2c\r\nconnection: upgrade\r\n\r\n"
                    .to_vec(),
            ),
        ),
        (
            "HTTP/2 on its own",
            Act::Raw(b"\0\0\x12\x04\0\0\0\0\0\0\x03\0\0\0\x64".to_vec()),
        ),
        ("HTTP/3.0", Act::Raw(b"HTTP/3.0 200 OK\r\n\r\n".to_vec())),
        ("HTTP/0.9", Act::Raw(b"{\"tags\":[\"1\"]}\r\n\r\n".to_vec())),
    ] {
        let mock = MockRegistry::plain();
        mock.rule(on("GET", "/tags/"), act);
        let mut client = Client::new();
        let listed = client.open(&mock.repository("a")).tags().await;
        let error = listed.expect_err(name);
        assert_eq!(error.kind(), Kind::Protocol, "{name}: {error}");
        assert_eq!((mock.log().len(), client.waits().len()), (1, 0), "{name}");
    }
}

#[tokio::test]
async fn t_n15_answers_that_come_byte_by_byte_are_read_while_enough_of_them_comes() {
    all_is_well(|r| r.pause = Some(Duration::ZERO), 5000).await;
    // A hundred bytes take longer than the idle time, and each such time brings more than the least.
    let slow = |pause: u64, idle: u64, least: u64| async move {
        let mock = MockRegistry::plain();
        let answer = Response::new(200).body(format!("{{\"tags\":[\"1\"]}}{}", " ".repeat(100)));
        let pause = Some(Duration::from_millis(pause));
        let answer = Response { pause, ..answer };
        mock.rule(on("GET", "/tags/"), Act::Respond(answer));
        let mut client = Client::with(|settings| {
            settings.timeouts.idle = Duration::from_millis(idle);
            settings.timeouts.least = least;
        });
        let listed = client.open(&mock.repository("a")).tags().await;
        (
            listed.map_err(|error| error.to_string()),
            client.retries().len(),
        )
    };
    let (listed, retries) = slow(16, 800, 2).await;
    assert_eq!((listed, retries), (Ok(vec!["1".parse().unwrap()]), 0));
    // Fewer bytes than the least are as good as none.
    let (listed, retries) = slow(10, 200, 1000).await;
    assert!(
        listed
            .as_ref()
            .is_err_and(|said| said.contains("next to nothing")),
        "{listed:?}"
    );
    assert_eq!(retries, 4);
}

#[tokio::test]
async fn t_n16_tokens_age_by_the_clock_that_nobody_sets() {
    let modes = Modes {
        auth: Auth::Bearer,
        ..Modes::default()
    };
    let year = Duration::from_secs(365 * 24 * 3600);
    let walls = [
        SystemTime::UNIX_EPOCH.checked_sub(10 * year),
        SystemTime::UNIX_EPOCH.checked_add(10_000 * year),
        SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(u64::MAX >> 1)),
        Some(SystemTime::UNIX_EPOCH),
    ];
    for wall in walls.into_iter().flatten() {
        let mock = MockRegistry::start(modes.clone());
        let sample = Sample::new(&bytes(1000));
        sample.put(&mock, "a");
        let mut client = Client::alice();
        client.settings.time = client.settings.time.clone().with_wall(move || wall);
        let from = client.open(&mock.repository("a"));
        let tokens = || {
            let requests = mock.requests();
            requests
                .iter()
                .filter(|r| r.origin == Origin::Token)
                .count()
        };
        // A token for 300 s is used for nine tenths of that.
        for (now, want) in [(0, 1), (269, 1), (271, 2), (100, 2), (540, 2), (542, 3)] {
            client.heard.lock().unwrap().now = Duration::from_secs(now);
            from.tags().await.unwrap();
            assert_eq!(tokens(), want, "{now} s, {wall:?}");
        }
        client.heard.lock().unwrap().now = Duration::MAX;
        from.tags().await.unwrap();
        // A date to wait for, from a server that does not say when it answered: whatever the time of day is, nothing breaks.
        let busy = Response::new(503).header("retry-after", "Sun, 06 Nov 1994 08:49:39 GMT");
        mock.rule(on("GET", "/tags/"), Act::Respond(busy));
        let error = from.tags().await.unwrap_err();
        assert_eq!(error.kind(), Kind::Unreachable, "{error}");
        assert!(client.waits().iter().sum::<Duration>() <= 2 * WAITED);
    }
}

#[tokio::test]
async fn t_n16_a_clock_that_stands_or_runs_away_changes_nothing_but_the_waits() {
    for step in [
        Duration::ZERO,
        Duration::from_secs(1 << 40),
        Duration::MAX / 4,
    ] {
        let clock = std::sync::Mutex::new(Duration::ZERO);
        let now = move || {
            let mut clock = clock.lock().unwrap();
            *clock = clock.saturating_add(step);
            *clock
        };
        let time = Time::new(now, |_| Box::pin(std::future::ready(())));
        let mock = MockRegistry::start(Modes {
            auth: Auth::Bearer,
            ..Modes::default()
        });
        let sample = Sample::new(&bytes(70_000));
        sample.put(&mock, "a");
        mock.rule(on("GET", "/blobs/").first(2), Act::Cut(10));
        let mut client = Client::with(|settings| {
            settings.time = time;
            settings.credentials = Credentials::fixed(password(), "the test");
        });
        sample
            .pull(&client.open(&mock.repository("a")))
            .await
            .unwrap();
        assert_eq!(client.retries().len(), 2, "{step:?}");
    }
}
