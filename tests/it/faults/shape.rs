//! The words of the table's `fault` column, as what the registry does.

use super::place::Place;
use crate::support::{Act, MockRegistry, Origin, Response};

const PAGE: &str =
    "<!DOCTYPE html><html><head><title>Hotel \u{1b}[31mWLAN</title></head><body></body></html>";
const OTHER: &str = "sha256:0000000000000000000000000000000000000000000000000000000000000000";
const ANSWERED: &str = "Sun, 06 Nov 1994 08:49:37 GMT";

/// Reads a fault: a status with what comes with it, or a word, with a value after `=`.
pub(super) fn act(fault: &str, place: &Place, mock: &MockRegistry) -> Act {
    let (word, rest) = fault.split_once(' ').unwrap_or((fault, ""));
    if let Ok(status) = word.parse() {
        return Act::Respond(answer(status, rest, place, mock));
    }
    let (word, value) = fault.split_once('=').unwrap_or((fault, ""));
    let value = value.to_owned();
    match word {
        "reset" => Act::Reset,
        "close" => Act::Close,
        "stall" => Act::Stall,
        "stall-body" => Act::CutStall(position(&value, place)),
        "cut" => Act::Cut(position(&value, place)),
        "cut-reset" => Act::CutReset(position(&value, place)),
        "lose-answer" => Act::LoseAnswer,
        "reset-upload" => Act::ResetUpload(position(&value, place)),
        "refuse-early" => Act::RespondEarly(Response::error(value.parse().unwrap(), "DENIED", "x")),
        "raw" => raw(&value),
        _ => {
            let (word, base) = (word.to_owned(), mock.base(Origin::Stranger).to_owned());
            Act::change(move |response| change(response, &word, &value, &base))
        }
    }
}

/// An answer without an effect.
fn answer(status: u16, rest: &str, place: &Place, mock: &MockRegistry) -> Response {
    let plain = Response::error(status, "UNKNOWN", "no luck");
    match rest.split_once('=') {
        None => match rest {
            "" if status == 204 => Response::new(status),
            "" => plain,
            "empty" => Response::new(status),
            "html" => Response::new(status)
                .header("content-type", "text/html")
                .body(PAGE),
            "xml" => Response::new(status)
                .header("content-type", "application/xml")
                .body("<Error><Code>AccessDenied</Code></Error>"),
            code => Response::error(status, code, "no luck"),
        },
        Some(("retry-after", value)) => {
            let value = match value {
                "date" => "Sun, 06 Nov 1994 08:49:39 GMT",
                "past" => "Tue, 06 Nov 1990 08:49:39 GMT",
                other => other,
            };
            plain.header("retry-after", value).header("date", ANSWERED)
        }
        Some(("body", value)) => Response::new(status)
            .header("content-type", "application/json")
            .body(value),
        Some(("to", value)) => {
            let to = target(value, place, mock);
            let response = Response::new(status);
            if to.is_empty() && value == "nowhere" {
                return response;
            }
            response.header("location", &to)
        }
        Some(("challenge", value)) => plain.header(
            "www-authenticate",
            &value.replace("{stranger}", mock.base(Origin::Stranger)),
        ),
        _ => panic!("`{rest}` is no answer"),
    }
}

/// Where a redirect leads.
fn target(value: &str, place: &Place, mock: &MockRegistry) -> String {
    match value {
        "nowhere" | "empty" => String::new(),
        "self" => place.path.clone(),
        "itself-absolute" => format!("{}{}", mock.base(Origin::Registry), place.path),
        "stranger" => format!("{}{}", mock.base(Origin::Stranger), place.path),
        "userinfo" => format!("http://user:hunter2@{}{}", mock.host(), place.path),
        other => other.to_owned(),
    }
}

/// Bytes instead of an answer.
fn raw(name: &str) -> Act {
    let ok = "HTTP/1.1 200 OK\r\n";
    let text = match name {
        "mail" => "220 mail.example ESMTP\r\n".to_owned(),
        "tls" => "\x15\x03\x01\x00\x02\x02\x28".to_owned(),
        "garbage" => "\0\0\0\0\r\n\r\n".to_owned(),
        "http2" => "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_owned(),
        "half-head" => format!("{ok}content-le"),
        "bad-chunk" => format!("{ok}transfer-encoding: chunked\r\n\r\nzz\r\n{{}}\r\n"),
        "huge-chunk" => {
            format!("{ok}transfer-encoding: chunked\r\n\r\nfffffffffffffffff\r\n{{}}\r\n")
        }
        "short-chunk" => format!("{ok}transfer-encoding: chunked\r\n\r\nff\r\n{{\"a\":"),
        "no-last-chunk" => format!("{ok}transfer-encoding: chunked\r\n\r\n2\r\n{{}}\r\n"),
        "bad-status" => "HTTP/1.1 99999 Odd\r\n\r\n".to_owned(),
        "bad-header" => format!("{ok}a header without a colon\r\n\r\n"),
        other => panic!("`{other}` is no raw answer"),
    };
    Act::Raw(text.into_bytes())
}

