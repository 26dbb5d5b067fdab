"""Tells what Ansible does as it does it, one JSON object a line, flushed at once.

The engine turns them into log lines. Ansible has taken out results of `no_log` tasks before they come here.
"""
import json
import sys

import detach
import interrupted  # for its effect on handlers
import locks  # for its effect on tasks
from ansible.plugins.callback import CallbackBase

DOCUMENTATION = """
    name: stackloom
    type: stdout
    short_description: JSON lines while things happen
    description: One JSON object a line for plays, tasks and results.
"""

# The texts of a result are at most this long in JSON, all together, and so is a value of `set_stats`. The engine splits a line of
# 256 KiB, which it cannot read then.
LONGEST = 192 * 1024
# So is the item of a loop.
LONGEST_ITEM = 300
PACKAGES = ("apt", "dnf", "dnf5", "yum", "package")
PROGRAMS = ("command", "shell", "script", "raw")


def beginning(text, room):
    """The beginning of a text, of limited length in JSON."""
    kept = text[:max(room, 0)]
    while kept and (size := len(json.dumps(kept))) > room:
        kept = kept[:len(kept) * room // size]
    return kept


def cut(text, room):
    """Text of limited length in JSON. It is cut between lines: half a secret would not be recognized as one."""
    kept = beginning(text, room)
    if len(kept) == len(text):
        return text
    kept = kept.rpartition("\n")[0]
    return "%s\n(%d more characters)" % (kept, len(text) - len(kept))


class CallbackModule(CallbackBase):
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "stdout"
    CALLBACK_NAME = "stackloom"

    def _say(self, event, **fields):
        fields["event"] = event
        sys.stdout.write(json.dumps(fields, default=str) + "\n")
        sys.stdout.flush()

    def _result(self, status, result, ignored=False):
        data = result._result
        fields = {"host": result._host.get_name(), "status": status, "task": result._task.get_name().strip()}
        texts = {}
        if ignored:
            fields["ignored"] = True
        if data.get("_ansible_no_log"):
            fields["msg"] = "(output hidden: no_log)"
        else:
            for key in ("msg", "reason", "skip_reason"):
                if data.get(key) not in (None, ""):
                    texts["msg"] = str(data[key])
                    break
            if data.get("stackloom_program"):
                fields["program"] = data["stackloom_program"]
            if status != "ok" or self._action(result._task) in ("debug", *PROGRAMS):
                for key in ("stdout", "stderr", "module_stderr", "module_stdout", "exception"):
                    text = data.get(key)
                    if isinstance(text, str) and text.strip():
                        texts[key] = text
            item = data.get("_ansible_item_label", data.get("item"))
            if item is not None:
                fields["item"] = cut(str(item), LONGEST_ITEM).strip()
        room = LONGEST
        for key, text in texts.items():
            fields[key] = cut(text, room)
            room -= len(json.dumps(fields[key]))
        self._say("result", **fields)

    def _action(self, task):
        return task.action.rpartition(".")[2]

    def _task(self, name, task):
        is_package = self._action(task) in PACKAGES and not detach.is_hidden(task)
        self._say("task", name=name, key=detach.begin(task), kind="package" if is_package else "other")

    def v2_playbook_on_play_start(self, play):
        self._say("play", name=play.get_name().strip())

    def v2_playbook_on_task_start(self, task, is_conditional):
        self._task(task.get_name().strip(), task)

    def v2_playbook_on_handler_task_start(self, task):
        self._task("handler: " + task.get_name().strip(), task)

    def v2_runner_on_ok(self, result):
        # A loop has told its items one by one already.
        self._result("changed" if result._result.get("changed") else "ok", result)

    def v2_runner_on_failed(self, result, ignore_errors=False):
        self._result("failed", result, ignore_errors)

    def v2_runner_on_skipped(self, result):
        self._result("skipped", result)

    def v2_runner_on_unreachable(self, result):
        self._result("unreachable", result)

    def v2_runner_item_on_ok(self, result):
        self._result("changed" if result._result.get("changed") else "ok", result)

    def v2_runner_item_on_failed(self, result):
        self._result("failed", result)

    def v2_runner_retry(self, result):
        self._result("retrying", result)

    def v2_playbook_on_no_hosts_matched(self):
        self._say("error", msg="no hosts matched")

    def v2_playbook_on_stats(self, stats):
        hosts = {host: stats.summarize(host) for host in sorted(stats.processed)}
        # What roles told by `set_stats`: an item's outputs may show it.
        told = {str(name): value if isinstance(value, str) else json.dumps(value, default=str)
                for name, value in stats.custom.get("_run", {}).items()}
        self._say("stats", hosts=hosts)
        # A line for each: all in one could be too long. The engine keeps less, and knows the secrets at which not to cut.
        for name, value in told.items():
            self._say("stats", hosts={}, told={name: beginning(value, LONGEST)})
