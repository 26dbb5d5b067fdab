//! `make_url`: a URL from its parts, escaped like Python's `urllib`.

use serde_json::Value;

use crate::{expr::arguments::URL_KEYS, text::did_you_mean};
use yaql::{python, shown};

pub(super) fn make(arguments: Value) -> Result<Value, String> {
    let Value::Object(arguments) = arguments else {
        return Err("`make_url` takes a map".to_owned());
    };
    if let Some(key) = arguments
        .keys()
        .find(|key| !URL_KEYS.contains(&key.as_str()))
    {
        return Err(format!(
            "`make_url` knows no `{}`{}",
            shown(key),
            did_you_mean(key, URL_KEYS)
        ));
    }
    let text = |key: &str| match arguments.get(key) {
        None => Ok(""),
        Some(Value::String(text)) => Ok(text.as_str()),
        Some(_) => Err(format!("`{key}` of `make_url` is a text")),
    };
    let scheme = text("scheme")?;
    if scheme.contains(':') {
        return Err("`scheme` of `make_url` has no `:`".to_owned());
    }
    let mut place = String::new();
    let (user, password) = (text("username")?, text("password")?);
    if !user.is_empty() || !password.is_empty() {
        escape(user, "", &mut place);
        if !password.is_empty() {
            place.push(':');
            escape(password, "", &mut place);
        }
        place.push('@');
    }
    let host = text("host")?;
    let bare = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'))
        .unwrap_or(host);
    if bare.contains(':') {
        place.push('[');
        escape(bare, ":", &mut place);
        place.push(']');
    } else {
        escape(bare, "", &mut place);
    }
    if let Some(port) = port(arguments.get("port"))? {
        place.push(':');
        place.push_str(&port.to_string());
    }
    let mut path = String::new();
    escape(text("path")?, "/", &mut path);
    let mut url = String::new();
    if !scheme.is_empty() {
        url.push_str(scheme);
        url.push(':');
    }
    if !place.is_empty() || (!scheme.is_empty() && has_place(scheme) && !path.starts_with("//")) {
        url.push_str("//");
        url.push_str(&place);
        if !path.is_empty() && !path.starts_with('/') {
            url.push('/');
        }
    }
    url.push_str(&path);
    let query = query(arguments.get("query"))?;
    if !query.is_empty() {
        url.push('?');
        url.push_str(&query);
    }
    let fragment = text("fragment")?;
    if !fragment.is_empty() {
        url.push('#');
        escape(fragment, "/", &mut url);
    }
    Ok(Value::String(url))
}

fn port(port: Option<&Value>) -> Result<Option<u16>, String> {
    let number = match port {
        None => return Ok(None),
        Some(Value::String(text)) => text.trim().parse().ok(),
        Some(value) => value.as_i64(),
    };
    number
        .and_then(|number| u16::try_from(number).ok())
        .filter(|number| *number > 0)
        .map(Some)
        .ok_or_else(|| {
            format!(
                "`port` of `make_url` is a number from 1 to 65535, not `{}`",
                shown(&python::text(port.unwrap_or(&Value::Null)))
            )
        })
}

fn query(query: Option<&Value>) -> Result<String, String> {
    let Some(query) = query else {
        return Ok(String::new());
    };
    let Value::Object(query) = query else {
        return Err("`query` of `make_url` is a map".to_owned());
    };
    let mut out = String::new();
    for (key, value) in query {
        if !out.is_empty() {
            out.push('&');
        }
        let value = match value {
            Value::Null => "None".to_owned(),
            value => python::text(value),
        };
        plus(key, &mut out);
        out.push('=');
        plus(&value, &mut out);
    }
    Ok(out)
}

/// Escapes form data, except slashes.
fn plus(text: &str, out: &mut String) {
    for (index, word) in text.split(' ').enumerate() {
        if index > 0 {
            out.push('+');
        }
        escape(word, "/", out);
    }
}

fn escape(text: &str, safe: &str, out: &mut String) {
    for byte in text.bytes() {
        let c = char::from(byte);
        if c.is_ascii_alphanumeric() || "_.-~".contains(c) || (c.is_ascii() && safe.contains(c)) {
            out.push(c);
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
}

/// True for schemes with `//` in their URLs even without a host.
fn has_place(scheme: &str) -> bool {
    const SCHEMES: [&str; 23] = [
        "ftp", "http", "gopher", "nntp", "telnet", "imap", "wais", "file", "mms", "https", "shttp",
        "snews", "prospero", "rtsp", "rtspu", "rsync", "svn", "svn+ssh", "sftp", "nfs", "git",
        "ws", "wss",
    ];
    SCHEMES.contains(&scheme)
}
