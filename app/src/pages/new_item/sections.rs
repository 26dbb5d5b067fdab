//! The sections of the form: about the item, packages and service, files, ports, options.

use leptos::prelude::*;
use types::catalog::recipe::{OptionKind, Protocol, Recipe, RecipeFile, RecipeOption, RecipePort};

use super::{
    fields::{Control, Field},
    form::{Form, Kind, name_of},
};
use crate::ui::{Icon, Question, use_confirm};

const MODES: &[(&str, &str)] = &[
    ("0644", "0644: all users read it"),
    ("0640", "0640: only root and its group"),
    ("0600", "0600: only root"),
    ("0755", "0755: a program"),
];
const PROTOCOLS: &[(&str, &str)] = &[("tcp", "TCP"), ("udp", "UDP")];
const KINDS: &[(&str, &str)] = &[
    ("text", "text"),
    ("number", "whole number"),
    ("switch", "true or false"),
    ("secret", "secret text"),
];

/// Name, version, summary and category.
#[component]
pub fn About(
    /// The form.
    form: Form,
) -> impl IntoView {
    let title = Field::line(
        "Title",
        |it, _| it.title.clone(),
        |it, _, text| it.title = text,
    );
    let name = Field::line(
        "Name",
        |it, _| it.name.clone(),
        |it, _, text| it.name = text,
    )
    .help("Names the resource type in templates. It cannot be changed later.");
    let (title, name) = if form.kind == Kind::Next {
        (title, name.control(Control::Fixed))
    } else {
        (
            Field {
                set: |it, _, text| {
                    if it.name == name_of(&it.title) {
                        it.name = name_of(&text);
                    }
                    it.title = text;
                },
                ..title
            },
            name,
        )
    };
    let version = Field::line(
        "Version",
        |it, _| it.version.clone(),
        |it, _, text| it.version = text,
    );
    let category = Field::line(
        "Category",
        |it, _| it.category.clone(),
        |it, _, text| it.category = text,
    );
    let summary = Field::line(
        "Summary",
        |it, _| it.summary.clone(),
        |it, _, text| it.summary = text,
    );
    view! {
        <fieldset class="item-part">
            <legend>"About"</legend>
            <div class="item-row">
                {title.example("lighttpd").view(form, "title")}
                {name.example("lighttpd").view(form, "name")}
            </div>
            <div class="item-row">
                {version.view(form, "version")}
                {category.view(form, "category")}
            </div>
            {summary.example("A small web server for static pages.").view(form, "summary")}
        </fieldset>
    }
}

/// Packages and the service that they bring.
#[component]
pub fn Software(
    /// The form.
    form: Form,
) -> impl IntoView {
    let packages = Field::line(
        "Packages",
        |it, _| it.packages.join(" "),
        |it, _, text| it.packages = text.split_whitespace().map(str::to_owned).collect(),
    );
    let service = Field::line(
        "Service",
        |it, _| it.service.clone(),
        |it, _, text| it.service = text.trim().to_owned(),
    );
    view! {
        <fieldset class="item-part">
            <legend>"Software"</legend>
            {packages.example("lighttpd lighttpd-mod-deflate").help("Debian packages, with spaces between them.").view(form, "packages")}
            {service
                .example("lighttpd")
                .help("The system service that is started, now and at boot, and restarted when a file changes. Empty if there is none.")
                .view(form, "service")}
        </fieldset>
    }
}

/// The field of a text in a row: its label, and the list and the field of a row in the recipe.
macro_rules! text_of_row {
    ($label:literal, $list:ident.$field:ident) => {
        Field::line(
            $label,
            |it, at| of(&it.$list, at, |row| &row.$field),
            |it, at, text| put(&mut it.$list, at, |row| row.$field = text),
        )
    };
}

