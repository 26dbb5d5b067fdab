"""What a program does with openstacksdk's cloud layer, which waits, finds by name, and gives servers addresses by itself."""

import openstack

cloud = openstack.connect(cloud="lab")
print("project", cloud.current_project.name)

network = cloud.create_network("net")
subnet = cloud.create_subnet(network.id, cidr="10.9.0.0/24", subnet_name="subnet")
router = cloud.create_router("router", ext_gateway_net_id=cloud.get_network("public").id)
cloud.add_router_interface(router, subnet_id=subnet.id)
group = cloud.create_security_group("web", "what may come in")
cloud.create_security_group_rule(group.id, port_range_min=80, port_range_max=80, protocol="tcp")
cloud.create_keypair("key", open("key.pub").read())

server = cloud.create_server(
    "web",
    image="debian-12",
    flavor="m1.tiny",
    network="net",
    key_name="key",
    security_groups=["web"],
    meta={"role": "web"},
    userdata="#cloud-config\n{}\n",
    wait=True,
    auto_ip=True,
    timeout=30,
)
# The addresses are read again: the result of the creation does not contain the floating IP.
server = cloud.get_server("web")
print("server", server.name, server.status, server.public_v4, server.private_v4)
print("found by metadata", [one.name for one in cloud.search_servers(filters={"metadata": {"role": "web"}})])

volume = cloud.create_volume(1, name="data", wait=True, timeout=30)
attachment = cloud.attach_volume(server, volume, wait=True, timeout=30)
print("volume", cloud.get_volume("data").status, attachment.device)
snapshot = cloud.create_volume_snapshot(volume.id, name="before", force=True, wait=True, timeout=30)
print("snapshot", snapshot.status)
cloud.detach_volume(server, volume, wait=True, timeout=30)

copy = cloud.create_image_snapshot("copy", server, wait=True, timeout=30)
print("image of a server", copy.status)
image = cloud.create_image("probe", filename="disk.raw", disk_format="raw", container_format="bare", wait=True)
print("image", image.name, image.status, image.size)
print("download", len(cloud.image.download_image(image).content))

compute = cloud.compute
for action, leads_to in [
    (compute.stop_server, "SHUTOFF"),
    (compute.start_server, "ACTIVE"),
    (compute.pause_server, "PAUSED"),
    (compute.unpause_server, "ACTIVE"),
]:
    action(server)
    print(compute.wait_for_server(server, status=leads_to, wait=30, interval=1).status)
print("actions", [one.action for one in compute.server_actions(server)][:4])

balancer = cloud.load_balancer.create_load_balancer(name="lb", vip_subnet_id=subnet.id)
balancer = cloud.load_balancer.wait_for_load_balancer(balancer.id, interval=1, wait=30)
print("load balancer", balancer.provisioning_status, balancer.vip_address)
cloud.load_balancer.delete_load_balancer(balancer, cascade=True)

for what in (lambda: compute.get_server("nothing"), lambda: cloud.network.create_subnet(network_id=network.id, cidr="10.9.0.0/25", ip_version=4)):
    try:
        what()
    except openstack.exceptions.HttpException as error:
        print(type(error).__name__, error.status_code)

cloud.delete_server("web", wait=True, delete_ips=True, timeout=30)
cloud.delete_volume_snapshot(snapshot.id, wait=True, timeout=30)
cloud.delete_volume("data", wait=True, timeout=30)
for name in ("copy", "probe"):
    cloud.delete_image(name)
cloud.remove_router_interface(router, subnet_id=subnet.id)
for gone in (cloud.delete_router("router"), cloud.delete_network("net"), cloud.delete_security_group("web"), cloud.delete_keypair("key")):
    print("gone", gone)
