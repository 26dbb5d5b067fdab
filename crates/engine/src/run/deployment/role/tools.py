#!/usr/bin/env python3
"""Runs a configuration by the tool of its group, as the hooks of Heat's agent do (openstack/heat-agents).

Reads `input.json` beside it: group, program, name, action, config, options, inputs. Outputs are the files
`<heat_outputs_path>.<output>`, written by the configuration itself. Ends with the exit code of the tool.
"""

import json
import os
import shutil
import subprocess
import sys

STATE = "/var/lib/heat-config"
METADATA = "/var/lib/os-collect-config"
# Not found, as in a shell.
MISSING = 127


def text(value):
    return value if isinstance(value, str) else "" if value is None else json.dumps(value)


def parsed(config):
    """The configuration as a map or list, whether it was written as such or as JSON."""
    return json.loads(config) if isinstance(config, str) else config


def write(path, content):
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    with open(os.open(path, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600), "w") as file:
        file.write(content)
    return path


def run(command, **environment):
    print("+ " + " ".join(command), flush=True)
    return subprocess.run(command, env={**os.environ, **environment}, check=False).returncode


def command_of(program):
    """The beginning of a command line that runs a program. Empty if the program is missing."""
    if shutil.which(program):
        return [program]
    plugin = ["docker", "compose"]
    if program == "docker-compose" and shutil.which("docker"):
        # Docker's own packages have Compose as a plugin only.
        version = subprocess.run([*plugin, "version"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        return [] if version.returncode else plugin
    return []


def need(program, why=""):
    if not command_of(program):
        print(
            f"`{program}` is not installed on this server{why}: add it to the image, or install it by a deployment of "
            "the group `script` on which this one depends. Nothing was run.",
            file=sys.stderr,
        )
        sys.exit(MISSING)


def puppet(job, folder):
    options, inputs = job["options"], job["inputs"]
    facts = {f"FACTER_{name}": text(value) for name, value in inputs.items()}
    command = ["puppet", "apply", "--color", "false", "--detailed-exitcodes", "--logdest", "console"]
    if options.get("enable_hiera"):
        write(f"/etc/puppet/hieradata/heat_config_{job['name']}.json", json.dumps(inputs))
        facts["FACTER_deploy_config_name"] = job["name"]
    if not options.get("enable_facter", True):
        facts = {"FACTER_heat_outputs_path": text(inputs["heat_outputs_path"])}
    for option, flag in [("modulepath", "--modulepath"), ("tags", "--tags")]:
        if options.get(option):
            command += [flag, text(options[option])]
    for option, flag in [("enable_debug", "--debug"), ("enable_verbose", "--verbose")]:
        if options.get(option):
            command.append(flag)
    status = run([*command, write(f"{folder}/manifest.pp", text(job["config"]))], **facts)
    # 2: it succeeded, and something changed.
    return 0 if status == 2 else status


def salt(job, folder):
    minion = dict(job["inputs"])
    if os.path.exists("/etc/salt/minion"):
        minion["include"] = "/etc/salt/minion"
    minion.update(file_client="local", file_roots={"base": [f"{folder}/states"]})
    # JSON is YAML.
    write(f"{folder}/salt/minion", json.dumps(minion))
    write(f"{folder}/states/config.sls", text(job["config"]))
    return run(["salt-call", "--local", "--retcode-passthrough", "--config-dir", f"{folder}/salt", "state.sls", "config"])


def chef(job, folder):
    options = job["options"]
    kitchen = options.get("kitchen_path", f"{STATE}/heat-config-chef/kitchen")
    if options.get("kitchen"):
        need("git", ", which the option `kitchen` needs")
        shutil.rmtree(kitchen, ignore_errors=True)
        status = run(["git", "clone", "--quiet", options["kitchen"], kitchen])
        if status:
            return status
    node = {name: value for name, value in job["inputs"].items() if not name.startswith("deploy_")}
    settings = ["local_mode true", "chef_zero.enabled true", f"node_path '{folder}/node'"]
    settings += [f"{kind}_path '{kitchen}/{kind}s'" for kind in ("cookbook", "role", "environment")]
    if "environment" in node:
        settings.append(f"environment '{node.pop('environment')}'")
    node["run_list"] = parsed(job["config"])
    client = write(f"{folder}/client.rb", "\n".join(settings))
    attributes = write(f"{folder}/node.json", json.dumps(node))
    outputs = text(job["inputs"]["heat_outputs_path"])
    return run(["chef-client", "-z", "--config", client, "-j", attributes], heat_outputs_path=outputs)


def docker_compose(job, folder):
    project = f"{STATE}/heat-config-docker-compose/{job['name']}"
    file = f"{project}/docker-compose.yml"
    command = [*command_of("docker-compose"), "--file", file]
    if job["action"] == "DELETE":
        return run([*command, "down"]) if os.path.exists(file) else 0
    config = job["config"]
    if isinstance(config, dict) and "services" not in config and "version" not in config:
        # The first version of the format, which newer programs refuse.
        config = {"services": config}
    write(file, text(config))
    env_files = job["inputs"].get("env_files") or []
    for env_file in parsed(env_files):
        path = os.path.normpath(os.path.join(project, env_file["file_name"]))
        if not path.startswith(project + os.sep):
            print(f"the file `{env_file['file_name']}` of `env_files` is outside of the project", file=sys.stderr)
            return 1
        write(path, text(env_file["content"]))
    return run([*command, "up", "-d", "--no-build"])


def cfn_init(job, folder):
    write("/var/cache/heat-cfntools/last_metadata", json.dumps({"AWS::CloudFormation::Init": parsed(job["config"])}))
    status = run(["cfn-init"])
    log = "/var/log/cfn-init.log"
    if status and os.path.exists(log):
        with open(log) as file:
            print("".join(file.readlines()[-20:]), file=sys.stderr)
    return status


def os_apply_config(job, folder):
    own = f"{METADATA}/{job['name']}.json"
    listing = f"{METADATA}/os_config_files.json"
    files = []
    if os.path.exists(listing):
        with open(listing) as file:
            files = json.load(file)
    if job["action"] == "DELETE":
        files = [file for file in files if file != own]
        if os.path.exists(own):
            os.remove(own)
    else:
        write(own, json.dumps(parsed(job["config"])))
        files += [own] if own not in files else []
    write(listing, json.dumps(files))
    # Whoever has os-refresh-config has it call os-apply-config.
    for program in ("os-refresh-config", "os-apply-config"):
        if shutil.which(program):
            return run([program])
    print(f"kept in {own}; no program of this server reads it")
    return 0


TOOLS = {
    "puppet": puppet,
    "salt": salt,
    "chef": chef,
    "docker-compose": docker_compose,
    "cfn-init": cfn_init,
    "os-apply-config": os_apply_config,
    "Heat::Ungrouped": os_apply_config,
}


def main():
    folder = os.path.dirname(os.path.abspath(__file__))
    source = f"{folder}/input.json"
    with open(source) as file:
        job = json.load(file)
    os.remove(source)
    if job["program"]:
        need(job["program"], ", nor is the plugin `docker compose`" if job["program"] == "docker-compose" else "")
    return TOOLS[job["group"]](job, folder)


if __name__ == "__main__":
    sys.exit(main())