/// Configuration files.
#[component]
pub fn Files(
    /// The form.
    form: Form,
) -> impl IntoView {
    let rows = Rows {
        list: "files",
        title: "Files",
        help: "Written after the packages are installed. A file is a Jinja template: {{ listen_port }} is the value of an option.",
        one: "file",
        count: |it| it.files.len(),
        add: |it| {
            it.files.push(RecipeFile {
                path: String::new(),
                mode: MODES[0].0.to_owned(),
                content: String::new(),
            });
        },
        remove: |it, index| {
            it.files.remove(index);
        },
        holds: |it, index| {
            let content = it.files.get(index).map(|file| &file.content);
            content.is_some_and(|content| !content.trim().is_empty())
        },
    };
    rows.view(form, move |index| {
        let path = text_of_row!("Path", files.path);
        let mode = text_of_row!("Permissions", files.mode);
        let content = text_of_row!("Content", files.content);
        let at = |field: &str| format!("files.{index}.{field}");
        view! {
            <div class="item-row">
                {path.row(index).example("/etc/lighttpd/conf-enabled/10-port.conf").view(form, &at("path"))}
                {mode.row(index).control(Control::Choice(MODES)).view(form, &at("mode"))}
            </div>
            {content.row(index).control(Control::Code).example("server.port = {{ listen_port }}").view(form, &at("content"))}
        }
        .into_any()
    })
}

/// Ports that the service listens on.
#[component]
pub fn Ports(
    /// The form.
    form: Form,
) -> impl IntoView {
    let rows = Rows {
        list: "ports",
        title: "Ports",
        help: "Each port is an option, is opened for connected servers, and has a health check.",
        one: "port",
        count: |it| it.ports.len(),
        add: |it| {
            it.ports.push(RecipePort {
                option: if it.ports.is_empty() {
                    "listen_port"
                } else {
                    ""
                }
                .to_owned(),
                number: String::new(),
                protocol: Protocol::Tcp,
                capability: String::new(),
            });
        },
        remove: |it, index| {
            it.ports.remove(index);
        },
        holds: |_, _| false,
    };
    rows.view(form, move |index| {
        let option = text_of_row!("Option", ports.option);
        let number = Field::line(
            "Number",
            |it, at| of(&it.ports, at, |port| &port.number),
            |it, at, text| put(&mut it.ports, at, |port| port.number = text.trim().to_owned()),
        );
        let protocol = Field::line(
            "Protocol",
            |it, at| of(&it.ports, at, |port| port.protocol.name()),
            |it, at, text| {
                let udp = text == Protocol::Udp.name();
                let protocol = if udp { Protocol::Udp } else { Protocol::Tcp };
                put(&mut it.ports, at, |port| port.protocol = protocol);
            },
        );
        let capability = text_of_row!("Offers", ports.capability);
        let at = |field: &str| format!("ports.{index}.{field}");
        view! {
            <div class="item-row">
                {option.row(index).example("listen_port").view(form, &at("option"))}
                {(form.kind != Kind::Role).then(|| number.row(index).example("80").help("Empty if everybody must choose one.").view(form, &at("number")))}
                {protocol.row(index).control(Control::Choice(PROTOCOLS)).view(form, &at("protocol"))}
                {capability.row(index).example("http").help("What other items connect to, if any.").view(form, &at("capability"))}
            </div>
        }
        .into_any()
    })
}

/// Further options.
#[component]
pub fn Options(
    /// The form.
    form: Form,
) -> impl IntoView {
    let rows = Rows {
        list: "options",
        title: "Options",
        help: "Fields of the item's form in the designer, and variables in the files.",
        one: "option",
        count: |it| it.options.len(),
        add: |it| {
            it.options.push(RecipeOption {
                name: String::new(),
                kind: OptionKind::Text,
                default: String::new(),
                summary: String::new(),
            });
        },
        remove: |it, index| {
            it.options.remove(index);
        },
        holds: |_, _| false,
    };
    rows.view(form, move |index| {
        let name = text_of_row!("Name", options.name);
        let kind = Field::line(
            "Kind",
            |it, at| of(&it.options, at, |option| kind_name(option.kind)),
            |it, at, text| put(&mut it.options, at, |option| set_kind(option, &text)),
        );
        let default = text_of_row!("Default", options.default);
        let summary = text_of_row!("Description", options.summary);
        let at = |field: &str| format!("options.{index}.{field}");
        view! {
            <div class="item-row">
                {name.row(index).example("page_title").view(form, &at("name"))}
                {kind.row(index).control(Control::Choice(KINDS)).view(form, &at("kind"))}
                {default.row(index).view(form, &at("default"))}
            </div>
            {summary.row(index).example("The title of the page.").view(form, &at("summary"))}
        }
        .into_any()
    })
}

