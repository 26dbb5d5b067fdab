//! Addresses of a design's pages, with their initial selection, of the pages of an item, and of terminals.

use crate::browser;

/// Prefix of a parameter's field in a query.
const PARAMETER: &str = "parameter.";

/// Name of a parameter's field in the query of a plan, and of a design that a plan has led to.
pub fn parameter_name(parameter: &str) -> String {
    format!("{PARAMETER}{parameter}")
}

/// Parameter values as fields of a query: `parameter.size=3`.
pub fn parameter_fields(values: &[(String, String)]) -> Vec<String> {
    let field = |(name, text): &(String, String)| {
        let name = browser::encode(&parameter_name(name));
        format!("{name}={}", browser::encode(text))
    };
    values.iter().map(field).collect()
}

/// The parameter values among the fields of a query.
pub fn parameter_values<'a, N: AsRef<str>>(
    query: impl IntoIterator<Item = (N, &'a str)>,
) -> Vec<(String, String)> {
    let value = |(name, text): (N, &str)| {
        let name = name.as_ref().strip_prefix(PARAMETER)?;
        Some((name.to_owned(), text.to_owned()))
    };
    query.into_iter().filter_map(value).collect()
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
    /// Parameter values with which the designer plans. Empty for a plan of the past.
    pub parameters: Vec<(String, String)>,
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
        fields.extend(parameter_fields(&self.parameters));
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
        let parameters = vec![("size".to_owned(), "3".to_owned())];
        let design = LinkedDesign {
            id: "d".to_owned(),
            version: Some(5),
            deployment: None,
            parameters: parameters.clone(),
        };
        assert_eq!(
            design.resource("web", Some("flavor")),
            "/designs/d?version=5&resource=web&property=flavor&parameter.size=3"
        );
        let query = [("version", "5"), ("parameter.size", "3")];
        assert_eq!(parameter_values(query), parameters);
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
