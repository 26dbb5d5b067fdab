//! `trials corpus DIR [--golden FILE] [--check]`, `trials compile SIZE...`, `trials fuzz [DIR] --minutes N [--seed S]
//! [--keep DIR]`: the commands for `cargo xtask`, which has validated the arguments already.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use trials::{corpus, fuzz, times};

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let command = arguments.next().unwrap_or_default();
    let rest: Vec<String> = arguments.collect();
    match run(&command, &rest) {
        Ok(code) => code,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: &str, rest: &[String]) -> Result<ExitCode, String> {
    let option = |name: &str| {
        let at = rest.iter().position(|word| word == name)?;
        rest.get(at + 1).cloned()
    };
    let dir = rest
        .first()
        .filter(|word| !word.starts_with("--"))
        .map(PathBuf::from);
    match command {
        "corpus" => {
            let dir = dir.ok_or("which folder?")?;
            let report = corpus::run(&dir, option("--golden").map(PathBuf::from).as_deref())
                .map_err(|error| format!("{}: {error}", dir.display()))?;
            print!("{report}");
            let strict = rest.iter().any(|word| word == "--check");
            Ok(if strict && report.differs() {
                ExitCode::FAILURE
            } else {
                ExitCode::SUCCESS
            })
        }
        "compile" => {
            for line in times::run(rest) {
                println!("{line}");
            }
            Ok(ExitCode::SUCCESS)
        }
        "fuzz" => {
            let number = |name: &str, otherwise: f64| match option(name) {
                Some(text) => text
                    .parse::<f64>()
                    .map_err(|_| format!("{name} takes a number, not `{text}`")),
                None => Ok(otherwise),
            };
            let time = Duration::from_secs_f64(number("--minutes", 1.0)?.max(0.0) * 60.0);
            let report = fuzz::run(&fuzz::Options {
                dir,
                time: Some(time),
                texts: None,
                seed: number("--seed", 1.0)? as u64,
                keep: option("--keep").map(PathBuf::from),
            })
            .map_err(|error| error.to_string())?;
            println!("{report}");
            Ok(if report.findings.is_empty() {
                ExitCode::SUCCESS
            } else {
                ExitCode::FAILURE
            })
        }
        other => Err(format!("`{other}` is none of corpus, compile, fuzz")),
    }
}
