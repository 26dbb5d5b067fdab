//! Slots that projects share fairly.
//!
//! A free slot goes to the waiting project that holds the fewest slots, and among equals to the one that has waited
//! longest. So a project with a hundred steps delays another's first step by one execution, not by a hundred.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::oneshot;

/// Slots that projects share fairly. Cheap to clone.
#[derive(Clone)]
pub struct Queue {
    state: Arc<Mutex<State>>,
}

struct State {
    free: usize,
    held: HashMap<String, usize>,
    /// In the order of arrival.
    waiting: VecDeque<Waiting>,
}

struct Waiting {
    project: String,
    grant: oneshot::Sender<Slot>,
}

/// A slot. It is free again when this is dropped.
pub struct Slot {
    /// `None` if the slot was returned to the queue.
    state: Option<Arc<Mutex<State>>>,
    project: String,
}

impl Queue {
    /// A queue for `slots` slots, at least one.
    pub fn new(slots: usize) -> Queue {
        Queue {
            state: Arc::new(Mutex::new(State {
                free: slots.max(1),
                held: HashMap::new(),
                waiting: VecDeque::new(),
            })),
        }
    }

    /// A slot at once, if one is free.
    pub fn try_acquire(&self, project: &str) -> Option<Slot> {
        let mut state = lock(&self.state);
        // While a slot is free, no project waits.
        (state.free > 0).then(|| self.grant(&mut state, project))
    }

    /// A slot, when it is this project's turn. Dropping the future leaves the queue.
    pub async fn acquire(&self, project: &str) -> Slot {
        loop {
            let turn = {
                let mut state = lock(&self.state);
                if state.free > 0 {
                    return self.grant(&mut state, project);
                }
                let (grant, turn) = oneshot::channel();
                state.waiting.push_back(Waiting {
                    project: project.to_owned(),
                    grant,
                });
                turn
            };
            if let Ok(slot) = turn.await {
                return slot;
            }
        }
    }

    /// Numbers of slots that are held, and that are waited for.
    pub fn count(&self) -> (usize, usize) {
        let state = lock(&self.state);
        let waiting = state.waiting.iter();
        let waiting = waiting.filter(|waiting| !waiting.grant.is_closed());
        (state.held.values().sum(), waiting.count())
    }

    fn grant(&self, state: &mut State, project: &str) -> Slot {
        state.free -= 1;
        state.hold(project);
        Slot {
            state: Some(self.state.clone()),
            project: project.to_owned(),
        }
    }
}

impl State {
    fn hold(&mut self, project: &str) {
        *self.held.entry(project.to_owned()).or_default() += 1;
    }

    fn release(&mut self, project: &str) {
        if let Some(count) = self.held.get_mut(project) {
            *count -= 1;
            if *count == 0 {
                self.held.remove(project);
            }
        }
    }

    /// The next waiting entry that gets a slot. Removes abandoned entries.
    fn next(&mut self) -> Option<Waiting> {
        self.waiting.retain(|waiting| !waiting.grant.is_closed());
        let held = |waiting: &Waiting| self.held.get(&waiting.project).copied().unwrap_or_default();
        let fewest = self.waiting.iter().enumerate();
        let (index, _) = fewest.min_by_key(|(index, waiting)| (held(waiting), *index))?;
        self.waiting.remove(index)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let Some(shared) = self.state.take() else {
            return;
        };
        let mut state = lock(&shared);
        state.release(&self.project);
        while let Some(Waiting { project, grant }) = state.next() {
            state.hold(&project);
            let slot = Slot {
                state: Some(shared.clone()),
                project,
            };
            match grant.send(slot) {
                Ok(()) => return,
                // The receiver was dropped at this moment.
                Err(mut unwanted) => {
                    unwanted.state = None;
                    state.release(&unwanted.project);
                }
            }
        }
        state.free += 1;
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    // The counts are consistent at every possible panic.
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    #[tokio::test]
    async fn a_project_with_one_step_waits_for_one_execution_of_a_project_with_a_hundred() {
        let queue = Queue::new(2);
        let mut held = vec![queue.acquire("busy").await, queue.acquire("busy").await];
        let mut busy: Vec<_> = (0..100).map(|_| Box::pin(queue.acquire("busy"))).collect();
        for waiting in &mut busy {
            assert!(waiting.now_or_never().is_none());
        }
        let mut quiet = Box::pin(queue.acquire("quiet"));
        assert!((&mut quiet).now_or_never().is_none());
        held.pop();
        let slot = quiet
            .now_or_never()
            .expect("it is next, before the hundred");
        drop(slot);
        assert!(
            (&mut busy[0]).now_or_never().is_some(),
            "arrival decides in a project"
        );
    }

    #[tokio::test]
    async fn who_leaves_the_queue_takes_no_slot_along() {
        let queue = Queue::new(1);
        let held = queue.acquire("one").await;
        let mut left = Box::pin(queue.acquire("two"));
        assert!((&mut left).now_or_never().is_none());
        let mut stays = Box::pin(queue.acquire("three"));
        assert!((&mut stays).now_or_never().is_none());
        assert_eq!(queue.count(), (1, 2));
        drop(left);
        assert_eq!(queue.count(), (1, 1));
        drop(held);
        let slot = stays.now_or_never().expect("the slot passes on");
        assert!(queue.try_acquire("one").is_none());
        drop(slot);
        assert!(queue.try_acquire("one").is_some());
    }

    #[tokio::test]
    async fn a_slot_that_was_granted_to_somebody_who_left_is_free_again() {
        let queue = Queue::new(1);
        let held = queue.acquire("one").await;
        let mut granted = Box::pin(queue.acquire("two"));
        assert!((&mut granted).now_or_never().is_none());
        drop(held);
        assert!(queue.try_acquire("three").is_none(), "it is granted");
        drop(granted);
        assert!(queue.try_acquire("three").is_some());
    }
}
