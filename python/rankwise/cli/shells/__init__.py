# SPDX-License-Identifier: BSD-3-Clause
"""What shells and `man` are told of the command line, made from its parser."""
