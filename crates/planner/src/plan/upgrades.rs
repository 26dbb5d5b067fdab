//! Batches of an upgrade: the components that are set up with another version of their item at the same time.
//!
//! A batch waits until the whole batch before it is set up and healthy. So a bad version reaches one batch only.

/// The batches so far.
pub(super) struct Batches {
    /// Maximum number of components in a batch.
    size: usize,
    /// Ids of the steps of the last full batch.
    before: Vec<String>,
    /// Ids of the steps of the batch that is being filled.
    current: Vec<String>,
}

impl Batches {
    /// Batches of this size, at least 1.
    pub fn of(size: usize) -> Batches {
        Batches {
            size: size.max(1),
            before: Vec::new(),
            current: Vec::new(),
        }
    }

    /// Adds a step, and returns the steps that it waits for.
    pub fn add(&mut self, step: &str) -> &[String] {
        if self.current.len() >= self.size {
            self.before = std::mem::take(&mut self.current);
        }
        self.current.push(step.to_owned());
        &self.before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_waits_for_the_whole_batch_before_it() {
        let waits = |size: usize| {
            let mut batches = Batches::of(size);
            let steps = ["a", "b", "c", "d", "e"];
            steps.map(|step| batches.add(step).join(""))
        };
        assert_eq!(waits(0), ["", "a", "b", "c", "d"]);
        assert_eq!(waits(1), ["", "a", "b", "c", "d"]);
        assert_eq!(waits(2), ["", "", "ab", "ab", "cd"]);
        assert_eq!(waits(9), ["", "", "", "", ""]);
    }
}