fn of<T, V: ToString + ?Sized>(list: &[T], index: usize, field: impl Fn(&T) -> &V) -> String {
    list.get(index)
        .map(|row| field(row).to_string())
        .unwrap_or_default()
}

fn put<T>(list: &mut [T], index: usize, write: impl FnOnce(&mut T)) {
    if let Some(row) = list.get_mut(index) {
        write(row);
    }
}

fn kind_name(kind: OptionKind) -> &'static str {
    match kind {
        OptionKind::Text => KINDS[0].0,
        OptionKind::Number => KINDS[1].0,
        OptionKind::Switch => KINDS[2].0,
        OptionKind::Secret => KINDS[3].0,
    }
}

/// Another kind, with a default that it can have.
fn set_kind(option: &mut RecipeOption, name: &str) {
    let kinds = [
        OptionKind::Text,
        OptionKind::Number,
        OptionKind::Switch,
        OptionKind::Secret,
    ];
    let kind = kinds.into_iter().find(|kind| kind_name(*kind) == name);
    option.kind = kind.unwrap_or_default();
    match option.kind {
        OptionKind::Switch => option.default = "false".to_owned(),
        OptionKind::Secret => option.default.clear(),
        OptionKind::Text | OptionKind::Number => {}
    }
}

/// A list of the recipe as a section with a row for each entry.
#[derive(Clone, Copy)]
struct Rows {
    list: &'static str,
    title: &'static str,
    help: &'static str,
    /// The name of one entry.
    one: &'static str,
    count: fn(&Recipe) -> usize,
    add: fn(&mut Recipe),
    remove: fn(&mut Recipe, usize),
    /// True if an entry has content that nobody should lose by a click.
    holds: fn(&Recipe, usize) -> bool,
}

impl Rows {
    fn view(
        self,
        form: Form,
        row: impl Fn(usize) -> AnyView + Copy + Send + Sync + 'static,
    ) -> AnyView {
        let confirm = use_confirm();
        let count = Memo::new(move |_| form.recipe.with(self.count));
        let remove = move |index: usize| {
            form.recipe.update(|recipe| (self.remove)(recipe, index));
            form.rows_moved(self.list);
        };
        let ask = move |index: usize| {
            if !form
                .recipe
                .with_untracked(|recipe| (self.holds)(recipe, index))
            {
                return remove(index);
            }
            let question = Question {
                title: format!("Remove the {}?", self.one),
                body: vec!["Its content is lost.".to_owned()],
                items: Vec::new(),
                action: "Remove".to_owned(),
                danger: true,
            };
            confirm.ask(question, move || remove(index));
        };
        let fault = Memo::new(move |_| form.fault(self.list));
        let (one, list) = (self.one, self.list);
        view! {
            <fieldset class="item-part">
                <legend>{self.title}</legend>
                <p class="quiet">{self.help}</p>
                {move || fault.get().map(|text| view! { <p class="fault">{text}</p> })}
                <For each=move || 0..count.get() key=|index| *index let(index)>
                    <div class="item-entry" role="group" aria-label=format!("{one} {}", index + 1) data-list=list>
                        <div class="item-entry-fields">{row(index)}</div>
                        <button
                            type="button" class="button" data-look="ghost" data-size="small" title=format!("Remove the {one}")
                            aria-label=format!("Remove {one} {}", index + 1) on:click=move |_| ask(index)
                        >
                            <Icon name="trash-2" />
                        </button>
                    </div>
                </For>
                <button type="button" class="button" on:click=move |_| form.recipe.update(self.add)>
                    <Icon name="plus" />
                    {format!("Add a{} {one}", if one.starts_with('o') { "n" } else { "" })}
                </button>
            </fieldset>
        }
        .into_any()
    }
}
