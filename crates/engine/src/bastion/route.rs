//! The connection path to a server of a deployment, and the name of its key. Pure.

use hot::expr::Scope;
use serde_json::Value;

use super::Bastion;
use crate::{
    resources::{Addresses, ResourceTable},
    ssh::{Host, LOGIN_USER, Route},
};

const SSH_KEY: &str = "Stackloom::SSHKey";

/// The connection path to a server.
///
/// # Errors
/// If there is no bastion, or an address or a host key is missing. The text is for users.
pub fn route(
    known: &ResourceTable,
    scope: &dyn Scope,
    bastion: Option<&Bastion>,
    server: &str,
) -> Result<Route, String> {
    let bastion =
        bastion.ok_or("no server of this deployment is the bastion; mark one as public")?;
    let public = bastion.address.clone();
    let public =
        public.ok_or_else(|| format!("the bastion `{}` has no public address", bastion.server))?;
    let key = |server: &str| {
        let entry = known.get(server);
        let key =
            entry.and_then(|entry| Some(entry.attributes.get("host_key")?.as_str()?.to_owned()));
        key.ok_or_else(|| {
            format!("the SSH host key of `{server}` is not known: the server was created without Stackloom's login. Deploy it again")
        })
    };
    let gate = Host::new(&bastion.server, public, key(&bastion.server)?);
    if server == bastion.server {
        return Ok(Route {
            host: gate,
            bastion: None,
            user: LOGIN_USER.into(),
        });
    }
    let address = Addresses::of(known, scope, server).private;
    let address = address.ok_or_else(|| format!("`{server}` has no address in a network"))?;
    Ok(Route {
        host: Host::new(server, address, key(server)?),
        bastion: Some(gate),
        user: LOGIN_USER.into(),
    })
}

/// The resource name of the deployment's key pair, with its public key.
pub fn key_pair(known: &ResourceTable) -> Option<(String, Option<String>)> {
    let mut entries = known.all().into_iter();
    let (name, entry) = entries.find(|(_, entry)| entry.spec.resource_type == SSH_KEY)?;
    let public = entry.attributes.get("public_key").and_then(Value::as_str);
    Some((name, public.map(str::to_owned)))
}
