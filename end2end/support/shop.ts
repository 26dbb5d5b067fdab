// The design in the screenshots: a small shop.

interface Shop {
  /** The flavor of the web servers. */
  flavor?: string;
  /** The user data of the first web server. */
  userData?: string;
  /** The name of the network `front` in the cloud. */
  network?: string;
  /** Whether there is a volume for pictures. */
  volume?: boolean;
}

/** A public proxy, two web servers, and a database in a network of its own. */
export function shop({ flavor = 'm1.small', userData, network, volume = true }: Shop = {}): string {
  const script = userData ? `\n      user_data: ${JSON.stringify(userData)}` : '';
  const name = network ? `\n    properties: {name: ${network}}` : '';
  return `heat_template_version: 2021-04-16
description: A shop. One proxy that the world reaches, two web servers, a database that only they reach.

resources:
  front:
    type: OS::Neutron::Net${name}
  front_subnet:
    type: OS::Neutron::Subnet
    properties: {network: {get_resource: front}, cidr: 10.20.0.0/24}
  back:
    type: OS::Neutron::Net
  back_subnet:
    type: OS::Neutron::Subnet
    properties: {network: {get_resource: back}, cidr: 10.21.0.0/24}

  router:
    type: OS::Neutron::Router
    properties:
      external_gateway_info: {network: public}
  to_front:
    type: OS::Neutron::RouterInterface
    properties: {router: {get_resource: router}, subnet: {get_resource: front_subnet}}

  # the one that the world sees
  gate:
    type: OS::Nova::Server
    metadata:
      stackloom: {public: true, bastion: true}
    properties:
      image: debian-12
      flavor: m1.small
      networks: [{network: {get_resource: front}}]
  web1:
    type: OS::Nova::Server
    properties:
      image: debian-12
      flavor: ${flavor}${script}
      networks: [{network: {get_resource: front}}, {network: {get_resource: back}}]
  web2:
    type: OS::Nova::Server
    properties:
      image: debian-12
      flavor: ${flavor}
      networks: [{network: {get_resource: front}}, {network: {get_resource: back}}]
  database:
    type: OS::Nova::Server
    properties:
      image: debian-12
      flavor: m1.small
      networks: [{network: {get_resource: back}}]
${volume ? `  pictures:
    type: OS::Cinder::Volume
    properties: {size: 1, description: "What the shop sells, to look at."}
  pictures_on_web1:
    type: OS::Cinder::VolumeAttachment
    properties: {instance_uuid: {get_resource: web1}, volume_id: {get_resource: pictures}}
` : ''}
  balancer:
    type: Stackloom::Catalog::haproxy
    properties:
      host: {get_resource: gate}
      backends: [{get_resource: shop1}, {get_resource: shop2}]
  shop1:
    type: Stackloom::Catalog::nginx
    properties: {host: {get_resource: web1}, page_title: Shop, page_text: Everything is woven.}
  shop2:
    type: Stackloom::Catalog::nginx
    properties: {host: {get_resource: web2}, page_title: Shop, page_text: Everything is woven.}

outputs:
  url:
    description: The shop's front door.
    value: {get_attr: [balancer, url]}
`;
}
