//! Servers on their way.
//!
//! A list of servers with their details is dear: Nova reads much, and asks Neutron for the security groups. A
//! list of bare ids costs a tenth of it. So what is known to be on its way is asked for like this: which
//! servers of the project are still being built (`status=BUILD`), which are still being deleted
//! (`task_state=deleting`)? Who is in the list is as before. Who is not has come somewhere, and is looked at:
//! by itself, or where there are many, with all that has changed. An absence is thus never taken for an end.
//!
//! That a server is on its way is known from the order itself, before the first look.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::{Answered, Desk, FEW, Source, by_id, one_by_one};
use crate::compute::{Orders, Way};
use crate::{Error, Microversion, Service, Session};

/// Clocks of the cloud's machines differ, and what is written takes a moment to be seen.
const OVERLAP: SignedDuration = SignedDuration::from_secs(15);
/// A server that has not changed for so long is looked at by itself.
const TRUSTED: Duration = Duration::from_secs(20);
/// So many of these at once.
const DOUBTED_AT_ONCE: usize = 5;
/// The first that filters by what Nova does with a server, whoever asks.
const BY_TASK: Microversion = Microversion(2, 83);

/// What is known of servers that Nova works on.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// Since when changes are known, by the cloud's clock.
    since: Option<Timestamp>,
    /// How they were, and when they were seen so.
    moving: HashMap<String, (Value, Instant)>,
}

impl Known {
    fn ordered(&mut self, id: &str, way: Way) {
        let server = match way {
            Way::In => json!({"id": id, "status": "BUILD"}),
            Way::Out => {
                json!({"id": id, "status": "ACTIVE", "OS-EXT-STS:task_state": "deleting"})
            }
        };
        self.moving.insert(id.to_string(), (server, Instant::now()));
    }

    fn way_of(&self, id: &str) -> Option<Way> {
        way_of(&self.moving.get(id)?.0)
    }

    fn seen(&mut self, id: &str, answer: &Answered) {
        match answer {
            Ok(Some(server)) if is_moving(server) => {
                let seen = (server.clone(), Instant::now());
                self.moving.insert(id.to_string(), seen);
            }
            _ => drop(self.moving.remove(id)),
        }
    }
}

impl Desk {
    /// How these servers are.
    pub(super) async fn servers(
        &self,
        session: &Session,
        ids: &[String],
    ) -> Result<HashMap<String, Answered>, Error> {
        for (id, way) in session.extension::<Orders>().take() {
            self.lock().servers.ordered(&id, way);
        }
        let mut answers = self.still_on_their_way(session, ids).await?;
        let open = ids.iter().filter(|id| !answers.contains_key(*id));
        let open: Vec<String> = open.cloned().collect();
        {
            let mut state = self.lock();
            state.quiet = if open.is_empty() { state.quiet + 1 } else { 0 };
        }
        if open.len() <= FEW {
            let looked_at = one_by_one(session, Source::Servers, &open).await;
            let mut state = self.lock();
            for (id, answer) in &looked_at {
                state.servers.seen(id, answer);
            }
            answers.extend(looked_at);
        } else {
            answers.extend(self.changes(session, &open).await?);
        }
        Ok(answers)
    }

    /// Those that go where they went, as they were.
    async fn still_on_their_way(
        &self,
        session: &Session,
        ids: &[String],
    ) -> Result<HashMap<String, Answered>, Error> {
        let mut answers = HashMap::new();
        for way in [Way::In, Way::Out] {
            let on_it = |id: &&String| self.lock().servers.way_of(id) == Some(way);
            let on_it: Vec<&String> = ids.iter().filter(on_it).collect();
            if on_it.is_empty() {
                continue;
            }
            let Some(there) = all_on(way, session).await? else {
                continue;
            };
            let state = self.lock();
            for id in on_it.into_iter().filter(|id| there.contains(*id)) {
                if let Some((server, _)) = state.servers.moving.get(id) {
                    answers.insert(id.clone(), Ok(Some(server.clone())));
                }
            }
        }
        Ok(answers)
    }

    /// Servers that have changed; the others are as they were, or are asked for by themselves.
    async fn changes(
        &self,
        session: &Session,
        ids: &[String],
    ) -> Result<HashMap<String, Answered>, Error> {
        let started = session.cloud_time();
        let since = self.lock().servers.since.unwrap_or(session.begun()) - OVERLAP;
        let found = Source::Servers.all(session, ids, Some(since)).await?;
        let mut answers = by_id(found);
        let mut doubted = Vec::new();
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
                    // What a list of ids has missed is known to have changed.
                    Some((server, seen))
                        if way_of(server).is_none()
                            && (seen.elapsed() < TRUSTED || doubted.len() >= DOUBTED_AT_ONCE) =>
                    {
                        answers.insert(id.clone(), Ok(Some(server.clone())));
                    }
                    _ => doubted.push(id.clone()),
                }
            }
        }
        let looked_at = one_by_one(session, Source::Servers, &doubted).await;
        let mut state = self.lock();
        for (id, answer) in &looked_at {
            state.servers.seen(id, answer);
        }
        answers.extend(looked_at);
        Ok(answers)
    }
}

/// The direction of a server that Nova works on.
fn way_of(server: &Value) -> Option<Way> {
    let task = server["OS-EXT-STS:task_state"].as_str();
    match (server["status"].as_str(), task) {
        (_, Some("deleting")) => Some(Way::Out),
        (Some("BUILD"), _) => Some(Way::In),
        _ => None,
    }
}

/// Ids of all servers that go there, if Nova can tell.
async fn all_on(way: Way, session: &Session) -> Result<Option<HashSet<String>>, Error> {
    let spoken = session.microversions(Service::Compute).await?;
    let can = spoken.is_some_and(|(_, newest)| newest >= BY_TASK);
    let query = match way {
        Way::In => ("status", "BUILD"),
        Way::Out if can => ("task_state", "deleting"),
        Way::Out => return Ok(None),
    };
    let ids = session.compute().server_ids(&[query], BY_TASK).await?;
    Ok(Some(ids.into_iter().collect()))
}

/// Whether Nova still works on it.
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
        let mut known = Known::default();
        known.ordered("a", Way::In);
        assert_eq!(known.way_of("a"), Some(Way::In));
        known.ordered("a", Way::Out);
        assert_eq!(known.way_of("a"), Some(Way::Out));
        known.seen("a", &Ok(None));
        assert_eq!(known.way_of("a"), None);
    }

    #[test]
    fn a_server_deleted_during_its_build_is_gone() {
        let server = json!({"status": "BUILD", "OS-EXT-STS:task_state": "deleting"});
        assert_eq!(way_of(&server), Some(Way::Out));
        let resized = json!({"status": "RESIZE", "OS-EXT-STS:task_state": "resize_prep"});
        assert_eq!(way_of(&resized), None);
    }
}
