//! Selects the bastion: the server with a public address through which software is installed and signals are fetched.
//!
//! A user can mark it. Otherwise the public server that reaches most of the other servers is selected (among equals the
//! first by name), with a notice. Servers that it does not reach get a warning. Deployments without software
//! and without signals over SSH have no bastion. Such signals wait for it, so a server that waits for them is selected
//! last.
//!
//! Templates for Heat have no marks, since Heat's agent polls from within. If none of their servers is public, one with a
//! software deployment, or one that signals, becomes the bastion, with a warning.

use super::*;

pub(super) fn pass(model: &mut Model, context: &PassContext<'_>) -> Vec<Diagnostic> {
    let hosts = ssh_hosts(model, context);
    if hosts.is_empty() {
        return Vec::new();
    }
    let diagnostics = select(model, context, &hosts);
    if let Some(bastion) = the_bastion(model, &hosts).map(str::to_owned) {
        for (_, spec) in &mut model.resources {
            if spec.fetches_signals() {
                spec.requires.push(bastion.clone());
            }
        }
    }
    diagnostics
}

/// Marks the bastion of these servers, unless one is marked.
fn select(
    model: &mut Model,
    context: &PassContext<'_>,
    hosts: &BTreeSet<String>,
) -> Vec<Diagnostic> {
    let reachability = reachability::Reachability::of(model);
    let marked: Vec<String> = model
        .of_type(SERVER)
        .filter(|(_, spec)| spec.marks.bastion)
        .map(|(name, _)| name.to_owned())
        .collect();
    if let [first, rest @ ..] = marked.as_slice() {
        let mut diagnostics: Vec<Diagnostic> = rest
            .iter()
            .map(|name| {
                let message =
                    format!("both `{first}` and `{name}` are marked as the bastion; mark one");
                Diagnostic::error("bastion-ambiguous", format!("resources.{name}"), message)
            })
            .collect();
        diagnostics.extend(out_of_reach(model, &reachability, first, hosts));
        return diagnostics;
    }
    let mut candidates = public_servers(model);
    if candidates.is_empty() {
        candidates = reachability::servers_in_external_networks(model, context);
    }
    let is_private = candidates.is_empty();
    if is_private {
        candidates = deployment_hosts(model);
    }
    let late = after_signals(model, context.types);
    let suits = |candidate: &String| {
        let reached = hosts
            .iter()
            .filter(|host| reachability.reaches(model, candidate, host));
        (!late.contains(candidate), reached.count())
    };
    // `max_by_key` takes the last of equals, so the first by name comes last.
    let Some(picked) = candidates.into_iter().rev().max_by_key(suits) else {
        let host = hosts.first().map(String::as_str).unwrap_or_default();
        let message = format!(
            "`{host}` has software, but no server can be reached from outside; mark one server public"
        );
        return vec![Diagnostic::error(
            "bastion-missing",
            format!("resources.{host}"),
            message,
        )];
    };
    let message = format!(
        "{} through `{picked}`; to choose another bastion, mark a server as it",
        use_of_ssh(model, context)
    );
    let path = format!("resources.{picked}");
    let mut diagnostics = vec![if is_private {
        Diagnostic::warning("bastion-picked", path, private(model, context, &picked))
    } else {
        Diagnostic::info("bastion-picked", path, message)
    }];
    diagnostics.extend(out_of_reach(model, &reachability, &picked, hosts));
    if let Some(spec) = model.get_mut(&picked) {
        spec.marks.bastion = true;
    }
    diagnostics
}

/// Resources that come after a wait whose signals are fetched. The bastion, which the wait requires, must be none of them.
fn after_signals(model: &Model, types: &Registry) -> BTreeSet<String> {
    let waits = model.iter().filter(|(_, spec)| spec.fetches_signals());
    let waits: Vec<&str> = waits.map(|(name, _)| name).collect();
    if waits.is_empty() {
        return BTreeSet::new();
    }
    let dependents = Dependents::of(model, types);
    let late = waits
        .into_iter()
        .flat_map(|wait| dependents.of_resource(wait));
    late.map(str::to_owned).collect()
}

/// Servers with a software deployment, and those whose signals are fetched, by name.
fn deployment_hosts(model: &Model) -> BTreeSet<String> {
    let deployments = model
        .iter()
        .filter(|(_, spec)| types::is_software_deployment(&spec.resource_type));
    deployments
        .filter_map(|(_, spec)| host(model, spec))
        .map(str::to_owned)
        .chain(model.last_runs.iter().cloned())
        .chain(signalling_servers(model).map(str::to_owned))
        .collect()
}

/// Warning about a bastion that nobody made public.
fn private(model: &Model, context: &PassContext<'_>, server: &str) -> String {
    let how = if floating_ip::is_possible(model, context, server) {
        "it gets a floating IP"
    } else {
        "it is reached at the address that Nova gives it, since its networks are not in the template"
    };
    let what = if software_hosts(model, context).is_empty() {
        "signals are fetched over SSH"
    } else {
        "software deployments run over SSH"
    };
    format!(
        "{what}, and no server is public: they go through `{server}`, and {how}; to choose another, mark a server public"
    )
}

/// True if the networks of a server can be read from the template.
pub(super) fn names_networks(model: &Model, server: &str) -> bool {
    let networks = model
        .get(server)
        .and_then(|spec| spec.properties.get("networks"));
    matches!(networks, Some(Expr::List(entries)) if !entries.is_empty())
}

/// Servers with software that share neither a network nor a router with the bastion. Other connections, such as routes
/// between routers, are not followed, so the result is only a warning.
fn out_of_reach(
    model: &Model,
    reachability: &reachability::Reachability,
    bastion: &str,
    hosts: &BTreeSet<String>,
) -> Vec<Diagnostic> {
    let out = hosts
        .iter()
        .filter(|host| *host != bastion && !reachability.reaches(model, bastion, host));
    out.map(|host| {
        let message = format!(
            "the bastion `{bastion}` shares neither a network nor a router with `{host}`, so software may not get there; \
             put one of them into a network of the other, or both behind one router"
        );
        Diagnostic::warning("bastion-unreachable", format!("resources.{host}"), message)
    })
    .collect()
}
