//! Nodes as elements. Each reads only its own signals, so a drag redraws one element.
//!
//! Only nodes in view have elements, see `scene::view`. They are siblings on the one transformed layer, including
//! children. Their positions are absolute, so a line between two nodes needs no measurement of the page. Events are not
//! handled here: the canvas has one listener and finds the node by its `data-node`.

use canvas::{
    drawing::{Member, Node, NodeKind, Part},
    texts,
};
use hot::template::members::{GROUP, INSTANCE_GROUP, SCALING_GROUP};
use leptos::prelude::*;

use super::{
    contents::{FoldButton, MemberCount},
    icon_images::IconImage,
    icons::{hue, icon_name},
    scene::{NodeKey, NodeSignals, Scene},
    stage::Stage,
    type_icon::TypeIcon,
};
use crate::ui::{
    Icon,
    state::{icon_of, look_of},
};

/// All nodes of a scene.
#[component]
pub fn Nodes(
    /// The drawing.
    scene: Scene,
    /// Selection, states and problems.
    stage: Stage,
) -> impl IntoView {
    view! {
        <For each=move || scene.keys.get() key=|key| key.clone() let:key>
            {scene.node(&key.0).map(|signals| move || {
                let (key, signals) = (key.clone(), signals.clone());
                signals.shown.get().then(|| view! { <NodeView key signals stage /> })
            })}
        </For>
    }
}

#[component]
fn NodeView(key: NodeKey, signals: NodeSignals, stage: Stage) -> impl IntoView {
    let (name, kind) = key;
    let NodeSignals {
        node, rect, opened, ..
    } = signals;
    let place = {
        let rect = rect.clone();
        move || rect.with(|rect| format!("translate({}px, {}px)", rect.x, rect.y))
    };
    let width = {
        let rect = rect.clone();
        Memo::new(move |_| rect.with(|rect| format!("{}px", rect.width)))
    };
    let height = Memo::new(move |_| rect.with(|rect| format!("{}px", rect.height)));
    let selected = stage.selected(&name);
    let state = stage.state(&name);
    let tally = stage.tally(&name);
    let faded = stage.faded(&name);
    let others = stage.others(&name);
    let aim = {
        let name = name.clone();
        Memo::new(move |_| {
            stage.aim.with(|aim| match &aim.target {
                Some(target) if *target == name => {
                    Some(if aim.refused { "refused" } else { "accepted" })
                }
                _ => None,
            })
        })
    };
    let dim = {
        let name = name.clone();
        Memo::new(move |_| {
            stage.eligible.with(|eligible| {
                eligible
                    .as_ref()
                    .is_some_and(|eligible| !eligible.contains(&name))
            })
        })
    };
    let label = {
        let node = node.clone();
        move || {
            let mut words = node.with(spoken);
            let tally = tally.get();
            if tally.all() > 0 {
                words.push_str(&format!(
                    ", {} problem{}",
                    tally.all(),
                    if tally.all() == 1 { "" } else { "s" }
                ));
            }
            let (_, word) = look_of(&state.get());
            if !word.is_empty() {
                words.push_str(&format!(", {word}"));
            }
            if let Some(users) = others.get() {
                words.push_str(&format!(", selected by {users}"));
            }
            words
        }
    };
    let category = node.with_untracked(|node| hue(node.category));
    let ghost = {
        let node = node.clone();
        Memo::new(move |_| node.with(|node| node.ghost.clone()))
    };
    // In a run the actual parameters decide the conditions: a resource with a state exists, whatever the defaults are.
    let off = {
        let node = node.clone();
        Memo::new(move |_| {
            let is_there = !stage.editable && state.get() != "idle";
            node.with(|node| node.off.clone()).filter(|_| !is_there)
        })
    };
    // The contents are displayed on demand, above the neighbouring nodes.
    let opened = RwSignal::from(opened);
    let is_resource = kind != NodeKind::Internet;
    // In the editor a ghost does not exist yet. In a run it is an ordinary resource.
    let data_node = {
        let name = is_resource.then(|| name.clone());
        move || {
            name.clone()
                .filter(|_| !(stage.editable && ghost.with(Option::is_some)))
        }
    };
    let handle = name.clone();
    let test_id = (!is_resource).then_some("internet");
    view! {
        <div
            class="node"
            data-kind=kind_word(kind)
            data-category=category
            data-name=name
            data-node=data_node
            data-testid=test_id
            data-selected=move || selected.get().to_string()
            data-state=move || state.get()
            data-problems=move || tally.get().all().to_string()
            data-problem=move || match tally.get() {
                tally if tally.errors > 0 => Some("error"),
                tally if tally.warnings > 0 => Some("warning"),
                _ => None,
            }
            data-ghost=move || ghost.with(Option::is_some).then_some("true")
            data-aim=move || aim.get()
            data-others=move || others.get().map(|users| users.to_string())
            data-faded=move || faded.get().then_some("true")
            data-dim=move || dim.get().then_some("true")
            data-off=move || off.with(Option::is_some).then_some("true")
            data-opened=move || opened.get().then_some("true")
            title=move || ghost.get().or_else(|| off.get().as_deref().map(left_out))
            tabindex="0"
            role="group"
            aria-roledescription="resource"
            aria-label=label
            style:transform=place
            style:width=move || width.get()
            style:height=move || height.get()
        >
            {match kind {
                NodeKind::Frame => view! { <FrameHead node stage /> }.into_any(),
                NodeKind::Chip => view! { <ChipBody node stage /> }.into_any(),
                _ => view! { <CardBody node stage opened /> }.into_any(),
            }}
            {move || off.get().map(|condition| view! {
                <span class="node-off" aria-hidden="true"><Icon name="ban" />{condition}</span>
            })}
            <StateMark state />
            <ProblemMark tally />
            {stage.editable.then(|| view! {
                <span class="handle" data-handle=handle title="Drag to connect"></span>
            })}
        </div>
    }
}

