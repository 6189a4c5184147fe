// SPDX-License-Identifier: GPL-2.0
/*
 * What a packet costs in a qdisc: its own enqueue and dequeue, counted.
 *
 * For the lab, where the time stamp counter counts instructions, and for User Mode
 * Linux, where it counts time (stamps.h). Never installed. One line written to
 * parameters/run says what to do with the root qdisc of a device that nothing else
 * sends to, and reading it gives the counts:
 *
 *	DEVICE HANDLE flows bytes segs hashed standing closed enqueues dequeues
 *	warm count budget seed version
 *
 * Packets are TCP over IP of @version as a router forwards them: each of a flow's own
 * addresses and ports, without a hash unless @hashed, as by a device that hashes.
 * Each call has its two stamps and runs with interrupts off; making and freeing
 * packets is outside of them, and what the stamps and a call of an empty function
 * cost has been taken off.
 *
 * Closed: @standing packets of each flow wait, and the flow that a packet left
 * sends the next. Open: the flows of @enqueues packets are drawn, then @dequeues
 * are asked for, and so on; @standing packets of drawn flows come before. With
 * @standing 0 a run goes on with what the last one left waiting.
 *
 * Where packets that stand lie in memory has nothing to do with their order:
 * else a processor would have fetched the next before it is asked for. Those that
 * come later take the place of one that left, as with a driver.
 */
#include <linux/etherdevice.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/jhash.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/nsproxy.h>
#include <linux/prandom.h>
#include <linux/rtnetlink.h>
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <linux/tcp.h>
#include <net/checksum.h>
#include <net/ip.h>
#include <net/ip6_checksum.h>
#include <net/ipv6.h>
#include <net/sch_generic.h>
#include <net/tcp.h>

#include "stamps.h"

#define COST_HEADERS(ip) (ETH_HLEN + (ip) + sizeof(struct tcphdr))
#define COST_HEADERS_MAX COST_HEADERS(sizeof(struct ipv6hdr))
/* payload is shared by all packets: nobody reads it. A fragment is at most this. */
#define COST_PAYLOAD_ORDER 3
#define COST_PAYLOAD_BYTES (PAGE_SIZE << COST_PAYLOAD_ORDER)
/* addresses of 10.0.0.0/8, and this many ports of each */
#define COST_PORTS 16
#define COST_FLOWS_MAX 65536U
#define COST_SEGS_MAX 44U
/* instructions of the loop that shows what a tick is */
#define COST_RULER 2000000U
/*
 * Empty calls, of which the cheapest is what a call costs: the first may have to be
 * translated, and each may be interrupted.
 */
#define COST_IDLE_CALLS 16

/**
 * struct cost - a run
 * @sch: qdisc
 * @dev: its device
 * @payload: what packets carry
 * @flows: how many send (1 to COST_FLOWS_MAX)
 * @bytes: of a packet, or of a segment of a super-packet, Ethernet header included
 * @segs: segments of a packet (1 to COST_SEGS_MAX)
 * @hashed: whether packets carry a hash
 * @version: of IP, 4 or 6
 * @standing: packets that wait before anything is counted; of each flow if @closed
 * @closed: whether a flow sends when one of its packets has left
 * @enqueues: packets that come before @dequeues are asked for, unless @closed
 * @dequeues: see above
 * @warm: packets to come before counting
 * @count: packets to come then
 * @budget: ticks after which warming and counting end early (each)
 * @random: draws flows
 * @left: for each flow, segments that left and were not replaced
 * @due: flow that is to send next, if @closed; @flows: none
 * @counts: whether calls are counted
 * @idle_enqueue: ticks of calling a function that does nothing
 * @idle_dequeue: the same
 * @spent: ticks in calls, counted or not, since warming or counting began
 * @enqueue: ticks in enqueue
 * @dequeue: ticks in dequeue
 * @segmenting: ticks of segmenting the packets that came, outside the qdisc
 * @offered: packets that came
 * @sent: packets that left
 * @lost: packets handed back to be freed
 * @nothing: dequeues that gave none
 * @truesize: memory of the packet that came last
 * @truesize_sent: memory of the packet that left last
 */
struct cost {
	struct Qdisc *sch;
	struct net_device *dev;
	struct page *payload;
	u32 flows, bytes, segs, hashed, version, standing, closed, enqueues, dequeues;
	u32 warm, count;
	u64 budget;
	struct rnd_state random;
	u16 *left;
	u32 due;
	bool counts;
	u64 idle_enqueue, idle_dequeue;
	s64 spent, enqueue, dequeue, segmenting;
	u32 offered, sent, lost, nothing;
	u32 truesize, truesize_sent;
};

