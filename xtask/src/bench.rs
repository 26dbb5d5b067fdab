//! `cargo xtask bench`: the monitored figures, one per line: name, value, unit.
//!
//! Times depend on the machine; sizes do not. Figures go to standard output, all else to standard error, so that `cargo
//! xtask bench > figures` saves only the figures.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::server::Server;
use crate::world::TestEnvironment;
use crate::{build, clouds, docker, http, needs, paths, progress, shell, trials};

/// Options of `bench`.
#[derive(clap::Args)]
pub struct Options {
    /// The figures to measure. The default is all except `canvas`, `live`, `long-log`, `large-run`, `heat`, `lab`,
    /// `viewers` and `attacks`.
    figures: Vec<Figure>,
    /// For `heat`: the `clouds.yaml` of a real cloud that has Heat.
    #[arg(long, value_name = "FILE")]
    clouds: Option<std::path::PathBuf>,
    /// For `heat`: the folder with the services' logs, to count calls. The default is `log` beside the `clouds.yaml`.
    #[arg(long, value_name = "DIR")]
    logs: Option<std::path::PathBuf>,
    /// For `heat`: numbers of servers, measured one after the other.
    #[arg(long, value_name = "N,N", value_delimiter = ',', default_values_t = [10, 50, 100])]
    servers: Vec<u32>,
    /// For `heat`: measure only the time that the services need for the indispensable calls.
    #[arg(long)]
    floor: bool,
    /// For `engine` and `viewers`: with a PostgreSQL server, and not a database file.
    #[arg(long)]
    postgres: bool,
    /// For `canvas`: numbers of nodes, measured one after the other.
    #[arg(long, value_name = "N,N", value_delimiter = ',', default_values_t = [100, 500, 1000, 2000, 5000])]
    nodes: Vec<u32>,
    /// For `canvas`: the fast build of the pages, to compare changes of the code with each other.
    #[arg(long)]
    dev: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Figure {
    /// Time from text to workflow.
    Compile,
    /// Size of the files that the browser loads first.
    Page,
    /// Memory of an idle server.
    Memory,
    /// Times in the browser: planning, a keystroke, a list of 1,000 deployments.
    Browser,
    /// Processor time of gestures on a canvas with many nodes, beside that of React Flow.
    Canvas,
    /// `log`, `long-log`, `large-run` and `viewers`, one after the other.
    Live,
    /// Latency of a log line from the sandbox to the page, and lost lines.
    Log,
    /// A run with a million log lines in the browser.
    LongLog,
    /// A run of two thousand steps in the browser.
    LargeRun,
    /// Servers on a real cloud, with our engine and with Heat.
    Heat,
    /// Ten thousand servers in the lab, in memory.
    Lab,
    /// Thousands of servers in the lab, deployed and undeployed by the engine; many deployments at once; waiting steps;
    /// log lines; a list of a thousand deployments.
    Engine,
    /// A thousand viewers of one run.
    Viewers,
    /// Answers of the server to others during attacks over HTTP.
    Attacks,
}

/// Measures the figures.
pub fn run(options: &Options) -> Result<()> {
    let figures = if options.figures.is_empty() {
        &[
            Figure::Compile,
            Figure::Page,
            Figure::Memory,
            Figure::Browser,
            Figure::Engine,
            Figure::Log,
        ][..]
    } else {
        &options.figures
    };
    let parts = |figure: &Figure| match figure {
        Figure::Live => vec![
            Figure::Log,
            Figure::LongLog,
            Figure::LargeRun,
            Figure::Viewers,
        ],
        one => vec![*one],
    };
    let figures: Vec<Figure> = figures.iter().flat_map(parts).collect();
    // These need only a toolchain.
    let plain = |figure: &Figure| {
        use Figure::{Attacks, Compile, Engine, Heat, Lab, Viewers};
        matches!(figure, Compile | Heat | Lab | Engine | Viewers | Attacks)
    };
    if !figures.iter().all(plain) {
        needs::ensure(&needs::for_running())?;
    }
    if options.postgres {
        needs::ensure(&[needs::POSTGRES])?;
    }
    for figure in &figures {
        match figure {
            // It is its parts.
            Figure::Live => {}
            Figure::Compile => compile()?,
            Figure::Page => page()?,
            Figure::Memory => memory()?,
            Figure::Browser => browser()?,
            Figure::Canvas => canvas(options)?,
            Figure::Log => log()?,
            Figure::LongLog => long_log()?,
            Figure::LargeRun => large_run()?,
            Figure::Heat => heat(options)?,
            Figure::Lab => {
                test_figures("lab", &["--test", "scale"], "ten_thousand_servers", options)?;
            }
            Figure::Engine => {
                test_figures(
                    "engine",
                    &["--test", "lab"],
                    "thousands_of_servers",
                    options,
                )?;
                test_figures("engine", &["--test", "lab"], "figures::", options)?;
                test_figures("engine", &["--lib"], "run::figures", options)?;
                test_figures("store", &["--test", "log"], "a_line_on_the_disk", options)?;
                test_figures("server", &["--test", "kill"], "listing::", options)?;
            }
            Figure::Viewers => {
                test_figures("server", &["--test", "kill"], "viewers::", options)?;
            }
            Figure::Attacks => {
                for tests in ["attacks::", "limits::"] {
                    test_figures("server", &["--test", "api"], tests, options)?;
                }
            }
        }
    }
    Ok(())
}

/// Deploys the same template with our engine and with Heat, one after the other. See the example `heat` of `engine`.
fn heat(options: &Options) -> Result<()> {
    let clouds = options.clouds.as_ref();
    let clouds =
        clouds.context("`bench heat` needs --clouds FILE, a login to a cloud that has Heat")?;
    let mut example = shell::cargo(["run", "--quiet", "--release", "--package", "engine"]);
    example.args(["--example", "heat", "--"]).arg(clouds);
    if let Some(logs) = &options.logs {
        example.arg("--logs").arg(logs);
    }
    if options.floor {
        example.arg("--floor");
    }
    example.args(options.servers.iter().map(u32::to_string));
    shell::run(&mut example)
}

/// Prints the figures from a test of a crate. Their lines begin with the crate's name: name, value, unit, and the aim of
/// some.
fn test_figures(package: &str, target: &[&str], name: &str, options: &Options) -> Result<()> {
    let mut test = shell::cargo(["test", "--quiet", "--release", "--package", package]);
    test.args(target).args(["--", name]);
    // One after the other: each has the machine for itself.
    test.args(["--include-ignored", "--nocapture", "--test-threads=1"]);
    if options.postgres {
        test.env("STACKLOOM_TEST_POSTGRES", "yes");
    }
    let output = shell::read(&mut test)?;
    let start = format!("{package}, ");
    // A dot for each test that has ended stands before the first line of the next one.
    let lines = output.lines().map(|line| line.trim_start_matches('.'));
    let figures: Vec<&str> = lines.filter(|line| line.starts_with(&start)).collect();
    ensure!(
        !figures.is_empty(),
        "the test `{name}` of {package} printed no figures"
    );
    print_figures(&figures.join("\n"));
    Ok(())
}

/// Words of `trials compile`, and the names of the figures.
const COMPILED: [(&str, &str); 8] = [
    ("drawn:75", "compile, 75 resources"),
    ("drawn:1000", "compile, 1000 resources"),
    ("network:105", "compile, network stack of 105"),
    ("network:505", "compile, network stack of 505"),
    ("network:1005", "compile, network stack of 1005"),
    ("network:2005", "compile, network stack of 2005"),
    ("servers:1000", "compile, 1000 plain servers"),
    ("keystroke:75", "keystroke to diagnostics, 75 resources"),
];

fn compile() -> Result<()> {
    let mut command = trials::command(trials::Profile::Release, "compile");
    command.args(COMPILED.map(|(word, _)| word));
    let output = shell::read(&mut command)?;
    for (word, name) in COMPILED {
        let time_ms = output
            .lines()
            .find_map(|line| line.strip_prefix(word)?.strip_prefix(' '))
            .with_context(|| format!("`{word}` could not be measured"))?;
        figure(name, time_ms, "ms");
    }
    Ok(())
}

fn page() -> Result<()> {
    progress::run_concurrently(vec![build::pages(build::Profile::Release)])?;
    let program = build::program()?;
    let mut pieces = build::pieces()?;
    let mut piece = |name: &str| -> Result<Vec<String>> {
        let stems = pieces
            .remove(name)
            .with_context(|| format!("the program has no piece `{name}`"))?;
        Ok(stems.iter().map(|stem| format!("{stem}.wasm")).collect())
    };
    let designer = piece("designer")?;
    let mut forms = piece("forms")?;
    forms.retain(|file| !designer.contains(file));
    let mut code = piece("code")?;
    code.retain(|file| !designer.contains(file) && !forms.contains(file));
    let loads = [
        ("first page", core(&program)?, Some("400")),
        ("opening a design adds", designer, Some("600")),
        ("its forms add, after the canvas", forms, None),
        ("its code editor or versions add", code, None),
        ("opening a plan or a run adds", piece("pages")?, None),
    ];
    for (what, files, aim_kb) in loads {
        for (suffix, how, aim_kb) in [("", "", None), (".br", ", brotli", aim_kb)] {
            let sizes = files.iter().map(|file| {
                let path = program.join(format!("{file}{suffix}"));
                path.metadata()
                    .map(|meta| meta.len())
                    .with_context(|| format!("there is no {}", path.display()))
            });
            let bytes: u64 = sizes.sum::<Result<u64>>()?;
            let kb = format!("{:.0}", bytes as f64 / 1000.0);
            let name = format!("{what}, wasm and js{how}");
            match aim_kb {
                Some(aim_kb) => figure_with_aim(&name, &kb, "kB", aim_kb),
                None => figure(&name, &kb, "kB"),
            }
        }
    }
    Ok(())
}

/// The files that every page loads: the core, and all scripts.
fn core(program: &Path) -> Result<Vec<String>> {
    let entries =
        std::fs::read_dir(program).with_context(|| format!("cannot list {}", program.display()))?;
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let scripts = names.filter(|name| name.ends_with(".js"));
    Ok(scripts.chain(["stackloom_bg.wasm".to_owned()]).collect())
}

fn memory() -> Result<()> {
    progress::run_concurrently(vec![build::programs(build::Profile::Release)])?;
    let programs = build::Programs::of(build::Profile::Release);
    let dir = paths::target().join("bench");
    if dir.is_dir() {
        std::fs::remove_dir_all(&dir)?;
    }
    std::fs::create_dir_all(&dir)?;
    let clouds_file = dir.join("clouds.yaml");
    std::fs::write(&clouds_file, clouds::text(Some("127.0.0.1:9"), None)?)?;
    let server = Server {
        address: format!("127.0.0.1:{}", http::free_port()?),
        database: None,
        clouds: clouds_file,
        data: dir.join("data"),
        catalog: paths::root().join("catalog"),
        signal_url: None,
        log: Some(dir.join("server.log")),
        settings: Vec::new(),
    };
    let _daemon = docker::ensure_daemon()?;
    let process = server.start(&programs.server)?;
    for path in ["/login", "/readyz", "/api/v1/clouds"] {
        http::get(&server.address, path)?;
    }
    std::thread::sleep(Duration::from_secs(3));
    let status = Path::new("/proc")
        .join(process.id().to_string())
        .join("status");
    let status = std::fs::read_to_string(&status).context("the server is gone")?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .context("no VmRSS in its status")?;
    let kib: f64 = line
        .trim()
        .trim_end_matches(" kB")
        .trim()
        .parse()
        .context("VmRSS is no number")?;
    figure("server, idle", &format!("{:.1}", kib / 1024.0), "MiB");
    Ok(())
}

/// Times of the release build of the pages, in a real browser.
fn browser() -> Result<()> {
    let catalog = paths::root().join("catalog");
    // The server does not affect these figures, so its faster build is used.
    run_browser_bench(
        &BrowserBench {
            name: "page.bench",
            pages: build::Profile::Release,
            programs: build::Profile::Dev,
            catalog: &catalog,
            file: "page-figures.txt",
            variables: &[],
        },
        print_figures,
    )
}

/// Gestures on canvases with many nodes: a table of ours, React Flow, and React Flow with only visible elements.
fn canvas(options: &Options) -> Result<()> {
    let page = flow_page()?;
    let nodes: Vec<String> = options.nodes.iter().map(u32::to_string).collect();
    run_browser_bench(
        &BrowserBench {
            name: "canvas.bench",
            pages: build::Profile::of_pages(options.dev),
            programs: build::Profile::Dev,
            catalog: &paths::root().join("catalog"),
            file: "canvas-figures.txt",
            variables: &[
                ("STACKLOOM_SIZES", &nodes.join(",")),
                ("STACKLOOM_FLOW", &page.to_string_lossy()),
            ],
        },
        print_comparison,
    )
}

/// Prints the table of the canvases, one row a line: nodes, gesture, our figure, both of React Flow, and the aim of some.
fn print_comparison(figures: &str) {
    let row = |[nodes, step, ours, flow, culled]: [&str; 5], aim: &str| {
        let row = format!("{nodes:>6}  {step:<34} {ours:>10} {flow:>12} {culled:>20}  {aim}");
        println!("{}", row.trim_end());
    };
    let head = [
        "nodes",
        "milliseconds, or number",
        "ours",
        "React Flow",
        "React Flow, culled",
    ];
    row(head, "");
    for line in figures.lines() {
        match line.split('\t').collect::<Vec<_>>()[..] {
            [nodes, step, ours, flow, culled] => row([nodes, step, ours, flow, culled], ""),
            [nodes, step, ours, flow, culled, aim] => {
                row([nodes, step, ours, flow, culled], &judged(ours, aim));
            }
            _ => {}
        }
    }
}

/// Bundles the page with React Flow. Returns its folder.
fn flow_page() -> Result<PathBuf> {
    let sources = paths::root().join("end2end/bench/flow");
    let bundle = paths::target().join("flow");
    let esbuild = build::npm::install(&sources)?.join(".bin/esbuild");
    let mut command = shell::cmd::<&str>(&esbuild.to_string_lossy(), []);
    command
        .current_dir(&sources)
        .args(["page.jsx", "--bundle", "--format=esm", "--minify"])
        .args(["--jsx=automatic", "--log-level=warning"])
        .arg("--define:process.env.NODE_ENV=\"production\"")
        .arg(format!("--outdir={}", bundle.display()));
    shell::run_quiet(&mut command)?;
    Ok(bundle)
}

/// A benchmark in the browser.
struct BrowserBench<'a> {
    /// Name of its file in `end2end/bench`.
    name: &'a str,
    pages: build::Profile,
    programs: build::Profile,
    catalog: &'a Path,
    /// Result file of the benchmark.
    file: &'a str,
    /// Environment variables of the benchmark.
    variables: &'a [(&'a str, &'a str)],
}

