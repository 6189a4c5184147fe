# SPDX-License-Identifier: GPL-2.0
"""What an experiment is, as pure data: topology, traffic, what is recorded.

Nothing here boots, opens a socket or knows Mininet, so the host plans with it and the
guest carries it out.  A scenario's file begins with ``plan`` (flows, sources, changes, records),
``scenario`` (parameters, checks), ``topology`` or ``topologies`` (by name), and ``flows``, which
has what many scenarios share; ``benchmarks`` is for the nine file transfers alone.
"""
