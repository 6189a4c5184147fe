// SPDX-License-Identifier: GPL-2.0
/* must compile everywhere: tells a broken tool chain from a missing API */
#include <linux/module.h>
#include <net/tcp.h>
#include <net/pkt_sched.h>
