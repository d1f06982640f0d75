"""Compiled kernels of the simulator: the only folder of the lab that imports numba.

They are cached with skypane's own, in the private folder that it chooses. Numba compiles a kernel again when the
kernel's own file changes, not when a file that it calls does: so kernels here call nothing outside their file.
"""

from skypane.kernels import cache as cache  # first: it must choose the folder before numba is imported