/// Runs a benchmark in the browser and prints the content of its result file, also if the benchmark has failed: a missed
/// requirement, such as a lost line, is one of the figures.
fn run_browser_bench(bench: &BrowserBench<'_>, print: fn(&str)) -> Result<()> {
    needs::ensure(&needs::for_testing())?;
    let _daemon = docker::ensure_daemon()?;
    progress::run_concurrently(vec![
        docker::images(),
        build::pages(bench.pages),
        build::programs(bench.programs),
    ])?;
    let world = TestEnvironment::start(&build::Programs::of(bench.programs), bench.catalog)?;
    let results = paths::root().join("end2end/test-results");
    let file = results.join(bench.file);
    if file.exists() {
        std::fs::remove_file(&file).with_context(|| format!("cannot remove {}", file.display()))?;
    }
    // A pattern of paths: `log.bench` alone would also match `long-log.bench.ts`, which would run beside it.
    let name = format!("bench/{}", bench.name);
    let mut playwright = world.playwright(&["--config", "bench.config.ts", &name]);
    let measured = shell::read(playwright.envs(bench.variables.iter().copied()));
    world.stop()?;
    let figures =
        std::fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()));
    if let Ok(figures) = &figures {
        print(figures);
    }
    measured.and(figures).map(drop)
}

