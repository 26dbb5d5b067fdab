"""Writes lines to the sandbox's own output, as fast as it is told: `firehose <rate> <number> <unix time in ms>`.

An action plugin, because that is the part of Ansible that runs inside of the sandbox. The way of a line from here to
the browser is the way of every line that Ansible says.
"""
import os
import time

from ansible.plugins.action import ActionBase


class ActionModule(ActionBase):
    TRANSFERS_FILES = False

    def run(self, tmp=None, task_vars=None):
        result = super().run(tmp, task_vars)
        rate = int(self._task.args["rate"])
        count = rate * int(self._task.args["seconds"])
        begin = time.monotonic()
        for number in range(count):
            wait = begin + number / rate - time.monotonic()
            if wait > 0.0005:
                time.sleep(wait)
            os.write(1, b"firehose %d %d %.3f\n" % (rate, number, time.time() * 1000))
        result["changed"] = False
        return result