/// The number of bytes, or a place in the honest body.
fn position(value: &str, place: &Place) -> usize {
    match value {
        "half" => place.length / 2,
        "last" => place.length - 1,
        number => number.parse().unwrap(),
    }
}

/// Changes an honest answer.
fn change(response: &mut Response, word: &str, value: &str, stranger: &str) {
    let length = response.body.len();
    match word {
        "status" => response.status = value.parse().unwrap(),
        "truncated" => response.body.truncate(match value {
            "half" => length / 2,
            _ => length.saturating_sub(1),
        }),
        "longer" => response.body.push(b'\n'),
        "longer-chunked" => {
            response.body.push(b'\n');
            response.set("transfer-encoding", "chunked");
        }
        "endless" => response.body.resize(length + (5 << 20), b' '),
        "flipped" => {
            if let Some(byte) = response.body.last_mut() {
                *byte ^= 1;
            }
        }
        "chunked" => response.set("transfer-encoding", "chunked"),
        "digest" => match value {
            "absent" => response.remove("docker-content-digest"),
            "other" => response.set("docker-content-digest", OTHER),
            "empty" => response.set("docker-content-digest", ""),
            "md5" => response.set("docker-content-digest", "md5:0123456789abcdef"),
            "sha512" => {
                let digest = format!("sha512:{}", "0".repeat(128));
                response.set("docker-content-digest", &digest);
            }
            "two" => response
                .headers
                .push(("docker-content-digest".into(), OTHER.into())),
            _ => panic!("`{value}` is no digest"),
        },
        "type" if value == "absent" => response.remove("content-type"),
        "type" => response.set("content-type", value),
        "coded" => response.set("content-encoding", value),
        "length" => {
            let length = match value {
                "two" => (length + 1).to_string(),
                "negative" => "-1".into(),
                "huge" => "18446744073709551616".into(),
                "words" => "many".into(),
                "more" => {
                    response.set("content-length", &(length + 1).to_string());
                    return;
                }
                "and-chunked" => {
                    response.set("transfer-encoding", "chunked");
                    length.to_string()
                }
                _ => panic!("`{value}` is no length"),
            };
            if value == "two" {
                let real = (length.parse::<usize>().unwrap() - 1).to_string();
                response.set("content-length", &real);
            }
            response.headers.push(("content-length".into(), length));
        }
        "head" if value == "large" => response.set("x-large", &"x".repeat(70_000)),
        "head" => (0..1000).for_each(|n| response.set(&format!("x-{n}"), "x")),
        "location" if value == "absent" => response.remove("location"),
        "location" => {
            let old = response.headers.iter().find(|(name, _)| name == "location");
            let old = old.map(|(_, value)| value.clone()).unwrap_or_default();
            let new = value
                .replace("{old}", &old)
                .replace("{stranger}", stranger)
                .replace("{path}", &path_of(&old));
            response.set("location", &new);
        }
        "link" => response.set("link", &value.replace("{stranger}", stranger)),
        "warning" => {
            for n in 0..value.parse::<usize>().unwrap() {
                let text = format!("299 - \"old {n} \u{9b}31m\"");
                response.headers.push(("warning".into(), text));
            }
        }
        "range" => response.set("range", value),
        "http1.0" => response.is_old = true,
        "interim" => {
            let (status, count) = value.split_once('x').unwrap_or((value, "1"));
            let one = format!("HTTP/1.1 {status} Soon\r\nlink: </style.css>; rel=preload\r\n\r\n");
            response.interim = one.repeat(count.parse().unwrap());
        }
        "bytewise" => response.pause = Some(std::time::Duration::ZERO),
        "body" => response.body = value.into(),
        _ => panic!("no fault is called `{word}`"),
    }
}

/// The path of an address.
fn path_of(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.find('/').map_or("", |at| &rest[at..]).to_owned()
}