static char cost_answer[512] = "nothing was run\n";
/* ticks in a millisecond; 0: a tick is an instruction */
static u32 cost_khz;

/* ---- packets ---- */

static u32 cost_headers_bytes(const struct cost *c)
{
	return c->version == 4 ? COST_HEADERS(sizeof(struct iphdr)) :
				 COST_HEADERS(sizeof(struct ipv6hdr));
}

/* Return: what is left of TCP's checksum for the device */
static __sum16 cost_ipv4(struct sk_buff *skb, u32 flow)
{
	u32 datagram = skb->len - ETH_HLEN;
	struct iphdr *ip = ip_hdr(skb);

	ip->version = 4;
	ip->ihl = 5;
	ip->tot_len = htons(datagram);
	ip->ttl = 63;
	ip->protocol = IPPROTO_TCP;
	ip->saddr = htonl(0x0a000001 + flow / COST_PORTS);
	ip->daddr = htonl(0x0affff01);
	ip_send_check(ip);
	skb->protocol = htons(ETH_P_IP);
	return ~tcp_v4_check(datagram - sizeof(*ip), ip->saddr, ip->daddr, 0);
}

static __sum16 cost_ipv6(struct sk_buff *skb, u32 flow)
{
	u32 segment = skb->len - ETH_HLEN - sizeof(struct ipv6hdr);
	struct ipv6hdr *ip = ipv6_hdr(skb);

	ip->version = 6;
	ip->payload_len = htons(segment);
	ip->hop_limit = 63;
	ip->nexthdr = IPPROTO_TCP;
	ipv6_addr_set(&ip->saddr, htonl(0xfd010000), 0, 0,
		      htonl(1 + flow / COST_PORTS));
	ipv6_addr_set(&ip->daddr, htonl(0xfd020000), 0, 0, htonl(1));
	skb->protocol = htons(ETH_P_IPV6);
	return ~tcp_v6_check(segment, &ip->saddr, &ip->daddr, 0);
}

static void cost_headers(const struct cost *c, struct sk_buff *skb, u32 flow)
{
	u32 headers = cost_headers_bytes(c);
	struct ethhdr *eth;
	struct tcphdr *tcp;
	__sum16 check;

	skb_reset_mac_header(skb);
	eth = eth_hdr(skb);
	memset(eth, 0, headers);
	eth_broadcast_addr(eth->h_dest);
	skb_set_network_header(skb, ETH_HLEN);
	check = c->version == 4 ? cost_ipv4(skb, flow) : cost_ipv6(skb, flow);
	eth->h_proto = skb->protocol;
	skb_set_transport_header(skb, headers - sizeof(*tcp));
	tcp = tcp_hdr(skb);
	tcp->source = htons(1024 + flow % COST_PORTS);
	tcp->dest = htons(443);
	tcp->doff = sizeof(*tcp) / 4;
	tcp->ack = 1;
	tcp->check = check;
	skb->csum_start = skb_transport_header(skb) - skb->head;
	skb->csum_offset = offsetof(struct tcphdr, check);
	skb->ip_summed = CHECKSUM_PARTIAL;
	skb->dev = c->dev;
	skb->mark = flow;
	if (c->hashed)
		skb_set_hash(skb, jhash_1word(flow, 0), PKT_HASH_TYPE_L4);
}

/* without headers: cost_headers() writes those */
static struct sk_buff *cost_blank(struct cost *c)
{
	u32 headers = cost_headers_bytes(c);
	u32 payload = c->segs * (c->bytes - headers);
	struct sk_buff *skb;
	int frag;

	skb = alloc_skb(LL_MAX_HEADER + COST_HEADERS_MAX, GFP_ATOMIC);
	if (!skb)
		return NULL;
	skb_reserve(skb, LL_MAX_HEADER);
	skb_put(skb, headers);
	for (frag = 0; payload; frag++) {
		u32 part = min_t(u32, payload, COST_PAYLOAD_BYTES);

		get_page(c->payload);
		skb_add_rx_frag(skb, frag, c->payload, 0, part, part);
		payload -= part;
	}
	qdisc_skb_cb(skb)->pkt_len = skb->len;
	compat_qdisc_set_segs(skb, c->segs);
	if (c->segs > 1) {
		skb_shinfo(skb)->gso_type = c->version == 4 ? SKB_GSO_TCPV4 :
							      SKB_GSO_TCPV6;
		skb_shinfo(skb)->gso_size = c->bytes - headers;
		skb_shinfo(skb)->gso_segs = c->segs;
		qdisc_skb_cb(skb)->pkt_len += (c->segs - 1) * headers;
	}
	return skb;
}

