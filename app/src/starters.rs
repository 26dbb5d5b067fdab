//! Designs to start from.

/// A template with a name and a reason to choose it.
#[derive(Clone, Copy, Debug)]
pub struct Starter {
    /// The new design's name.
    pub name: &'static str,
    /// One sentence.
    pub summary: &'static str,
    /// Names the icon.
    pub icon: &'static str,
    /// HOT.
    pub template: &'static str,
}

/// A canvas with nothing on it.
pub const EMPTY: Starter = Starter {
    name: "Untitled design",
    summary: "An empty canvas.",
    icon: "square",
    template: "heat_template_version: 2021-04-16\n\nresources: {}\n",
};

/// From small to larger.
pub const STARTERS: [Starter; 4] = [
    Starter {
        name: "Web server behind a proxy",
        summary: "HAProxy on a public server, nginx on a private one. The output is a page to open.",
        icon: "shield",
        template: include_str!("starters/proxy.yaml"),
    },
    Starter {
        name: "One web server",
        summary: "A server, a page. The plan adds the address, the router and the rules.",
        icon: "server",
        template: include_str!("starters/server.yaml"),
    },
    Starter {
        name: "Balanced web servers",
        summary: "Two nginx servers share the load behind HAProxy; the page text is a parameter.",
        icon: "workflow",
        template: include_str!("starters/balanced.yaml"),
    },
    Starter {
        name: "Two networks",
        summary: "A router between two networks, a server in each, no software.",
        icon: "network",
        template: include_str!("starters/network.yaml"),
    },
];