/// Latency of log lines in the lab, with a catalogue item that prints lines at given rates, and the run's page in a
/// browser. And the number of lines that the page did not show: one is an error.
fn log() -> Result<()> {
    let catalog = paths::root().join("xtask/bench/catalog");
    run_browser_bench(
        &BrowserBench {
            name: "log.bench",
            pages: build::Profile::Release,
            programs: build::Profile::Release,
            catalog: &catalog,
            file: "log-latency.txt",
            variables: &[],
        },
        print_figures,
    )
}

/// A finished run with a million log lines: opening, jumping, scrolling, searching, memory of the page.
fn long_log() -> Result<()> {
    let catalog = paths::root().join("xtask/bench/catalog");
    run_browser_bench(
        &BrowserBench {
            name: "long-log.bench",
            pages: build::Profile::Release,
            programs: build::Profile::Dev,
            catalog: &catalog,
            file: "long-log.txt",
            variables: &[],
        },
        print_figures,
    )
}

/// A finished run with two thousand steps: opening, scrolling its list and its graph, memory of the page.
fn large_run() -> Result<()> {
    run_browser_bench(
        &BrowserBench {
            name: "large-run.bench",
            pages: build::Profile::Release,
            programs: build::Profile::Release,
            catalog: &paths::root().join("catalog"),
            file: "large-run.txt",
            variables: &[],
        },
        print_figures,
    )
}

/// Prints figures, one a line: name, value, unit, and the aim of some.
fn print_figures(figures: &str) {
    for line in figures.lines() {
        match line.split('\t').collect::<Vec<_>>()[..] {
            [name, value, unit] => figure(name, value, unit),
            [name, value, unit, aim] => figure_with_aim(name, value, unit, aim),
            _ => {}
        }
    }
}

/// Prints a figure with its aim.
fn figure_with_aim(name: &str, value: &str, unit: &str, aim: &str) {
    figure(name, value, &format!("{unit} {}", judged(value, aim)));
}

/// The aim of a figure, its highest good value, and whether it is kept.
fn judged(value: &str, aim: &str) -> String {
    let number = |text: &str| text.parse::<f64>();
    let verdict = match (number(value), number(aim)) {
        (Ok(value), Ok(aim)) if value <= aim => "kept",
        _ => "MISSED",
    };
    format!("(aim: {aim}, {verdict})")
}

fn figure(name: &str, value: &str, unit: &str) {
    println!("{name:<54} {value:>10} {unit}");
}
