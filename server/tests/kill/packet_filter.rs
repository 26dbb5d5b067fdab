//! A rule of this machine's packet filter, until it is dropped.

use crate::privileged;

/// A rule in the chain of packets that this machine sends.
pub struct Rule(Vec<String>);

impl Rule {
    /// Adds a rule to a table, before all others. `rule` is the rest of the command line of `iptables`.
    pub fn new(table: &str, rule: &[&str]) -> Rule {
        let words = ["-t", table].into_iter().chain(rule.iter().copied());
        let added = Rule(words.map(str::to_owned).collect());
        assert!(added.change("-I"), "a rule of the packet filter is added");
        added
    }

    fn change(&self, change: &str) -> bool {
        let (table, rule) = self.0.split_at(2);
        let done = privileged("iptables")
            .arg("--wait")
            .args(table)
            .args([change, "OUTPUT", "-p", "tcp"])
            .args(rule)
            .status();
        done.is_ok_and(|status| status.success())
    }
}

impl Drop for Rule {
    fn drop(&mut self) {
        if !self.change("-D") {
            eprintln!("a rule of the packet filter stays: {:?}", self.0);
        }
    }
}
