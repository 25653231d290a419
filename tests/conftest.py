"""Hypothesis profiles: choose one with HYPOTHESIS_PROFILE=default|ci|thorough."""

import os

from hypothesis import HealthCheck, settings

# No deadline: a busy machine must not turn into a failed property. Timing belongs to benchmarks/.
_COMMON = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])

settings.register_profile("default", _COMMON, max_examples=40)
settings.register_profile("ci", _COMMON, max_examples=40, derandomize=True, print_blob=True)
settings.register_profile("thorough", _COMMON, max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))
