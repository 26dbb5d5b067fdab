//! Servers that Nova builds or deletes.
//!
//! A list of servers with details is expensive: Nova reads many rows, and queries Neutron for the security groups. A list
//! of ids costs a tenth of it. So the query for servers in transition is: which servers of the project are being built
//! (`status=BUILD`), which are being deleted (`task_state=deleting`)? A server in the list is unchanged. A server that is not in
//! the list has left its state and is read: by itself, or, if there are many, with the list of all changes. Absence from the list
//! alone never counts as the end of a transition.
//!
//! A transition is known from the request that caused it, before the first query.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::{FEW, Found, Queue, Source, by_id, one_by_one};
use crate::compute::{Requested, Transition};
use crate::{Error, Microversion, Service, Session};

/// Overlap of two lists of changes: clocks of the cloud's hosts differ, and a write is visible only after a moment.
const OVERLAP: SignedDuration = SignedDuration::from_secs(15);
/// Time after which an unchanged server is read by itself.
const TRUSTED: Duration = Duration::from_secs(20);
/// Maximum number of such reads at once.
const UNKNOWN_AT_ONCE: usize = 5;
/// The first microversion in which every user may filter by task state.
const BY_TASK: Microversion = Microversion(2, 83);

/// Servers in transition, as last seen.
#[derive(Debug, Default)]
pub(super) struct Transitions {
    /// Time of the last list of changes, by the cloud's clock.
    since: Option<Timestamp>,
    /// Last state and the time of it, by id.
    moving: HashMap<String, (Value, Instant)>,
}

impl Transitions {
    fn requested(&mut self, id: &str, transition: Transition) {
        let server = match transition {
            Transition::Building => json!({"id": id, "status": "BUILD"}),
            Transition::Deleting => {
                json!({"id": id, "status": "ACTIVE", "OS-EXT-STS:task_state": "deleting"})
            }
        };
        self.moving.insert(id.to_string(), (server, Instant::now()));
    }

    fn transition_of(&self, id: &str) -> Option<Transition> {
        transition_of(&self.moving.get(id)?.0)
    }

    fn seen(&mut self, id: &str, answer: &Found) {
        match answer {
            Ok(Some(server)) if is_moving(server) => {
                let seen = (server.clone(), Instant::now());
                self.moving.insert(id.to_string(), seen);
            }
            _ => drop(self.moving.remove(id)),
        }
    }
}

impl Queue {
    /// The states of servers that no list of transitions contains, and the number of calls that were made one after the other.
    pub(super) async fn changed(
        &self,
        session: &Session,
        ids: &[String],
    ) -> Result<(HashMap<String, Found>, u32), Error> {
        if ids.len() > FEW {
            return self.changes(session, ids).await;
        }
        let fetched = one_by_one(session, Source::Servers, ids).await;
        let mut state = self.lock();
        for (id, answer) in &fetched {
            state.servers.seen(id, answer);
        }
        Ok((fetched, 1))
    }

    /// Servers whose transition goes on, in their last state. With the number of calls.
    pub(super) async fn unchanged(
        &self,
        session: &Session,
        ids: &[String],
    ) -> Result<(HashMap<String, Found>, u32), Error> {
        for (id, transition) in session.extension::<Requested>().take() {
            self.lock().servers.requested(&id, transition);
        }
        let (mut answers, mut calls) = (HashMap::new(), 0);
        for transition in [Transition::Building, Transition::Deleting] {
            let candidates =
                |id: &&String| self.lock().servers.transition_of(id) == Some(transition);
            let candidates: Vec<&String> = ids.iter().filter(candidates).collect();
            if candidates.is_empty() {
                continue;
            }
            let Some(there) = ids_in(transition, session).await? else {
                continue;
            };
            calls += 1;
            let state = self.lock();
            for id in candidates.into_iter().filter(|id| there.contains(*id)) {
                if let Some((server, _)) = state.servers.moving.get(id) {
                    answers.insert(id.clone(), Ok(Some(server.clone())));
                }
            }
        }
        Ok((answers, calls))
    }

