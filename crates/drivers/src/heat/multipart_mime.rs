//! `OS::Heat::MultipartMime`: several configs as one MIME message for cloud-init.
//!
//! A part of type `multipart` is such a message itself and is included unchanged. Source: Heat's `multi_part.py`.

use serde_json::{Map, Value as Json};

use super::super::cloud_init;
use super::{DriverError, Local, Properties, Ready, config};

pub(super) struct MultipartMime;

impl Local for MultipartMime {
    fn ready(&self, properties: &Map<String, Json>) -> Result<Ready, DriverError> {
        let properties = Properties::of(properties);
        let given = match properties.get("parts") {
            Some(Json::Array(parts)) => parts.as_slice(),
            _ => &[],
        };
        let mut parts = Vec::with_capacity(given.len());
        for (index, part) in given.iter().enumerate() {
            let prefix = format!("parts.{index}.");
            let part = Properties::within(part, &prefix)?;
            let text = part.text("config")?.unwrap_or_default();
            if part.filled("type")?.as_deref() == Some("multipart") {
                parts.push(text.trim_end().to_owned() + "\n");
                continue;
            }
            let file = part.filled("filename")?;
            let subtype = part
                .filled("subtype")?
                .or_else(|| file.as_ref().map(|file| stem(file).to_owned()));
            let headers = file
                .map(|file| {
                    format!(
                        "Content-Disposition: attachment; filename=\"{}\"\n",
                        plain(&file)
                    )
                })
                .unwrap_or_default();
            let kind = format!("text/{}", plain(subtype.as_deref().unwrap_or("plain")));
            parts.push(cloud_init::part(&kind, &headers, &text));
        }
        Ok(config(cloud_init::message(&parts)))
    }
}

/// The file name without its extension, which Heat uses as the subtype.
fn stem(file: &str) -> &str {
    file.rsplit_once('.').map_or(file, |(stem, _)| stem)
}

/// Removes control characters and quotes, which could break a header.
fn plain(text: &str) -> String {
    text.chars()
        .filter(|c| !c.is_control() && *c != '"')
        .collect()
}
