"""Package managers wait for their lock, whoever wrote the playbook: see the engine's module `jobs`.

Ansible's modules have an option for it. What calls apt-get or dpkg, scripts among them, gets a configuration of apt by its environment.
A playbook's own values come first.
"""
import json

from ansible.plugins.action import ActionBase

# Written by the engine: how long, and the path of apt's configuration on the server.
ORDER = "/work/locks.json"
MODULES = {prefix + name for prefix in ("", "ansible.builtin.", "ansible.legacy.") for name in ("apt", "dnf", "yum")}


def order():
    try:
        with open(ORDER) as file:
            return json.load(file)
    except FileNotFoundError:
        return {}


execute_module = ActionBase._execute_module
compute_environment = ActionBase._compute_environment_string


def execute_patiently(self, module_name=None, module_args=None, **rest):
    seconds = order().get("lock_timeout")
    if seconds and (module_name or self._task.action) in MODULES:
        given = self._task.args if module_args is None else module_args
        module_args = {"lock_timeout": seconds, **given}
    return execute_module(self, module_name=module_name, module_args=module_args, **rest)


def environment_for_apt(self, raw_environment_out=None):
    environment = {}
    compute_environment(self, environment)
    path = order().get("apt_config")
    if path:
        environment.setdefault("APT_CONFIG", path)
    if isinstance(raw_environment_out, dict):
        raw_environment_out.clear()
        raw_environment_out.update(environment)
    return self._connection._shell.env_prefix(**environment)


ActionBase._execute_module = execute_patiently
ActionBase._compute_environment_string = environment_for_apt
