/* SPDX-License-Identifier: Apache-2.0 */
/* tiles.cl for middling numbers of rows and many products: four teams of 64 work items with 64 sums each take turns at the steps. */
#define TILE_M 64
#define TILE_N 64
#define ITEM_M 8
#define ITEM_N 8
#define TEAMS 4
#define STEP 8 /* products between barriers */
