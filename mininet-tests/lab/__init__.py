# SPDX-License-Identifier: GPL-2.0
"""The lab: boots a kernel in virtual time and runs network experiments in it.

Rooms. ``model`` knows no other; which may know which is in ``tests/host/test_rooms.py``:

``model``
    what an experiment is: pure data, which host and guest plan and read alike
``guest``
    what runs inside, with the distribution's own Python, and how it talks to the host
``machines``
    where it runs: sealed guests and copies of them, virtme-ng, User Mode Linux, this machine
``store``
    a study on disk, and the sweep that fills it
``analyse``
    from raw results to figures, tables and verdicts
``show``
    progress, pictures, reports
``front``
    the commands that ``cli`` lists, a module each

What a scenario's file imports is in ``model``, and in ``analyse`` for what it measures; what a
topology's file imports is ``topo``, Mininet's side of a topology.  ``files`` and ``checkout`` are
for all rooms.
"""
