/* SPDX-License-Identifier: Apache-2.0 */
/* tiles.cl for few rows and many products: eight teams of 64 work items take turns at the steps. */
#define TILE_M 32
#define TILE_N 32
#define ITEM_M 4
#define ITEM_N 4
#define TEAMS 8
#define STEP 8 /* products between barriers */
