//! JSON from outside, read so that no two readers can see two documents in it.
//!
//! Some readers take the first of two equal keys and some the last; Go matches keys without regard to case. So an object
//! with two keys that are equal after case folding is refused, wherever it is (spec/image.md, "JSON").
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use crate::error::{Error, Kind, Result};
use crate::escape::shown;
use crate::limits::{Ceiling, Limits};

/// Parses one JSON document; `what` names it in errors, such as `manifest`.
///
/// # Errors
///
/// [`Kind::Unsafe`] for bytes that are not one JSON document, two keys that fold to one, or nesting beyond the ceiling.
pub fn parse(what: &str, bytes: &[u8], limits: &Limits) -> Result<Value> {
    let depth = usize::try_from(limits[Ceiling::JsonDepth]).unwrap_or(usize::MAX);
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let seed = Strict { depth };
    seed.deserialize(&mut reader)
        .and_then(|value| reader.end().map(|()| value))
        .map_err(|error| {
            let line = u32::try_from(error.line()).unwrap_or(u32::MAX);
            Error::new(
                Kind::Unsafe,
                format!("{what} is not strict JSON: {}", shown(&error.to_string())),
            )
            .line(line)
        })
}

/// Turns a parsed value into a type; members that the type does not know are allowed.
pub fn into<T: serde::de::DeserializeOwned>(what: &str, value: Value) -> Result<T> {
    serde_json::from_value(value).map_err(|error| {
        Error::new(
            Kind::Unsafe,
            format!("{what}: {}", shown(&error.to_string())),
        )
    })
}

/// Refuses an array where an object is due: a derived reader would take its items for members by position.
///
/// `members` are the members that are objects; one that ends in `[]` is a list of objects. Absent and `null` are fine.
pub fn expect_objects(what: &str, value: &Value, members: &[&str]) -> Result<()> {
    let fail = |name: &str| {
        Err(Error::new(
            Kind::Unsafe,
            format!("{what}: `{name}` is no JSON object"),
        ))
    };
    let Some(object) = value.as_object() else {
        return Err(Error::new(
            Kind::Unsafe,
            format!("{what} is no JSON object"),
        ));
    };
    for member in members {
        let name = member.trim_end_matches("[]");
        let items = match object.get(name) {
            None | Some(Value::Null) => continue,
            Some(Value::Array(items)) if *member != name => items.as_slice(),
            Some(item) if *member == name => std::slice::from_ref(item),
            Some(_) => return fail(name),
        };
        if !items.iter().all(Value::is_object) {
            return fail(name);
        }
    }
    Ok(())
}

/// Reads a value whose objects hold no two keys that fold to one, `depth` levels deep at most.
#[derive(Clone, Copy)]
struct Strict {
    depth: usize,
}

impl Strict {
    fn deeper<E: serde::de::Error>(self) -> Result<Self, E> {
        let depth = self
            .depth
            .checked_sub(1)
            .ok_or_else(|| E::custom("nested too deeply"))?;
        Ok(Self { depth })
    }
}

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let deeper = self.deeper()?;
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(deeper)? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let deeper = self.deeper()?;
        let mut object = Map::new();
        let mut folded = std::collections::HashSet::new();
        while let Some(key) = entries.next_key::<String>()? {
            if !folded.insert(caseless::default_case_fold_str(&key)) {
                let key = shown(&key);
                return Err(A::Error::custom(format!(
                    "two keys of one object read `{key}` when case is ignored"
                )));
            }
            object.insert(key, entries.next_value_seed(deeper)?);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_documents_are_read() {
        let value = parse(
            "x",
            br#" {"a":[1,-2,1.5,"\u0041",null,true],"b":{}} "#,
            &Limits::default(),
        )
        .unwrap();
        let [a, b] = [&value["a"], &value["b"]];
        assert_eq!(*a, serde_json::json!([1, -2, 1.5, "A", null, true]));
        assert_eq!(*b, serde_json::json!({}));
    }

    #[test]
    fn objects_are_told_from_lists_of_objects() {
        let members = &["config", "layers[]"][..];
        let fits = |text: &str| {
            let value: Value = serde_json::from_str(text).unwrap();
            expect_objects("x", &value, members).is_ok()
        };
        for good in [
            "{}",
            r#"{"config":null,"layers":null}"#,
            r#"{"config":{},"layers":[]}"#,
            r#"{"layers":[{},{}]}"#,
        ] {
            assert!(fits(good), "{good}");
        }
        for bad in [
            "[]",
            r#"{"config":[]}"#,
            r#"{"config":[{}]}"#,
            r#"{"config":"x"}"#,
            r#"{"layers":{}}"#,
            r#"{"layers":[{},[]]}"#,
        ] {
            assert!(!fits(bad), "{bad}");
        }
    }

    #[test]
    fn documents_that_two_readers_could_read_differently_are_refused() {
        let deep = "[".repeat(100_000);
        for bad in [
            r#"{"a":1,"a":2}"#,
            r#"{"layers":1,"Layers":2}"#,
            r#"{"a":1,"\u0061":2}"#,
            r#"{"x":{"ſ":1,"s":2}}"#,
            "{} {}",
            "{}x",
            "",
            "[1,]",
            "{'a':1}",
            "// x\n{}",
            "1e999",
            "NaN",
            r#""\ud800""#,
            "\u{feff}{}",
            deep.as_str(),
        ] {
            let error = parse("manifest", bad.as_bytes(), &Limits::default()).unwrap_err();
            assert_eq!(error.kind(), Kind::Unsafe, "{bad:.40}");
        }
    }

    #[test]
    fn nesting_has_its_ceiling() {
        let nested = |n: usize| "[".repeat(n) + &"]".repeat(n);
        assert!(parse("x", nested(64).as_bytes(), &Limits::default()).is_ok());
        assert!(parse("x", nested(65).as_bytes(), &Limits::default()).is_err());
    }
}
