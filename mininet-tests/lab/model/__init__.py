# SPDX-License-Identifier: GPL-2.0
"""What an experiment is, as pure data: topology, traffic, what is recorded.

Nothing here boots, opens a socket or knows Mininet, so the host plans with it and the
guest carries it out.
"""
