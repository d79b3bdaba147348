# SPDX-License-Identifier: BSD-3-Clause
"""Spack recipe: copy it to `packages/py_rankwise/package.py` of a repository."""

from spack.package import depends_on, license, version
from spack_repo.builtin.build_systems.python import PythonPackage


class PyRankwise(PythonPackage):
    """Where an MPI program's messages go, what its ranks share, and where they should run instead."""

    pypi = "rankwise/rankwise-0.1.0.tar.gz"

    license("BSD-3-Clause")

    version("0.1.0")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("python@3.10:", type=("build", "run"))
    depends_on("cmake@3.20:", type="build")
    depends_on("ninja", type="build")
    depends_on("py-scikit-build-core@0.11:1", type="build")
    depends_on("py-nanobind@2.4:3", type="build")
    depends_on("py-setuptools-scm@8.1:10", type="build")
    depends_on("py-typing-extensions@4:", when="^python@:3.10", type="build")
    # At run time `libhwloc.so.15` tells what a node is.
    depends_on("hwloc@2:", type="run")
    depends_on("py-bokeh@3.6:3", type="run")
    depends_on("py-jinja2@3.1:3", type="run")
    depends_on("py-msgspec@0.19:0", type="run")
    depends_on("py-numpy@1.26:2", type="run")
    depends_on("py-polars@1.20:2", type="run")
    depends_on("py-pyroute2@0.9.2:0.9", type="run")
    depends_on("py-pyelftools@0.31:0", type="run")
    depends_on("py-rich@13.9:15", type="run")
    depends_on("py-tomli@2:2", when="^python@:3.10", type="run")
    depends_on("py-tomli-w@1.1:1", type="run")
    # The source distribution has the header files of the MPIs: nothing is fetched.
