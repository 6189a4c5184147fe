// SPDX-License-Identifier: GPL-2.0
/* since 6.10: cong_control() is told the ACK number and the flags */
#include <net/tcp.h>

void probe(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs);
struct tcp_congestion_ops probe_ops = { .cong_control = probe };
