"""The health check before a job: is there a serious fault on this node, now, for which the job must not start here?"""
