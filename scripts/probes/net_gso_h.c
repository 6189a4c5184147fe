// SPDX-License-Identifier: GPL-2.0
/* since 6.6: segmentation has a header of its own */
#include <net/gso.h>
