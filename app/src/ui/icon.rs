//! Icons from the sprite that the build generates from `style/icons.txt`.

use std::borrow::Cow;

use leptos::prelude::*;

/// Version of the sprite: a hash of what it is generated from. The server lets browsers keep a sprite with a version for a
/// day, so that icons that come up without a network are drawn, too.
const VERSION: u64 = hash(
    hash(FNV_OFFSET, include_bytes!("../../../style/icons.txt")),
    include_bytes!("../../../style/package.json"),
);

const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0100_0000_01b3;

/// FNV-1a, continued from a hash of what comes before the bytes.
const fn hash(before: u64, bytes: &[u8]) -> u64 {
    let (mut hash, mut rest) = (before, bytes);
    while let [byte, after @ ..] = rest {
        hash = (hash ^ *byte as u64).wrapping_mul(FNV_PRIME);
        rest = after;
    }
    hash
}

/// Address of the sprite.
pub(super) fn address() -> String {
    format!("/pkg/icons.svg?v={VERSION:x}")
}

/// One icon, hidden from screen readers. Its meaning is in the text beside it or in the control's label.
#[component]
pub fn Icon(
    /// A name in `style/icons.txt`.
    #[prop(into)]
    name: Cow<'static, str>,
) -> impl IntoView {
    view! {
        <svg class="icon" aria-hidden="true">
            <use href=format!("{}#{name}", address())></use>
        </svg>
    }
}
