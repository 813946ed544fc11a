"""The watcher: notices ended jobs, waits until the sources have caught up, diagnoses, stores one verdict each, tells."""
