//! Scaling groups: sizes set by users and by policies, failures, crashes, updates and roll-backs.

use std::collections::BTreeSet;

use api::{RunState, ScaleRequest, Scaling, ScalingGroup, Started, StepState};
use engine::{Error, Result};
use lab::{Fault, ServerFault, ServerTrouble};

use crate::{
    bench::{Bench, facts},
    update::{servers_fail, to},
};

/// A group of servers, two policies, and a server that is configured with the members' addresses.
pub const GROUP: &str = "heat_template_version: 2021-04-16
resources:
  net: {type: OS::Neutron::Net}
  sub: {type: OS::Neutron::Subnet, properties: {network: {get_resource: net}, cidr: 10.0.1.0/24}}
  web:
    type: OS::Heat::AutoScalingGroup
    depends_on: sub
    properties:
      min_size: 1
      max_size: 6
      desired_capacity: 2
      resource:
        type: OS::Nova::Server
        properties: {image: debian-12, flavor: m1.tiny, networks: [{network: {get_resource: net}}]}
  up:
    type: OS::Heat::ScalingPolicy
    properties: {auto_scaling_group_id: {get_resource: web}, adjustment_type: change_in_capacity, scaling_adjustment: 2, cooldown: 3600}
  down:
    type: OS::Heat::ScalingPolicy
    properties: {auto_scaling_group_id: {get_resource: web}, adjustment_type: percent_change_in_capacity, scaling_adjustment: -50}
  members: {type: OS::Heat::Value, properties: {value: {get_attr: [web, refs]}}}
outputs:
  size: {value: {get_attr: [web, current_size]}}
  members: {value: {get_attr: [members, value]}}
";

pub fn size(size: u64) -> ScaleRequest {
    ScaleRequest {
        size: Some(size),
        ..ScaleRequest::default()
    }
}

pub fn policy(name: &str) -> ScaleRequest {
    ScaleRequest {
        policy: Some(name.to_owned()),
        ..ScaleRequest::default()
    }
}

impl Bench {
    pub async fn try_scale(&self, deployment: &str, request: ScaleRequest) -> Result<Started> {
        let engine = &self.engine;
        engine
            .scale(&self.actor, deployment, "web", request, facts())
            .await
    }

    pub async fn scale(&self, deployment: &str, request: ScaleRequest) -> api::Run {
        let started = self.try_scale(deployment, request).await.unwrap();
        self.end_of(&started.run).await
    }

    async fn group(&self, deployment: &str) -> ScalingGroup {
        self.shown(deployment).await.groups.remove(0)
    }

    /// Names of the members.
    async fn members(&self, deployment: &str) -> BTreeSet<String> {
        let resources = self.shown(deployment).await.resources.into_iter();
        let drawn = resources.filter(|one| !one.derived);
        drawn
            .filter_map(|one| Some(one.name.strip_prefix("web/")?.to_owned()))
            .collect()
    }
}

fn names(all: &[&str]) -> BTreeSet<String> {
    all.iter().map(|name| (*name).to_owned()).collect()
}

#[tokio::test]
async fn a_group_is_scaled_by_hand() {
    let bench = Bench::new().await;
    let (started, run) = bench.deploy(GROUP).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    let deployment = started.deployment.as_str();
    assert_eq!(bench.members(deployment).await, names(&["0", "1"]));
    let before = bench.ids(deployment).await;

    let run = bench.scale(deployment, size(5)).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    let scaling = Scaling {
        group: "web".to_owned(),
        from: 2,
        to: 5,
        policy: None,
        cooldown_seconds: 0,
    };
    assert_eq!(run.scaling, Some(scaling));
    assert_eq!(bench.group(deployment).await.size, 5);
    assert_eq!(bench.servers(), 5);
    let after = bench.ids(deployment).await;
    assert_eq!(after["web/0"], before["web/0"], "members stay");
    let shown = bench.shown(deployment).await;
    assert_eq!(shown.outputs["size"].value, Some(5.into()));
    let members = shown.outputs["members"].value.clone().unwrap();
    assert_eq!(
        members.as_array().unwrap().len(),
        5,
        "who refers to the group follows"
    );

    let run = bench.scale(deployment, size(1)).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    assert_eq!(bench.members(deployment).await, names(&["4"]), "the newest");
    assert_eq!(bench.servers(), 1);

    bench.undeploy(deployment).await;
    assert_eq!(bench.left(), Vec::<String>::new());
}