/* ---- counting ---- */

static noinline int cost_no_enqueue(struct sk_buff *skb, struct Qdisc *sch,
				    struct sk_buff **to_free)
{
	return 0;
}

static noinline struct sk_buff *cost_no_dequeue(struct Qdisc *sch)
{
	return NULL;
}

typedef int (*cost_enqueue_fn)(struct sk_buff *skb, struct Qdisc *sch,
			       struct sk_buff **to_free);
typedef struct sk_buff *(*cost_dequeue_fn)(struct Qdisc *sch);

static noinline u64 cost_of_enqueue(cost_enqueue_fn enqueue,
				    struct sk_buff *skb, struct Qdisc *sch,
				    struct sk_buff **to_free)
{
	unsigned long flags;
	u64 before, after;

	local_irq_save(flags);
	before = cost_begin();
	enqueue(skb, sch, to_free);
	after = cost_stamp();
	local_irq_restore(flags);
	return after - before;
}

static noinline u64 cost_of_dequeue(cost_dequeue_fn dequeue, struct Qdisc *sch,
				    struct sk_buff **skb)
{
	unsigned long flags;
	u64 before, after;

	local_irq_save(flags);
	before = cost_begin();
	*skb = dequeue(sch);
	after = cost_stamp();
	local_irq_restore(flags);
	return after - before;
}

static noinline u64 cost_of_segmenting(struct sk_buff *skb,
				       struct sk_buff **segs)
{
	netdev_features_t features = netif_skb_features(skb);
	unsigned long flags;
	u64 before, after;

	local_irq_save(flags);
	before = cost_begin();
	*segs = skb_gso_segment(skb, features & ~NETIF_F_GSO_MASK);
	consume_skb(skb);
	after = cost_stamp();
	local_irq_restore(flags);
	return after - before;
}

/* ticks of COST_RULER instructions; 0 where nobody knows how to write them */
static u64 cost_ruler(void)
{
	unsigned long flags;
	u64 before, after;

	local_irq_save(flags);
	before = cost_begin();
#ifdef CONFIG_X86_64
	{
		unsigned long n = COST_RULER / 2;

		asm volatile("1: dec %0; jnz 1b" : "+r" (n) : : "cc");
	}
	after = cost_stamp();
#else
	after = before;
#endif
	local_irq_restore(flags);
	return after - before;
}

/* @skb: blank */
static int cost_come(struct cost *c, u32 flow, struct sk_buff *skb)
{
	struct sk_buff *again = NULL, *segs = NULL, *to_free = NULL, *next;
	s64 ticks, segmenting = 0;

	if (!skb)
		return -ENOMEM;
	cost_headers(c, skb, flow);
	c->truesize = skb->truesize;
	if (c->counts && c->segs > 1) {
		again = cost_blank(c);
		if (!again) {
			kfree_skb(skb);
			return -ENOMEM;
		}
		cost_headers(c, again, flow);
	}
	/* before and after in turn, so that both find the allocator alike */
	if (again && c->offered % 2)
		segmenting = cost_of_segmenting(again, &segs);
	ticks = cost_of_enqueue(c->sch->enqueue, skb, c->sch, &to_free);
	if (again && c->offered % 2 == 0)
		segmenting = cost_of_segmenting(again, &segs);
	ticks -= c->idle_enqueue;
	c->spent += ticks;
	if (c->counts) {
		c->segmenting += again ? segmenting - c->idle_dequeue : 0;
		c->enqueue += ticks;
		c->offered++;
	}
	for (; to_free; to_free = next) {
		next = to_free->next;
		to_free->next = NULL;
		kfree_skb(to_free);
		c->lost += c->counts;
	}
	if (!IS_ERR_OR_NULL(segs))
		kfree_skb_list(segs);
	return IS_ERR(segs) ? PTR_ERR(segs) : 0;
}

