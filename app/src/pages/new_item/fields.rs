//! Labelled controls for the values of a recipe.

use leptos::prelude::*;
use types::catalog::recipe::Recipe;

use super::{
    code::CodeControl,
    form::{Form, field_id},
};

/// A value of the recipe and its control. `index` is the row for values in lists.
#[derive(Clone, Copy)]
pub struct Field {
    /// Row of the list, or 0.
    pub index: usize,
    /// The label.
    pub label: &'static str,
    /// Explanation below the control, or empty.
    pub help: &'static str,
    /// Example in the empty control, or empty.
    pub example: &'static str,
    /// The control.
    pub control: Control,
    /// Reads the value.
    pub get: fn(&Recipe, usize) -> String,
    /// Writes the value.
    pub set: fn(&mut Recipe, usize, String),
}

/// The kind of control.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Control {
    /// One line.
    Line,
    /// The content of a configuration file.
    Code,
    /// A choice of values with their labels.
    Choice(&'static [(&'static str, &'static str)]),
    /// One line that cannot be changed.
    Fixed,
}

impl Field {
    /// A control of one line.
    pub fn line(
        label: &'static str,
        get: fn(&Recipe, usize) -> String,
        set: fn(&mut Recipe, usize, String),
    ) -> Field {
        Field {
            index: 0,
            label,
            help: "",
            example: "",
            control: Control::Line,
            get,
            set,
        }
    }

    /// Adds an explanation.
    pub fn help(self, help: &'static str) -> Field {
        Field { help, ..self }
    }

    /// Adds an example.
    pub fn example(self, example: &'static str) -> Field {
        Field { example, ..self }
    }

    /// Replaces the control.
    pub fn control(self, control: Control) -> Field {
        Field { control, ..self }
    }

    /// Makes it a field of a row in a list.
    pub fn row(self, index: usize) -> Field {
        Field { index, ..self }
    }

    /// The labelled control of the value at `path`.
    pub fn view(self, form: Form, path: &str) -> AnyView {
        let path = StoredValue::new(path.to_owned());
        let id = path.with_value(|path| field_id(path));
        let fault_id = format!("{id}-fault");
        let value = Memo::new(move |_| form.recipe.with(|recipe| (self.get)(recipe, self.index)));
        let fault = Memo::new(move |_| path.with_value(|path| form.fault(path)));
        let write = move |text: String| {
            form.recipe
                .update(|recipe| (self.set)(recipe, self.index, text));
        };
        let left = move || path.with_value(|path| form.leave(path));
        let leave = move |_| left();
        let invalid = move || fault.with(Option::is_some).then_some("true");
        let described = fault_id.clone();
        let described = move || fault.with(Option::is_some).then(|| described.clone());
        let control = match self.control {
            Control::Line | Control::Fixed => view! {
                <input
                    class="input" id=id.clone() placeholder=self.example spellcheck="false" autocomplete="off"
                    disabled=self.control == Control::Fixed aria-invalid=invalid aria-describedby=described prop:value=value
                    on:input=move |event| write(event_target_value(&event)) on:blur=leave
                />
            }
            .into_any(),
            Control::Code => {
                let file = Memo::new(move |_| {
                    form.recipe.with(|recipe| {
                        let file = recipe.files.get(self.index);
                        file.map(|file| file.path.clone()).unwrap_or_default()
                    })
                });
                let fault = Signal::derive(described);
                view! {
                    <CodeControl id=id.clone() label=self.label example=self.example file value fault write leave=left />
                }
                .into_any()
            }
            Control::Choice(choices) => {
                let options = choices.iter().map(|(own, title)| {
                    view! { <option value=*own selected=move || value.with(|value| value == own)>{*title}</option> }
                });
                view! {
                    <select
                        class="input" id=id.clone() aria-invalid=invalid aria-describedby=described
                        on:change=move |event| write(event_target_value(&event)) on:blur=leave
                    >
                        {options.collect_view()}
                    </select>
                }
                .into_any()
            }
        };
        view! {
            <div class="field">
                <label for=id>{self.label}</label>
                {control}
                {move || fault.get().map(|text| view! { <p class="fault" id=fault_id.clone()>{crate::ui::prose(&text)}</p> })}
                {(!self.help.is_empty()).then(|| view! { <p class="help">{self.help}</p> })}
            </div>
        }
        .into_any()
    }
}