/// The value of `data-kind`.
fn kind_word(kind: NodeKind) -> &'static str {
    match kind {
        NodeKind::Frame => "frame",
        NodeKind::Server => "server",
        NodeKind::Router => "router",
        NodeKind::Internet => "internet",
        NodeKind::Chip => "chip",
        NodeKind::Card => "card",
    }
}

/// Text for a resource with a false condition.
fn left_out(condition: &str) -> String {
    format!("left out: {condition} does not hold")
}

/// Text for screen readers.
fn spoken(node: &Node) -> String {
    let mut words = if node.kind == NodeKind::Internet {
        "Internet".to_owned()
    } else {
        format!("{}, {}", node.name, node.title)
    };
    if let Some(parent) = &node.parent {
        words.push_str(&format!(", on {parent}"));
    }
    if let Some(members) = node.members {
        words.push_str(&match members {
            1 => ", 1 member".to_owned(),
            many => format!(", {many} members"),
        });
    }
    if node.marks.public {
        words.push_str(", public");
    }
    if node.marks.bastion {
        words.push_str(", bastion");
    }
    match &node.ghost {
        Some(reason) if node.is_removed() => words.push_str(&format!(", {reason}")),
        Some(_) => words.push_str(", added when deployed"),
        None => {}
    }
    if let Some(condition) = &node.off {
        words.push_str(&format!(", {}", left_out(condition)));
    }
    words
}

#[component]
fn FrameHead(node: ArcRwSignal<Node>, stage: Stage) -> impl IntoView {
    let (name, resource_type, category, ghost) = node.with_untracked(|node| {
        let is_ghost = node.ghost.is_some();
        (
            node.name.clone(),
            node.resource_type.clone(),
            node.category,
            is_ghost,
        )
    });
    let fold = stage.fold.filter(|_| !ghost);
    let network = name.clone();
    view! {
        <header class="node-head">
            <TypeIcon resource_type category stage />
            <span class="node-name">{name}</span>
            <Tags node stage words=true />
            {fold.map(|fold| view! { <FoldButton network fold /> })}
        </header>
    }
}

