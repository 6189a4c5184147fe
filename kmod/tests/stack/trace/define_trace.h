/* SPDX-License-Identifier: GPL-2.0 */
/* nothing more to define */
