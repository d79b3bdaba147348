-- SPDX-License-Identifier: BSD-3-Clause
-- Lmod: put it into MODULEPATH as rankwise/0.1.0.lua, and `base` to where `pip install --prefix` or a virtual environment is.
help([[Rankwise shows where an MPI program's messages go, what its ranks share, and where they should run instead.
    rankwise record -o app.rw -- mpiexec -n 16 ./app
    rankwise report app.rw]])
whatis("Name: Rankwise")
whatis("Version: 0.1.0")
whatis("Category: performance analysis")

local base = "/opt/rankwise/0.1.0"
prepend_path("PATH", pathJoin(base, "bin"))
prepend_path("MANPATH", pathJoin(base, "share/man"))
prepend_path("XDG_DATA_DIRS", pathJoin(base, "share"))
