// Templates for the specs.

/** A public HAProxy in front of a private nginx. */
export function twoTier(pageText: string): string {
  return `heat_template_version: 2021-04-16
description: A load balancer that the world sees, and a web server that it does not.

resources:
  front:
    type: OS::Neutron::Net
  front_subnet:
    type: OS::Neutron::Subnet
    properties:
      network: {get_resource: front}
      cidr: 10.20.0.0/24

  edge:
    type: OS::Nova::Server
    metadata:
      stackloom: {public: true}
    properties:
      image: debian-12
      flavor: m1.small
      networks: [{network: {get_resource: front}}]
  web:
    type: OS::Nova::Server
    properties:
      image: debian-12
      flavor: m1.small
      networks: [{network: {get_resource: front}}]

  nginx:
    type: Stackloom::Catalog::nginx
    properties:
      host: {get_resource: web}
      listen_port: 8080
      page_text: ${JSON.stringify(pageText)}
  balancer:
    type: Stackloom::Catalog::haproxy
    properties:
      host: {get_resource: edge}
      listen_port: 80
      backends: [{get_resource: nginx}]

outputs:
  url:
    description: Open this in a browser.
    value: {get_attr: [balancer, url]}
`;
}

/** A server without a network and with an unknown flavor, and a reference to a missing resource. */
export const broken = `heat_template_version: 2021-04-16

resources:
  front:
    type: OS::Neutron::Net
  lonely:
    type: OS::Nova::Server
    properties:
      image: debian-12
      flavor: m1.enormous
  astray:
    type: OS::Nova::Server
    properties:
      image: debian-12
      flavor: m1.small
      networks: [{network: {get_resource: nowhere}}]
`;
