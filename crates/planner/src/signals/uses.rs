//! The resources that use a handle.

use std::collections::{BTreeSet, HashMap, HashSet};

use hot::expr::Expr;
use types::{
    SERVER, SOFTWARE_COMPONENT, SOFTWARE_CONFIG, STRUCTURED_CONFIG, UPDATE_WAIT_CONDITION_HANDLE,
    is_wait_condition_handle,
};

use crate::{passes::Model, workflow::ResourceSpec};

/// The uses of handles by resources, and by contents that resources get.
pub(super) struct Uses<'m> {
    model: &'m Model,
    /// The resources that use a handle or a content, by its name.
    users: HashMap<&'m str, Vec<&'m str>>,
    /// Handles of which something else than `curl_cli` is used, such as the address.
    by_address: HashSet<&'m str>,
}

impl<'m> Uses<'m> {
    pub fn of(model: &'m Model) -> Uses<'m> {
        let mut uses = Uses {
            model,
            users: HashMap::new(),
            by_address: HashSet::new(),
        };
        for (name, spec) in model.iter() {
            let values = spec.properties.values();
            values.for_each(|value| value.walk(&mut |expr| uses.note(name, expr)));
        }
        uses
    }

    fn note(&mut self, user: &'m str, expr: &'m Expr) {
        let (used, attribute) = match expr {
            Expr::GetResource(used) => (used.as_str(), None),
            Expr::GetAttr(used, path) => (used.as_str(), path.first().and_then(Expr::as_str)),
            _ => return,
        };
        let Some(spec) = self.model.get(used) else {
            return;
        };
        if is_wait_condition_handle(&spec.resource_type) {
            // The reference of the other handles is a name.
            let is_name = matches!(expr, Expr::GetResource(_))
                && spec.resource_type != UPDATE_WAIT_CONDITION_HANDLE;
            if is_name {
                return;
            }
            if attribute != Some("curl_cli") {
                self.by_address.insert(used);
                return;
            }
        } else if !is_content(spec) {
            return;
        }
        self.users.entry(used).or_default().push(user);
    }

    /// True if a resource gets the address of a handle, or its token.
    pub fn passes_address_on(&self, handle: &str) -> bool {
        self.by_address.contains(handle)
    }

    /// The servers that signal to a handle with `curl_cli`, in their user data or by their software.
    pub fn senders(&self, handle: &str) -> BTreeSet<&'m str> {
        let mut senders = BTreeSet::new();
        let mut seen: HashSet<&str> = HashSet::new();
        let mut open = vec![handle];
        while let Some(used) = open.pop() {
            for &user in self.users.get(used).into_iter().flatten() {
                let Some(spec) = self.model.get(user) else {
                    continue;
                };
                if is_content(spec) {
                    if seen.insert(user) {
                        open.push(user);
                    }
                    continue;
                }
                let is_server = spec.resource_type == SERVER;
                let server = if is_server { Some(user) } else { spec.host() };
                senders.extend(server.filter(|server| {
                    let spec = self.model.get(server);
                    spec.is_some_and(|spec| {
                        spec.resource_type == SERVER && spec.external_id.is_none()
                    })
                }));
            }
        }
        senders
    }
}

/// True for types whose value becomes user data or a script of the resources that refer to them.
fn is_content(spec: &ResourceSpec) -> bool {
    matches!(
        spec.resource_type.as_str(),
        SOFTWARE_CONFIG
            | STRUCTURED_CONFIG
            | SOFTWARE_COMPONENT
            | "OS::Heat::CloudConfig"
            | "OS::Heat::MultipartMime"
            | "OS::Heat::Value"
    )
}
