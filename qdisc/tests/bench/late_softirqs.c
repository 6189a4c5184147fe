// SPDX-License-Identifier: GPL-2.0
/*
 * While this is loaded, softirqs are up to 1 ms late every 10 ms, as on a small router
 * or in a guest of a busy host: a thread keeps them off its CPU for so long. A timer
 * that expires meanwhile asks for a transmission that waits.
 */
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/kthread.h>
#include <linux/module.h>

#define LATE_PERIOD_US	10000
#define LATE_US		1000

static struct task_struct *late_thread;

static int late_run(void *unused)
{
	while (!kthread_should_stop()) {
		usleep_range(LATE_PERIOD_US - LATE_US, LATE_PERIOD_US - LATE_US);
		local_bh_disable();
		udelay(LATE_US);
		local_bh_enable();
	}
	return 0;
}

static int __init late_start(void)
{
	late_thread = kthread_run(late_run, NULL, "late_softirqs");
	return PTR_ERR_OR_ZERO(late_thread);
}

static void __exit late_stop(void)
{
	kthread_stop(late_thread);
}

module_init(late_start);
module_exit(late_stop);

MODULE_DESCRIPTION("Late softirqs, for tests");
MODULE_LICENSE("GPL");