#[component]
fn ChipBody(node: ArcRwSignal<Node>, stage: Stage) -> impl IntoView {
    let (name, resource_type, category) =
        node.with_untracked(|node| (node.name.clone(), node.resource_type.clone(), node.category));
    let detail = move || node.with(|node| node.detail.join(" "));
    view! {
        <TypeIcon resource_type category stage />
        <span class="node-name">{name}</span>
        <span class="node-detail mono">{detail}</span>
    }
}

#[component]
fn CardBody(node: ArcRwSignal<Node>, stage: Stage, opened: RwSignal<bool>) -> impl IntoView {
    let (network, name, resource_type, category) = node.with_untracked(|node| {
        (
            node.name.clone(),
            texts::name(node).to_owned(),
            node.resource_type.clone(),
            node.category,
        )
    });
    let is_folded = node.with_untracked(|node| node.is_folded);
    let detail = {
        let node = node.clone();
        move || node.with(texts::detail)
    };
    let can_be_cut = {
        let node = node.clone();
        Memo::new(move |_| node.with(texts::can_be_cut))
    };
    let marks = {
        let node = node.clone();
        Memo::new(move |_| node.with(|node| (node.marks.public, node.marks.bastion)))
    };
    let is_group = [GROUP, SCALING_GROUP, INSTANCE_GROUP].contains(&resource_type.as_str());
    let inside = {
        let node = node.clone();
        Memo::new(move |_| node.with(|node| node.inside.clone()))
    };
    let members = {
        let node = node.clone();
        Memo::new(move |_| node.with(|node| node.members))
    };
    view! {
        <div class="node-head">
            <TypeIcon resource_type category stage />
            <div class="node-text" data-cut=move || can_be_cut.get().then_some("true")>
                <span class="node-name">{name}</span>
                <span class="node-detail">{detail}</span>
            </div>
            {move || members.get().map(|count| {
                if let Some(fold) = stage.fold.filter(|_| is_folded) {
                    return view! { <FoldButton network=network.clone() fold count /> }.into_any();
                }
                let label = if is_group { format!("×{count}") } else { count.to_string() };
                let can_open = inside.with(|inside| !inside.is_empty());
                view! { <MemberCount label can_open opened /> }.into_any()
            })}
        </div>
        {move || opened.get().then(|| view! { <Inside inside stage /> })}
        {move || {
            let (public, bastion) = marks.get();
            (public || bastion).then(|| view! {
                <div class="node-badges">
                    {public.then(|| view! { <span class="node-badge" data-badge="public"><Icon name="globe" />"Public"</span> })}
                    {bastion.then(|| view! { <span class="node-badge" data-badge="bastion"><Icon name="terminal" />"Bastion"</span> })}
                </div>
            })
        }}
        <Tags node stage words=false />
    }
}

/// Members of a group or nested template, each with its state during a run.
#[component]
fn Inside(inside: Memo<Vec<Member>>, stage: Stage) -> impl IntoView {
    view! {
        <ul
            class="node-inside" aria-label="Members" tabindex="0"
            on:pointerdown=|event| event.stop_propagation() on:pointerup=|event| event.stop_propagation()
            on:wheel=|event| event.stop_propagation() on:keydown=|event| event.stop_propagation()
        >
            <For each=move || inside.get() key=|member| (member.name.clone(), member.resource_type.clone()) let:member>
                <InsideRow member stage />
            </For>
        </ul>
    }
}

