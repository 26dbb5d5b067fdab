//! `OS::Nova::KeyPair`: a person's own SSH key for servers. The deployment's key is another thing,
//! see [`super::ssh_key`]. Source: Compute API, "Keypairs".

use super::*;

pub(super) fn resource_type() -> ResourceType {
    ResourceType {
        name: KEY_PAIR.to_owned(),
        title: "Key pair".to_owned(),
        summary: "An SSH key for your own login to servers.".to_owned(),
        category: Category::Security,
        shape: Shape::Part,
        properties: vec![
            string("name")
                .required()
                .check(Constraint::Length {
                    min: Some(1),
                    max: Some(255),
                })
                .summary("Its name, unique for the user."),
            string("public_key")
                .multiline()
                .summary("An OpenSSH public key; the cloud makes a pair where absent."),
            boolean("save_private_key")
                .default(false)
                .summary("Keep the private key that the cloud made."),
            string("type")
                .one_of(&["ssh", "x509"])
                .summary("SSH unless it is for Windows."),
            string("user").summary("Whose it is; administrators only."),
        ],
        attributes: vec![
            attribute("public_key", "The public key."),
            attribute("private_key", "The private key, where it is kept."),
            attribute("show", "All that the cloud tells about it."),
        ],
        component: None,
    }
}