static void cost_leave(struct cost *c)
{
	struct sk_buff *skb;
	s64 ticks;
	u32 flow;

	ticks = cost_of_dequeue(c->sch->dequeue, c->sch, &skb);
	ticks -= c->idle_dequeue;
	c->spent += ticks;
	if (c->counts) {
		c->dequeue += ticks;
		c->sent += !!skb;
		c->nothing += !skb;
	}
	if (!skb)
		return;
	c->truesize_sent = skb->truesize;
	flow = skb->mark;
	c->left[flow] += skb_is_gso(skb) ? skb_shinfo(skb)->gso_segs : 1;
	if (c->left[flow] >= c->segs) {
		c->left[flow] -= c->segs;
		c->due = flow;
	}
	consume_skb(skb);
}

static u32 cost_draw(struct cost *c)
{
	return (u64)prandom_u32_state(&c->random) * c->flows >> 32;
}

static int cost_closed_step(struct cost *c)
{
	u32 asked;

	c->due = c->flows;
	/* every flow may have all but one of its segments missing */
	for (asked = 0; c->due == c->flows; asked++) {
		if (asked > c->flows * c->segs)
			return -ENODATA;
		cost_leave(c);
	}
	return cost_come(c, c->due, cost_blank(c));
}

static int cost_open_step(struct cost *c)
{
	u32 i;
	int err;

	for (i = 0; i < c->enqueues; i++) {
		err = cost_come(c, cost_draw(c), cost_blank(c));
		if (err)
			return err;
	}
	for (i = 0; i < c->dequeues; i++)
		cost_leave(c);
	return 0;
}

static int cost_steps(struct cost *c, u32 packets)
{
	u32 step = c->closed ? 1 : c->enqueues;
	u32 done;
	int err;

	c->spent = 0;
	for (done = 0; done < packets && c->spent < (s64)c->budget; done += step) {
		spinlock_t *lock = qdisc_lock(c->sch);

		spin_lock_bh(lock);
		err = c->closed ? cost_closed_step(c) : cost_open_step(c);
		spin_unlock_bh(lock);
		if (err)
			return err;
		cond_resched();
	}
	return done;
}

static void cost_shuffle(struct sk_buff **skbs, u32 count)
{
	struct rnd_state random;
	u32 i, other;

	/* not what draws flows: who comes is the same wherever it lies */
	prandom_seed_state(&random, count);
	for (i = count; i > 1; i--) {
		other = (u64)prandom_u32_state(&random) * i >> 32;
		swap(skbs[i - 1], skbs[other]);
	}
}

static int cost_stand(struct cost *c, struct sk_buff **blanks, u32 packets)
{
	int err = 0;
	u32 i;

	for (i = 0; i < packets && !err; i++) {
		blanks[i] = cost_blank(c);
		err = blanks[i] ? 0 : -ENOMEM;
		cond_resched();
	}
	cost_shuffle(blanks, i);
	for (i = 0; i < packets && !err; i++) {
		spin_lock_bh(qdisc_lock(c->sch));
		err = cost_come(c, c->closed ? i % c->flows : cost_draw(c),
				blanks[i]);
		spin_unlock_bh(qdisc_lock(c->sch));
		blanks[i] = NULL;
		cond_resched();
	}
	return err;
}

static int cost_fill(struct cost *c)
{
	u32 packets = c->standing * (c->closed ? c->flows : 1);
	struct sk_buff **blanks;
	int err;
	u32 i;

	blanks = kvcalloc(packets, sizeof(*blanks), GFP_KERNEL);
	if (!blanks)
		return -ENOMEM;
	err = cost_stand(c, blanks, packets);
	for (i = 0; err && i < packets; i++)
		kfree_skb(blanks[i]);
	kvfree(blanks);
	return err;
}

/* what a call costs in which nothing is done */
static void cost_idle(struct cost *c)
{
	struct sk_buff *nothing = NULL;
	u32 i;

	c->idle_enqueue = U64_MAX;
	c->idle_dequeue = U64_MAX;
	for (i = 0; i < COST_IDLE_CALLS; i++) {
		c->idle_enqueue = min(c->idle_enqueue,
				      cost_of_enqueue(cost_no_enqueue, NULL,
						      c->sch, &nothing));
		c->idle_dequeue = min(c->idle_dequeue,
				      cost_of_dequeue(cost_no_dequeue, c->sch,
						      &nothing));
	}
}

