//! Components shared by all pages.

pub mod confirm;
pub mod copy;
pub mod diff;
pub mod icon;
pub mod item_card;
pub mod item_icon;
pub mod leaving;
pub mod menu;
pub mod modal;
pub mod palette;
pub mod picker;
pub mod problem;
pub mod prose;
pub mod secret;
pub mod shortcuts;
pub mod skeleton;
pub mod state;
pub mod table;
pub mod theme;
pub mod toast;

pub use confirm::{Confirm, Question, use_confirm};
pub use copy::CopyButton;
pub use diff::line_diff;
pub use icon::Icon;
pub use item_card::ItemCard;
pub use item_icon::ItemIcon;
pub use leaving::use_leaving;
pub use menu::Menu;
pub use modal::Modal;
pub use palette::{Command, use_palette};
pub use problem::{Diagnostics, Empty, ProblemCard, ProblemNote};
pub use prose::prose;
pub use secret::{SecretText, covered};
pub use state::StateBadge;
pub use table::{ACTIONS, data_table};
pub use toast::{ToastList, use_toasts};
