"""Handlers after an interrupted attempt.

A task that wrote a configuration changes nothing in the next attempt, so it would not notify its handler, which may not
have run. After such an attempt, a task notifies its handlers whether or not it changes something.
"""
import os

from ansible.executor.task_result import TaskResult

# Written by the engine if an earlier attempt did not end well.
ORDER = "/work/interrupted"

is_changed = TaskResult.is_changed


def is_changed_or_was(self):
    return is_changed(self) or os.path.exists(ORDER)


# Ansible asks this for notifications only. Conditions, statistics and lines of the log read the result itself.
TaskResult.is_changed = is_changed_or_was
