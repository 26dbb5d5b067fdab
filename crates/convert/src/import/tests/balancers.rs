//! Load balancers of both generations.

use super::*;

#[test]
fn a_classic_load_balancer_becomes_an_octavia_load_balancer() {
    let text = "Resources:\n  Web: {Type: AWS::EC2::Instance, Properties: {ImageId: i, InstanceType: f}}\n  Front:\n    Type: AWS::ElasticLoadBalancing::LoadBalancer\n    \
                Properties:\n      Instances: [!Ref Web]\n      Listeners: [{LoadBalancerPort: '80', InstancePort: '8080', Protocol: HTTP}]\n      \
                HealthCheck: {Target: 'HTTP:8080/ok', Interval: '10', Timeout: '5', HealthyThreshold: '2', UnhealthyThreshold: '3'}\n";
    let of = |name: &str| made(text, &["resources", name, "properties"]);
    assert_eq!(of("Front"), json!({"vip_subnet": {"get_param": "subnet"}}));
    assert_eq!(of("Front_listener_0")["protocol_port"], 80);
    assert_eq!(of("Front_monitor_0")["url_path"], "/ok");
    assert_eq!(
        of("Front_member_0_0"),
        json!({"pool": {"get_resource": "Front_pool_0"}, "address": {"get_attr": ["Web", "first_address"]}, "protocol_port": 8080})
    );
}

#[test]
fn lost_properties_of_a_load_balancer_are_in_the_report() {
    let text = "AWSTemplateFormatVersion: x\nResources:\n  Front:\n    Type: AWS::ElasticLoadBalancing::LoadBalancer\n    Properties:\n      Scheme: internet-facing\n      \
                SecurityGroups: [a]\n      HealthCheck:\n        Target: TCP:22\n        UnhealthyThreshold: 5\n      \
                Listeners:\n        - LoadBalancerPort: 80\n          InstancePort: 80\n          PolicyNames: [p]\n  \
                Inner:\n    Type: AWS::ElasticLoadBalancing::LoadBalancer\n    Properties:\n      Scheme: internal\n      Listeners: !Ref L\n";
    let notes = notes(&import(text).unwrap());
    for note in [
        "6 needed Resources.Front.Properties.Scheme",
        "7 left out Resources.Front.Properties.SecurityGroups",
        "10 left out Resources.Front.Properties.HealthCheck.UnhealthyThreshold",
        "14 left out Resources.Front.Properties.Listeners.0.PolicyNames",
        "19 left out Resources.Inner.Properties.Listeners",
    ] {
        assert!(notes.iter().any(|one| one == note), "{note}: {notes:#?}");
    }
    assert!(
        !notes
            .iter()
            .any(|one| one.contains("Inner.Properties.Scheme"))
    );
}

#[test]
fn an_application_load_balancer_becomes_an_octavia_load_balancer() {
    let text = "Resources:\n  Web: {Type: AWS::EC2::Instance, Properties: {ImageId: i, InstanceType: f}}\n  \
                Front: {Type: AWS::ElasticLoadBalancingV2::LoadBalancer, Properties: {Name: front, Scheme: internal, Subnets: [a, b]}}\n  \
                Group:\n    Type: AWS::ElasticLoadBalancingV2::TargetGroup\n    Properties:\n      Port: 8080\n      Protocol: HTTP\n      VpcId: x\n      \
                Targets: [{Id: !Ref Web}, {Id: 10.0.0.9, Port: '81'}]\n      HealthCheckPath: /ok\n      HealthyThresholdCount: 2\n      Matcher: {HttpCode: '200'}\n      \
                TargetGroupAttributes: [{Key: stickiness.enabled, Value: 'true'}, {Key: stickiness.type, Value: lb_cookie}]\n  \
                Other: {Type: AWS::ElasticLoadBalancingV2::TargetGroup, Properties: {Port: 80, Protocol: HTTP}}\n  \
                Alone: {Type: AWS::ElasticLoadBalancingV2::TargetGroup, Properties: {Port: 80}}\n  \
                Port:\n    Type: AWS::ElasticLoadBalancingV2::Listener\n    Properties:\n      LoadBalancerArn: !Ref Front\n      Port: '443'\n      Protocol: HTTPS\n      \
                Certificates: [{CertificateArn: arn}]\n      DefaultActions: [{Type: forward, TargetGroupArn: !Ref Group}]\n  \
                Api:\n    Type: AWS::ElasticLoadBalancingV2::ListenerRule\n    Properties:\n      ListenerArn: !Ref Port\n      Priority: 7\n      \
                Actions: [{Type: forward, ForwardConfig: {TargetGroups: [{TargetGroupArn: !Ref Other}]}}]\n      \
                Conditions: [{Field: path-pattern, Values: ['/api/*']}, {Field: host-header, HostHeaderConfig: {Values: ['*.a.b', c.d]}}, {Field: source-ip, Values: [x]}]\n\
                Outputs: {Name: {Value: !GetAtt Front.DNSName}}\n";
    let of = |name: &str| made(text, &["resources", name, "properties"]);
    assert_eq!(of("Front"), json!({"name": "front", "vip_subnet": "a"}));
    assert_eq!(
        of("Group"),
        json!({
            "loadbalancer": {"get_resource": "Front"},
            "protocol": "HTTP",
            "lb_algorithm": "ROUND_ROBIN",
            "session_persistence": {"type": "HTTP_COOKIE"},
        })
    );
    assert_eq!(
        of("Group_monitor"),
        json!({
            "pool": {"get_resource": "Group"}, "type": "HTTP", "url_path": "/ok", "expected_codes": "200",
            "max_retries": 2, "delay": 30, "timeout": 5,
        })
    );
    assert_eq!(
        of("Group_member_0"),
        json!({"pool": {"get_resource": "Group"}, "address": {"get_attr": ["Web", "first_address"]}, "protocol_port": 8080})
    );
    assert_eq!(of("Group_member_1")["protocol_port"], 81);
    assert_eq!(
        of("Port"),
        json!({
            "loadbalancer": {"get_resource": "Front"}, "protocol_port": 443, "protocol": "TERMINATED_HTTPS",
            "default_tls_container_ref": "arn", "default_pool": {"get_resource": "Group"},
        })
    );
    assert_eq!(
        of("Api"),
        json!({
            "listener": {"get_resource": "Port"}, "position": 7, "action": "REDIRECT_TO_POOL",
            "redirect_pool": {"get_resource": "Other"},
        })
    );
    assert_eq!(of("Api_rule_0")["compare_type"], "STARTS_WITH");
    assert_eq!(of("Api_rule_1")["value"], "^(.*\\.a\\.b|c\\.d)$");
    assert_eq!(
        made(text, &["outputs", "Name", "value"]),
        json!({"get_attr": ["Front", "vip_address"]})
    );
    let notes = notes(&import(text).unwrap());
    for note in [
        "16 left out Resources.Alone",
        "left out Resources.Api.Properties.Conditions",
    ] {
        assert!(
            notes.iter().any(|one| one.ends_with(note)),
            "{note}: {notes:#?}"
        );
    }
}

