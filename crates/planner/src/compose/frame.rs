//! Context of one template during flattening: scope of its names, and its parameters.

use std::rc::Rc;

use super::{
    BTreeMap, CompositionInput, Expr, HashMap, HashSet, ResourceSpec, Scope,
    expansion::ExpansionBudget,
    facade::{self, Facade},
};

use hot::{expr::Function, template::Template};

/// Value of a nested template's parameter.
#[derive(Clone)]
pub(super) struct Argument {
    /// The value, with full names.
    pub value: Expr,
    /// See [`parts_of`].
    parts: usize,
}

/// Arguments by the names of the parameters.
pub(super) type Arguments = HashMap<String, Argument>;

impl Argument {
    pub(super) fn of(value: Expr) -> Argument {
        let parts = parts_of(&value);
        Argument { value, parts }
    }
}

/// Number of expressions in a value, including itself. A long text counts as several.
fn parts_of(value: &Expr) -> usize {
    let mut parts = 0;
    value.walk(&mut |part| parts += own_parts(part));
    parts
}

/// Number of parts of the expression itself, without its children.
pub(super) fn own_parts(value: &Expr) -> usize {
    1 + value.as_str().unwrap_or_default().len() / PART_BYTES
}

/// Length of a text that counts as one part, in bytes.
const PART_BYTES: usize = 512;

/// Context in which resources are flattened.
pub(super) struct Frame<'f> {
    /// File of the resources. `None` for the template itself.
    pub file: Option<&'f str>,
    /// Template of the resources. `None` for the outermost template, whose conditions keep their names.
    pub template: Option<&'f Template>,
    /// `web/` for the members of `web`. Empty for the template itself.
    pub prefix: &'f str,
    /// Names of the file's resources. Empty for the template itself, whose names do not change.
    pub names: HashSet<String>,
    /// Value of each parameter, with full names. `None` for the template itself, whose parameters are kept.
    pub arguments: Option<Arguments>,
    /// Known values of parameters.
    pub scope: &'f dyn Scope,
    /// Levels below the template.
    pub depth: usize,
    /// Full names of the resources that every member waits for.
    pub inherits: Vec<String>,
    /// Files that are being flattened, outermost first.
    pub within: Vec<String>,
    /// Types that are not replaced by files here, because these files implement them.
    pub itself: Vec<String>,
    /// Values of `resource_facade`, with full names.
    pub facade: Facade,
    /// Remaining size for written-out conditions, here and in all other frames.
    pub expansion: Rc<ExpansionBudget>,
}

impl<'f> Frame<'f> {
    pub(super) fn root(input: &'f CompositionInput<'f>) -> Frame<'f> {
        Frame {
            file: None,
            template: None,
            prefix: "",
            names: HashSet::new(),
            arguments: None,
            scope: input.scope,
            depth: 0,
            inherits: Vec::new(),
            within: Vec::new(),
            itself: Vec::new(),
            facade: Facade::new(),
            expansion: Rc::new(ExpansionBudget::new()),
        }
    }

    /// Frame one level deeper with the same names, for the members of a group.
    pub(super) fn deeper(&self, inherits: Vec<String>) -> Frame<'_> {
        Frame {
            file: self.file,
            template: self.template,
            prefix: self.prefix,
            names: self.names.clone(),
            arguments: self.arguments.clone(),
            scope: self.scope,
            depth: self.depth + 1,
            inherits,
            within: self.within.clone(),
            itself: self.itself.clone(),
            facade: self.facade.clone(),
            expansion: Rc::clone(&self.expansion),
        }
    }

    /// Full name of a resource.
    pub(super) fn full(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    /// Resource with full names that also requires all resources in `inherits`.
    pub(super) fn global(&self, spec: ResourceSpec) -> ResourceSpec {
        let own = spec.requires.iter().map(|name| self.full(name));
        let requires = self.inherits.iter().cloned().chain(own).collect();
        let depends_on = spec.depends_on.iter().map(|name| self.full(name));
        let depends_on = depends_on.collect();
        let properties = spec
            .properties
            .iter()
            .map(|(name, value)| (name.clone(), self.global_expr(value)))
            .filter(|(_, value)| !value.is_null())
            .collect::<BTreeMap<_, _>>();
        let external_id = spec.external_id.as_ref().map(|id| self.global_expr(id));
        ResourceSpec {
            properties,
            requires,
            depends_on,
            external_id,
            ..spec
        }
    }

    /// Value with full names.
    pub(super) fn global_expr(&self, value: &Expr) -> Expr {
        let Some(arguments) = &self.arguments else {
            return value.clone();
        };
        value.rewrite(&mut |expr| match expr {
            Expr::GetResource(name) if self.names.contains(name) => {
                Some(Expr::GetResource(self.full(name)))
            }
            Expr::GetAttr(name, path) if self.names.contains(name) => {
                let path = path.iter().map(|key| self.global_expr(key)).collect();
                Some(Expr::GetAttr(self.full(name), path))
            }
            Expr::Call {
                function: Function::If,
                arguments,
            } => self.undecided(arguments),
            Expr::Call {
                function,
                arguments,
            } => {
                let inherited = facade::value(*function, arguments, &self.facade)?;
                let has_room = self.expansion.has_room_for(parts_of(inherited));
                Some(if has_room {
                    inherited.clone()
                } else {
                    nothing()
                })
            }
            Expr::GetParam(name, _) if name == "OS::stack_name" => Some(self.stack_name()),
            Expr::GetParam(name, path) => {
                let path = path.iter().map(|key| self.global_expr(key)).collect();
                let Some(argument) = arguments.get(name) else {
                    // An undeclared name must not refer to a parameter of the outer template.
                    let is_ours = !name.contains("::");
                    return is_ours.then(|| Expr::GetParam(self.full(name), path));
                };
                let has_room = self.expansion.has_room_for(argument.parts);
                let value = has_room.then(|| argument.value.clone());
                Some(value.unwrap_or_else(nothing).pick(path))
            }
            _ => None,
        })
    }

    /// `if` function whose condition is evaluated during the run, with the condition in place of its name.
    fn undecided(&self, arguments: &Expr) -> Option<Expr> {
        let Expr::List(items) = arguments else {
            return None;
        };
        let (condition, branches) = items.split_first()?;
        let condition = self.expansion.expand(condition, self.template?)?;
        let items = std::iter::once(&condition).chain(branches);
        let items = items.map(|item| self.global_expr(item)).collect();
        Some(Expr::call(Function::If, Expr::List(items)))
    }

    /// Heat's name for a nested stack: the deployment, then the parents.
    fn stack_name(&self) -> Expr {
        let parents = self.prefix.trim_end_matches('/').split('/');
        let names: Vec<serde_json::Value> =
            std::iter::once(serde_json::json!({"get_param": "OS::stack_name"}))
                .chain(parents.map(serde_json::Value::from))
                .collect();
        let call = serde_json::json!({"list_join": ["-", names]});
        Expr::from_json(&call).unwrap_or_else(|_| nothing())
    }
}

fn nothing() -> Expr {
    Expr::Literal(serde_json::Value::Null)
}
