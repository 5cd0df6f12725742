// SPDX-License-Identifier: GPL-2.0-only
/*
 * The KUnit module. Every suite registers itself, with kunit_test_suites(), and
 * runs when the module is loaded.
 */
#include <linux/module.h>

MODULE_DESCRIPTION("KUnit tests of kverbs");
MODULE_LICENSE("GPL");
