"""Types of numpy arrays, by the type of their entries."""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Counts: TypeAlias = NDArray[np.int64]
Indices: TypeAlias = NDArray[np.intp]
Booleans: TypeAlias = NDArray[np.bool_]
