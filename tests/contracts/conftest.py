from collections.abc import Iterator

import pytest
from threadpoolctl import threadpool_limits


@pytest.fixture(autouse=True, scope="session")
def one_thread_in_numpy() -> Iterator[None]:
    """The twin's products are small: threads of NumPy's own would cost more than they do, and take the core's cores."""
    with threadpool_limits(1):
        yield


@pytest.fixture(autouse=True)
def real_teams(teams_of_any_size: None) -> None:
    """Exactly the requested number of threads runs."""
