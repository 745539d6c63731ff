"""A callback that notes what it is told."""

from sklearn.callback import FitCallback


class Watch(FitCallback):
    def __init__(self, stop_after=None):
        self.tasks, self.stop_after, self.over = [], stop_after, False

    def setup(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context, **kwargs):
        pass

    def on_fit_task_end(self, estimator, context, **kwargs):
        self.tasks.append(context.task_name)
        return self.stop_after is not None and len(self.tasks) >= self.stop_after

    def teardown(self, estimator, context):
        self.over = True
