use hot::{bundle::Bundle, document::Document};
use proptest::prelude::*;
use types::{Registry, catalog::CatalogItem};

use super::*;
use crate::{editor::Editor, layout::Places};

/// OpenStack's types and the project's two example items.
pub(crate) fn registry() -> Registry {
    let item =
        |manifest, specs| CatalogItem::parse(manifest, specs).expect("our own items are sound");
    Registry::openstack().with_catalog([
        item(
            include_str!("../../../../catalog/nginx/item.yml"),
            include_str!("../../../../catalog/nginx/meta/argument_specs.yml"),
        ),
        item(
            include_str!("../../../../catalog/haproxy/item.yml"),
            include_str!("../../../../catalog/haproxy/meta/argument_specs.yml"),
        ),
    ])
}

pub(crate) const TWO_TIER: &str = "\
heat_template_version: 2021-04-16
resources:
  front: {type: OS::Neutron::Net}
  front_subnet:
    type: OS::Neutron::Subnet
    properties: {network: {get_resource: front}, cidr: 10.0.1.0/24}
  back: {type: OS::Neutron::Net}
  router:
    type: OS::Neutron::Router
    properties:
      external_gateway_info: {network: public}
  router_to_front:
    type: OS::Neutron::RouterInterface
    properties: {router: {get_resource: router}, subnet: {get_resource: front_subnet}}
  # the one that the world sees
  edge:
    type: OS::Nova::Server
    metadata:
      stackloom: {public: true}
    properties:
      image: debian-12
      flavor: m1.small
      networks: [{network: {get_resource: front}}, {network: {get_resource: back}}]
  web:
    type: OS::Nova::Server
    properties:
      flavor: m1.tiny
      networks:
        - port: {get_resource: web_port}
  web_port:
    type: OS::Neutron::Port
    properties: {network: {get_resource: front}}
  nginx:
    type: Stackloom::Catalog::nginx
    properties: {host: {get_resource: web}, listen_port: 8080}
  balancer:
    type: Stackloom::Catalog::haproxy
    properties:
      host: {get_resource: edge}
      backends: [{get_resource: nginx}]
  mystery:
    type: OS::Unknown::Thing
    properties: {about: {get_attr: [web, first_address]}}
";

fn drawn(text: &str) -> Drawing {
    draw(
        Document::parse(text).template(),
        None,
        &registry(),
        &Places::new(),
    )
}

fn parent_of<'a>(drawing: &'a Drawing, name: &str) -> Option<&'a str> {
    drawing.node(name)?.parent.as_deref()
}

#[test]
fn servers_are_drawn_in_their_first_network_and_software_in_its_server() {
    let drawing = drawn(TWO_TIER);
    assert_eq!(parent_of(&drawing, "edge"), Some("front"));
    assert_eq!(
        parent_of(&drawing, "web"),
        Some("front"),
        "through its port"
    );
    assert_eq!(parent_of(&drawing, "nginx"), Some("web"));
    for (inner, outer) in [("edge", "front"), ("nginx", "web")] {
        let (inner, outer) = (
            drawing.node(inner).expect("inner").rect,
            drawing.node(outer).expect("outer").rect,
        );
        assert_eq!(inner.union(outer), outer, "{inner:?} lies in {outer:?}");
    }
}

