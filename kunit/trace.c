// SPDX-License-Identifier: GPL-2.0-only
/*
 * The tracepoints of the rooms under test.
 */
#include "../module/trace.c"
