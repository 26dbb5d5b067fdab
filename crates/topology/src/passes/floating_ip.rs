//! A public server, and the bastion, get a public address, unless one is drawn.

use super::*;

const NAME: &str = "floating-ip";

pub(super) fn pass(model: &mut Model, context: &PassContext<'_>) -> Vec<Diagnostic> {
    let mut diagnostics = Vec::new();
    let served = with_floating_ip(model);
    let hosts = software_hosts(model, context);
    let bastion = the_bastion(model, &hosts).map(str::to_owned);
    let wanted: Vec<String> = model
        .of_type(SERVER)
        .filter(|(name, spec)| {
            (spec.marks.public || Some(*name) == bastion.as_deref()) && !served.contains(*name)
        })
        .map(|(name, _)| name.to_owned())
        .collect();
    for server in wanted {
        let Some(port) = model
            .get(&server)
            .and_then(|spec| ports_of(spec).next())
            .map(str::to_owned)
        else {
            let message = format!(
                "`{server}` shall have a public address, but its networks cannot be read from the template; write them out as a list"
            );
            diagnostics.push(Diagnostic::error(
                "server-without-port",
                format!("resources.{server}"),
                message,
            ));
            continue;
        };
        let (network, said) = super::router::external_network(model, context, &server);
        diagnostics.extend(said.into_iter().filter(|one| one.is_error()));
        let Some(network) = network else { continue };
        let why = if Some(&server) == bastion.as_ref() {
            format!("`{server}` is the bastion, through which software is installed")
        } else {
            format!("`{server}` is public")
        };
        model.derive(
            &format!("{server}_floating_ip"),
            Derived {
                pass: NAME,
                resource_type: FLOATING_IP,
                why,
                serves: Some(&server),
                properties: vec![
                    ("floating_network", network),
                    ("port_id", Expr::reference(port)),
                ],
            },
        );
    }
    diagnostics
}
