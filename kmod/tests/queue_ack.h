/* SPDX-License-Identifier: GPL-2.0 */
/* What an acknowledgment tells of the queue while somebody watches. */
#ifndef _QUEUE_ACK_H
#define _QUEUE_ACK_H

#include "queue_estimate.h"
#include "queue_watch.h"

/**
 * struct queue_backlog - the queue, as the newest packet sees it and as the law does
 * @newest_q8: packets, from queue_newest_q8()
 * @beyond_pipe_q8: packets, from queue_beyond_pipe_q8(), at least 0
 */
struct queue_backlog {
	u32 newest_q8;
	u32 beyond_pipe_q8;
};

static inline struct queue_backlog
queue_estimate_ack(struct queue_estimate *q, struct queue_watch *w,
		   const struct control_path *path, u32 now_us)
{
	s64 beyond_pipe_q8;

	queue_pipe_count(q, path);
	beyond_pipe_q8 = queue_beyond_pipe_q8(q, path);

	return (struct queue_backlog) {
		.newest_q8 = queue_newest_q8(w, path, beyond_pipe_q8, now_us),
		.beyond_pipe_q8 = (u32)max_t(s64, beyond_pipe_q8, 0),
	};
}

#endif /* _QUEUE_ACK_H */