#[component]
fn InsideRow(member: Member, stage: Stage) -> impl IntoView {
    let state = stage.state(&member.name);
    let (_, short) = member.name.split_once('/').unwrap_or(("", &member.name));
    let depth = short.matches('/').count();
    let last = short.rsplit('/').next().unwrap_or(short).to_owned();
    view! {
        <li data-member=member.name.clone() data-state=move || state.get() style=format!("--depth: {depth}") title=member.name.clone()>
            <TypeIcon resource_type=member.resource_type category=member.category stage />
            <span class="node-name">{last}</span>
            <span class="node-detail">{member.title}</span>
            {move || {
                let (look, word) = look_of(&state.get());
                (!word.is_empty()).then(|| view! { <span class="state" data-look=look><Icon name=icon_of(look) />{word}</span> })
            }}
        </li>
    }
}

/// The parts of a node, as tags.
#[component]
fn Tags(
    node: ArcRwSignal<Node>,
    stage: Stage,
    /// True for words beside the icons.
    words: bool,
) -> impl IntoView {
    let parts = Memo::new(move |_| node.with(|node| node.parts.clone()));
    view! {
        <div class="node-tags">
            <For each=move || parts.get() key=|part| (part.name.clone(), part.label.clone(), part.ghost.is_some(), part.off.clone()) let:part>
                <Tag part stage words />
            </For>
        </div>
    }
}

#[component]
fn Tag(part: Part, stage: Stage, words: bool) -> impl IntoView {
    let selected = stage.selected(&part.name);
    let state = stage.state(&part.name);
    let tally = stage.tally(&part.name);
    let named = if part.label == part.name {
        format!("{} {}", part.title, part.name)
    } else {
        format!("{} {}, {}", part.title, part.name, part.label)
    };
    let label = match (&part.ghost, &part.off) {
        (Some(why), _) => format!("{named}: {why}"),
        (None, Some(condition)) => format!("{named}, {}", left_out(condition)),
        _ => named,
    };
    let is_off = part.off.is_some();
    let icon = icon_name(&part.resource_type, part.category);
    let category = hue(part.category);
    let ink = Memo::new(move |_| {
        if tally.get().all() > 0 || look_of(&state.get()).0 == "failed" {
            "state-failed"
        } else if selected.get() {
            "on-accent"
        } else {
            category
        }
    });
    let data_node = (!stage.editable || part.ghost.is_none()).then(|| part.name.clone());
    // A subnet displays its range. Its ghost and all other parts are icons.
    let word = (words && part.resource_type == types::SUBNET).then(|| part.label.clone());
    view! {
        <span
            class="tag"
            data-node=data_node
            data-name=part.name
            data-category=category
            data-ghost=part.ghost.is_some().then_some("true")
            data-off=move || (is_off && (stage.editable || state.get() == "idle")).then_some("true")
            data-selected=move || selected.get().to_string()
            data-state=move || state.get()
            data-problems=move || tally.get().all().to_string()
            data-look=move || look_of(&state.get()).0
            tabindex="0"
            role="button"
            aria-label=label.clone()
            title=label
        >
            {match word {
                Some(word) => view! { <span class="mono">{word}</span> }.into_any(),
                None => view! { <IconImage icons=stage.icons name=icon ink /> }.into_any(),
            }}
        </span>
    }
}

#[component]
fn StateMark(state: Memo<String>) -> impl IntoView {
    move || {
        let (look, word) = look_of(&state.get());
        (!word.is_empty()).then(|| {
            view! { <span class="node-state state" data-look=look><Icon name=icon_of(look) />{word}</span> }
        })
    }
}

#[component]
fn ProblemMark(tally: Memo<super::stage::Tally>) -> impl IntoView {
    move || {
        let tally = tally.get();
        (tally.all() > 0).then(|| {
            let icon = if tally.errors > 0 { "circle-alert" } else { "triangle-alert" };
            view! { <span class="node-problems" aria-hidden="true"><Icon name=icon />{tally.all()}</span> }
        })
    }
}