static int cost_measure(struct cost *c)
{
	u32 qlen_before;
	int warmed, err;

	cost_idle(c);
	err = cost_fill(c);
	if (err)
		return err;
	warmed = cost_steps(c, c->warm);
	if (warmed < 0)
		return warmed;
	c->counts = true;
	qlen_before = qdisc_qlen(c->sch);
	err = cost_steps(c, c->count);
	if (err < 0)
		return err;
	scnprintf(cost_answer, sizeof(cost_answer),
		  "ruler=%llu ruler_instructions=%u warmed=%d offered=%u sent=%u lost=%u nothing=%u enqueue=%lld dequeue=%lld segmenting=%lld truesize=%u truesize_sent=%u qlen_before=%u qlen_after=%u can_bypass=%d khz=%u\n",
		  cost_ruler(), COST_RULER, warmed, c->offered, c->sent,
		  c->lost, c->nothing, c->enqueue, c->dequeue, c->segmenting,
		  c->truesize, c->truesize_sent, qlen_before,
		  qdisc_qlen(c->sch), !!(c->sch->flags & TCQ_F_CAN_BYPASS),
		  cost_khz);
	return 0;
}

/* ---- the parameter ---- */

static bool cost_makes_sense(const struct cost *c)
{
	return c->flows && c->flows <= COST_FLOWS_MAX && c->segs &&
	       (c->version == 4 || c->version == 6) &&
	       c->segs <= COST_SEGS_MAX && c->bytes > cost_headers_bytes(c) &&
	       c->bytes <= ETH_FRAME_LEN && c->closed <= 1 &&
	       c->hashed <= 1 && (c->closed || c->enqueues);
}

static int cost_on(struct cost *c, const char *device, u32 handle)
{
	int err;

	c->dev = __dev_get_by_name(current->nsproxy->net_ns, device);
	if (!c->dev) {
		pr_err("there is no device %s\n", device);
		return -ENODEV;
	}
	c->sch = rtnl_dereference(c->dev->qdisc);
	if (!(c->dev->flags & IFF_UP) || c->sch->handle != handle) {
		pr_err("%s is down or its root qdisc is %x:, not %x:\n", device,
		       c->sch->handle >> 16, handle >> 16);
		return -ENOENT;
	}
	/* they keep their counts per CPU, and are run without the lock */
	if (c->sch->flags & (TCQ_F_NOLOCK | TCQ_F_CPUSTATS)) {
		pr_err("%s runs without the qdisc's lock\n", c->sch->ops->id);
		return -EOPNOTSUPP;
	}
	c->payload = alloc_pages(GFP_KERNEL | __GFP_COMP | __GFP_ZERO,
				 COST_PAYLOAD_ORDER);
	c->left = kvcalloc(c->flows, sizeof(*c->left), GFP_KERNEL);
	err = c->payload && c->left ? cost_measure(c) : -ENOMEM;
	kvfree(c->left);
	if (c->payload)
		put_page(c->payload);
	return err;
}

static int cost_run(const char *line, const struct kernel_param *param)
{
	struct cost c = {};
	char device[IFNAMSIZ];
	u32 handle, seed;
	int err;

	if (sscanf(line, "%15s %x: %u %u %u %u %u %u %u %u %u %u %llu %u %u", device,
		   &handle, &c.flows, &c.bytes, &c.segs, &c.hashed, &c.standing, &c.closed,
		   &c.enqueues, &c.dequeues, &c.warm, &c.count, &c.budget,
		   &seed, &c.version) != 15 || !cost_makes_sense(&c)) {
		pr_err("cannot make sense of: %s\n", line);
		return -EINVAL;
	}
	prandom_seed_state(&c.random, seed);
	strscpy(cost_answer, "the last run failed\n", sizeof(cost_answer));
	rtnl_lock();
	err = cost_on(&c, device, handle << 16);
	rtnl_unlock();
	return err;
}

static int cost_tell(char *buffer, const struct kernel_param *param)
{
	return scnprintf(buffer, PAGE_SIZE, "%s", cost_answer);
}

static const struct kernel_param_ops cost_ops = {
	.set = cost_run,
	.get = cost_tell,
};
module_param_cb(run, &cost_ops, NULL, 0600);
MODULE_PARM_DESC(run, "what to do with a qdisc; reads what it cost");

static int __init cost_init(void)
{
	return cost_clock_start(&cost_khz);
}

static void __exit cost_exit(void)
{
	cost_clock_stop();
}

module_init(cost_init);
module_exit(cost_exit);

MODULE_DESCRIPTION("Counts what packets cost in a qdisc");
MODULE_LICENSE("GPL");