#[test]
fn minor_resources_are_tags_on_their_owner() {
    let drawing = drawn(TWO_TIER);
    let tags = |name: &str| {
        drawing
            .node(name)
            .expect("a node")
            .parts
            .iter()
            .map(|part| part.label.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(tags("front"), ["10.0.1.0/24"]);
    assert_eq!(tags("web"), ["web_port"]);
    assert_eq!(
        drawing.owner("front_subnet").map(|node| node.name.as_str()),
        Some("front")
    );
    assert!(drawing.node("front_subnet").is_none());
}

#[test]
fn lines_show_what_containment_does_not() {
    let drawing = drawn(TWO_TIER);
    let lines: Vec<String> = drawing
        .edges()
        .iter()
        .map(|edge| format!("{:?} {} {}", edge.kind, edge.from, edge.to))
        .collect();
    assert_eq!(
        lines,
        [
            "Gateway router @internet",
            "RouterInterface router front",
            "Interface edge back",
            "Relation balancer nginx",
            "Reference mystery web",
        ]
    );
}

#[test]
fn unknown_and_unconnected_resources_are_cards() {
    let drawing = drawn(
        "heat_template_version: 2021-04-16
resources:
  mystery: {type: OS::Unknown::Thing}
  nginx: {type: Stackloom::Catalog::nginx, properties: {host: {get_resource: nowhere}}}
  subnet: {type: OS::Neutron::Subnet, properties: {network: {get_resource: nowhere}}}
",
    );
    let kinds: Vec<NodeKind> = drawing.nodes().iter().map(|node| node.kind).collect();
    assert_eq!(kinds, [NodeKind::Card; 3]);
}

#[test]
fn minor_resources_in_a_circle_are_drawn() {
    let drawing = drawn(
        "heat_template_version: 2021-04-16
resources:
  a: {type: OS::Neutron::Port, properties: {network: {get_resource: b}}}
  b: {type: OS::Neutron::Port, properties: {network: {get_resource: a}}}
",
    );
    assert_eq!(drawing.nodes().len(), 2);
}

#[test]
fn positions_are_kept_to_the_pixel() {
    let places = Places::from([
        (
            "front".to_owned(),
            Place {
                x: 101.0,
                y: -7.0,
                ..Place::default()
            },
        ),
        (
            "mystery".to_owned(),
            Place {
                x: 900.0,
                y: 33.0,
                ..Place::default()
            },
        ),
    ]);
    let drawing = draw(
        Document::parse(TWO_TIER).template(),
        None,
        &registry(),
        &places,
    );
    assert_eq!(
        drawing.node("front").expect("front").rect.corner(),
        CanvasPoint::new(101.0, -7.0)
    );
    assert_eq!(
        drawing.node("mystery").expect("mystery").rect.corner(),
        CanvasPoint::new(900.0, 33.0)
    );
}

#[test]
fn placed_nodes_do_not_overlap() {
    let mut text = "heat_template_version: 2021-04-16\nresources:\n".to_owned();
    for net in 0..6 {
        text.push_str(&format!("  net{net}: {{type: OS::Neutron::Net}}\n"));
        for server in 0..net {
            text.push_str(&format!(
                "  s{net}_{server}: {{type: OS::Nova::Server, properties: {{networks: [{{network: {{get_resource: net{net}}}}}]}}}}\n"
            ));
        }
        text.push_str(&format!(
            "  r{net}: {{type: OS::Neutron::Router}}\n  v{net}: {{type: OS::Cinder::Volume}}\n"
        ));
    }
    let drawing = drawn(&text);
    for a in drawing.nodes() {
        for b in drawing.nodes().iter().filter(|b| b.name != a.name) {
            let nested =
                a.parent.as_deref() == Some(&b.name) || b.parent.as_deref() == Some(&a.name);
            assert!(
                nested || !a.rect.overlaps(b.rect),
                "{} and {}",
                a.name,
                b.name
            );
        }
    }
}

/// Invalid template text: parts of real templates, cut and shuffled.
pub(crate) fn torn_template() -> impl Strategy<Value = String> {
    let lines: Vec<&'static str> = TWO_TIER.lines().collect();
    proptest::collection::vec(0..lines.len(), 0..40).prop_map(move |picks| {
        let mut text = "heat_template_version: 2021-04-16\nresources:\n".to_owned();
        for pick in picks {
            text.push_str(lines[pick]);
            text.push('\n');
        }
        text
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn the_index_finds_what_a_search_finds(text in torn_template(), x in -50.0..900.0f64, y in -200.0..900.0f64) {
        let drawing = drawn(&text);
        let at = CanvasPoint::new(x, y);
        let order = |node: &&Node| match node.kind {
            NodeKind::Chip => 0,
            NodeKind::Frame => 2,
            _ => 1,
        };
        let under = drawing.nodes().iter().rev().filter(|node| node.rect.contains(at));
        prop_assert_eq!(drawing.hit(at), under.min_by_key(order));
        for node in drawing.nodes() {
            let children = drawing.nodes().iter().filter(|other| other.parent.as_ref() == Some(&node.name));
            prop_assert!(drawing.children(&node.name).eq(children));
            let edges = drawing.edges().iter().filter(|edge| edge.from == node.name || edge.to == node.name);
            prop_assert!(drawing.edges_of(&node.name).eq(edges));
        }
    }

    #[test]
    fn every_template_has_a_drawing(text in torn_template()) {
        let document = Document::parse(text);
        let drawing = draw(document.template(), None, &registry(), &Places::new());
        for resource in &document.template().resources {
            prop_assert!(drawing.owner(&resource.name).is_some(), "{} is nowhere", resource.name);
        }
        for node in drawing.nodes() {
            prop_assert!(node.rect.x.is_finite() && node.rect.width > 0.0);
        }
    }
}

#[test]
fn volumes_are_drawn_at_servers_and_listeners_at_their_load_balancer() {
    let drawing = drawn(
        "\
heat_template_version: 2021-04-16
resources:
  web: {type: OS::Nova::Server, properties: {flavor: m1.small}}
  data: {type: OS::Cinder::Volume, properties: {size: 10}}
  plug:
    type: OS::Cinder::VolumeAttachment
    properties: {instance_uuid: {get_resource: web}, volume_id: {get_resource: data}}
  balancer: {type: OS::Octavia::LoadBalancer, properties: {vip_subnet: s}}
  front:
    type: OS::Octavia::Listener
    properties: {loadbalancer: {get_resource: balancer}, protocol: HTTP, protocol_port: 80}
  pool:
    type: OS::Octavia::Pool
    properties: {listener: {get_resource: front}, protocol: HTTP, lb_algorithm: ROUND_ROBIN}
  member:
    type: OS::Octavia::PoolMember
    properties: {pool: {get_resource: pool}, address: {get_attr: [web, first_address]}, protocol_port: 80}
",
    );
    let parts = |name: &str| {
        let node = drawing.node(name).expect("drawn");
        node.parts
            .iter()
            .map(|part| part.name.as_str())
            .collect::<Vec<_>>()
    };
    assert_eq!(parts("web"), ["plug"]);
    assert_eq!(parts("balancer"), ["front", "pool", "member"]);
    let joined = |from: &str, to: &str| {
        drawing
            .edges
            .iter()
            .any(|edge| edge.from == from && edge.to == to)
    };
    assert_eq!(
        parent_of(&drawing, "data"),
        Some("web"),
        "by its attachment"
    );
    assert!(joined("balancer", "web"), "by its member");
}

/// The preview of a document without files beside it.
fn preview_of(document: &Document, types: &Registry) -> Preview {
    Preview::of(planner::plan::plan(&planner::plan::PlanInput {
        document,
        bundle: &Default::default(),
        parameters: &Default::default(),
        deployed: &Default::default(),
        types,
        cloud: &Default::default(),
    }))
}

/// The drawing of a text with such a preview.
fn planned(text: &str) -> Drawing {
    let types = registry();
    let document = Document::parse(text);
    let preview = preview_of(&document, &types);
    draw(document.template(), Some(&preview), &types, &Places::new())
}

#[test]
fn a_disabled_resource_names_its_condition() {
    let drawing = planned(
        "\
heat_template_version: 2021-04-16
parameters:
  env: {type: string, default: dev}
conditions:
  prod: {equals: [{get_param: env}, prod]}
resources:
  front: {type: OS::Neutron::Net}
  spare: {type: OS::Neutron::Net, condition: prod}
  range:
    type: OS::Neutron::Subnet
    condition: prod
    properties: {network: {get_resource: front}, cidr: 10.0.0.0/24}
",
    );
    let off = |name: &str| drawing.node(name).expect("drawn").off.clone();
    assert_eq!(off("front"), None);
    assert_eq!(off("spare").as_deref(), Some("prod"));
    let parts = &drawing.node("front").expect("drawn").parts;
    assert_eq!(parts[0].off.as_deref(), Some("prod"));
}

#[test]
fn a_group_shows_its_members() {
    let drawing = planned(
        "\
heat_template_version: 2021-04-16
resources:
  keys:
    type: OS::Heat::ResourceGroup
    properties: {count: 3, resource_def: {type: OS::Heat::RandomString}}
",
    );
    let group = drawing.node("keys").expect("drawn");
    let inside: Vec<_> = group.inside.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(inside, ["keys/0", "keys/1", "keys/2"]);
    assert_eq!(group.members, Some(3));
}

#[test]
fn members_known_to_a_run_only_are_shown() {
    let mut drawing = drawn(
        "\
heat_template_version: 2021-04-16
resources:
  keys: {type: OS::Heat::ResourceGroup}
",
    );
    drawing.add_run_members(["keys/0", "keys/0/a", "keys/1", "other/0", "front"]);
    let group = drawing.node("keys").expect("drawn");
    let inside: Vec<_> = group.inside.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(inside, ["keys/0", "keys/0/a", "keys/1"]);
    assert_eq!(group.members, Some(2));
}

#[test]
fn resources_that_passes_add_to_members_are_not_members() {
    let mut drawing = planned(
        "\
heat_template_version: 2021-04-16
parameters:
  size: {type: number, default: 2}
resources:
  web:
    type: OS::Heat::ResourceGroup
    properties: {count: {get_param: size}, resource_def: {type: OS::Heat::RandomString}}
",
    );
    let of_two = [
        "web/0",
        "web/0_port",
        "web/0_floating_ip",
        "web/1",
        "web/1_port",
    ];
    drawing.add_run_members(of_two);
    assert_eq!(drawing.node("web").expect("drawn").members, Some(2));
    drawing.add_run_members(["web/2", "web/2_port"]);
    let group = drawing.node("web").expect("drawn");
    let inside: Vec<_> = group.inside.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(inside, ["web/0", "web/1", "web/2"], "more than by default");
    assert_eq!(group.members, Some(3));
}

#[test]
fn a_nested_template_known_to_the_plan_is_unchanged() {
    let types = registry();
    let document =
        Document::parse("heat_template_version: 2021-04-16\nresources:\n  db: {type: db.yaml}\n");
    let inner =
        "heat_template_version: 2021-04-16\nresources:\n  key: {type: OS::Heat::RandomString}\n";
    let bundle = hot::bundle::Bundle::new([("db.yaml".to_owned(), inner.to_owned())], []);
    let preview = Preview::of(planner::plan::plan(&planner::plan::PlanInput {
        document: &document,
        bundle: &bundle,
        parameters: &Default::default(),
        deployed: &Default::default(),
        types: &types,
        cloud: &Default::default(),
    }));
    let mut drawing = draw(document.template(), Some(&preview), &types, &Places::new());
    let before = drawing.clone();
    assert_eq!(before.node("db").expect("drawn").members, Some(1));
    drawing.add_run_members(["db/key", "db/key_port"]);
    assert_eq!(drawing, before);
}

#[test]
fn positions_that_are_computed_elsewhere_are_those_of_a_drawing() {
    let (document, types) = (Document::parse(TWO_TIER), registry());
    let template = document.template();
    let unplaced = Unplaced::of(template, None, &types, &Places::new());
    assert!(unplaced.missing(&Places::new()) > 0);
    let rects = unplaced.arrangement().rects();
    let drawing = unplaced.placed(&rects);
    assert_eq!(drawing, draw(template, None, &types, &Places::new()));
    let places = drawing.places();
    let again = Unplaced::of(template, None, &types, &places);
    assert_eq!(again.missing(&places), 0);
    assert_eq!(again.arrangement().rects(), rects);
}

#[test]
fn an_editor_keeps_the_positions_that_are_computed_elsewhere() {
    let types = registry();
    let mut editor = Editor::open(TWO_TIER, Places::new(), Bundle::default());
    let drawing = editor.unplaced(None, &types).arranged();
    editor.place_missing(&drawing);
    assert_eq!(editor.unplaced(None, &types).missing(editor.places()), 0);
    assert_eq!(editor.draw(None, &types), drawing);
    assert_eq!(editor.undo_label(), None);
}
