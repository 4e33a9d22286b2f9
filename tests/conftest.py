"""Nothing in the tests is drawn anew from run to run.

What a model without random_state draws comes from NumPy's own generator, seeded before each test; Hypothesis tries the
same examples each time. LINNET_SEARCH=1 draws both anew: to look for what the tests have not met.
"""

import os
import signal

import hypothesis
import numpy as np
import pytest

SEARCH = bool(os.environ.get("LINNET_SEARCH"))

# A shell may have told what it starts in the background to take no notice of Ctrl-C, which some tests send.
signal.signal(signal.SIGINT, signal.default_int_handler)

hypothesis.settings.register_profile("linnet", derandomize=not SEARCH, deadline=None)
hypothesis.settings.load_profile("linnet")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    np.random.seed(None if SEARCH else 0)  # noqa: NPY002 (random_state=None means this generator, as in scikit-learn)
