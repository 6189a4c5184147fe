/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _STACK_NET_IPV6_H
#define _STACK_NET_IPV6_H

#include <net/tcp.h>

#define IS_ENABLED(option) 0

struct in6_addr {
	u32 words[4];
};

static inline void ipv6_addr_set_v4mapped(u32 addr, struct in6_addr *mapped)
{
	*mapped = (struct in6_addr) { { 0, 0, __builtin_bswap32(0xffff), addr } };
}

#endif /* _STACK_NET_IPV6_H */
