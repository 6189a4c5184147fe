/* SPDX-License-Identifier: GPL-2.0 */
/* Both ends of a flow, for trace events of all modules. */
#ifndef _ADDRESSES_TRACE_H
#define _ADDRESSES_TRACE_H

#include <net/ipv6.h>
#include <net/tcp.h>

/* An IPv4 address as ::ffff:a.b.c.d */
static inline void trace_addresses(const struct sock *sk, u8 *saddr, u8 *daddr)
{
	struct in6_addr from, to;

	ipv6_addr_set_v4mapped(inet_sk(sk)->inet_saddr, &from);
	ipv6_addr_set_v4mapped(inet_sk(sk)->inet_daddr, &to);
#if IS_ENABLED(CONFIG_IPV6)
	if (sk->sk_family == AF_INET6) {
		from = sk->sk_v6_rcv_saddr;
		to = sk->sk_v6_daddr;
	}
#endif
	memcpy(saddr, &from, sizeof(from));
	memcpy(daddr, &to, sizeof(to));
}

#endif /* _ADDRESSES_TRACE_H */
