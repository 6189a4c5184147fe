// SPDX-License-Identifier: GPL-2.0
/* since 6.2: a netlink error message can carry values */
#include <linux/module.h>
#include <linux/netlink.h>

void probe(struct netlink_ext_ack *extack);
void probe(struct netlink_ext_ack *extack)
{
	NL_SET_ERR_MSG_FMT_MOD(extack, "%u is too large", 1U);
}
