//! Addresses of a design's pages, with their initial selection, of the pages of an item, and of terminals.

use crate::browser;

/// Prefix of a parameter's field in a query.
const PARAMETER: &str = "parameter.";
/// Name of the field with the name of an omitted parameter.
const OMITTED: &str = "omitted";

/// Entered parameters in the query of a plan, and of a design that a plan has led to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SharedParameters {
    /// Names and entered texts.
    pub values: Vec<(String, String)>,
    /// Names of the parameters whose entered text is not in the query.
    pub omitted: Vec<String>,
}

impl SharedParameters {
    /// The parameters among the fields of a query.
    pub fn of_query<'a, N: AsRef<str>>(
        query: impl IntoIterator<Item = (N, &'a str)>,
    ) -> SharedParameters {
        let mut found = SharedParameters::default();
        for (name, text) in query {
            let name = name.as_ref();
            if name == OMITTED {
                found.omitted.push(text.to_owned());
            } else if let Some(parameter) = name.strip_prefix(PARAMETER) {
                found.values.push((parameter.to_owned(), text.to_owned()));
            }
        }
        found
    }

    /// The fields of a query: `parameter.size=3` and `omitted=key`.
    pub fn fields(&self) -> Vec<String> {
        let field = |name: &str, text: &str| {
            let (name, text) = (browser::encode(name), browser::encode(text));
            format!("{name}={text}")
        };
        let values = self.values.iter();
        let values = values.map(|(name, text)| field(&format!("{PARAMETER}{name}"), text));
        let omitted = self.omitted.iter().map(|name| field(OMITTED, name));
        values.chain(omitted).collect()
    }
}

/// The address of the form of an item: for a new one, or for the next version of one.
pub fn new_item(next_of: Option<&str>) -> String {
    match next_of {
        Some(name) => format!("/items/new?next={}", browser::encode(name)),
        None => "/items/new".to_owned(),
    }
}

/// The address of an item's page: with its newest version, or with another one.
pub fn item(name: &str, version: Option<&str>) -> String {
    let name = browser::encode(name);
    match version {
        Some(version) => format!("/catalog/{name}?version={}", browser::encode(version)),
        None => format!("/catalog/{name}"),
    }
}

/// The address of the page of a server's terminal.
pub fn terminal(deployment: &str, server: &str) -> String {
    format!(
        "/deployments/{}/terminal/{}",
        browser::encode(deployment),
        browser::encode(server)
    )
}

/// A place in a design.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DesignLink<'a> {
    /// Id of the design.
    pub design: &'a str,
    /// Id of the deployment that its plan shall update.
    pub deployment: Option<&'a str>,
    /// The planned version. In the designer, the version to compare with if there is a newer one. `None` for the newest.
    pub version: Option<u32>,
    /// The selected resource.
    pub resource: Option<&'a str>,
    /// The property of this resource that gets the focus.
    pub property: Option<&'a str>,
}

impl DesignLink<'_> {
    /// Address in the designer.
    pub fn editor(self) -> String {
        self.address("")
    }

    /// Address of the plan.
    pub fn plan(self) -> String {
        self.address("/plan")
    }

    fn address(self, page: &str) -> String {
        let version = self.version.map(|version| version.to_string());
        let query: Vec<String> = [
            ("deployment", self.deployment),
            ("version", version.as_deref()),
            ("resource", self.resource),
            ("property", self.property),
        ]
        .into_iter()
        .filter_map(|(name, value)| Some(format!("{name}={}", browser::encode(value?))))
        .collect();
        let mark = if query.is_empty() { "" } else { "?" };
        format!("/designs/{}{page}{mark}{}", self.design, query.join("&"))
    }
}

/// A design for links to its places.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkedDesign {
    /// Id of the design.
    pub id: String,
    /// The version that the places are of. `None` for the newest.
    pub version: Option<u32>,
    /// Id of the deployment that its plan shall update.
    pub deployment: Option<String>,
    /// Parameters with which the designer plans. Empty for a plan of the past.
    pub parameters: SharedParameters,
}

impl LinkedDesign {
    /// Address of a resource, and of one of its properties, in the designer.
    pub fn resource(&self, name: &str, property: Option<&str>) -> String {
        let link = DesignLink {
            design: &self.id,
            deployment: self.deployment.as_deref(),
            version: self.version,
            resource: Some(planner::members::drawn(name)),
            property,
        };
        let mut fields = vec![link.editor()];
        fields.extend(self.parameters.fields());
        fields.join("&")
    }
}

/// Resource and property of a path such as `resources.web.properties.flavor`. The property can be a part of one:
/// `networks.0.network`.
pub fn place_of(path: &str) -> Option<(&str, Option<&str>)> {
    let rest = path.strip_prefix("resources.")?;
    let (resource, rest) = rest.split_once('.').unwrap_or((rest, ""));
    Some((resource, rest.strip_prefix("properties.")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_has_an_address_of_its_own() {
        let link = DesignLink {
            design: "d",
            deployment: Some("shop"),
            version: Some(5),
            ..DesignLink::default()
        };
        assert_eq!(link.plan(), "/designs/d/plan?deployment=shop&version=5");
        let newest = DesignLink {
            design: "d",
            ..DesignLink::default()
        };
        assert_eq!(newest.editor(), "/designs/d");
    }

    #[test]
    fn a_plan_leads_to_its_design_and_back_with_its_parameters() {
        let parameters = SharedParameters {
            values: vec![("size".to_owned(), "3".to_owned())],
            omitted: vec!["key".to_owned(), "code".to_owned()],
        };
        let design = LinkedDesign {
            id: "d".to_owned(),
            version: Some(5),
            deployment: None,
            parameters: parameters.clone(),
        };
        assert_eq!(
            design.resource("web", Some("flavor")),
            "/designs/d?version=5&resource=web&property=flavor&parameter.size=3&omitted=key&omitted=code"
        );
        let query = [
            ("version", "5"),
            ("parameter.size", "3"),
            ("omitted", "key"),
            ("omitted", "code"),
        ];
        assert_eq!(SharedParameters::of_query(query), parameters);
    }

    #[test]
    fn a_path_leads_to_a_resource_and_a_property() {
        assert_eq!(
            place_of("resources.web.properties.networks.0.network"),
            Some(("web", Some("networks.0.network")))
        );
        assert_eq!(place_of("resources.web"), Some(("web", None)));
        assert_eq!(place_of("resources.web.condition"), Some(("web", None)));
        assert_eq!(place_of("outputs.url"), None);
    }
}
