//! Starter designs.

/// A starter: a template with a name and a summary.
#[derive(Clone, Copy, Debug)]
pub struct Starter {
    /// Name in the address of its picture.
    pub slug: &'static str,
    /// Name of the new design.
    pub name: &'static str,
    /// Summary, one sentence.
    pub summary: &'static str,
    /// Name of the icon.
    pub icon: &'static str,
    /// The template's text, in HOT.
    pub template: &'static str,
}

impl Starter {
    /// True if the template has a component of this catalogue item.
    pub fn has_item(&self, item: &str) -> bool {
        let resource_type = format!("Stackloom::Catalog::{item}");
        let template = self.template.split_whitespace();
        let mut words = template.map(|word| word.trim_end_matches([',', '}']));
        words.any(|word| word == resource_type)
    }
}

/// An empty design.
pub const EMPTY: Starter = Starter {
    slug: "empty",
    name: "Untitled design",
    summary: "An empty canvas.",
    icon: "square",
    template: "heat_template_version: 2021-04-16\n\nresources: {}\n",
};

/// Starters, from small to large.
pub const STARTERS: [Starter; 12] = [
    Starter {
        slug: "proxy",
        name: "Web server behind a proxy",
        summary: "HAProxy on a public server and nginx on a private one. The output is the URL of the page.",
        icon: "shield",
        template: include_str!("starters/proxy.yaml"),
    },
    Starter {
        slug: "server",
        name: "One web server",
        summary: "A public server with one page. The plan adds the floating IP, the router and the security group rules.",
        icon: "server",
        template: include_str!("starters/server.yaml"),
    },
    Starter {
        slug: "balanced",
        name: "Balanced web servers",
        summary: "Two nginx servers behind an HAProxy load balancer. The page text is a parameter.",
        icon: "workflow",
        template: include_str!("starters/balanced.yaml"),
    },
    Starter {
        slug: "network",
        name: "Two networks",
        summary: "Two networks behind one router, a server in one and a server in both. No software.",
        icon: "network",
        template: include_str!("starters/network.yaml"),
    },
    Starter {
        slug: "bastion",
        name: "Bastion and private network",
        summary: "A server without a public address. Deployments and terminals reach it through the bastion.",
        icon: "key-round",
        template: include_str!("starters/bastion.yaml"),
    },
    Starter {
        slug: "wordpress",
        name: "WordPress with its database",
        summary: "A public WordPress site with MariaDB on a private server. The database password is generated.",
        icon: "file-text",
        template: include_str!("starters/wordpress.yaml"),
    },
    Starter {
        slug: "tiers",
        name: "Three tiers",
        summary: "HAProxy in front of two WordPress servers, with MariaDB in a separate network.",
        icon: "blocks",
        template: include_str!("starters/tiers.yaml"),
    },
    Starter {
        slug: "farm",
        name: "Web farm with a database",
        summary: "HAProxy in front of two web servers with a program of your own, and one PostgreSQL for both.",
        icon: "globe",
        template: include_str!("starters/farm.yaml"),
    },
    Starter {
        slug: "replica",
        name: "Database with a replica",
        summary: "PostgreSQL on one server and a streaming replica on another, behind a bastion.",
        icon: "database",
        template: include_str!("starters/replica.yaml"),
    },
    Starter {
        slug: "queue",
        name: "Queue with workers",
        summary: "RabbitMQ on one server and two servers that process its tasks. The password is generated.",
        icon: "layers",
        template: include_str!("starters/queue.yaml"),
    },
    Starter {
        slug: "batch",
        name: "Nightly job with a volume",
        summary: "A scheduled job on a private server behind a bastion, with its results on a volume.",
        icon: "hard-drive",
        template: include_str!("starters/batch.yaml"),
    },
    Starter {
        slug: "monitoring",
        name: "Monitored servers",
        summary: "Prometheus collects metrics of two servers and shows them as graphs.",
        icon: "gauge",
        template: include_str!("starters/monitoring.yaml"),
    },
];

/// A server with a public address, for a design that begins with one catalogue item.
pub const SERVER: &str = "\
heat_template_version: 2021-04-16

resources:
  net:
    type: OS::Neutron::Net
  subnet:
    type: OS::Neutron::Subnet
    properties:
      network: {get_resource: net}
      cidr: 10.10.0.0/24

  server:
    type: OS::Nova::Server
    properties:
      image: debian-12
      flavor: m1.small
      networks:
        - network: {get_resource: net}
    metadata:
      stackloom: {public: true, bastion: true}
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_of_an_item_have_a_component_of_it() {
        let with = |item: &str| {
            let starters = STARTERS.into_iter().filter(|one| one.has_item(item));
            starters.map(|one| one.slug).collect::<Vec<_>>()
        };
        assert_eq!(with("postgresql"), ["farm", "replica"]);
        assert_eq!(with("mariadb"), ["wordpress", "tiers"]);
        assert!(with("post").is_empty());
    }
}
