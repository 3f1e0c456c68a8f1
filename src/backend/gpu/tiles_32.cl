/* SPDX-License-Identifier: Apache-2.0 */
/* tiles.cl for products too small for larger tiles: 256 work items with 16 sums each. */
#define TILE_M 64
#define TILE_N 64
#define ITEM_M 4
#define ITEM_N 4
#define TEAMS 1
#define STEP 16 /* products between barriers */
