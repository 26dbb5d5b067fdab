//! The plan of the document, from the worker: problems, and the resources that the passes add.
//!
//! One question is open at a time. Changes during it are in the next one, so that fast typing asks only as often as the
//! worker answers.

use std::{collections::BTreeMap, sync::Arc};

use leptos::prelude::*;
use planner::preview::Preview;

use super::{Workspace, problems::of_preview};
use crate::{client::Answer, worker};

/// State of the questions to the worker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Planning {
    /// The plan is current.
    #[default]
    Done,
    /// A question is open.
    Asked,
    /// A question is open, and the document has changed since.
    Outdated,
}

impl Workspace {
    /// Asks for the plan of the document. It is shown when it arrives.
    pub(super) fn ask_for_plan(self) {
        let before = self.planning.try_get_value();
        let next = match before {
            Some(Planning::Done) => Planning::Asked,
            Some(Planning::Asked | Planning::Outdated) => Planning::Outdated,
            None => return,
        };
        self.planning.set_value(next);
        if next == Planning::Outdated {
            return;
        }
        leptos::task::spawn_local(async move {
            while self.plan_once().await == Some(Planning::Outdated) {
                self.planning.set_value(Planning::Asked);
            }
            self.planning.try_set_value(Planning::Done);
        });
    }

    /// Asks once and shows the answer. Returns the state before the answer. `None` if the page is left.
    async fn plan_once(self) -> Option<Planning> {
        let document = self
            .editor
            .try_with_untracked(|editor| editor.document().clone())?;
        let (types, cloud) = (
            self.built_in.try_get_value()?,
            self.cloud.try_get_untracked()?,
        );
        let bundle = self.bundle.try_get_untracked()?;
        let answer = worker::plan(worker::Template {
            text: document.text(),
            bundle: &bundle,
            members: BTreeMap::new(),
            types: &types,
            cloud: &cloud,
        })
        .await;
        let state = self.planning.try_get_value()?;
        self.show_preview(answer, document.is_readable());
        Some(state)
    }

    fn show_preview(self, answer: Answer<Preview>, is_readable: bool) {
        let preview = match answer {
            Ok(preview) => preview,
            Err(problem) => {
                self.toasts.problem(&problem);
                return;
            }
        };
        let problems = of_preview(&preview);
        if self.problems.with_untracked(|now| **now != problems) {
            self.problems.set(Arc::new(problems));
        }
        // The canvas shows the last readable document.
        if is_readable && self.preview.with_untracked(|now| **now != preview) {
            self.preview.set(Arc::new(preview));
            self.draw();
        }
    }
}
