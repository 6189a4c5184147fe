# SPDX-License-Identifier: GPL-2.0
"""The lab: boots a kernel in virtual time and runs network experiments in it.

Host side: ``cli`` (what the user types), ``vm`` (boots a guest), ``scenario``
(what is to be run), ``measure`` (raw results to figures), ``checks``.  Guest
side, with the distribution's own Python: ``guest`` (agent), ``network``
(topology, traffic and tracing).  ``protocol`` is what the two speak.
"""
