//! Software is installed through one server with a public address: the bastion.
//!
//! A person marks it, else the first public server by name is taken, with a warning. Deployments
//! without software have none.

use super::*;

pub(super) fn pass(model: &mut Model, context: &PassContext<'_>) -> Vec<Diagnostic> {
    let hosts = software_hosts(model, context);
    if hosts.is_empty() {
        return Vec::new();
    }
    let marked: Vec<String> = model
        .of_type(SERVER)
        .filter(|(_, spec)| spec.marks.bastion)
        .map(|(name, _)| name.to_owned())
        .collect();
    if let [first, rest @ ..] = marked.as_slice() {
        return rest
            .iter()
            .map(|name| {
                let message =
                    format!("both `{first}` and `{name}` are marked as the bastion; mark one");
                Diagnostic::error("bastion-ambiguous", format!("resources.{name}"), message)
            })
            .collect();
    }
    let Some(picked) = public_servers(model).into_iter().next() else {
        let host = hosts.first().map(String::as_str).unwrap_or_default();
        let message = format!(
            "`{host}` carries software, but no server can be reached from outside; mark one server public"
        );
        return vec![Diagnostic::error(
            "bastion-missing",
            format!("resources.{host}"),
            message,
        )];
    };
    let message = format!(
        "`{picked}` is used as the bastion, through which software is installed; mark a server as the bastion to choose"
    );
    let diagnostic = Diagnostic::warning("bastion-picked", format!("resources.{picked}"), message);
    if let Some(spec) = model.get_mut(&picked) {
        spec.marks.bastion = true;
    }
    vec![diagnostic]
}