#[test]
fn a_redirect_to_a_fixed_url_becomes_a_policy() {
    let listener = |action: &str, rules: &str| {
        format!(
            "Resources:\n  Front: {{Type: AWS::ElasticLoadBalancingV2::LoadBalancer, Properties: {{Scheme: internal, Subnets: [a]}}}}\n  \
             Plain:\n    Type: AWS::ElasticLoadBalancingV2::Listener\n    Properties:\n      LoadBalancerArn: !Ref Front\n      \
             Port: 8080\n      Protocol: HTTP\n      DefaultActions: [{{Type: redirect, RedirectConfig: {action}}}]\n{rules}"
        )
    };
    let all = "{Host: example.org, Path: /new, Query: a=b, Protocol: HTTPS, Port: '443', StatusCode: HTTP_302}";
    let text = listener(all, "");
    let of = |text: &str, name: &str| made(text, &["resources", name, "properties"]);
    assert_eq!(
        of(&text, "Plain_redirect"),
        json!({
            "listener": {"get_resource": "Plain"}, "action": "REDIRECT_TO_URL",
            "redirect_url": "https://example.org/new?a=b",
        })
    );
    assert_eq!(
        of(&text, "Plain_redirect_all"),
        json!({
            "l7policy": {"get_resource": "Plain_redirect"}, "type": "PATH", "compare_type": "STARTS_WITH", "value": "/",
        })
    );
    assert_eq!(notes(&import(&text).unwrap()), [""; 0]);

    // The listener's own protocol and port, and the report about the status code.
    let text = listener("{Host: example.org, Path: /, StatusCode: HTTP_301}", "");
    let address = &of(&text, "Plain_redirect")["redirect_url"];
    assert_eq!(address, "http://example.org:8080/");
    let changed = "9 changed Resources.Plain.Properties.DefaultActions";
    assert_eq!(notes(&import(&text).unwrap()), [changed; 2]);

    // Parts of the request, and a policy that would precede the listener's rules.
    let rule = "  Api:\n    Type: AWS::ElasticLoadBalancingV2::ListenerRule\n    Properties:\n      ListenerArn: !Ref Plain\n      \
                Priority: 1\n      Conditions: [{Field: path-pattern, Values: [/api]}]\n      \
                Actions: [{Type: redirect, RedirectConfig: {Host: api.org, Path: /v2, Query: '', Port: 80}}]\n";
    for (action, rules) in [
        ("{Protocol: HTTPS, Port: '443'}", ""),
        ("{Host: 'www.#{host}', Path: /}", ""),
        ("{Host: example.org, Path: '/x/#{path}'}", ""),
        (all, rule),
    ] {
        let text = listener(action, rules);
        let left = "9 left out Resources.Plain.Properties.DefaultActions";
        assert_eq!(notes(&import(&text).unwrap()), [left], "{action}");
        assert_eq!(of(&text, "Plain_redirect"), Value::Null);
    }
    let text = listener(all, rule);
    assert_eq!(
        of(&text, "Api"),
        json!({
            "listener": {"get_resource": "Plain"}, "position": 1, "action": "REDIRECT_TO_URL",
            "redirect_url": "http://api.org/v2",
        })
    );
    assert_eq!(of(&text, "Api_rule_0")["value"], "/api");
}
