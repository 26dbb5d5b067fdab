// Templates of a given size; the same shapes as in `crates/trials`.

/** A network with its router, and `k` times a port, an address, a volume and a server: 5 + 4 k resources. */
export function networkStack(k: number): string {
  const head = `heat_template_version: 2015-10-15
resources:
  net: {type: OS::Neutron::Net}
  subnet:
    type: OS::Neutron::Subnet
    properties: {network: {get_resource: net}, cidr: 10.0.0.0/16}
  router:
    type: OS::Neutron::Router
    properties: {external_gateway_info: {network: public}}
  interface:
    type: OS::Neutron::RouterInterface
    properties: {router: {get_resource: router}, subnet: {get_resource: subnet}}
  group:
    type: OS::Neutron::SecurityGroup
    properties:
      rules: [{protocol: tcp, port_range_min: 22, port_range_max: 22}]
`;
  const one = (i: number) => `  port${i}:
    type: OS::Neutron::Port
    properties:
      network: {get_resource: net}
      fixed_ips: [{subnet: {get_resource: subnet}}]
      security_groups: [{get_resource: group}]
  address${i}:
    type: OS::Neutron::FloatingIP
    properties: {floating_network: public, port_id: {get_resource: port${i}}}
  volume${i}:
    type: OS::Cinder::Volume
    properties: {size: 10}
  server${i}:
    type: OS::Nova::Server
    properties:
      image: debian-12
      flavor: m1.small
      networks: [{port: {get_resource: port${i}}}]
      block_device_mapping_v2: [{device_name: vdb, volume_id: {get_resource: volume${i}}}]
`;
  return head + Array.from({ length: k }, (_, i) => one(i)).join('');
}

/** Servers, twenty per network. */
export function servers(count: number): string {
  const parts = ['heat_template_version: 2021-04-16\nresources:\n'];
  for (let i = 0; i < count; i += 1) {
    const net = Math.floor(i / 20);
    if (i % 20 === 0) {
      parts.push(`  net${net}: {type: OS::Neutron::Net}
  net${net}_subnet:
    type: OS::Neutron::Subnet
    properties: {network: {get_resource: net${net}}, cidr: 10.${net}.0.0/24}
`);
    }
    parts.push(`  server${i}:
    type: OS::Nova::Server
    properties:
      image: debian-12
      flavor: m1.small
      networks: [{network: {get_resource: net${net}}}]
`);
  }
  return parts.join('');
}

/**
 * A drawing of `count` nodes with about as many lines: networks with 19 servers each. A server waits for the one before
 * it, and the first of a network is on the network before, too.
 */
export function joined(count: number): string {
  const parts = ['heat_template_version: 2021-04-16\nresources:\n'];
  for (let made = 0, server = 0; made < count; made += 1) {
    const net = Math.floor(made / 20);
    if (made % 20 === 0) {
      parts.push(`  net${net}: {type: OS::Neutron::Net}
  net${net}_subnet:
    type: OS::Neutron::Subnet
    properties: {network: {get_resource: net${net}}, cidr: 10.${net}.0.0/24}
`);
      continue;
    }
    const isFirst = made % 20 === 1;
    const network = `{network: {get_resource: net${net}}}`;
    const also = isFirst && net > 0 ? `, {network: {get_resource: net${net - 1}}}` : '';
    const properties = `{image: debian-12, flavor: m1.small, networks: [${network}${also}]}`;
    // The others of a network share properties, so that 5,000 nodes are below the maximum length of a template.
    const second = made % 20 === 2 ? `&p${net} ${properties}` : `*p${net}`;
    parts.push(`  server${server}:
    type: OS::Nova::Server
${isFirst ? '' : `    depends_on: server${server - 1}\n`}    properties: ${isFirst ? properties : second}
`);
    server += 1;
  }
  return parts.join('');
}

/** Values, two hundred side by side, each after the one before it in its chain. */
export function chains(count: number): string {
  const resources = Array.from({ length: count }, (_, i) => {
    const after = i < 200 ? '' : `, depends_on: value${i - 200}`;
    return `  value${i}: {type: OS::Heat::Value, properties: {value: ${i}}${after}}`;
  });
  return `heat_template_version: 2021-04-16\nresources:\n${resources.join('\n')}\n`;
}