#[tokio::test]
async fn a_policy_computes_the_size_and_has_a_cooldown() {
    let bench = Bench::new().await;
    let (started, _) = bench.deploy(GROUP).await;
    let deployment = started.deployment.as_str();
    let group = bench.group(deployment).await;
    let sizes = group.policies.iter();
    let sizes: Vec<_> = sizes.map(|one| (one.name.as_str(), one.new_size)).collect();
    assert_eq!(sizes, [("down", 1), ("up", 4)]);

    let run = bench.scale(deployment, policy("up")).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    assert_eq!(bench.servers(), 4);
    let again = bench.try_scale(deployment, policy("down")).await;
    assert!(matches!(again, Err(Error::Cooldown { .. })), "{again:?}");
    assert!(bench.group(deployment).await.cooldown_until.is_some());
    let forced = ScaleRequest {
        force: true,
        ..policy("up")
    };
    let run = bench.scale(deployment, forced).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    assert_eq!(bench.servers(), 6);
    // A size can be set at any time. It has the group's own cooldown, which is none.
    bench.scale(deployment, size(2)).await;
    assert_eq!(bench.group(deployment).await.cooldown_until, None);
    bench.scale(deployment, policy("down")).await;
    assert_eq!(bench.servers(), 1);
}

#[tokio::test]
async fn sizes_that_cannot_be_are_refused() {
    let bench = Bench::new().await;
    let (started, _) = bench.deploy(GROUP).await;
    let deployment = started.deployment.as_str();
    let refused = async |request| bench.try_scale(deployment, request).await.unwrap_err();
    let error = refused(size(7)).await;
    assert_eq!(
        (error.code(), error.to_string().as_str()),
        (
            "group-size",
            "`web` cannot have the size 7: its template allows 1 to 6"
        )
    );
    assert_eq!(refused(size(0)).await.code(), "group-size");
    assert_eq!(refused(size(2)).await.code(), "not-possible-now");
    assert_eq!(refused(policy("sideways")).await.code(), "not-found");
    let engine = &bench.engine;
    let stranger = bench.log_in("other").await;
    for (actor, group) in [(&bench.actor, "net"), (&stranger, "web")] {
        let error = engine
            .scale(actor, deployment, group, size(3), facts())
            .await;
        assert_eq!(error.unwrap_err().code(), "not-found");
    }
    let run = bench.try_scale(deployment, size(3)).await.unwrap().run;
    assert_eq!(refused(size(4)).await.code(), "run-in-progress");
    bench.end_of(&run).await;
    let old = ScaleRequest {
        base_run: Some(started.run.clone()),
        ..size(4)
    };
    assert_eq!(refused(old).await.code(), "deployment-changed");
}

#[tokio::test]
async fn an_update_keeps_the_size() {
    let bench = Bench::new().await;
    let (started, _) = bench.deploy(GROUP).await;
    let deployment = started.deployment.as_str();
    bench.scale(deployment, size(4)).await;
    let run = bench.update(deployment, to(GROUP)).await;
    assert!(run.steps.is_empty(), "{run:#?}");
    let other = GROUP.replace("flavor: m1.tiny", "flavor: m1.tiny, metadata: {role: web}");
    let run = bench.update(deployment, to(&other)).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    assert_eq!(bench.group(deployment).await.size, 4);
    let three = other.replace("desired_capacity: 2", "desired_capacity: 3");
    bench.update(deployment, to(&three)).await;
    assert_eq!(bench.members(deployment).await, names(&["1", "2", "3"]));
}

#[tokio::test]
async fn a_failed_scaling_is_rolled_back_to_the_members_of_before_or_tried_again() {
    let bench = Bench::new().await;
    let (started, _) = bench.deploy(GROUP).await;
    let deployment = started.deployment.as_str();
    let before = bench.ids(deployment).await;
    bench.lab.faults().add(servers_fail(4));
    let run = bench.scale(deployment, size(4)).await;
    assert_eq!(run.state, RunState::Failed);
    bench.lab.faults().clear();
    let run = bench.rolls_back(deployment).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    assert_eq!(bench.ids(deployment).await, before);
    assert_eq!(bench.servers(), 2);

    bench.lab.faults().add(servers_fail(4));
    let run = bench.scale(deployment, size(4)).await;
    assert_eq!(run.state, RunState::Failed);
    bench.lab.faults().clear();
    let run = bench.scale(deployment, size(4)).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    assert_eq!(
        bench.members(deployment).await,
        names(&["0", "1", "2", "3"])
    );
    bench.undeploy(deployment).await;
    assert_eq!(bench.left(), Vec::<String>::new());
}

