//! The types of the messages between server and browser: requests, responses, events, states.
//!
//! The OpenAPI document of the REST API is made from these types by the feature `openapi`, which only the server
//! enables. Read in this order:

pub mod ansi;
mod audit;
mod beside;
mod catalog;
mod check;
mod command;
mod console;
mod deployment;
mod design;
mod event;
mod import;
mod live;
mod permission;
mod problem;
mod run;
mod scaling;
mod server;
mod service;
mod session;
mod snapshot;
mod state;
mod terminal;

pub use audit::AuditEvent;
pub use beside::TemplateFiles;
pub use catalog::{
    CatalogEntry, DeployedItem, FileChange, ItemComparison, ItemDraft, ItemUse, LintFinding,
    LintLevel, Repository, Uploaded,
};
pub use check::{
    ChangedProperty, Check, CheckSummary, Finding, FindingKind, Following, RepairRequest,
};
pub use command::{AllServers, CommandKind, CommandRequest, CommandServers, RunCommand};
pub use console::{ConsoleLog, GraphicalConsole};
pub use deployment::{
    DeployRequest, DeployedResource, Deployment, DeploymentSummary, OnFailure, OutputValue,
    Started, Stray, UpgradeRequest,
};
pub use design::{
    Design, DesignRequest, DesignSummary, DesignVersion, DesignVersionLabel, DesignVersionSummary,
    DesignViewer, DesignWatch, ExportAdditions, ExportFormat, ExportNote, ExportNoteKind,
    ExportRequest, Exported, Layout, NodeCorner, NodePosition, PlanRequest, ValidateRequest,
    ValidateResponse, ViewerRequest,
};
pub use event::{Event, EventBody, LogHits, LogLevel, LogLine, LogPosition, LogStream};
pub use hot::diagnostic::{Diagnostic, Severity};
pub use import::{ImportNote, ImportRequest, Imported};
pub use live::{FailedService, LiveResource, LiveResources};
pub use permission::{
    CHECK_MINUTES, CHECK_MINUTES_MAX, PERMISSION_DAYS_MAX, Permission, PermissionRequest,
    PermittedActions,
};
pub use planner::{
    cloud::{CloudFacts, Quota},
    plan::{Action, Change, Plan, PropertyChange, QuotaUse},
    workflow::{StepKind, Workflow},
};
pub use problem::Problem;
pub use run::{HookRelease, Run, RunContent, RunKind, RunStep};
pub use scaling::{ScaleRequest, Scaling, ScalingGroup, ScalingPolicy};
pub use server::{LiveServer, PowerAction, PowerRequest};
pub use service::{Service, ServicePort, ServiceState};
pub use session::{CloudInfo, CurrentUser, LoginRequest, LoginSession, is_own_page};
pub use snapshot::{
    LeftAlone, SNAPSHOT_NAME_CHARS_MAX, Snapshot, SnapshotPart, SnapshotRequest, SnapshotScope,
};
pub use state::{DeploymentState, Named, ResourceState, RunState, StepState};
pub use terminal::{TERMINAL_WINDOW, TerminalMessage, TerminalRequest};
