/* SPDX-License-Identifier: Apache-2.0 */
/* tiles.cl for products with few columns: 128 work items with 64 sums each. */
#define TILE_M 128
#define TILE_N 64
#define ITEM_M 8
#define ITEM_N 8
#define TEAMS 1
#define STEP 16 /* products between barriers */
