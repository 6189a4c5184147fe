/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Differences between the kernels 6.1 .. 7.x, in one place.
 *
 * Stable and vendor kernels carry newer interfaces under old version numbers,
 * so LINUX_VERSION_CODE is never asked: scripts/build-modules compiles one
 * small file per interface (scripts/probes/) against the headers at hand and
 * writes what compiled into compat_config.h. This header is force-included
 * into every module source.
 */
#ifndef _PKTPAIR_COMPAT_H
#define _PKTPAIR_COMPAT_H

#include "compat_config.h"

/* 6.10 added the ACK number and flags, which no module here uses */
#ifdef HAVE_CONG_CONTROL_ACK_FLAG
#define COMPAT_CONG_CONTROL_ARGS(sk, rs) \
	struct sock *sk, u32 ack, int flag, const struct rate_sample *rs
#else
#define COMPAT_CONG_CONTROL_ARGS(sk, rs) \
	struct sock *sk, const struct rate_sample *rs
#endif

#endif /* _PKTPAIR_COMPAT_H */
