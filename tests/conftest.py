"""Set before NumPy is loaded: the tests share out whole cases between cores, so each must keep to one thread."""

import os

for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(name, "1")
