//! The routes of a service: an axum router that records its calls, so that a test can compare them with `SCOPE.md`.

use axum::Router;
use axum::handler::Handler;
use axum::http::Method;
use axum::routing::{MethodFilter, on};

/// Routes below one or several prefixes.
pub struct Routes<A> {
    router: Router<A>,
    prefixes: Vec<String>,
    calls: Vec<(Method, String)>,
}

macro_rules! methods {
    ($($(#[$doc:meta])* $name:ident $method:ident;)*) => {$(
        $(#[$doc])*
        pub fn $name<T: 'static>(self, path: &str, handler: impl Handler<T, A>) -> Self {
            self.on(Method::$method, MethodFilter::$method, path, handler)
        }
    )*};
}

impl<A: Clone + Send + Sync + 'static> Routes<A> {
    /// An empty set of routes. All paths begin with this prefix.
    pub fn below(prefix: &str) -> Self {
        Self::below_each(&[prefix])
    }

    /// An empty set of routes below several prefixes.
    pub fn below_each(prefixes: &[&str]) -> Self {
        Self {
            router: Router::new(),
            prefixes: prefixes.iter().map(|prefix| (*prefix).to_owned()).collect(),
            calls: Vec::new(),
        }
    }

    methods! {
        /// A route for `GET` and `HEAD`.
        get GET;
        /// A route for `POST`.
        post POST;
        /// A route for `PUT`.
        put PUT;
        /// A route for `PATCH`.
        patch PATCH;
        /// A route for `DELETE`.
        delete DELETE;
    }

    fn on<T: 'static>(
        mut self,
        method: Method,
        filter: MethodFilter,
        path: &str,
        handler: impl Handler<T, A>,
    ) -> Self {
        for prefix in &self.prefixes {
            let path = format!("{prefix}{path}");
            self.router = self.router.route(&path, on(filter, handler.clone()));
            self.calls.push((method.clone(), path));
        }
        self
    }

    /// Merges the routes of another set.
    pub fn and(mut self, other: Self) -> Self {
        self.router = self.router.merge(other.router);
        self.calls.extend(other.calls);
        self
    }

    /// The router.
    pub fn router(self) -> Router<A> {
        self.router
    }

    /// All calls: method and path, in the order of their declaration.
    #[cfg(test)]
    pub fn calls(&self) -> &[(Method, String)] {
        &self.calls
    }
}
