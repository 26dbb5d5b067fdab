//! Refused texts, and limits for texts that expand.

use super::*;

#[test]
fn a_text_that_is_not_a_template_is_refused_with_its_line() {
    assert_eq!(import("Resources: [a\n  b: c").unwrap_err().line, Some(2));
    assert!(import("a: 1").is_err());
    assert!(import("").is_err());
    assert!(import("- a").is_err());
}

#[test]
fn a_result_that_grows_past_the_limit_is_refused() {
    let long = "x".repeat(100 << 10);
    let looked_up = format!(
        "Mappings: {{M: {{a: {{b: {long}}}}}}}\nResources: {{}}\nOutputs:\n  X: {{Value: [{}]}}\n",
        "!FindInMap [M, a, b], ".repeat(50)
    );
    // Each level contains the one below five times.
    let mut nested = "x".to_owned();
    for _ in 0..12 {
        nested = format!("!Sub ['${{a}}${{ a}}${{  a}}${{a }}${{a  }}', {{a: {nested}}}]");
    }
    let nested = format!("Resources: {{}}\nOutputs: {{X: {{Value: {nested}}}}}\n");
    let products = format!(
        "Resources:\n  Web: {{Type: AWS::EC2::Instance}}\n  Front:\n    Type: AWS::ElasticLoadBalancing::LoadBalancer\n    \
         Properties: {{Instances: [{}], Listeners: [{}]}}\n",
        "!Ref Web, ".repeat(5_000),
        "{}, ".repeat(5_000)
    );
    let ranges = format!(
        "Resources: {{}}\nOutputs: {{X: {{Value: [{}]}}}}\n",
        "!Cidr [1.0.0.0/8, 256, 8], ".repeat(1_000)
    );
    for text in [looked_up, nested, products, ranges] {
        let refused = import(&text).unwrap_err();
        assert_eq!(
            refused.message,
            "The imported template would be larger than 4 MiB"
        );
    }
}

#[test]
fn a_report_of_a_thousand_notes_ends_with_a_message() {
    let transforms: String = (0..1_500).map(|number| format!("k{number}: 1\n")).collect();
    let imported = import(&format!("Resources: {{}}\n{transforms}")).unwrap();
    assert_eq!(imported.report.notes.len(), 1_001);
    assert_eq!(
        imported.report.notes[1_000].message,
        "The report is full. More differences are not listed."
    );
}

#[test]
fn aliases_that_grow_exponentially_are_refused() {
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..12 {
        let below = format!("*a{}, ", level - 1).repeat(10);
        bomb.push_str(&format!("a{level}: &a{level} [{below}]\n"));
    }
    assert!(import(&bomb).unwrap_err().message.contains("aliases"));
    let long = "x".repeat(100 << 10);
    let texts = format!("a: &a {long}\nb: [{}]\n", "*a, ".repeat(50));
    assert!(import(&texts).unwrap_err().message.contains("aliases"));
    let key = format!("Resources: {{{}: 1}}\n", "k".repeat(256));
    assert!(import(&key).unwrap_err().message.contains("key"));
    assert!(import(&"[".repeat(10_000)).is_err());
    let long = format!("Resources: {{}}\n#{}", "x".repeat(600 << 10));
    assert!(import(&long).unwrap_err().message.contains("longer"));
}
