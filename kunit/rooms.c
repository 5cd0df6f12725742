// SPDX-License-Identifier: GPL-2.0-only
/*
 * The rooms that have no suite of their own, for the suite that drives them all
 * (write_test.c).
 */
#include "../module/context.c"
#include "../module/device.c"
#include "../module/memory.c"
#include "../module/mr.c"
#include "../module/control.c"
#include "../module/connection.c"
#include "../module/cm.c"
#include "../module/region.c"
#include "../module/transfer.c"
#include "../module/work.c"