#[tokio::test]
async fn a_roll_back_after_a_scaling_keeps_its_size() {
    let bench = Bench::new().await;
    let (started, _) = bench.deploy(GROUP).await;
    let deployment = started.deployment.as_str();
    bench.scale(deployment, size(3)).await;
    let before = bench.ids(deployment).await;
    // The group is changed, and then something that waits for it fails.
    let wrong = GROUP
        .replace("desired_capacity: 2", "desired_capacity: 5")
        .replace(
            "outputs:",
            "  late:\n    type: OS::Nova::Server\n    depends_on: web\n    \
             properties: {image: debian-12, flavor: m1.tiny, networks: [{network: {get_resource: net}}]}\noutputs:",
        );
    bench.lab.faults().add(Fault::Server(ServerFault {
        name: "*late*".into(),
        fault: ServerTrouble::Error,
        times: Some(2),
    }));
    let run = bench.update(deployment, to(&wrong)).await;
    assert_eq!(run.state, RunState::Failed, "{run:#?}");
    assert_eq!(bench.group(deployment).await.size, 5);
    let run = bench.rolls_back(deployment).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    assert_eq!(bench.ids(deployment).await, before);
}

#[tokio::test]
async fn a_crash_while_scaling_makes_no_member_twice() {
    let mut bench = Bench::new().await;
    let (started, _) = bench.deploy(GROUP).await;
    let deployment = started.deployment.clone();
    for (wanted, step) in [(5, "web/3:create"), (2, "web/0:delete")] {
        let run = bench
            .try_scale(&deployment, size(wanted))
            .await
            .unwrap()
            .run;
        bench.until_step(&run, step, StepState::Running).await;
        bench.crash().await;
        let run = bench.end_of(&run).await;
        assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
        assert_eq!(bench.servers() as u64, wanted);
        assert_eq!(bench.group(&deployment).await.size, wanted);
    }
    bench.undeploy(&deployment).await;
    assert_eq!(bench.left(), Vec::<String>::new());
}

#[tokio::test]
async fn a_cancelled_scaling_is_resumed() {
    let bench = Bench::new().await;
    let (started, _) = bench.deploy(GROUP).await;
    let deployment = started.deployment.as_str();
    let run = bench.try_scale(deployment, size(5)).await.unwrap().run;
    bench
        .until_step(&run, "web/2:create", StepState::Running)
        .await;
    bench.engine.cancel(&bench.tenant, &run).await.unwrap();
    let cancelled = bench.end_of(&run).await;
    assert_eq!(cancelled.state, RunState::Cancelled, "{cancelled:#?}");
    assert_eq!(bench.group(deployment).await.size, 2, "as recorded");
    bench.engine.resume(&bench.actor, &run).await.unwrap();
    bench.until_state(&run, RunState::Succeeded).await;
    assert_eq!(bench.group(deployment).await.size, 5);
    assert_eq!(bench.servers(), 5);
}

/// Servers of a launch configuration, in the project's only network.
const INSTANCES: &str = "heat_template_version: 2021-04-16
resources:
  net: {type: OS::Neutron::Net}
  sub: {type: OS::Neutron::Subnet, properties: {network: {get_resource: net}, cidr: 10.0.1.0/24}}
  like:
    type: AWS::AutoScaling::LaunchConfiguration
    properties: {ImageId: debian-12, InstanceType: m1.tiny}
  web:
    type: OS::Heat::InstanceGroup
    depends_on: sub
    properties: {AvailabilityZones: [nova], LaunchConfigurationName: {get_resource: like}, Size: 3}
outputs:
  addresses: {value: {get_attr: [web, InstanceList]}}
";

#[tokio::test]
async fn an_instance_group_has_servers_of_its_launch_configuration() {
    let bench = Bench::new().await;
    let (started, run) = bench.deploy(INSTANCES).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    let deployment = started.deployment.as_str();
    assert_eq!(bench.servers(), 3);
    let shown = bench.shown(deployment).await;
    let addresses = shown.outputs["addresses"].value.clone().unwrap();
    let addresses: Vec<&str> = addresses.as_str().unwrap().split(',').collect();
    let different: BTreeSet<&str> = addresses.iter().copied().collect();
    assert_eq!((addresses.len(), different.len()), (3, 3), "{addresses:?}");
    assert!(
        addresses.iter().all(|one| one.starts_with("10.0.1.")),
        "{addresses:?}"
    );

    let two = INSTANCES.replace("Size: 3", "Size: 2");
    let run = bench.update(deployment, to(&two)).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    assert_eq!(bench.members(deployment).await, names(&["1", "2"]));
    bench.undeploy(deployment).await;
    assert_eq!(bench.left(), Vec::<String>::new());
}
