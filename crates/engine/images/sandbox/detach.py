"""Programs of tasks run apart from Ansible: see the engine's module `jobs`.

`command` and `shell` end in the module `ansible.legacy.command`, `script` and `raw` in a low-level command. Both methods of
Ansible's action plugins are replaced here by ones that put the launcher before the program. All else, from `creates` to the
result, stays Ansible's own. The callback plugin imports this in Ansible's main process; tasks run in forks of it.
"""
import hashlib
import os
import re
import shlex

from ansible import constants
from ansible.plugins.action import ActionBase

# Written by the engine: the server's folder for this step's programs. Without it, programs run as Ansible has it.
ORDER = "/work/jobs"

# Keys of tasks by their number in this process, and how many programs each has started.
keys = {}
programs = {}
starts = {}
# Programs of asynchronous tasks by the id of Ansible's job: their names and words. The process that starts a job polls it, too.
jobs = {}


def begin(task):
    """A task's key, the same in a repetition of the play: its place in the role, and how often it was there."""
    place = "%s %s" % (task.get_path(), task.get_name())
    starts[place] = starts.get(place, 0) + 1
    key = hashlib.sha256(("%s %d" % (place, starts[place])).encode()).hexdigest()[:16]
    keys[task._uuid] = key
    return key


def is_hidden(task):
    """True if nobody may read the task's output. A template counts as yes: its value is not known yet."""
    return task.no_log not in (None, False) or constants.DEFAULT_NO_LOG


def launcher(action, mode=""):
    """The name of an action's next program and the words before it, or nothing if it runs as Ansible has it."""
    task = action._task
    is_left_alone = (
        not os.path.exists(ORDER)
        or task._uuid not in keys
        or task.delegate_to
        or action._connection.transport != "ssh"
        or action._play_context.check_mode
        or task.async_val and not task.poll
    )
    if is_left_alone:
        return None, []
    programs[task._uuid] = programs.get(task._uuid, 0) + 1
    name = "%s-%d" % (keys[task._uuid], programs[task._uuid])
    with open(ORDER) as order:
        folder = order.read().strip()
    hidden = is_hidden(task)
    mode += "h" if hidden else ""
    return None if hidden else name, ["/bin/sh", folder + "/launch", name, mode or "-"]


execute_module = ActionBase._execute_module
low_level = ActionBase._low_level_execute_command


def execute_program(self, module_name=None, module_args=None, **rest):
    given = self._task.args if module_args is None else module_args
    if module_name == "ansible.legacy.async_status" and given.get("jid") in jobs:
        result = execute_module(self, module_name=module_name, module_args=module_args, **rest)
        return ended(result, *jobs[given["jid"]])
    raw, words = given.get("_raw_params"), given.get("argv")
    # The module itself refuses both and none.
    if module_name != "ansible.legacy.command" or bool(raw) == bool(words):
        return execute_module(self, module_name=module_name, module_args=module_args, **rest)
    name, first = launcher(self, "i" if given.get("stdin") else "")
    if not first:
        return execute_module(self, module_name=module_name, module_args=module_args, **rest)
    given = dict(given)
    if given.get("_uses_shell"):
        shown = raw or " ".join(shlex.quote(str(word)) for word in words)
        given.pop("argv", None)
        shell = given.pop("executable", None) or self._play_context.executable or constants.DEFAULT_EXECUTABLE
        given["_raw_params"] = " ".join(shlex.quote(word) for word in [*first, shell, "-c", shown])
    else:
        shown = words or shlex.split(raw)
        given.pop("_raw_params", None)
        given["argv"] = [*first, *shown]
    result = execute_module(self, module_name=module_name, module_args=given, **rest)
    if "ansible_job_id" in result:
        jobs[result["ansible_job_id"]] = name, shown
    return ended(result, name, shown)


def ended(result, name, shown):
    """A result without its launcher, and with the name of its program if that has ended."""
    if "cmd" in result:
        result["cmd"] = shown
    if name and result.get("start"):
        result["stackloom_program"] = name
    return not_found(result)


def not_found(result):
    """The module's own words for a program that cannot be started."""
    why = re.fullmatch(r"sh: (?:line )?\d+: exec: (.*): (not found|Permission denied)\n?", result.get("stderr") or "")
    if result.get("rc") in (126, 127) and why:
        code, text = (2, "No such file or directory") if why[2] == "not found" else (13, "Permission denied")
        result.update(rc=code, msg="[Errno %d] %s: %r" % (code, text, why[1].encode()), stderr="", stderr_lines=[])
    return result


def execute_command(self, cmd, *given, **named):
    action = type(self).__module__.rpartition(".")[2]
    # A script's action also makes and removes folders; its program alone comes with a folder to run in.
    is_program = action == "raw" or action == "script" and "chdir" in named
    name, first = launcher(self) if is_program else (None, [])
    if first:
        shell = named.get("executable") or constants.DEFAULT_EXECUTABLE
        cmd = " ".join(shlex.quote(word) for word in [*first, shell, "-c", cmd])
    result = low_level(self, cmd, *given, **named)
    if name:
        result["stackloom_program"] = name
    return result


ActionBase._execute_module = execute_program
ActionBase._low_level_execute_command = execute_command
