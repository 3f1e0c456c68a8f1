/* SPDX-License-Identifier: Apache-2.0 */
/* tiles.cl for large products: 256 work items with 64 sums each. */
#define TILE_M 128
#define TILE_N 128
#define ITEM_M 8
#define ITEM_N 8
#define TEAMS 1
#define STEP 16 /* products between barriers */
