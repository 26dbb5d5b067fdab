//! Limits of a user's script on its server (`guard.sh`): the engine's quota protects the log, but not the server's disk.

const GUARD: &str = include_str!("guard.sh");
/// Maximum number of bytes that a script may write to its output and its errors together. Ansible holds them in memory, several times.
const OUTPUT_BYTES_MAX: u64 = 16 << 20;
/// Maximum number of processes of a script.
const PROCESSES_MAX: u32 = 4096;

/// The words before a program that run it within the limits.
pub fn guard() -> Vec<String> {
    let (bytes, processes) = (OUTPUT_BYTES_MAX.to_string(), PROCESSES_MAX.to_string());
    ["/bin/sh", "-c", GUARD, "sh", &bytes, &processes]
        .map(str::to_owned)
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guarded_program_comes_behind_its_limits() {
        let words = guard();
        let [shell, option, text, _, bytes, processes] = &words[..] else {
            panic!("{words:?}");
        };
        assert_eq!([shell, option], ["/bin/sh", "-c"]);
        assert!(text.contains("exec \"$@\""));
        assert_eq!([bytes, processes], ["16777216", "4096"]);
    }

    #[test]
    fn all_scripts_of_users_run_behind_it() {
        for tasks in [
            include_str!("command/script.yml"),
            include_str!("deployment/role/script.yml"),
            include_str!("../../../../catalog/script/tasks/main.yml"),
        ] {
            let starts = ["Run the script", "Run the config", "Start the config"];
            let is_of_user = |task: &&str| starts.iter().any(|start| task.starts_with(start));
            let of_users: Vec<&str> = tasks.split("- name: ").filter(is_of_user).collect();
            assert!(!of_users.is_empty());
            for task in of_users {
                assert!(task.contains("stackloom_guard"), "{task}");
            }
        }
    }
}