    /// Servers that have changed. Others are in their last state, or are read by themselves. With the number of calls.
    async fn changes(
        &self,
        session: &Session,
        ids: &[String],
    ) -> Result<(HashMap<String, Found>, u32), Error> {
        let started = session.cloud_time();
        let since = self.lock().servers.since.unwrap_or(session.started_at()) - OVERLAP;
        let found = Source::Servers.all(session, ids, Some(since)).await?;
        let mut answers = by_id(found);
        let mut unknown = Vec::new();
        {
            let mut state = self.lock();
            let known = &mut state.servers;
            known.since = Some(started);
            let wanted: HashSet<&String> = ids.iter().collect();
            for (id, answer) in answers.iter().filter(|(id, _)| wanted.contains(id)) {
                known.seen(id, answer);
            }
            for id in ids {
                if answers.contains_key(id) {
                    continue;
                }
                match known.moving.get(id) {
                    // A server in transition that the list of ids did not contain has changed.
                    Some((server, seen))
                        if transition_of(server).is_none()
                            && (seen.elapsed() < TRUSTED || unknown.len() >= UNKNOWN_AT_ONCE) =>
                    {
                        answers.insert(id.clone(), Ok(Some(server.clone())));
                    }
                    _ => unknown.push(id.clone()),
                }
            }
        }
        let fetched = one_by_one(session, Source::Servers, &unknown).await;
        let mut state = self.lock();
        for (id, answer) in &fetched {
            state.servers.seen(id, answer);
        }
        answers.extend(fetched);
        Ok((answers, 1 + u32::from(!unknown.is_empty())))
    }
}

/// The transition of a server.
fn transition_of(server: &Value) -> Option<Transition> {
    let task = server["OS-EXT-STS:task_state"].as_str();
    match (server["status"].as_str(), task) {
        (_, Some("deleting")) => Some(Transition::Deleting),
        (Some("BUILD"), _) => Some(Transition::Building),
        _ => None,
    }
}

/// Ids of all servers in a transition; `None` if this Nova has no such filter.
async fn ids_in(
    transition: Transition,
    session: &Session,
) -> Result<Option<HashSet<String>>, Error> {
    let versions = session.microversions(Service::Compute).await?;
    let has_task_filter = versions.is_some_and(|(_, newest)| newest >= BY_TASK);
    let query = match transition {
        Transition::Building => ("status", "BUILD"),
        Transition::Deleting if has_task_filter => ("task_state", "deleting"),
        Transition::Deleting => return Ok(None),
    };
    let ids = session.compute().server_ids(&[query], BY_TASK).await?;
    Ok(Some(ids.into_iter().collect()))
}

/// True while Nova changes the server.
fn is_moving(server: &Value) -> bool {
    let status = server["status"].as_str().unwrap_or_default();
    let task = server["OS-EXT-STS:task_state"].as_str();
    status == "BUILD" || (task.is_some() && status != "DELETED")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn task_states_show_work_in_progress() {
        assert!(is_moving(&json!({"status": "BUILD"})));
        assert!(is_moving(
            &json!({"status": "ACTIVE", "OS-EXT-STS:task_state": "deleting"})
        ));
        assert!(!is_moving(
            &json!({"status": "ACTIVE", "OS-EXT-STS:task_state": null})
        ));
        assert!(!is_moving(&json!({"status": "ERROR"})));
    }

    #[test]
    fn a_request_is_known_before_the_first_poll() {
        let mut known = Transitions::default();
        known.requested("a", Transition::Building);
        assert_eq!(known.transition_of("a"), Some(Transition::Building));
        known.requested("a", Transition::Deleting);
        assert_eq!(known.transition_of("a"), Some(Transition::Deleting));
        known.seen("a", &Ok(None));
        assert_eq!(known.transition_of("a"), None);
    }

    #[test]
    fn a_server_deleted_during_its_build_is_gone() {
        let server = json!({"status": "BUILD", "OS-EXT-STS:task_state": "deleting"});
        assert_eq!(transition_of(&server), Some(Transition::Deleting));
        let resized = json!({"status": "RESIZE", "OS-EXT-STS:task_state": "resize_prep"});
        assert_eq!(transition_of(&resized), None);
    }
}
